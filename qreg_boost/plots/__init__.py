"""Figures: each function takes tidy data and, if wanted, Axes, and returns the Axes."""
