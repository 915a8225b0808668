"""Quantile regression and quantile classification for people who think in formulas."""

from __future__ import annotations

from qreg_boost import datasets

__version__ = "0.1.0"

__all__ = ["__version__", "datasets"]
