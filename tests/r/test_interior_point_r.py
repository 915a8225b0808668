"""The interior point method against quantreg's exact simplex method (Barrodale and Roberts), live."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog
from statsmodels.datasets import engel

from qreg_boost.quantreg.interior_point import interior_point
from qreg_boost.quantreg.solution import Solution, Status, check_loss
from qreg_boost.r.session import evaluate

pytestmark = pytest.mark.r("quantreg")

TAUS = (0.05, 0.25, 0.5, 0.75, 0.95)
# Formula in R, and the R expression of its data.
SETS = {
    "engel": ("foodexp ~ income", "engel"),
    "warpbreaks": ("breaks ~ wool * tension", "datasets::warpbreaks"),
    "stackloss": ("stack.loss ~ .", "datasets::stackloss"),
    "barro": ("y.net ~ .", "{data(barro, package = 'quantreg', envir = environment()); barro}"),
    "mtcars": ("mpg ~ wt + factor(cyl) + hp", "datasets::mtcars"),
    "chickwts": ("weight ~ feed", "datasets::chickwts"),
}


@pytest.fixture(scope="module", params=SETS)
def design(request: pytest.FixtureRequest) -> tuple[str, np.ndarray, np.ndarray]:
    formula, data = SETS[request.param]
    values = {"engel": engel.load_pandas().data.astype(float)} if request.param == "engel" else {}
    code = f"{{d <- {data}; f <- {formula}; assign('qreg_boost_d', d, globalenv()); model.matrix(f, d)}}"
    X = np.asarray(evaluate(code, **values), dtype=float)
    y = np.asarray(evaluate(f"as.numeric(model.response(model.frame({formula}, qreg_boost_d)))"), dtype=float)
    return formula, X, y


def is_unique(X: np.ndarray, y: np.ndarray, fit: Solution) -> bool:
    """Return whether each coefficient's least and greatest value over the optimal face agree to 1e-9 of its size.

    By complementary slackness the face is: residual 0 where the dual value is inside (0, 1), of its sign elsewhere.
    """
    shift = y - X @ fit.coef
    sizes = np.abs(X).max(axis=0)
    scale = np.abs(shift).max()
    inside = (fit.a > 1e-9) & (fit.a < 1 - 1e-9)
    sign = np.where(fit.a > 0.5, 1.0, -1.0)[~inside, None]
    face = {
        "A_eq": (X / sizes)[inside], "b_eq": np.zeros(inside.sum()),
        "A_ub": sign * (X / sizes)[~inside], "b_ub": np.maximum(sign[:, 0] * shift[~inside], 0.0) / scale,
        "bounds": (None, None),
    }  # fmt: skip
    for j in range(X.shape[1]):
        direction = np.eye(X.shape[1])[j]
        ends = [linprog(side * direction, **face) for side in (1, -1)]
        if any(end.status != 0 for end in ends) or abs(ends[0].fun + ends[1].fun) > 1e-9:
            return False
    return True


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("tau", TAUS)
def test_equals_rq(design, tau, weighted):
    formula, X, y = design
    w = np.random.default_rng(len(y)).uniform(0.2, 3.0, len(y)) if weighted else None
    option = ", weights = w" if weighted else ""
    # R warns where the solution is not unique; `is_unique` decides that here.
    code = f"suppressWarnings(quantreg::rq({formula}, tau = tau, data = qreg_boost_d{option})$coefficients)"
    theirs = np.asarray(evaluate(code, tau=tau, w=np.ones(len(y)) if w is None else w), dtype=float)
    ours = interior_point(X, y, tau, w)
    assert ours.status is Status.OPTIMAL
    # Both are vertices of the same programme: only rounding separates their losses.
    assert ours.objective == pytest.approx(check_loss(y - X @ theirs, tau, w), rel=1e-9)
    unique = is_unique(X, y, ours)
    assert unique == ours.unique
    if unique:
        np.testing.assert_allclose(ours.coef, theirs, rtol=1e-6, atol=1e-9 * np.abs(theirs).max())
