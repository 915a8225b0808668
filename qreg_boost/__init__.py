"""Quantile regression and quantile classification for people who think in formulas."""

from __future__ import annotations

__version__ = "0.1.0"
