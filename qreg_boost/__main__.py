"""``python -m qreg_boost``: the command line."""

from __future__ import annotations

import sys

from qreg_boost.cli import main

sys.exit(main())
