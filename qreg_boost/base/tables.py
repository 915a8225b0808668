"""The summary as a record, and its text, HTML and LaTeX in the look of statsmodels."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from qreg_boost.base.typeset import WIDTH, columns_of, fill, flat, paragraph, wrap

HALF = WIDTH // 2
FORMULA_LINES = 5
NAME_LINES = 3
SMALLEST_NAME, LARGEST_NAME = 16, 30
LEAST_CELL = 10


@dataclass(frozen=True)
class Fact:
    """One line of the header.

    Attributes
    ----------
    label, value : str
    short : str or float, optional
        What stands in a table of several fits side by side; numbers are aligned there.
    head : str, optional
        The label it has there.
    """

    label: str
    value: str
    short: str | float | None = None
    head: str | None = None


@dataclass(frozen=True)
class Row:
    """One row of a table: its name, one cell per header, and how deep the name is indented."""

    name: str
    cells: tuple[str, ...]
    depth: int = 0


@dataclass(frozen=True)
class Table:
    """A table of cells.

    Attributes
    ----------
    headers : tuple of str
        One per column of cells.
    sections : tuple of tuples of Row
        Groups of rows, a rule between them.
    corner : str
        Head of the names.
    notes : tuple of str
        What explains this table.
    even : bool
        Whether all columns are equally wide in text.
    stacked : bool
        Whether heads of several words stand on several lines where columns are not equally wide; if not, the columns
        share the line.
    panel : bool
        Whether the table is a piece of a wider one.
    """

    headers: tuple[str, ...]
    sections: tuple[tuple[Row, ...], ...]
    corner: str = ""
    notes: tuple[str, ...] = ()
    even: bool = True
    stacked: bool = True
    panel: bool = False


@dataclass(frozen=True)
class Summary:
    """A summary to print, as text, HTML and LaTeX.

    Attributes
    ----------
    title : str
    left, right : tuple of Fact
        The two columns of the header; what is too long for its half takes lines of its own above them.
    tables : tuple of Table
    notes : tuple of str
    aside : tuple of Fact
        Facts that are shown only where several fits stand side by side.

    Examples
    --------
    >>> table = Table(("coef",), ((Row("x", ("1.5",)),),))
    >>> Summary("Title", (Fact("Formula", "y ~ x"),), (Fact("tau", "0.5"),), (table,), ("A note.",)).as_html()[:27]
    '<table class="simpletable">'
    """

    title: str
    left: tuple[Fact, ...]
    right: tuple[Fact, ...]
    tables: tuple[Table, ...]
    notes: tuple[str, ...] = ()
    aside: tuple[Fact, ...] = ()

    def as_text(self) -> str:
        """Return the summary as text, 78 columns wide."""
        rule = "=" * WIDTH
        lines = [fill(self.title, WIDTH, "c").rstrip(), rule, *_header_text(self), rule]
        for table in self.tables:
            for panel in _panels(table):
                lines += [*_table_text(panel), rule]
        for note in self._all_notes():
            lines += paragraph(note)
        return "\n".join(lines)

    def _all_notes(self) -> list[str]:
        return [note for table in self.tables for note in table.notes] + list(self.notes)

    def as_html(self) -> str:
        """Return the summary as HTML tables, names escaped."""
        facts = [_pair(fact) + _pair(other) for fact, other in zip_longest(self.left, self.right)]
        blocks = [_facts_html(self.title, facts)]
        blocks += [_table_html(table) for table in self.tables]
        notes = "<br/>\n".join(html.escape(flat(note)) for note in self._all_notes())
        return "\n".join([*blocks, f"<p>{notes}</p>"] if notes else blocks)

    def as_latex(self) -> str:
        """Return the summary as LaTeX tabulars; they need the package booktabs."""
        wide, left, right = _split_facts(self)
        blocks = [rf"\textbf{{{latex_escape(self.title)}}}"]
        if wide:
            blocks.append(_tabular([list(map(latex_escape, row)) for row in _wide_rows(wide, WIDTH - 13)], "ll"))
        pairs = [_pair(fact) + _pair(other) for fact, other in zip_longest(left, right)]
        if pairs:
            blocks.append(_tabular([list(map(latex_escape, row)) for row in pairs], "lllr"))
        blocks += [_table_latex(panel) for table in self.tables for panel in _panels(table)]
        notes = [latex_escape(note) + r"\par" for note in self._all_notes()]
        return "\n".join([r"\begin{center}", "\\\\[1ex]\n".join(blocks), r"\end{center}", *notes])

    def __str__(self) -> str:
        return self.as_text()

    def __repr__(self) -> str:
        return self.as_text()

    def _repr_html_(self) -> str:
        return self.as_html()

    def _repr_latex_(self) -> str:
        return self.as_latex()


# -- header


def _pair(fact: Fact | None) -> tuple[str, str]:
    return (f"{flat(fact.label)}:", flat(fact.value)) if fact else ("", "")


def _label_width(facts: Iterable[Fact]) -> int:
    return max(13, *(columns_of(fact.label) + 2 for fact in facts), 0)


def _split_facts(summary: Summary) -> tuple[list[Fact], list[Fact], list[Fact]]:
    """Return facts that need lines of their own, the first of all among them if there are any; and both columns."""
    room = HALF - _label_width(summary.left) - 1
    wide = [fact for fact in summary.left if columns_of(flat(fact.value)) > room]
    wide += [fact for fact in summary.right if columns_of(flat(fact.value)) > HALF - columns_of(fact.label) - 2]
    if wide and summary.left and summary.left[0] not in wide:
        wide.insert(0, summary.left[0])
    left = [fact for fact in summary.left if fact not in wide]
    return wide, left, [fact for fact in summary.right if fact not in wide]


def _wide_rows(facts: Iterable[Fact], width: int) -> list[tuple[str, str]]:
    """Return label and value of facts that may need several lines."""
    rows = []
    for fact in facts:
        lines = wrap(flat(fact.value), width, FORMULA_LINES)
        rows += list(zip_longest([f"{flat(fact.label)}:"], lines, fillvalue=""))
    return rows


def _header_text(summary: Summary) -> list[str]:
    wide, left, right = _split_facts(summary)
    label = _label_width((*summary.left, *wide))
    lines = []
    if wide:
        lines += _text_rows(_wide_rows(wide, WIDTH - label), (label, WIDTH - label), "ll")
    if left or right:
        second = max((columns_of(fact.label) + 1 for fact in right), default=1)
        rows4 = [_pair(fact) + _pair(other) for fact, other in zip_longest(left, right)]
        lines += _text_rows(rows4, (label, HALF - label, second, HALF - second), "lllr")
    return lines


# -- tables


def _name_width(table: Table) -> int:
    rows = [row for section in table.sections for row in section]
    longest = max((2 * row.depth + columns_of(flat(row.name)) for row in rows), default=0)
    least = SMALLEST_NAME if table.even else 0
    return min(max(longest + 1, least, columns_of(table.corner) + 1), LARGEST_NAME)


def _head_lines(table: Table) -> list[tuple[str, ...]]:
    """Return the heads in lines, the last one full."""
    if table.even or not table.stacked:
        return [(table.corner, *table.headers)]
    upwards = zip_longest(*([table.corner], *(head.split()[::-1] for head in table.headers)), fillvalue="")
    return list(upwards)[::-1]


def _cell_widths(table: Table) -> list[int]:
    rows = [line[1:] for line in _head_lines(table)] + [row.cells for section in table.sections for row in section]
    widths = [max(columns_of(cell) for cell in column) + 2 for column in zip(*rows, strict=True)]
    return [max(LEAST_CELL, *widths)] * len(widths) if table.even and widths else widths


def fits_a_line(table: Table) -> bool:
    """Return whether the table needs no second panel in text."""
    return _name_width(table) + sum(_cell_widths(table)) <= WIDTH


def _panels(table: Table) -> list[Table]:
    """Return the table in pieces that are at most 78 columns wide."""
    if fits_a_line(table):
        return [table]
    most = max((WIDTH - _name_width(table)) // max(_cell_widths(table)), 1)
    count = -(-len(table.headers) // most)
    each = -(-len(table.headers) // count)
    panels = []
    for first in range(0, len(table.headers), each):
        part = slice(first, first + each)
        sections = tuple(tuple(Row(r.name, r.cells[part], r.depth) for r in section) for section in table.sections)
        panels.append(Table(table.headers[part], sections, table.corner, panel=True))
    return panels


def _table_text(table: Table) -> list[str]:
    first, each = _name_width(table), _cell_widths(table)
    if not table.stacked and not table.panel:
        each = [width + max(WIDTH - first - sum(each), 0) // len(each) for width in each]
        first = WIDTH - sum(each)
    elif len(each) <= 4 and not table.panel:  # few columns share the line
        each = [(WIDTH - first) // max(len(each), 1)] * len(each)
        first = WIDTH - sum(each)
    widths, aligns = (first, *each), "l" + "r" * len(each)
    lines = _text_rows(_head_lines(table), widths, aligns)
    for section in table.sections:
        rows: list[tuple[str, ...]] = []
        for row in section:
            *heads, last = _name_lines(row, first - 1)
            rows += [(head, *[""] * len(each)) for head in heads] + [(last, *row.cells)]
        lines += ["-" * WIDTH, *_text_rows(rows, widths, aligns)]
    return lines


def _name_lines(row: Row, width: int) -> list[str]:
    indent = "  " * row.depth
    return [indent + line for line in wrap(flat(row.name), width - len(indent), NAME_LINES)]


def _text_rows(rows: Sequence[Sequence[str]], widths: Sequence[int], aligns: str) -> list[str]:
    """Return rows as lines, each cell in its width."""
    table = _simple_table([[fill(c, w, a) for c, w, a in zip(row, widths, aligns, strict=True)] for row in rows])
    text = table.as_text(colsep="", table_dec_above=None, table_dec_below=None, colwidths=0)
    return [line.rstrip() for line in text.split("\n")]


def _simple_table(rows: Sequence[Sequence[str]], headers: Sequence[str] | None = None, **formats: Any) -> Any:
    from statsmodels.iolib.table import SimpleTable

    return SimpleTable([list(row) for row in rows], headers=list(headers) if headers else None, **formats)


# -- HTML


def _facts_html(title: str, rows: Sequence[Sequence[str]]) -> str:
    formats = {"data_fmts": ["<th>%s</th>", "<td>%s</td>"], "colwidths": 0}
    table = _simple_table([list(map(html.escape, row)) for row in rows], html_fmt=formats, datatypes=[0, 1, 0, 1])
    table.title = html.escape(title)
    return str(table.as_html())


def _table_html(table: Table) -> str:
    rows = [
        ["&nbsp;" * (4 * row.depth) + html.escape(flat(row.name)), *(html.escape(cell.strip()) for cell in row.cells)]
        for section in table.sections
        for row in section
    ]
    heads = [html.escape(text) for text in (table.corner, *table.headers)]
    formats = {"data_fmts": ["<th>%s</th>", "<td>%s</td>"], "colwidths": 0}
    return str(_simple_table(rows, heads, html_fmt=formats, datatypes=[0, *[1] * len(table.headers)]).as_html())


# -- LaTeX

_LATEX = {character: f"\\{character}" for character in "{}#$%&_"}
_LATEX |= {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_LATEX |= {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}


def latex_escape(text: str) -> str:
    r"""Return the text with LaTeX's special characters escaped.

    >>> print(latex_escape("a_b & 5 %"))
    a\_b \& 5 \%
    """
    escaped = "".join(_LATEX.get(character, character) for character in flat(text))
    return "{}" + escaped if escaped.startswith(("[", "*")) else escaped  # a row's end would take them for its own


def _tabular(
    rows: Sequence[Sequence[str]], aligns: str, head: Sequence[str] | None = None, rules: Sequence[int] = ()
) -> str:
    """Return a tabular; `rules` are the rows below which there is a rule."""
    formats = {"data_aligns": aligns, "replacements": {}, "colwidths": 0, "data_fmts": ["%s"] * len(aligns)}
    table = _simple_table(rows, ltx_fmt=formats, datatypes=list(range(len(aligns))))
    for position in rules:
        table[position].dec_below = "header_dec_below"
    if head:
        table.insert(0, list(head), datatype="data")
        for column, cell in enumerate(table[0]):
            cell.datatype = column
        table[0].dec_below = "header_dec_below"
    return str(table.as_latex_tabular(center=False))


def _table_latex(table: Table) -> str:
    rows, rules = [], []
    for section in table.sections:
        for row in section:
            *heads, last = wrap(flat(row.name), LARGEST_NAME, NAME_LINES)
            indent = r"\quad " * row.depth
            rows += [[indent + latex_escape(head), *[""] * len(row.cells)] for head in heads]
            rows.append([indent + latex_escape(last), *(latex_escape(cell.strip()) for cell in row.cells)])
        rules.append(len(rows) - 1)
    head = [rf"\textbf{{{latex_escape(text)}}}" if text else "" for text in (table.corner, *table.headers)]
    return _tabular(rows, "l" + "r" * len(table.headers), head, rules[:-1])
