"""Saved boosted fits made whole again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from qreg_boost.base.checks import FileFormatError
from qreg_boost.base.design import Encoder
from qreg_boost.base.saved_design import parts_of, restore_design
from qreg_boost.boosting.base_model import BoostModel
from qreg_boost.boosting.basis_path import BasisPath
from qreg_boost.boosting.classifier_model import QBC, AdaBoost, LogitBoost
from qreg_boost.boosting.classifier_results import AdaBoostResults, L2ClassResults, LogitBoostResults, QBCResults
from qreg_boost.boosting.facts import BoostFacts
from qreg_boost.boosting.l2_model import CLASSES, L2Boost
from qreg_boost.boosting.l2_results import L2Results
from qreg_boost.boosting.learners.stored import restored
from qreg_boost.boosting.linear_path import LinearPath
from qreg_boost.boosting.model import QBR
from qreg_boost.boosting.path import BoostPath
from qreg_boost.boosting.qbr_results import QBRResults
from qreg_boost.boosting.results import BoostResults
from qreg_boost.boosting.tree_path import TreePath

FAMILIES: dict[str, tuple[type[BoostModel], type[BoostResults]]] = {
    "qbr": (QBR, QBRResults),
    "qbc": (QBC, QBCResults),
    "l2boost": (L2Boost, L2Results),
    CLASSES: (L2Boost, L2ClassResults),
    "logitboost": (LogitBoost, LogitBoostResults),
    "adaboost": (AdaBoost, AdaBoostResults),
}
"""Model and results of each family."""
PATHS: dict[str, type[BoostPath]] = {path.kind: path for path in (LinearPath, BasisPath, TreePath)}
"""Kinds of path, by name."""


def restore_boost(meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> BoostResults:
    """Return the results that `BoostResults.state` wrote; with a model if the rows were saved."""
    parts = parts_of(arrays, "path", "encoder", "model")
    facts = BoostFacts.from_state(meta["facts"])
    if facts.family not in FAMILIES or meta["path"]["kind"] not in PATHS:
        raise FileFormatError(
            f"The file holds a fit of {facts.family!r} with a path of kind {meta['path']['kind']!r}, which this "
            "version of qreg_boost does not know. Upgrade it."
        )
    model_kind, results_kind = FAMILIES[facts.family]
    encoder = Encoder.from_state(meta["encoder"], parts["encoder"])
    path = PATHS[meta["path"]["kind"]].from_state(meta["path"], parts["path"])
    model = None
    if "model" in meta:
        design = restore_design(meta["model"], parts["model"], facts, encoder)
        options = {**meta["model"]["options"], "learner": restored(meta["model"]["options"]["learner"])}
        model = model_kind.from_design(design, meta["model"]["call"], **options)
    return results_kind(facts, path, int(meta["mstop"]), model, None, {"encoder": encoder, **meta["known"]})
