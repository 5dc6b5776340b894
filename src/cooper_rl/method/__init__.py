"""The method: the paper's two stages and what is ours in it. Any engine calls it; it imports no engine and no torch."""
