"""Measurements on held-out problems, which no arm is trained on."""
