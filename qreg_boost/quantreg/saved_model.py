"""Quantile regressions read from saved files: results and processes, with a model where the rows were saved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from qreg_boost.base.design import Encoder
from qreg_boost.base.saved_design import parts_of, restore_design
from qreg_boost.quantreg.facts import QRegFacts
from qreg_boost.quantreg.inference import Estimate
from qreg_boost.quantreg.model import QReg
from qreg_boost.quantreg.process_results import QRegPath
from qreg_boost.quantreg.results import QRegResults, SEChoice
from qreg_boost.quantreg.solution import Solution, Status


def restore_qreg(meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> QRegResults:
    """Return the results that `QRegResults.state` wrote; with a model if the rows were saved."""
    parts = parts_of(arrays, "fit", "encoder", "model")
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

    parts = parts_of(arrays, "process", "encoder")
    encoder = Encoder.from_state(meta["encoder"], parts["encoder"])
    return QRegPath(Process(**parts["process"]), QRegFacts.from_state(meta["facts"]), None, encoder)


def _restore_model(
    meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray], facts: QRegFacts, encoder: Encoder
) -> QReg:
    design = restore_design(meta["model"], arrays, facts, encoder)
    model = QReg.from_design(design, facts.tau, meta["se"], facts.method)
    model.call = facts.call
    model.groups = arrays.get("groups")
    return model
