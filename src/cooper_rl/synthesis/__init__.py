"""Answers and completions that are made up: equivalent, corrupted, invented, and probes of known hacks."""
