"""Designs from arrays, and their encoders."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest

from qreg_boost.base.checks import InputError
from qreg_boost.base.design import Design, Encoder

Y = np.arange(5.0)
X = np.arange(10.0).reshape(5, 2) ** 2


def refused(y: Any = Y, x: Any = X, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        Design.from_arrays(y, x, **options)
    return str(caught.value)


def test_arrays_are_not_copied() -> None:
    w, o = np.ones(5), np.zeros(5)
    built = Design.from_arrays(Y, X, weights=w, offset=o)
    assert built.X is X
    assert built.y is Y
    assert built.weights is w
    assert built.offset is o
    assert built.formula is None
    assert built.response == "y"
    assert built.intercept
    assert not Design.from_arrays(Y, X, intercept=False).intercept
    assert built.column_names == ("x1", "x2")
    assert [(term.name, term.columns) for term in built.terms] == [("x1", (0,)), ("x2", (1,))]
    assert built.index.equals(pd.RangeIndex(5))


def test_arrays_are_never_changed() -> None:
    x, y = X.copy(), Y.copy()
    x[1, 0] = np.nan
    before = x.copy()
    built = Design.from_arrays(y, x)
    built.X[:] = 0
    built.y[:] = 0
    assert np.array_equal(x, before, equal_nan=True)
    assert np.array_equal(y, Y)


@pytest.mark.parametrize(
    ("x", "names"),
    [
        (X.astype(int), ("x1", "x2")),
        (np.asfortranarray(X), ("x1", "x2")),
        (X.tolist(), ("x1", "x2")),
        (pd.DataFrame(X, columns=["p", 3]), ("p", "3")),
        (pd.DataFrame(X).astype("Float64"), ("0", "1")),
        (pd.DataFrame(X).astype(object), ("0", "1")),
    ],
)
def test_predictors_of_any_kind(x: Any, names: tuple[str, ...]) -> None:
    built = Design.from_arrays(Y, x)
    assert np.array_equal(built.X, X)
    assert built.X.flags.c_contiguous or built.X.flags.f_contiguous
    assert built.X.dtype == np.float64
    assert built.column_names == names


def test_one_predictor() -> None:
    assert Design.from_arrays(Y, X[:, 0]).X.shape == (5, 1)
    named = Design.from_arrays(
        pd.Series(Y, name="resp", index=list("abcde")), pd.Series(X[:, 0], name="age", index=list("abcde"))
    )
    assert named.column_names == ("age",)
    assert named.response == "resp"
    assert list(named.index) == list("abcde")
    assert Design.from_arrays(Y, pd.Series(X[:, 0])).column_names == ("x1",)
    assert Design.from_arrays(Y[:, None], X).y.shape == (5,)


def test_no_predictor_and_one_row() -> None:
    assert Design.from_arrays(Y, np.empty((5, 0))).terms == ()
    assert Design.from_arrays([1.0], [[2.0, 3.0]]).X.shape == (1, 2)


def test_rows_that_miss_something_are_dropped() -> None:
    x, y = X.copy(), Y.copy()
    x[1, 0], y[3] = np.nan, np.nan
    built = Design.from_arrays(pd.Series(y, index=list("abcde")), x, weights=np.arange(5), offset=np.arange(5))
    assert built.n_dropped == 2
    assert list(built.rows) == [0, 2, 4]
    assert list(built.index) == list("ace")
    assert np.array_equal(built.weights, [0, 2, 4])  # type: ignore[arg-type]
    assert np.array_equal(built.offset, [0, 2, 4])  # type: ignore[arg-type]
    assert "Values are missing: y (1 row), x1 (1 row)" in refused(y, x, missing="raise")
    assert "No row is complete" in refused(y * np.nan, x)


def test_a_series_goes_by_its_index() -> None:
    y = pd.Series(Y, index=list("abcde"))
    built = Design.from_arrays(y, X, weights=pd.Series([5.0, 4, 3, 2, 1], index=list("edcba")))
    assert np.array_equal(built.weights, [1, 2, 3, 4, 5])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"y": Y[:3]}, "`y` has 3 values and `X` has 5 rows"),
        ({"y": [], "x": np.empty((0, 2))}, "empty: 0 rows"),
        ({"y": np.ones((5, 2))}, "`y` must be one value per row; got shape (5, 2)"),
        ({"y": pd.DataFrame(np.ones((5, 2)))}, "`y` has 2 columns"),
        ({"y": list("abcde")}, "Response `y` is not numeric"),
        ({"y": Y > 1}, "Response `y` is not numeric (dtype bool)"),
        ({"y": pd.Series(list("abcde"), name="r")}, "Response 'r' is not numeric (it is text"),
        ({"y": Y * 1j}, "`y` is complex"),
        ({"y": Y + np.inf}, "Response `y` has"),
        ({"x": X[None]}, "`X` must have shape (n, p)"),
        ({"x": X * 1j}, "`X` is complex"),
        ({"x": [["a"]] * 5}, "`X` must be numbers"),
        ({"x": pd.DataFrame({"p": list("abcde")})}, "Column 'p' of `X` is not numeric (it is text"),
        ({"x": np.where(X == 4, np.inf, X)}, "Column 'x1' has 1 infinite value, the first in row 1"),
        ({"x": np.where(X == 4, -np.inf, X)}, "Column 'x1' has 1 infinite value,"),
        ({"names": ["p"]}, "2 columns, but 1 names"),
        ({"names": ["p", "p"]}, "'p' stands for more than one column"),
        ({"weights": np.ones(3)}, "5 rows, but 3 values"),
        ({"weights": -np.ones(5)}, "must not be negative"),
        ({"weights": np.zeros(5)}, "are all zero"),
        ({"weights": "w"}, "needs a formula and data"),
        ({"weights": pd.Series(np.ones(5), index=list("abcde"))}, "without a value for 5 rows"),
        ({"offset": np.full(5, np.nan)}, "`offset` must be finite"),
        ({"missing": "skip"}, "`missing` must be one of"),
        (
            {"y": pd.Series(Y), "x": pd.DataFrame(X, index=list("abcde"))},
            "`y` and `X` have different indexes",
        ),
    ],
)
def test_one_message_each(arguments: dict[str, Any], said: str) -> None:
    assert said in refused(**arguments)


class TestEncoder:
    encoder = Design.from_arrays(Y, X, names=["p", "q"]).encoder

    @pytest.mark.parametrize(
        "new",
        [
            X,
            X.tolist(),
            pd.DataFrame(X, columns=["p", "q"]),
            pd.DataFrame(X[:, ::-1], columns=["q", "p"]),
            {"p": X[:, 0], "q": X[:, 1]},
        ],
    )
    def test_arrays_and_frames(self, new: Any) -> None:
        assert np.array_equal(self.encoder.encode(new).X, X)

    def test_missing_rows_and_labels(self) -> None:
        new = pd.DataFrame({"p": [1, None], "q": [2.0, 3.0]}, index=["u", "v"])
        found = self.encoder.encode(new)
        assert np.array_equal(found.X, [[1, 2], [np.nan, np.nan]], equal_nan=True)
        assert list(found.index) == ["u", "v"]
        x = np.array([[1, np.nan]])
        assert np.isnan(self.encoder.encode(x).X).all()
        assert x[0, 0] == 1

    @pytest.mark.parametrize(
        ("new", "said"),
        [
            (np.ones(2), "For one row pass shape (1, 2)"),
            (np.ones(3), "must have shape (m, 2)"),
            (np.ones((2, 3)), "must have shape (m, 2), the columns p, q; got (2, 3)"),
            ([["a", "b"]], "must be numbers"),
            (pd.DataFrame(X, columns=["p", "r"]), "The new data lack q"),
            (pd.DataFrame({"p": ["a"], "q": [1]}), "Column 'p' of the new data is not numeric"),
            (np.array([[np.inf, 1]]), "Column 'p' has 1 infinite value,"),
        ],
    )
    def test_one_message_each(self, new: Any, said: str) -> None:
        with pytest.raises(InputError) as caught:
            self.encoder.encode(new)
        assert said in str(caught.value)

    def test_one_predictor_takes_a_vector(self) -> None:
        encoder = Design.from_arrays(Y, X[:, 0]).encoder
        assert encoder.encode([1.0, 2.0]).X.shape == (2, 1)
        assert list(encoder.encode(pd.Series([1.0, 2.0], index=["u", "v"])).index) == ["u", "v"]

    def test_offset_must_be_passed_again(self) -> None:
        encoder = Design.from_arrays(Y, X, offset=Y).encoder
        with pytest.raises(InputError, match="pass offset="):
            encoder.encode(X)
        assert np.array_equal(encoder.encode(X, offset=Y).offset, Y)  # type: ignore[arg-type]

    def test_saved_and_pickled(self) -> None:
        meta, arrays = self.encoder.state()
        for loaded in (
            Encoder.from_state(json.loads(json.dumps(meta)), arrays),
            pickle.loads(pickle.dumps(self.encoder)),
        ):
            assert np.array_equal(loaded.encode(X).X, X)
            assert loaded.terms == self.encoder.terms
