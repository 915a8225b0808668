"""Fits at several quantile levels, side by side."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest

import qreg_boost as qb
from qreg_boost.base.checks import CrossingWarning, InputError, NotDefinedError


@pytest.fixture(scope="module")
def data() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 1, 200)
    return pd.DataFrame({"y": x * rng.normal(size=200), "x": x})


@pytest.fixture(scope="module")
def fits(data):
    return qb.qbr("y ~ x", data, [0.75, 0.25, 0.5], mstop=200)


@pytest.fixture
def crossing() -> pd.DataFrame:
    """New rows left of all x seen: lines that spread to the right cross there."""
    return pd.DataFrame({"x": [-5.0, 0.9, -7.0]}, index=["a", "b", "c"])


@pytest.mark.parametrize("taus", [[0.75, 0.25], (0.1, 0.5), np.array([0.25, 0.5]), pd.Series([0.3, 0.6])])
def test_labels_are_the_taus_as_passed(data, taus) -> None:
    fits = qb.qbr("y ~ x", data, taus, mstop=10)
    assert list(fits.params.columns) == list(taus) and fits.params.columns.name == "tau"
    for table in (fits.fittedvalues, fits.resid, fits.predict(data.iloc[:2])):
        assert list(table.columns) == list(taus)
    for series in (fits.prsquared, fits.risk, fits.mstop, fits.optimality_gap):
        assert list(series.index) == list(taus)


def test_one_tau_in_a_list_is_a_process(data) -> None:
    fits = qb.qbr("y ~ x", data, [0.5], mstop=10)
    assert isinstance(fits, qb.QuantileProcess)
    assert fits.params.shape == (2, 1) and fits.crossings == 0


def test_each_fit_is_reached_by_its_tau(fits) -> None:
    assert fits[0.25].tau == 0.25 and [one.tau for one in fits] == [0.75, 0.25, 0.5]
    with pytest.raises(InputError, match=r"No fit at tau=0\.3; taus: 0\.75, 0\.25, 0\.5"):
        fits[0.3]


def test_an_empty_list_of_taus_is_refused(data) -> None:
    with pytest.raises(InputError, match="empty list"):
        qb.qbr("y ~ x", data, [])


def test_one_bad_tau_in_a_list(data) -> None:
    with pytest.raises(InputError, match=r"strictly between 0 and 1; got 1\.5"):
        qb.qbr("y ~ x", data, [0.5, 1.5])


def test_crossing_is_warned_of_and_counted(fits, crossing) -> None:
    with pytest.warns(CrossingWarning, match=r"quantiles of 2 of 3 rows cross; rearrange=True") as caught:
        table = fits.predict(crossing)
    assert caught[0].filename == __file__
    ordered = table[[0.25, 0.5, 0.75]].to_numpy()
    assert (np.diff(ordered, axis=1) < 0).any(axis=1).tolist() == [True, False, True]


def test_rearranging_sorts_each_row_and_warns_not(fits, crossing) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = fits.predict(crossing, rearrange=True)
    with pytest.warns(CrossingWarning):
        raw = fits.predict(crossing)
    assert list(table.columns) == [0.75, 0.25, 0.5] and table.index.equals(crossing.index)
    assert (np.diff(table[[0.25, 0.5, 0.75]], axis=1) >= 0).all()
    np.testing.assert_array_equal(np.sort(table, axis=1), np.sort(raw, axis=1))
    assert table.loc["b"].equals(raw.loc["b"])


def test_rows_with_missing_values_stay_missing_when_rearranged(fits, crossing) -> None:
    crossing.loc["d"] = np.nan
    table = fits.predict(crossing, rearrange=True)
    assert table.loc["d"].isna().all() and table.loc[["a", "b", "c"]].notna().all(axis=None)


def test_crossings_of_the_training_rows(fits) -> None:
    values = fits.fittedvalues[[0.25, 0.5, 0.75]].to_numpy()
    assert fits.crossings == (np.diff(values, axis=1) < 0).any(axis=1).sum()


def test_the_same_tau_twice_is_refused(data) -> None:
    with pytest.raises(InputError, match=r"level twice: 0\.5, 0\.5"):
        qb.qbr("y ~ x", data, [0.5, 0.5], mstop=20)


def test_other_iterations(fits) -> None:
    assert (fits.at(7).mstop == 7).all() and (fits.extend(250).mstop == 250).all() and (fits.mstop == 200).all()


def test_tables(fits, data) -> None:
    tidy = fits.tidy()
    assert list(tidy.columns[:3]) == ["tau", "term", "estimate"] and len(tidy) == 6
    assert tidy["tau"].tolist() == [0.75, 0.75, 0.25, 0.25, 0.5, 0.5]
    assert fits.glance()["tau"].tolist() == [0.75, 0.25, 0.5]
    rows = fits.augment()
    assert len(rows) == 3 * len(data) and rows.columns[0] == "tau"
    assert rows[rows["tau"] == 0.25][".fitted"].tolist() == fits.fittedvalues[0.25].tolist()


def test_a_column_named_tau_is_kept(data) -> None:
    fits = qb.qbr("y ~ tau", data.rename(columns={"x": "tau"}), [0.25, 0.75], mstop=10)
    rows = fits.augment()
    assert rows["tau"].tolist() == data["x"].tolist() * 2
    assert set(rows[".tau"]) == {0.25, 0.75}


def test_saved_and_pickled(fits, data, tmp_path) -> None:
    for again in (qb.load(fits.save(tmp_path / "fits.qb")), pickle.loads(pickle.dumps(fits))):
        assert isinstance(again, qb.QuantileProcess) and again.taus == fits.taus
        assert again.predict(data).equals(fits.predict(data))
        assert again.params.equals(fits.params) and again.tidy().equals(fits.tidy())


def test_coefficients_are_drawn_against_tau(fits) -> None:
    panels = fits.plot()
    assert [panel.get_title(loc="left") for panel in panels] == ["Intercept", "x"]
    points = panels[1].lines[0]
    assert points.get_xdata().tolist() == [0.25, 0.5, 0.75]  # in order, however the taus were given
    np.testing.assert_array_equal(points.get_ydata(), fits.params.loc["x", [0.25, 0.5, 0.75]])
    assert panels[0].figure.get_suptitle() == ""  # a boosted fit has no band to explain
    assert len(fits.plot(terms="x")) == 1
    with pytest.raises(InputError, match=r"no coefficient 'z'.*Terms: Intercept, x"):
        fits.plot(terms=["z"])


def test_what_has_no_coefficients_to_draw_says_so(data) -> None:
    with pytest.raises(NotDefinedError, match="no coefficients"):
        qb.qbr("y ~ x", data, [0.3, 0.7], learner="stump", mstop=3).plot()
    large = data.assign(y=data["y"] > 0.0)
    with pytest.raises(NotDefinedError, match=r"do not compare\. plot_errors\(\)"):
        qb.qbc("y ~ x", large, [0.4, 0.6], mstop=20).plot()


def test_what_one_fit_has_is_asked_of_one_fit(fits, data) -> None:
    with pytest.raises(
        NotDefinedError, match=r"QuantileProcess holds many fits, and `cv` is of one: fits\[0\.75\]\.cv\."
    ):
        fits.cv()
    assert not hasattr(fits, "cv") and not hasattr(fits, "nothing")
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        fits.nothing  # noqa: B018
    path = qb.qreg_process("y ~ x", data.head(40))
    with pytest.raises(NotDefinedError, match=r"path\.fit_at\(tau\)\.bse"):
        path.bse  # noqa: B018
    with pytest.raises(NotDefinedError, match=r"path\.select\('sic'\)\.fittedvalues"):
        qb.l1qreg("y ~ x", data).fittedvalues  # noqa: B018


def test_a_property_that_raises_keeps_its_own_words(data) -> None:
    stumps = qb.qbr("y ~ x", data, [0.3, 0.7], learner="stump", mstop=3)
    with pytest.raises(NotDefinedError, match="is not linear in its columns"):
        stumps.params  # noqa: B018
    with pytest.raises(NotDefinedError, match="A fit at one bound has them"):
        qb.l1qreg("y ~ x", data).params  # noqa: B018


def test_processes_are_copied(fits) -> None:
    for again in (copy.copy(fits), copy.deepcopy(fits), pickle.loads(pickle.dumps(fits))):
        pd.testing.assert_frame_equal(again.params, fits.params)


def test_fits_without_coefficients_print_what_is_known_of_each(data) -> None:
    lines = str(qb.qbr("y ~ x", data, [0.3, 0.7], learner="stump", mstop=3)).splitlines()
    at = next(k for k, line in enumerate(lines) if line.split() == ["tau=0.3", "tau=0.7"])
    assert lines[at + 1].split() == ["Iterations", "3", "3"]
    assert any(line.startswith("Check loss") for line in lines[at:]) and lines[-1] == "summary() has all."


def test_the_call_shows_taus_as_a_caller_writes_them(data) -> None:
    for taus in (np.arange(1, 4) / 10, list(np.arange(1, 4) / 10), pd.Series([0.1, 0.2, 0.3])):
        assert 'qbr("y ~ x", data, tau=[0.1, 0.2, 0.3], mstop=2)' in str(qb.qbr("y ~ x", data, taus, mstop=2))
    assert "init=0.5)" in str(qb.qbr("y ~ x", data, init=np.float64(0.5), mstop=2))
