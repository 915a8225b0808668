"""The whole solution of quantile regression in tau, with names: every breakpoint and the coefficients between them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from qreg_boost.base.checks import InputError, NotDefinedError, check_tau, listed
from qreg_boost.base.results import Results
from qreg_boost.base.tables import Fact, Row, Summary, Table, fits_a_line
from qreg_boost.base.typeset import level, number, numbers, settled
from qreg_boost.quantreg.facts import QRegFacts
from qreg_boost.quantreg.report_several import MOST_TERMS

if TYPE_CHECKING:
    from qreg_boost.quantreg.process import Process
    from qreg_boost.quantreg.results import QRegResults


class QRegPath(Results):
    """Quantile regression at every tau: coefficients are constant between breakpoints.

    Parameters
    ----------
    process : Process
        Breakpoints, coefficients between them, and the loss at the breakpoints.
    facts : QRegFacts
        Names and counts of the rows; what depends on tau is that of tau = 0.5.
    model : QReg or None
        The model, which holds the rows; None for a path loaded from a file.
    encoder : Encoder
        What encodes new data.

    Examples
    --------
    >>> import qreg_boost as qb
    >>> path = qb.qreg_process("foodexp ~ income", qb.datasets.load("engel"))
    >>> len(path.taus), path.params_at(0.5).round(4).to_dict()
    (268, {'Intercept': 81.4822, 'income': 0.5602})
    """

    title = "Quantile Regression Process"
    whole = "path.fit_at(tau)"

    def __init__(self, process: Process, facts: QRegFacts, model: Any, encoder: Any) -> None:
        self.process = process
        self.facts = facts
        self._model = model
        self.encoder = encoder

    def _one(self) -> tuple[type | None, str]:
        from qreg_boost.quantreg.results import QRegResults

        return QRegResults, self.whole

    def __len__(self) -> int:
        return len(self.process.coef)

    @property
    def model(self) -> Any:
        """The model, with its design; a loaded process has none."""
        if self._model is None:
            raise _without_rows()
        return self._model

    @property
    def formula(self) -> str | None:
        """The formula as written."""
        return self.facts.formula

    @property
    def nobs(self) -> int:
        """Number of rows with weight above 0."""
        return self.facts.nobs

    @property
    def taus(self) -> np.ndarray:
        """Where the coefficients change (K + 1,): increasing, the ends 0 and 1 among them."""
        return self.process.taus.copy()

    @cached_property
    def coef(self) -> pd.DataFrame:
        """Coefficients, one row per interval; the index says from which tau to which."""
        intervals = pd.IntervalIndex.from_breaks(self.process.taus, name="tau")
        return pd.DataFrame(self.process.coef, index=intervals, columns=pd.Index(self.facts.columns, name="term"))

    @cached_property
    def objective(self) -> pd.Series:
        """Weighted sum of check losses at the breakpoints, in units of y; linear in between."""
        return pd.Series(self.process.objective, index=pd.Index(self.process.taus, name="tau"), name="objective")

    def params_at(self, tau: Any) -> Any:
        """Return the coefficients at a tau, or terms by tau for several; at a breakpoint, those to its left."""
        labels = pd.Index(self.facts.columns, name="term")
        if np.ndim(tau) == 0:
            return pd.Series(self.process.at(check_tau(tau)), index=labels, name=f"tau={tau:g}")
        if not len(tau):
            raise InputError("`tau` is empty; give at least one quantile level between 0 and 1.")
        table = np.array([self.process.at(check_tau(one)) for one in tau]).T
        return pd.DataFrame(table, index=labels, columns=pd.Index(list(tau), name="tau"))

    def fit_at(self, tau: float) -> QRegResults:
        """Return the quantile regression at a tau, with all that belongs to one."""
        if self._model is None:
            raise _without_rows()
        found: QRegResults = self._model.at(check_tau(tau))
        return found

    def predict(self, new: Any, tau: Any, offset: Any = None) -> Any:
        """Return predicted quantiles at a tau, or rows by tau for several, in units of y."""
        encoded = self.encoder.encode(new, offset)
        X = np.column_stack((np.ones(len(encoded.X)), encoded.X)) if self.facts.intercept else encoded.X
        coef = self.params_at(tau)
        values = X @ np.nan_to_num(coef.to_numpy())
        if encoded.offset is not None:
            values = values + (encoded.offset if values.ndim == 1 else encoded.offset[:, None])
        if values.ndim == 1:
            return pd.Series(values, index=encoded.index, name="predicted")
        return pd.DataFrame(values, index=encoded.index, columns=coef.columns)

    def tidy(self) -> pd.DataFrame:
        """Return one row per interval and coefficient: tau_low, tau_high, term, estimate."""
        taus, coef = self.process.taus, self.process.coef
        p = len(self.facts.columns)
        return pd.DataFrame(
            {
                "tau_low": np.repeat(taus[:-1], p),
                "tau_high": np.repeat(taus[1:], p),
                "term": list(self.facts.columns) * len(coef),
                "estimate": coef.ravel(),
            }
        )

    def glance(self) -> pd.DataFrame:
        """Return one row of facts."""
        facts = {"nobs": self.nobs, "n_dropped": self.facts.n_dropped, "intervals": len(self)}
        return pd.DataFrame([{**facts, "not_unique": int((~self.process.unique).sum())}])

    def state(self, data: bool) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return what a saved file holds; the rows are never part of it."""
        if data:
            raise InputError(
                "A process is saved without its rows; leave out data=True. To keep the rows too, pickle the object: "
                "that file runs code when it is read."
            )
        encoder_meta, encoder_arrays = self.encoder.state()
        names = ("taus", "coef", "objective", "basis", "unique", "dropped")
        arrays = {f"process.{name}": getattr(self.process, name) for name in names}
        arrays |= {f"encoder.{name}": array for name, array in encoder_arrays.items()}
        return {"facts": self.facts.state(), "encoder": encoder_meta}, arrays

    def summary(self) -> Summary:
        """Return the coefficients at some taus, and what the whole process consists of."""
        facts = self.facts
        shown = np.arange(1, 10) / 10.0
        table = self.params_at(shown)
        names = [str(name) for name in table.index[:MOST_TERMS]]
        columns = [numbers(settled(row), 10, 5) for row in table.to_numpy()[:MOST_TERMS]]
        rows = tuple(Row(level(tau), tuple(column[k] for column in columns)) for k, tau in enumerate(shown))
        one = Table(tuple(names), (rows,), corner="tau", even=False)
        if not fits_a_line(one):
            rows = tuple(
                Row(name, tuple(text or "dropped" for text in column))
                for name, column in zip(names, columns, strict=True)
            )
            one = Table(tuple(level(tau) for tau in shown), (rows,), corner="tau")
        left = [Fact("Formula", facts.formula) if facts.formula else Fact("Response", f"{facts.response} (arrays)")]
        left += [Fact("Date", facts.when)]
        widths = np.diff(self.process.taus)
        right = (
            Fact("No. observations", str(facts.nobs)),
            Fact("Rows dropped (missing)", str(facts.n_dropped)),
            Fact("Intervals in tau", str(len(self))),
            Fact("Narrowest, widest", f"{widths.min():.2g}, {widths.max():.2g}"),
        )
        return Summary(f"{self.title} Results", tuple(left), right, (one,), tuple(self._notes(len(names))))

    def _notes(self, shown: int) -> list[str]:
        notes = ["Coefficients are constant between two breakpoints: .taus, .coef, .params_at(tau), .fit_at(tau)."]
        if shown < len(self.facts.columns):
            notes.append(f"{len(self.facts.columns) - shown} more coefficients are in .coef.")
        if self.facts.aliased:
            notes.append(f"Dropped, as combinations of the columns to their left: {listed(self.facts.aliased)}.")
        count = int((~self.process.unique).sum())
        if count:
            notes.append(f"In {count} of {len(self)} intervals the optimum is not unique.")
        return notes

    def __str__(self) -> str:
        rows = f"{len(self)} intervals in tau, {self.nobs} rows, {len(self.facts.columns)} coefficients"
        at = self.params_at([0.25, 0.5, 0.75]).to_string(float_format=number)
        return f"{self.title}\n\nCall:\n{self.facts.call}\n\n{rows}\n\nCoefficients at some taus:\n{at}"

    def plot(self, terms: Any = None, axes: Any = None) -> Any:
        """Draw each coefficient against tau as the step function it is; return the array of Axes."""
        from qreg_boost.plots.process import plot_steps

        known = [str(name) for name in self.facts.columns if name not in self.facts.aliased]
        names = known[:12] if terms is None else [terms] if isinstance(terms, str) else list(terms)
        unknown = [name for name in names if name not in known]
        if unknown:
            raise InputError(f"There is no coefficient {unknown[0]!r}. Terms: {listed(known)}.")
        if not names:
            raise InputError(f"`terms` is empty, so there is nothing to draw. Terms: {listed(known)}.")
        return plot_steps(self.process.taus, self.coef[names], axes)


def _without_rows() -> NotDefinedError:
    return NotDefinedError(
        "This process was loaded from a file, which never holds its rows, so no single fit can be made. "
        "params_at(tau) and predict(new, tau) need none; for standard errors, tests or fitted values fit the data anew "
        "with qreg or qreg_process."
    )
