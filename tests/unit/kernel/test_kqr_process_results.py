"""Several kernel quantile regressions side by side: what they have, and what says where else to ask."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import qreg_boost as qb
from qreg_boost.base.checks import CrossingWarning, InputError, NotDefinedError

ENGEL = qb.datasets.load("engel").iloc[::3]
TAUS = [0.75, 0.25]


@pytest.fixture(scope="module")
def fits():
    return qb.kqr("foodexp ~ income", ENGEL, tau=TAUS, C=10.0, gamma=0.1)


def test_what_the_fits_have_is_there_by_tau(fits) -> None:
    assert (fits.C, fits.gamma, fits.kernel) == (10.0, 0.1, "rbf, gamma = 0.1")
    for name in ("alpha", "side"):
        table = getattr(fits, name)
        assert list(table.columns) == TAUS and table[0.25].equals(getattr(fits[0.25], name).rename(0.25))
    assert fits.n_on[0.25] == fits[0.25].n_on and fits.b[0.75] == fits[0.75].b
    judged = fits.evaluate(ENGEL.head(20))
    assert list(judged["tau"]) == TAUS and judged["mean_loss"][1] == fits[0.25].evaluate(ENGEL.head(20))["mean_loss"]
    whole = fits[0.25].evaluate()
    assert whole["mean_loss"] == pytest.approx(fits[0.25].risk / len(ENGEL))
    assert whole["r1"] == pytest.approx(fits[0.25].prsquared)
    # rows on the fit are at it
    assert whole["coverage"] == pytest.approx((fits[0.25].side < 1).mean())


def test_print_says_what_each_is_like(fits) -> None:
    lines = str(fits).split("\n")
    assert "Kernel: rbf, gamma = 0.1; C = 10" in lines
    assert [line.split()[0] for line in lines[-2:]] == ["0.75", "0.25"] and lines[-3].split()[:2] == ["tau", "above"]
    linear = str(qb.kqr("foodexp ~ income", ENGEL, tau=TAUS, kernel="linear", noncrossing=True))
    assert "Coefficients:" in linear and "Kernel: linear; C = 1; held apart" in linear


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda fits: fits.path([1.0]), r"fits\[0.75\].path\(C\)"),
        (lambda fits: fits.path(), r"fits\[0.75\].path\(C\)"),
        (lambda fits: fits.tau, "fits.taus"),
        (lambda fits: fits.mstop, r"fits\[tau\].path"),
        (lambda fits: fits.at(3), r"fits\[tau\]"),
        (lambda fits: fits.extend(3), r"fits\[tau\]"),
        (lambda fits: fits.params, "predict"),
        (lambda fits: fits.optimality_gap, "duality_gap"),
        (lambda fits: fits.cv_result, r"fit.cv\(\)"),
        (lambda fits: fits[0.25].coef_path(), "path"),
        (lambda fits: fits[0.25].params, "predict"),
        (lambda fits: fits[0.25].optimality_gap, "duality_gap"),
        (lambda fits: fits[0.25].cv_result, r"fit.cv\(\)"),
    ],
)
def test_what_has_no_meaning_names_what_to_ask(fits, ask, message: str) -> None:
    with pytest.raises(NotDefinedError, match=message):
        ask(fits)


@pytest.mark.parametrize("data", [None, False, True])
def test_every_public_name_answers_or_says_what_to_ask(fits, data: bool | None, tmp_path: Path) -> None:
    """No name of kernel results ends in a bare AttributeError, whether the fit comes from a file or not."""
    several = fits if data is None else qb.load(fits.save(tmp_path / "fits", data=data))
    for fit in (several, several[0.25]):
        answered = 0
        for name in (name for name in dir(fit) if not name.startswith("_")):
            try:
                getattr(fit, name)
            except NotDefinedError as error:
                assert len(str(error)) > 40, name
            else:
                answered += 1
        assert answered > 20


def test_fits_that_differ_say_so(fits) -> None:
    given = ((0.25, 1.0, 0.1), (0.75, 2.0, 0.2))
    own = [qb.kqr("foodexp ~ income", ENGEL, tau, C=C, gamma=gamma) for tau, C, gamma in given]
    mixed = qb.KQRProcess([0.25, 0.75], own)
    for name in ("C", "gamma", "kernel"):
        with pytest.raises(NotDefinedError, match=rf"differ in {name}: glance\(\)"):
            getattr(mixed, name)
    text = str(mixed)
    assert "Kernel: rbf\n" in text and text.split("\n")[-2].split()[5:7] == ["1", "0.1"]
    assert text.split("\n")[-1].split()[5:7] == ["2", "0.2"]
    np.testing.assert_array_equal(mixed.predict(ENGEL)[0.75], own[1].predict(ENGEL))


def test_taus_of_a_grid_are_found_and_printed_without_their_rounding() -> None:
    fits = qb.kqr("foodexp ~ income", ENGEL, tau=np.linspace(0.1, 0.9, 9), gamma=0.1)
    assert fits[0.3] is fits.fits[2] and fits[0.7] is fits.fits[6]
    assert "0000000" not in str(fits)
    for tau in (0.35, "0.3", True, None):
        with pytest.raises(InputError, match="No fit at tau="):
            fits[tau]


def test_rearranged_predictions_are_sorted_whatever_the_order_of_taus() -> None:
    fits = qb.kqr("foodexp ~ income", ENGEL, tau=[0.5, 0.4, 0.6], C=1e4, gamma=300.0)
    new = pd.DataFrame({"income": np.linspace(400, 1500, 200)})
    with pytest.warns(CrossingWarning):
        raw = fits.predict(new)
    rearranged = fits.predict(new, rearrange=True)
    assert list(rearranged.columns) == [0.5, 0.4, 0.6]
    assert (np.diff(rearranged[[0.4, 0.5, 0.6]], axis=1) >= 0).all()
    np.testing.assert_array_equal(np.sort(rearranged, axis=1), np.sort(raw, axis=1))


def test_a_path_of_fits_held_apart_is_of_fits_alone(tmp_path: Path) -> None:
    fits = qb.kqr("foodexp ~ income", ENGEL, tau=[0.4, 0.6], C=1e4, gamma=50.0, noncrossing=True)
    assert "do not cross" in fits[0.4].summary().as_text()
    one = fits[0.4].path([1e4]).at(1e4)
    assert "do not cross" not in one.summary().as_text()
    alone = qb.kqr("foodexp ~ income", ENGEL, tau=0.4, C=1e4, gamma=50.0)
    assert one.objective == pytest.approx(alone.objective, rel=1e-9) and one.objective < fits[0.4].objective
    again = qb.load(fits.save(tmp_path / "fits", data=True))
    assert again.cv(C=[1e4], k=3, progress=False).together
    assert "sigest" not in again[0.4].path([1.0]).at(1.0).summary().as_text()
