"""Exact quantile regression."""
