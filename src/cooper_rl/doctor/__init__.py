"""`cooper doctor`: what this machine has, and what a training run will need of it."""
