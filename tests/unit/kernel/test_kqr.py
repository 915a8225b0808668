"""Kernel quantile regression: optimality, quantile property, weights, units, the linear kernel's limit, messages."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import qreg_boost as qb
from qreg_boost.base.checks import BoundWarning, ConvergenceWarning, CrossingWarning, InputError, NotDefinedError
from qreg_boost.kernel import box_qp, incomplete_cholesky
from qreg_boost.kernel.kernels import RBF, read_kernel

KERNELS = {
    "rbf": {},
    "laplace": {"gamma": 0.5},
    "linear": {},
    "polynomial": {"kpar": {"degree": 3}},
    "spline": {},
}


def noisy(n: int = 90) -> pd.DataFrame:
    rng = np.random.default_rng(n)
    x, z = rng.uniform(0, 10, n), rng.normal(size=n)
    g = rng.choice(["a", "b", "c"], n)
    y = 100 + 20 * np.sin(x) + 5 * z + 8 * (g == "b") + rng.normal(size=n) * (2 + x / 2)
    return pd.DataFrame({"y": y, "x": x, "z": z, "g": g}, index=pd.RangeIndex(500, 500 + n))


DATA = noisy()


@pytest.mark.parametrize("tau", [0.05, 0.5, 0.8])
@pytest.mark.parametrize("kernel", KERNELS)
def test_optimality(kernel: str, tau: float) -> None:
    fit = qb.kqr("y ~ x + z + C(g)", DATA, tau=tau, C=3.0, kernel=kernel, **KERNELS[kernel])
    assert fit.duality_gap <= 1e-8
    a, r = fit.alpha.to_numpy(), fit.resid.to_numpy() / DATA["y"].std()
    assert (a >= 3.0 * (tau - 1) - 1e-9).all() and (a <= 3.0 * tau + 1e-9).all()
    assert abs(a.sum()) < 1e-7
    # complementarity: above the fit at the upper end, below at the lower one, on the fit between
    side = fit.side.to_numpy()
    assert (r[side == 1] > -1e-5).all() and (r[side == -1] < 1e-5).all()
    assert np.abs(r[side == 0]).max() < 1e-4
    assert (side == 1).mean() <= tau <= (side >= 0).mean() or (side == 1).mean() <= 1 - tau <= (side >= 0).mean()
    # the quantile property: at most a share tau of rows strictly below, at most 1 - tau strictly above
    assert (side == -1).mean() <= tau + 1e-9 and (side == 1).mean() <= 1 - tau + 1e-9


def test_objective_is_what_it_says() -> None:
    fit = qb.kqr("y ~ x + z", DATA, tau=0.3, C=2.0, gamma=0.4)
    X = DATA[["x", "z"]].to_numpy()
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    K = RBF(0.4).matrix(X)
    a = fit.alpha.to_numpy()
    y = ((DATA["y"] - DATA["y"].mean()) / DATA["y"].std()).to_numpy()
    r = y - K @ a - fit.b
    loss = float(np.sum(r * (0.3 - (r < 0))))
    assert fit.objective == pytest.approx(0.5 * a @ K @ a + 2.0 * loss, rel=1e-9)
    assert fit.risk == pytest.approx(loss * DATA["y"].std(), rel=1e-9)
    np.testing.assert_allclose(fit.fittedvalues, DATA["y"].mean() + DATA["y"].std() * (K @ a + fit.b), rtol=1e-9)
    # no other offset is better
    for step in (-1e-3, 1e-3):
        other = r + step
        assert np.sum(other * (0.3 - (other < 0))) >= loss - 1e-9


def test_linear_kernel_with_large_cost_is_quantile_regression() -> None:
    engel = qb.datasets.load("engel")
    fit = qb.kqr("foodexp ~ income", engel, tau=0.25, kernel="linear", C=1e4)
    exact = qb.qreg("foodexp ~ income", engel, tau=0.25)
    np.testing.assert_allclose(fit.params, exact.params, rtol=1e-4)
    assert fit.risk == pytest.approx(exact.objective, rel=1e-5)
    assert list(fit.params.index) == ["Intercept", "income"]
    np.testing.assert_allclose(fit.fittedvalues, fit.params["Intercept"] + fit.params["income"] * engel["income"])


def test_a_large_cost_goes_through_every_row() -> None:
    fit = qb.kqr("y ~ x + z", DATA, tau=0.5, C=1e6, gamma=20.0)
    assert np.abs(fit.resid).max() < 1e-3 * DATA["y"].std()
    assert fit.n_on > 60


def test_whole_weights_are_repeated_rows() -> None:
    weights = np.arange(90) % 3
    weighted = qb.kqr("y ~ x + z", DATA, tau=0.4, C=2.0, gamma=0.5, weights=weights)
    repeated = qb.kqr("y ~ x + z", DATA.loc[DATA.index.repeat(weights)], tau=0.4, C=2.0, gamma=0.5)
    assert weighted.objective == pytest.approx(repeated.objective, rel=1e-8)
    np.testing.assert_allclose(weighted.predict(DATA), repeated.predict(DATA), atol=1e-4 * DATA["y"].std())
    assert weighted.risk == pytest.approx(repeated.risk, rel=1e-5)
    assert weighted.null_loss == pytest.approx(repeated.null_loss)
    assert weighted.nobs == 60 and (weighted.alpha[weights == 0] == 0).all()
    assert weighted.fittedvalues.notna().all()


def test_units_of_data_do_not_matter() -> None:
    plain = qb.kqr("y ~ x + z", DATA, tau=0.7, C=5.0)
    other = DATA.assign(y=1e6 * DATA["y"] - 3e5, x=1e-5 * DATA["x"], z=100 * DATA["z"] + 7)
    moved = qb.kqr("y ~ x + z", other, tau=0.7, C=5.0)
    np.testing.assert_allclose(moved.fittedvalues, 1e6 * plain.fittedvalues - 3e5, atol=1e6 * 1e-5 * DATA["y"].std())
    assert moved.gamma == pytest.approx(plain.gamma)


def test_order_of_rows_does_not_matter() -> None:
    shuffled = DATA.sample(frac=1.0, random_state=1)
    ours, theirs = (qb.kqr("y ~ x + z + C(g)", data, tau=0.3, C=2.0) for data in (DATA, shuffled))
    assert theirs.objective == pytest.approx(ours.objective, rel=1e-9)
    np.testing.assert_allclose(theirs.fittedvalues[DATA.index], ours.fittedvalues, atol=1e-5 * DATA["y"].std())


def test_without_standardising() -> None:
    fit = qb.kqr("y ~ x + z", DATA, tau=0.5, C=2.0, gamma=0.3, standardize=False)
    K = RBF(0.3).matrix(DATA[["x", "z"]].to_numpy())
    np.testing.assert_allclose(fit.fittedvalues, K @ fit.alpha + fit.b)
    assert fit.facts.own["unit"] == 1.0


def test_arrays_precomputed_and_own_kernels_are_the_same_fit() -> None:
    X = DATA[["x", "z"]].to_numpy()
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    kernel = RBF(0.4)
    fit = qb.KQR(DATA["y"], X, C=2.0, kernel=kernel).fit()
    own = qb.KQR(DATA["y"], X, C=2.0, kernel=lambda A, B: kernel.matrix(A, B)).fit()
    given = qb.KQR(DATA["y"], kernel.matrix(X), C=2.0, kernel="precomputed").fit()
    new = X[:7] + 0.1
    np.testing.assert_allclose(own.predict(new), fit.predict(new), rtol=1e-6)
    np.testing.assert_allclose(given.predict(kernel.matrix(new, X)), fit.predict(new), rtol=1e-6)
    weights = (np.arange(90) % 4 > 0).astype(float)
    given = qb.KQR(DATA["y"], kernel.matrix(X), C=2.0, kernel="precomputed", weights=weights).fit()
    fit = qb.KQR(DATA["y"], X, C=2.0, kernel=kernel, weights=weights, standardize=False)
    assert given.nobs == int(weights.sum()) and given.fittedvalues.notna().all()
    assert fit.fit().fittedvalues.notna().all()


def test_low_rank_comes_near_the_whole_kernel() -> None:
    whole = qb.kqr("y ~ x + z", DATA, tau=0.3, C=2.0)
    for rank, within in ((60, 1e-2), (1e-8, 1e-4)):
        near = qb.kqr("y ~ x + z", DATA, tau=0.3, C=2.0, low_rank=rank)
        assert near.objective == pytest.approx(whole.objective, rel=within)
        assert near.duality_gap <= 1e-8
        np.testing.assert_allclose(near.predict(DATA), near.fittedvalues)
    assert near.facts.own["rank_error"] <= 1e-8
    assert "Rank:" in near.summary().as_text()


def test_new_data() -> None:
    fit = qb.kqr("y ~ x + np.abs(z) + C(g)", DATA, tau=0.3)
    new = DATA.iloc[:5].drop(columns="y")
    np.testing.assert_allclose(fit.predict(new), fit.fittedvalues.iloc[:5])
    assert list(fit.predict(new).index) == list(new.index)
    new.loc[new.index[2], "x"] = np.nan
    assert fit.predict(new).isna().tolist() == [False, False, True, False, False]
    with pytest.raises(InputError, match="level"):
        fit.predict(new.assign(g="d"))


# -- several taus ------------------------------------------------------------------------------------------------------


def test_several_taus_and_crossing() -> None:
    taus = [0.5, 0.1, 0.3, 0.9]
    apart = qb.kqr("y ~ x + z", DATA, tau=taus, C=200.0)
    together = qb.kqr("y ~ x + z", DATA, tau=taus, C=200.0, noncrossing=True)
    assert apart.crossings > 0 and together.crossings == 0
    assert list(apart.fittedvalues.columns) == taus
    assert (together.duality_gap <= 1e-7).all() and (apart.duality_gap <= 1e-8).all()
    # held apart costs something, and no more than what the certificate says
    assert apart.objective.sum() < together.objective.sum()
    np.testing.assert_allclose(apart[0.1].fittedvalues, qb.kqr("y ~ x + z", DATA, tau=0.1, C=200.0).fittedvalues)
    with pytest.warns(CrossingWarning):
        apart.predict(DATA)
    assert "3 Quantiles" not in apart.summary().as_text() and "4 Quantiles" in apart.summary().as_text()
    assert "do not cross" in together.summary().as_text()


def test_workers_fit_several_taus_alike() -> None:
    one, two = (qb.kqr("y ~ x + z", DATA, tau=[0.2, 0.5, 0.7], C=2.0, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one.fittedvalues, two.fittedvalues)
    with pytest.raises(InputError, match="`n_jobs`"):
        qb.kqr("y ~ x", DATA, tau=[0.2, 0.5], n_jobs=0)


def test_held_apart_is_no_change_where_nothing_crosses() -> None:
    apart = qb.kqr("y ~ x", DATA, tau=[0.1, 0.9], C=0.1)
    together = qb.kqr("y ~ x", DATA, tau=[0.1, 0.9], C=0.1, noncrossing=True)
    assert apart.crossings == 0
    np.testing.assert_array_equal(together.fittedvalues, apart.fittedvalues)


def test_noncrossing_of_weighted_rows() -> None:
    weights = (np.arange(90) % 3).astype(float)
    fits = qb.kqr("y ~ x + z", DATA, tau=[0.2, 0.4, 0.6], C=500.0, gamma=0.6, weights=weights, noncrossing=True)
    repeated = DATA.loc[DATA.index.repeat(weights.astype(int))]
    again = qb.kqr("y ~ x + z", repeated, tau=[0.2, 0.4, 0.6], C=500.0, gamma=0.6, noncrossing=True)
    assert fits.objective.sum() == pytest.approx(again.objective.sum(), rel=1e-6)
    assert (np.diff(fits.fittedvalues[weights > 0], axis=1) >= -1e-9).all()


@pytest.mark.parametrize("standardize", [True, False])
def test_a_constant_response_is_fitted_by_itself(standardize: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fits = qb.kqr("y ~ x", DATA.assign(y=3.3), tau=[0.1, 0.5, 0.9], standardize=standardize)
    assert (fits.fittedvalues == 3.3).all(axis=None) and (fits.risk == 0).all() and (fits.n_on == 90).all()
    assert fits.prsquared.isna().all() and (fits.duality_gap == 0).all()
    weights = (DATA["z"] > 0).astype(float)
    mostly = qb.kqr("y ~ x", DATA.assign(y=np.where(weights > 0, 1.0, 7.0)), tau=0.2, weights=weights)
    assert (mostly.fittedvalues == 1.0).all()


def test_a_response_far_from_nil_keeps_its_digits() -> None:
    near = qb.kqr("y ~ x", DATA, tau=0.3, gamma=1.0, standardize=False)
    far = qb.kqr("y ~ x", DATA.assign(y=DATA["y"] + 2.0**36), tau=0.3, gamma=1.0, standardize=False)
    # y itself was rounded to 1.5e-5, 1e-6 of its spread
    assert far.duality_gap < 1e-8 and far.objective == pytest.approx(near.objective, rel=1e-6)
    np.testing.assert_allclose(far.fittedvalues - 2.0**36, near.fittedvalues, atol=1e-3)


# -- choosing ----------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:The best C")
def test_cross_validation_is_that_of_fits_to_folds() -> None:
    labels = np.arange(90) % 3
    fit = qb.kqr("y ~ x + z", DATA, tau=0.3, gamma=0.5)
    found = fit.cv(C=[1.0, 10.0], gamma=[0.1, 0.5], folds=labels)
    assert list(found.table.columns) == ["C", "gamma", "mean_loss", "std_error"] and found.risk.shape == (3, 4)
    # by hand: the same standardising, fold by fold
    X = DATA[["x", "z"]].to_numpy()
    X, y = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1), DATA["y"].to_numpy()
    scale = DATA["y"].std()
    for fold in range(3):
        train, held = labels != fold, labels == fold
        model = qb.KQR(y[train] / scale, X[train], 0.3, C=10.0, gamma=0.1, standardize=False).fit()
        r = y[held] - scale * model.predict(X[held]).to_numpy()
        loss = float(np.mean(r * (0.3 - (r < 0))))
        assert found.risk[(10.0, 0.1)].iloc[fold] == pytest.approx(loss, rel=1e-4)
    best = found.table.loc[found.table["mean_loss"].idxmin()]
    assert (found.C, found.gamma) == (best["C"], best["gamma"])
    assert f"Least at C = {found.C:g}" in str(found)


def test_lists_of_cost_and_gamma_are_chosen_from() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BoundWarning)
        fit = qb.kqr("y ~ x + z", DATA, tau=0.3, C=[0.1, 2.0], gamma=[0.05, 0.5], k=3)
        two = qb.kqr("y ~ x + z", DATA, tau=0.3, C=[0.1, 2.0], gamma=[0.05, 0.5], k=3, n_jobs=2)
    assert (fit.C, fit.gamma) == (fit.cv_result.C, fit.cv_result.gamma)
    pd.testing.assert_frame_equal(fit.cv_result.risk, two.cv_result.risk)
    alone = qb.kqr("y ~ x + z", DATA, tau=0.3, C=fit.C, gamma=fit.gamma)
    np.testing.assert_allclose(fit.fittedvalues, alone.fittedvalues)
    assert "cross-validated" in fit.summary().as_text()
    with pytest.raises(NotDefinedError, match="not chosen"):
        alone.cv_result  # noqa: B018


def test_a_best_cost_at_the_edge_is_told() -> None:
    with pytest.warns(BoundWarning, match="The best C is the smallest tried, 1e.06; try smaller ones"):
        qb.kqr("y ~ rng", DATA.assign(rng=np.random.default_rng(1).normal(size=90)), C=[1e-6, 1e5], gamma=5.0, k=3)


def test_path_in_cost() -> None:
    fit = qb.kqr("y ~ x + z", DATA, tau=0.3, C=2.0)
    path = fit.path([0.1, 2.0, 50.0])
    assert len(path) == 3 and (np.diff(path.table["loss"]) < 0).all() and (np.diff(path.table["penalty"]) > 0).all()
    assert path.at(2.0).objective == pytest.approx(fit.objective, rel=1e-8)
    assert (path.table["duality_gap"] < 1e-8).all()
    assert path.table["sic"].idxmin() == path.select("sic").C
    with pytest.raises(InputError, match="No fit at C=3"):
        path.at(3.0)
    with pytest.raises(
        InputError, match=r"`C` must be a number above 0; got 'a'\. It weighs the losses against the penalty\.$"
    ):
        fit.path("a")


# -- what comes back ---------------------------------------------------------------------------------------------------


def test_tables() -> None:
    fit = qb.kqr("y ~ x + z", DATA, tau=0.3)
    assert fit.glance().loc[0, "n_on"] == fit.n_on == fit.sides().loc[1, "count"]
    assert fit.sides()["count"].sum() == 90
    rows = fit.augment()
    assert {".fitted", ".resid", ".side"} <= set(rows) and list(rows.index) == list(DATA.index)
    np.testing.assert_allclose(fit.augment(DATA)[".resid"], fit.resid)
    assert 0 < fit.prsquared < 1
    assert list(qb.kqr("y ~ x + z", DATA, kernel="linear").tidy()["term"]) == ["Intercept", "x", "z"]
    assert "rows" in fit.summary().as_html().lower() and "Kernel" in fit.summary().as_latex()
    assert "kqr(" in str(fit) and fit._repr_html_()


@pytest.mark.parametrize("data", [False, True])
@pytest.mark.parametrize("kernel", KERNELS)
def test_saved_and_pickled(kernel: str, data: bool, tmp_path: Path) -> None:
    fit = qb.kqr("y ~ x + z + C(g)", DATA, tau=0.3, kernel=kernel, **KERNELS[kernel])
    again = qb.load(fit.save(tmp_path / "fit", data=data))
    np.testing.assert_array_equal(again.predict(DATA), fit.predict(DATA))
    assert again.summary().as_text() == fit.summary().as_text()
    if data:
        np.testing.assert_allclose(again.fittedvalues, fit.fittedvalues)
        pd.testing.assert_series_equal(again.alpha, fit.alpha)
        assert again.path([1.0]).at(1.0).objective == pytest.approx(fit.objective, rel=1e-8)
    else:
        with pytest.raises(NotDefinedError, match="without the rows"):
            again.fittedvalues  # noqa: B018
    pickled = pickle.loads(pickle.dumps(fit))
    np.testing.assert_array_equal(pickled.predict(DATA), fit.predict(DATA))


def test_processes_are_saved(tmp_path: Path) -> None:
    fits = qb.kqr("y ~ x", DATA, tau=[0.2, 0.7])
    again = qb.load(fits.save(tmp_path / "fits"))
    pd.testing.assert_frame_equal(again.predict(DATA), fits.predict(DATA))


# -- messages ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"tau": 20}, r"strictly between 0 and 1; got 20"),
        ({"tau": []}, "empty list"),
        ({"tau": [0.5, 0.5]}, "twice"),
        ({"C": 0}, r"`C` must be a number above 0; got 0"),
        ({"C": []}, "`C` is an empty list"),
        ({"gamma": []}, "`gamma` is an empty list"),
        ({"gamma": -1}, "`gamma` must be a number above 0"),
        ({"kernel": "gauss"}, "`kernel` must be one of"),
        ({"kernel": "precomputed"}, "matrix"),
        ({"standardize": "yes"}, "`standardize` must be True or False"),
        ({"low_rank": 0}, "`low_rank` must be a whole number of at least 1"),
        ({"weights": -np.ones(90)}, "must not be negative"),
    ],
)
def test_bad_arguments(given: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        qb.kqr("y ~ x + z", DATA, **given)


def test_memory_is_that_of_two_matrices() -> None:
    """The kernel matrix, and one factor: the functions that coneqp keeps of earlier iterations hold none."""
    import tracemalloc

    data = noisy(500)
    qb.kqr("y ~ x + z", data, gamma=0.5)  # what is imported and cached
    tracemalloc.start()
    qb.kqr("y ~ x + z", data, gamma=0.5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2.6 * 8 * 500**2


def test_sizes_that_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incomplete_cholesky, "MOST_ROWS", 50)
    with pytest.raises(InputError, match=r"90 rows make a kernel matrix .* at most 50 rows.*low_rank"):
        qb.kqr("y ~ x", DATA)
    assert qb.kqr("y ~ x", DATA, kernel="linear").nobs == 90
    big = pd.DataFrame({"y": np.arange(1300.0), "x": np.arange(1300.0)})
    monkeypatch.setattr(incomplete_cholesky, "MOST_ROWS", 5000)
    with pytest.raises(InputError, match=r"5 taus x 1300 rows = 6500 unknowns, and at most 6000"):
        qb.kqr("y ~ x", big, tau=[0.1, 0.2, 0.3, 0.4, 0.5], noncrossing=True)


def test_no_predictor_and_no_such_argument() -> None:
    with pytest.raises(InputError, match="no predictor"):
        qb.kqr("y ~ 1", DATA)
    with pytest.raises(InputError, match="There is no argument 'cost'"):
        qb.KQR(DATA["y"], DATA[["x"]], cost=1.0)


def test_what_has_no_meaning_names_what_to_ask() -> None:
    fit = qb.kqr("y ~ x + z", DATA)
    with pytest.raises(NotDefinedError, match="has no coefficients"):
        fit.params  # noqa: B018
    with pytest.raises(NotDefinedError, match="duality_gap"):
        fit.optimality_gap  # noqa: B018
    with pytest.raises(NotDefinedError, match="no gamma"):
        qb.kqr("y ~ x", DATA, kernel="linear").gamma  # noqa: B018
    with pytest.raises(InputError, match="no offset"):
        fit.predict(DATA, offset=np.ones(90))
    with pytest.raises(InputError, match="cannot hold the kernel function"):
        qb.kqr("y ~ x", DATA, kernel=lambda A, B: A @ B.T).save("nowhere")


def test_a_kernel_that_is_none() -> None:
    with pytest.raises(InputError, match="not positive semidefinite"):
        qb.kqr("y ~ x + z", DATA, kernel=lambda A, B: -read_kernel("linear").matrix(A, B) * 100)


def test_an_unsolved_program_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(box_qp, "MOST_ITERATIONS", 2)
    monkeypatch.setattr(box_qp, "MORE_ITERATIONS", 1)
    monkeypatch.setattr(box_qp, "solve_by_active_set", lambda problem, guess: None)
    with pytest.warns(ConvergenceWarning, match="tau = 0.5, C = 1: Stopped before the optimum"):
        fit = qb.kqr("y ~ x + z", DATA)
    assert "Stopped before the optimum" in " ".join(fit.summary().as_text().split())
