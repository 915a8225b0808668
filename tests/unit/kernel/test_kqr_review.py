"""What a reader of the manual met: rules for gamma in cross-validation, and fits along C that were not chosen by it."""

from __future__ import annotations

import pytest

import qreg_boost as qb


@pytest.fixture(scope="module")
def engel():
    return qb.datasets.load("engel").iloc[::4]


@pytest.mark.parametrize("gamma", ["sigest", ["sigest", "median"], ["sigest", 0.1]])
def test_gamma_by_rule_is_cross_validated_too(engel, gamma) -> None:
    fit = qb.kqr("foodexp ~ income", engel, C=[0.5, 1.0, 2.0], gamma=gamma, k=3, progress=False)
    assert fit.facts.own["C"] in (0.5, 1.0, 2.0)
    assert "cross-validat" in str(fit.summary())


@pytest.mark.filterwarnings("ignore::qreg_boost.base.checks.BoundWarning")
def test_a_fit_along_c_does_not_claim_to_be_chosen(engel) -> None:
    fit = qb.kqr("foodexp ~ income", engel, C=[1.0, 10.0], gamma=0.1, k=3, progress=False)
    other = fit.path([5.0, 20.0]).at(5.0)
    assert "cross-validat" not in str(other.summary())
    assert "at(5)" in other.facts.call
