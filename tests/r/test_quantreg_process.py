"""The whole solution in tau against quantreg's ``rq(tau = -1)``, live."""

from __future__ import annotations

import numpy as np
import pytest

from qreg_boost.quantreg.interior_point import interior_point
from qreg_boost.quantreg.process import quantile_process
from qreg_boost.quantreg.solution import check_loss
from qreg_boost.r.session import evaluate

pytestmark = pytest.mark.r("quantreg")

FORMULAS = {
    "engel": "foodexp ~ income",
    "barro": "y.net ~ .",
    "Mammals": "log(speed) ~ log(weight) + I(log(weight)^2) + hoppers + specials",
    "uis": "Y ~ AGE + BECK + NDT + RACE + TREAT + SITE + IV3",
    "CobarOre": "z ~ x + y",
    "warpbreaks": "breaks ~ wool * tension",
}


def solved_by_r(name: str, weighted: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray]:
    """Return design, response, weights and R's matrix of solutions: tau, fit at the mean, objective, coefficients."""
    package = "datasets" if name == "warpbreaks" else "quantreg"
    out = evaluate(f"""{{
      data({name}, package = "{package}", envir = environment())
      d <- {name}
      f <- {FORMULAS[name]}
      X <- model.matrix(f, d)
      y <- as.numeric(model.response(model.frame(f, d)))
      w <- if ({str(weighted).upper()}) 0.5 + (seq_along(y) %% 7) / 3 else rep(1, length(y))
      # A weighted fit is a fit to w y on w x.
      solution <- quantreg::rq.fit.br(X * w, y * w, tau = -1)$sol
      list(X = X, y = y, w = w, sol = unclass(solution))
    }}""")
    X, y, w, sol = (np.asarray(out[key], dtype=float) for key in ("X", "y", "w", "sol"))
    return X, y, w if weighted else None, sol


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", [name for name in FORMULAS if name != "warpbreaks"])
def test_breakpoints_and_coefficients(name, weighted):
    X, y, w, sol = solved_by_r(name, weighted)
    process = quantile_process(X, y, w)
    taus, objective, coef = sol[0], sol[2], sol[3:].T
    # R lists changes of the basis at which the coefficients stay (ties in engel), and the last solution twice.
    size = np.abs(X).max(axis=0)
    moved = np.r_[True, (np.abs(np.diff(coef[:-1], axis=0)) * size).max(axis=1) > 1e-9 * np.abs(y).max(), True]
    assert moved.sum() >= len(taus) - 5
    np.testing.assert_allclose(process.taus, taus[moved], rtol=0, atol=1e-8)
    expected = coef[:-1][moved[:-1]]
    # In units of the response: the largest contribution a difference can make to a fitted value.
    assert (np.abs(process.coef - expected) * size).max() <= 1e-10 * np.abs(y).max()
    np.testing.assert_allclose(process.coef, expected, rtol=1e-6, atol=1e-9 * np.abs(coef).max())
    np.testing.assert_allclose(process.objective, objective[moved], rtol=1e-9, atol=1e-10 * objective.max())


@pytest.mark.parametrize("name", FORMULAS)
def test_every_interval_is_optimal_at_its_midpoint(name):
    X, y, _, sol = solved_by_r(name, weighted=False)
    process = quantile_process(X, y)
    middle = (process.taus[1:] + process.taus[:-1]) / 2
    by_r = sol[3:].T[np.searchsorted(sol[0], middle) - 1]
    for tau, coef, other in zip(middle, process.coef, by_r, strict=True):
        loss = check_loss(y - X @ coef, tau)
        assert loss == pytest.approx(interior_point(X, y, tau).objective, rel=1e-12)
        assert loss <= check_loss(y - X @ other, tau) * (1 + 1e-12)
