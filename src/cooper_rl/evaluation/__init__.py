"""Measures policies, reward models and verifiers: metrics with intervals, and probes of known hacks."""
