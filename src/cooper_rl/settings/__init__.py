"""Settings and recipes. Imports no torch."""
