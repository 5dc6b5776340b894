"""Reads a run's files and shows them. It imports nothing that trains."""
