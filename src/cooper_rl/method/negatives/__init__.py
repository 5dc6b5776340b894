"""Where wrong completions come from, one class a file."""
