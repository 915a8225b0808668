"""Run all benchmarks, one after the other: python -m tests.benchmarks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

for script in ("boosting.py", "stumps.py", "quantreg.py", "kernels.py", "start_up.py", "memory.py"):
    print(f"== {script}", flush=True)
    subprocess.run([sys.executable, str(Path(__file__).with_name(script))], check=True)
    print(flush=True)
