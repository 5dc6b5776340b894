"""The `text` verifier: whether a text in plain words states the reference as its answer."""
