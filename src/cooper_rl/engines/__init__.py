"""Engines: the trainers that call the method."""
