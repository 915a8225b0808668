"""Boosting: losses, base learners, the loops, and what a boosted fit hands back."""
