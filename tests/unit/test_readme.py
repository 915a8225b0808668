"""What the README shows is what is printed. ``python tests/unit/test_readme.py`` prints it anew into the README."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"
EXAMPLE = re.compile(r"```python\n(?P<code>.*?)```\n\n```text\n(?P<printed>.*?)```\n", re.DOTALL)
SESSION = re.compile(r"```console\n(.*?)```\n", re.DOTALL)


def printed_by(code: str, names: dict[str, object]) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, names)
    return out.getvalue()


def without_date(text: str) -> list[str]:
    """Return the lines; of the line that holds the date, what stands beside the date."""
    return [re.sub(r"^Date: +\d{4}-\d\d-\d\d \d\d:\d\d", "Date:", line) for line in text.splitlines()]


def test_examples_print_what_is_shown() -> None:
    names: dict[str, object] = {}
    examples = list(EXAMPLE.finditer(README.read_text(encoding="utf-8")))
    assert len(examples) >= 2
    for example in examples:
        assert without_date(printed_by(example["code"], names)) == without_date(example["printed"])


def test_every_python_block_is_an_example() -> None:
    text = README.read_text(encoding="utf-8")
    assert text.count("```python\n") == len(EXAMPLE.findall(text))


def test_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from qreg_boost.cli import main

    monkeypatch.chdir(tmp_path)
    commands = [line for block in SESSION.findall(README.read_text(encoding="utf-8")) for line in block.splitlines()]
    assert commands
    for command in commands:
        prompt, program, *arguments = shlex.split(command)
        assert (prompt, program) == ("$", "qreg-boost")
        assert main(arguments) == 0, command


def _print_anew() -> None:
    names: dict[str, object] = {}

    def example(found: re.Match[str]) -> str:
        return f"```python\n{found['code']}```\n\n```text\n{printed_by(found['code'], names)}```\n"

    README.write_text(EXAMPLE.sub(example, README.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    _print_anew()
