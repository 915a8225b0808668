"""Models before they are fitted: what every kind shows of itself."""

from __future__ import annotations

import numpy as np
import pytest

import qreg_boost as qb

X = np.random.default_rng(0).normal(size=(30, 2))
NUMBER, TWO, THREE = X[:, 0] + 1.0, X[:, 0] > 0.0, np.repeat(["a", "b", "c"], 10)
MODELS = {
    **dict.fromkeys((qb.QBR, qb.QReg, qb.L1QReg, qb.L2Boost, qb.Quanting, qb.KQR), NUMBER),
    **dict.fromkeys((qb.QBC, qb.LogitBoost, qb.AdaBoost, qb.MedianClassifier, qb.BinaryQReg, qb.Jous), TWO),
    **dict.fromkeys((qb.RejectClassifier, qb.Chow, qb.QBCPair), TWO),
    qb.MultiClass: THREE,
}


def test_every_model_is_here() -> None:
    """Classes that take arrays, as `QBR(y, X)`."""
    found = {one for one in vars(qb).values() if isinstance(one, type) and hasattr(one, "from_formula")}
    assert found == set(MODELS)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_a_model_shows_the_call_that_made_it(model: type) -> None:
    shown = repr(model(MODELS[model], X))
    assert shown.startswith(f"{model.__name__}(y, X") and shown.endswith(")")
