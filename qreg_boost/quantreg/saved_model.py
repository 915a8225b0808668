"""Quantile regressions read from saved files: results and processes, with a model where the rows were saved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from qreg_boost.base.design import Design, Encoder, Term
from qreg_boost.quantreg.facts import QRegFacts
from qreg_boost.quantreg.inference import Estimate
from qreg_boost.quantreg.model import QReg
from qreg_boost.quantreg.process_results import QRegPath
from qreg_boost.quantreg.results import QRegResults, SEChoice
from qreg_boost.quantreg.solution import Solution, Status


def restore_qreg(meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> QRegResults:
    """Return the results that `QRegResults.state` wrote; with a model if the rows were saved."""
    parts: dict[str, dict[str, np.ndarray]] = {"fit": {}, "encoder": {}, "model": {}}
    for name, array in arrays.items():
        part, _, own = name.partition(".")
        parts[part][own] = array
    facts, fit = QRegFacts.from_state(meta["facts"]), parts["fit"]
    encoder = Encoder.from_state(meta["encoder"], parts["encoder"])
    estimates = {
        kind: Estimate.from_state(about, {name.removeprefix(f"{kind}."): array for name, array in fit.items()})
        for kind, about in meta["estimates"].items()
    }
    model = solution = None
    if "model" in meta:
        model = _restore_model(meta, parts["model"], facts, encoder)
        status = next((one for one in Status if one.value == facts.status), Status.OPTIMAL)
        solution = Solution(
            fit["coef"], facts.objective, facts.duality_gap, facts.iterations, status,
            np.array(facts.dropped, dtype=np.intp), fit["a"], fit["basis"], facts.unique,
        )  # fmt: skip
    known = {"encoder": encoder, "null_loss": float(meta["null_loss"]), "estimates": estimates}
    return QRegResults(facts, fit["coef"], SEChoice(meta["se"]), model, solution, known)


def restore_process(meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> QRegPath:
    """Return the process that `QRegPath.state` wrote; without a model."""
    from qreg_boost.quantreg.process import Process

    parts: dict[str, dict[str, np.ndarray]] = {"process": {}, "encoder": {}}
    for name, array in arrays.items():
        part, _, own = name.partition(".")
        parts[part][own] = array
    encoder = Encoder.from_state(meta["encoder"], parts["encoder"])
    return QRegPath(Process(**parts["process"]), QRegFacts.from_state(meta["facts"]), None, encoder)


def _restore_model(
    meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray], facts: QRegFacts, encoder: Encoder
) -> QReg:
    design = Design(
        y=arrays["y"],
        X=arrays["X"],
        column_names=facts.columns[1:] if facts.intercept else facts.columns,
        terms=tuple(Term(name, columns) for name, columns in facts.terms),
        intercept=facts.intercept,
        weights=arrays.get("weights"),
        offset=arrays.get("offset"),
        index=pd.Index(arrays["index"], name=meta["model"]["index_name"]),
        rows=arrays["rows"],
        n_dropped=facts.n_dropped,
        response=facts.response,
        formula=facts.formula,
        encoder=encoder,
    )
    model = QReg.from_design(design, facts.tau, meta["se"], facts.method)
    model.call = facts.call
    model.groups = arrays.get("groups")
    return model
