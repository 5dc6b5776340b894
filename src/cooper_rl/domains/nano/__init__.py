"""The embedded default: a small world of real problems, a nano policy and a nano VerifyRM that live in it."""
