"""Kernel machines: kernels, the quadratic program they share, and kernel quantile regression."""
