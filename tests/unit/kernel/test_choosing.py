"""Cross-validation of C and gamma by tau: coverage, quantiles held apart, what files keep."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import qreg_boost as qb
from qreg_boost.base.checks import CrossingWarning, InputError, NotDefinedError

pytestmark = pytest.mark.filterwarnings("ignore::qreg_boost.base.checks.BoundWarning")
RNG = np.random.default_rng(4)
TAUS = [0.6, 0.4, 0.5]


def rough(n: int = 60) -> pd.DataFrame:
    x = RNG.uniform(0, 6, n)
    return pd.DataFrame({"x": x, "y": 100 * (np.sin(x) + RNG.normal(size=n))})


DATA = rough()
FOLDS = np.arange(60) % 3


def test_by_tau_is_the_cross_validation_of_each() -> None:
    fits = qb.kqr("y ~ x", DATA, tau=TAUS, gamma=1.0)
    found = fits.cv(C=[0.1, 1.0, 10.0], gamma=[0.3, 3.0], folds=FOLDS)
    table = found.by_tau
    assert list(table.columns) == ["tau", "C", "gamma", "mean_loss", "std_error", "coverage"] and len(table) == 18
    for tau in TAUS:
        alone = fits[tau].cv(C=[0.1, 1.0, 10.0], gamma=[0.3, 3.0], folds=FOLDS)
        own = table[table["tau"] == tau].reset_index(drop=True)
        pd.testing.assert_frame_equal(own[alone.table.columns], alone.table)
        best = found.best_by_tau.set_index("tau").loc[tau]
        assert (best["C"], best["gamma"]) == (alone.C, alone.gamma) and best["mean_loss"] == own["mean_loss"].min()
    np.testing.assert_allclose(found.table["mean_loss"], table.groupby(["gamma", "C"])["mean_loss"].mean(), rtol=1e-12)
    assert set(found.chosen["C"]) == {found.C} and list(found.chosen["tau"]) == TAUS
    assert "mean over 3 taus" in str(found) and "what is best for each tau alone" in str(found)


def test_figure_of_all_taus_and_of_one() -> None:
    import matplotlib

    matplotlib.use("Agg")
    found = qb.kqr("y ~ x", DATA, tau=TAUS, gamma=1.0).cv(C=[0.1, 1.0, 10.0], gamma=[0.3, 3.0], folds=FOLDS)
    for tau, table, title in ((None, found.table, "mean over 3 taus"), (0.4, found.by_tau[6:12], "tau 0.4")):
        ax = found.plot(tau=tau)
        assert title in ax.get_title(loc="left")
        ringed = ax.get_lines()[-1].get_xydata()[0]
        assert tuple(ringed) == tuple(table.loc[table["mean_loss"].idxmin(), ["C", "mean_loss"]])
    with pytest.raises(InputError, match=r"no tau=0.3 in this cross-validation; taus: 0.6, 0.4, 0.5"):
        found.plot(tau=0.3)


def test_coverage_is_that_of_held_out_rows() -> None:
    fit = qb.kqr("y ~ x", DATA, tau=0.4, gamma=1.0)
    found = fit.cv(C=[1.0, 10.0], folds=FOLDS)
    X, scale = ((DATA["x"] - DATA["x"].mean()) / DATA["x"].std()).to_numpy(), DATA["y"].std()
    shares = []
    for fold in range(3):
        train, held = fold != FOLDS, fold == FOLDS
        options = {"C": 10.0, "gamma": 1.0, "standardize": False}
        model = qb.KQR(DATA["y"][train] / scale, X[train], 0.4, **options).fit()
        shares.append(np.mean(DATA["y"][held].to_numpy() <= scale * model.predict(X[held][:, None]).to_numpy()))
    assert found.by_tau["coverage"].iloc[1] == pytest.approx(np.mean(shares), abs=1e-12)
    assert "coverage" in str(found)


def test_ties_with_the_fit_are_covered() -> None:
    data = pd.DataFrame({"x": np.arange(40.0), "y": np.where(np.arange(40) % 10 == 3, 1.0, 0.0)})
    found = qb.kqr("y ~ x", data, tau=0.5, C=0.01, gamma=1.0).cv(C=[0.01], folds=np.arange(40) % 4)
    # the median is 0 but for rounding, and so are nine of ten rows
    assert found.by_tau["coverage"].iloc[0] == pytest.approx(0.9)


def test_quantiles_held_apart_are_judged_held_apart() -> None:
    fits = qb.kqr("y ~ x", DATA, tau=TAUS, gamma=30.0, C=50.0, noncrossing=True)
    found, separate = (one.cv(C=[50.0], folds=FOLDS) for one in (fits, qb.kqr("y ~ x", DATA, tau=TAUS, gamma=30.0)))
    assert found.together and not separate.together and "held apart" in str(found)
    assert abs(found.table["mean_loss"][0] - separate.table["mean_loss"][0]) > 0.1
    # by hand: the same standardising, fold by fold
    X, scale = ((DATA["x"] - DATA["x"].mean()) / DATA["x"].std()).to_numpy(), DATA["y"].std()
    for fold in range(3):
        train, held = fold != FOLDS, fold == FOLDS
        options = {"C": 50.0, "gamma": 30.0, "standardize": False, "noncrossing": True}
        model = qb.KQR(DATA["y"][train] / scale, X[train], TAUS, **options).fit()
        with pytest.warns(CrossingWarning):
            r = DATA["y"][held].to_numpy()[:, None] - scale * model.predict(X[held][:, None]).to_numpy()
        losses = (r * (np.array(TAUS) - (r < 0))).mean(axis=0)
        # the interior point's fits agree to 1e-5 of the spread of y
        np.testing.assert_allclose(found.losses[fold, :, 0], losses, atol=1e-3)
    # a fit of one tau is judged alone
    assert not fits[0.5].cv(C=[50.0], folds=FOLDS).together
    # and lists of C are chosen from in the same way
    chosen = qb.kqr("y ~ x", DATA, tau=TAUS, gamma=30.0, C=[1.0, 50.0], noncrossing=True, folds=FOLDS)
    assert chosen.cv_result.together and "quantiles held apart" in " ".join(chosen.summary().as_text().split())


def test_what_was_chosen_is_said_and_kept(tmp_path: Path) -> None:
    fits = qb.kqr("y ~ x", DATA, tau=[0.2, 0.8], C=[0.5, 1.0], gamma=[0.5, 1.0, 2.0], k=3)
    text = " ".join(fits.summary().as_text().split())
    assert "C and gamma have the least check loss in 3-fold cross-validation, mean over 2 taus" in text
    assert text.count("(cross-validated)") == 2
    only = " ".join(qb.kqr("y ~ x", DATA, C=[0.5, 1.0], gamma=1.0, k=3).summary().as_text().split())
    assert "C has the least check loss" in only and only.count("(cross-validated)") == 1
    for data in (False, True):
        again = qb.load(fits.save(tmp_path / f"fits{data}", data=data))
        pd.testing.assert_frame_equal(again.cv_result.by_tau, fits.cv_result.by_tau)
        assert str(again.cv_result) == str(fits.cv_result) and again.cv_result.C == fits.C
        assert again.summary().as_text() == fits.summary().as_text()
    with pytest.raises(NotDefinedError, match="not chosen"):
        fits[0.2].path([3.0]).at(3.0).cv_result  # noqa: B018


def test_each_cost_is_tried_once() -> None:
    assert len(qb.kqr("y ~ x", DATA, gamma=1.0).cv(C=[1.0, 2.0, 1.0], k=3).table) == 2
    with pytest.raises(NotDefinedError, match="not chosen"):
        qb.kqr("y ~ x", DATA, C=[1.0, 1.0], gamma=[0.5, 0.5]).cv_result  # noqa: B018
    with pytest.raises(InputError, match=r"The kernel \(linear\) has no gamma to choose"):
        qb.kqr("y ~ x", DATA, kernel="linear").cv(C=[1.0], gamma=0.5)


@pytest.mark.parametrize("n_jobs", [0, "a", True, 1.5])
def test_workers_are_counted(n_jobs: object) -> None:
    with pytest.raises(InputError, match="`n_jobs` must be a number of workers, or -1 for all processors"):
        qb.kqr("y ~ x", DATA, gamma=1.0).cv(C=[1.0, 2.0], k=3, n_jobs=n_jobs)
