"""Sphinx: the vignettes are run when the manual is built, and an error in one fails the build."""

from __future__ import annotations

import os
import re
from importlib.metadata import version as installed_version

from qreg_boost.datasets import ENVIRONMENT_VARIABLE, info

os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
for pool in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{pool}_NUM_THREADS", "1")  # threads that wait for a core slow small matrices down

project = "qreg_boost"
author = "qreg_boost developers"
copyright = "2026, qreg_boost developers"  # the name is Sphinx's
release = version = installed_version("qreg_boost")

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build", "README.md", "**.ipynb_checkpoints"]
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say what is taken, and in which shape
napoleon_google_docstring = False
default_role = "code"
suppress_warnings = ["ref.python"]  # names of arguments that several results have as attributes
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]

nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True

html_theme = "alabaster"
html_theme_options = {"description": "Quantile regression and classification from a formula", "page_width": "1100px"}

# Pages that need a public table are shown, but not run, where the table is missing, and say so.
TABLES = {"classification": "german_credit", "faces": "faces", "reject-option": "parkinsons"}
not_run = {page: table for page, table in TABLES.items() if not info(table).available}
nb_execution_excludepatterns = [f"{page}.md" for page in not_run]


def note_what_was_not_run(app, page, source):  # source: a list of one text, to be changed in place
    if page in not_run:
        note = (
            f"\n:::{{note}}\nNothing on this page was run when the manual was built: it needs the table "
            f"`{not_run[page]}`, which was not in the folder of `{ENVIRONMENT_VARIABLE}`.\n:::\n"
        )
        head, _, rest = source[0].partition("\n## ")
        source[0] = f"{head}{note}\n## {rest}"
        print(f"vignettes/{page}.md is shown, not run: {not_run[page]} is not here, see {ENVIRONMENT_VARIABLE}")


def keep_bars(app, what, name, obj, options, lines):  # lines: to be changed in place
    for at, line in enumerate(lines):  # outside ``code``, |x| is a size, not a substitution
        lines[at] = re.sub(r"(``.*?``)|(?<!\\)\|", lambda found: found[1] or r"\|", line)


def setup(app):
    app.connect("source-read", note_what_was_not_run)
    app.connect("autodoc-process-docstring", keep_bars)
