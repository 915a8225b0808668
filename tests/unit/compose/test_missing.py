"""missing="branch" inside what is made of boosters."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import qreg_boost as qb
from qreg_boost.base.checks import InputError


@pytest.fixture(scope="module")
def data() -> pd.DataFrame:
    """Rows whose x, where it is missing, says the most: the class is then c, and y high."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=240)
    gone = np.arange(240) % 4 == 0
    kind = np.where(gone, "c", np.where(x > 0, "a", "b"))
    y = np.where(gone, 5.0, x) + 0.1 * rng.normal(size=240)
    return pd.DataFrame({"x": np.where(gone, np.nan, x), "z": rng.normal(size=240), "kind": kind, "y": y, "gone": gone})


MAKERS = {
    "multiclass": lambda rows, **more: qb.multiclass("kind ~ x + z", rows, mstop=30, progress=False, **more),
    "jous": lambda rows, **more: qb.jous("gone ~ x + z", rows, mstop=20, grid=4, progress=False, **more),
    "over-sampled": lambda rows, **more: qb.jous(
        "gone ~ x + z", rows, sampling="over", mstop=20, grid=4, progress=False, **more
    ),
    "quanting": lambda rows, **more: qb.quanting("y ~ x + z", rows, cuts=6, mstop=20, progress=False, **more),
}


@pytest.mark.parametrize("name", MAKERS)
def test_rows_that_miss_predictors_stay_and_are_predicted(data, name: str, tmp_path) -> None:
    part = "classifier" if name == "quanting" else "booster"
    fit = MAKERS[name](data, missing="branch", **{part: "adaboost" if name == "multiclass" else "logitboost"})
    assert fit.nobs == 240
    predicted = fit.predict(data)
    assert predicted.notna().all()
    gone = data["gone"]
    if name == "multiclass":
        assert (predicted == data["kind"]).mean() > 0.98
    elif name == "quanting":
        # the cell above the last cut, at 1.66, holds the largest x and most rows that miss it
        assert predicted[gone].min() > 4.0 and predicted[data["x"] < 1.5].max() < 2.0
    else:
        assert (predicted == gone).all()
    again = qb.load(fit.save(tmp_path / "fit.qb"))
    assert again.predict(data).equals(predicted)


def test_other_classifiers_refuse(data) -> None:
    tree = pytest.importorskip("sklearn.tree")
    with pytest.raises(InputError, match=r'missing="branch" is for .* and not for DecisionTreeClassifier'):
        qb.multiclass("kind ~ x + z", data, missing="branch", booster=tree.DecisionTreeClassifier(), progress=False)
    with pytest.raises(InputError, match="splits nothing"):
        MAKERS["multiclass"](data, missing="branch", booster="qbc", learner="linear")
    assert MAKERS["multiclass"](data[data["kind"] != "c"], booster="logitboost").nobs == 180
