"""Reads a run's files and shows them; imports nothing that trains."""
