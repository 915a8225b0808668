"""Sphinx: the vignettes are run when the manual is built, and an error in one fails the build."""

from __future__ import annotations

import os
from importlib.metadata import version as installed_version

os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")

project = "qreg_boost"
author = "qreg_boost developers"
copyright = "2026, qreg_boost developers"  # the name is Sphinx's
release = version = installed_version("qreg_boost")

extensions = ["myst_nb"]
exclude_patterns = ["_build", "README.md", "**.ipynb_checkpoints"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]

nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True

html_theme = "alabaster"
html_theme_options = {"description": "Quantile regression and classification from a formula", "page_width": "1100px"}
