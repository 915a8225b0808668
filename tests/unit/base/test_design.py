"""Designs from formulas: encodings against patsy's, kinds of data, missing rows, weights, offset, subset."""

from __future__ import annotations

import warnings
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import patsy
import pytest

from qreg_boost.base.checks import FormulaError, InputError, MissingRowsWarning
from qreg_boost.base.design import Design, caller_env

N = 24


def frame(**columns: Any) -> pd.DataFrame:
    rng = np.random.default_rng(7)
    data = pd.DataFrame(
        {
            "y": rng.normal(size=N),
            "x": rng.normal(size=N),
            "z": rng.uniform(1, 2, size=N),
            "g": list("abc") * (N // 3),
            "h": ["u", "v"] * (N // 2),
            "b": rng.random(N) > 0.5,
            "k": rng.integers(1, 4, size=N),
        }
    )
    return data.assign(**columns)


def design(formula: str = "y ~ x", data: Any = None, **options: Any) -> Design:
    return Design.from_formula(formula, frame() if data is None else data, **options)


def refused(*args: Any, kind: type[Exception] = InputError, **options: Any) -> str:
    with pytest.raises(kind) as caught:
        design(*args, **options)
    return str(caught.value)


@pytest.mark.parametrize(
    "formula",
    [
        "y ~ x", "y ~ x + z", "y ~ g", "y ~ x + g", "y ~ 0 + g", "y ~ g - 1 + x", "y ~ g:h", "y ~ 0 + g:h",
        "y ~ g*h", "y ~ g*x", "y ~ x:g", "y ~ g + g:x",
        "y ~ 0 + x:g", "y ~ b", "y ~ b*x", "y ~ b:g + h", "y ~ (g + h + x)**2", "y ~ g:h:x", "y ~ h:x + g:x - 1",
        "y ~ C(k)", "y ~ C(k)*x", "y ~ C(g, Sum)",
        "y ~ C(g, Sum)*x", "y ~ 0 + C(g, Sum)", "y ~ C(g, Helmert) + C(h, Diff)", "y ~ C(k, Poly)",
        "y ~ C(g, Treatment('b'))", "y ~ C(g, Treatment(-1))*h",
        "y ~ C(g, levels=['c', 'a', 'b'])", "y ~ C(C(g, Sum), levels=['c', 'b', 'a'])", "y ~ bs(z, df=5)",
        "y ~ bs(z, df=4, degree=2)", "y ~ cr(z, df=4)",
        "y ~ cc(z, df=4)", "y ~ bs(z, df=4)*g", "y ~ te(cr(x, df=3), cr(z, df=3))",
        "y ~ center(x) + standardize(z)", "y ~ scale(x):g",
        "y ~ standardize(bs(z, df=4))", "y ~ bs(center(x), df=4)", "y ~ cr(x, df=3, constraints='center')",
        "y ~ np.log(z) + I(x**2) + np.exp(x)*g",
        "y ~ I(x > 0)", "y ~ x > 0", "y ~ I((x > 0) & (z > 1.5))", "y ~ I(g == 'a')", "y ~ I(k // 2) + I(k % 2)",
        "y ~ I(-x) + I(~b)", "y ~ abs(x)",
        "y ~ np.where(x > 0, x, 0)", "y ~ np.column_stack([x, z])", "y ~ g/x/z", "np.log(z) ~ x", "I(y**2) ~ x",
        "y ~ x.shift(1).fillna(0)", "y ~ g.str.upper()", "y ~ b.astype(int) + k.astype(str)",
    ],
)  # fmt: skip
def test_encodings_are_patsys(formula: str) -> None:
    data = frame()
    ours = design(formula, data)
    y, theirs = patsy.dmatrices(formula, data, return_type="dataframe")
    names = [name for name in theirs.columns if name != "Intercept"]
    assert sorted(ours.column_names) == sorted(names)  # patsy puts categorical terms first, we keep the formula's order
    assert ours.intercept == ("Intercept" in theirs)
    # The same numbers but for the rounding of another order of sums.
    np.testing.assert_allclose(ours.X, theirs[list(ours.column_names)].to_numpy(), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(ours.y, y.to_numpy()[:, 0], rtol=1e-15)
    assert ours.X.flags.c_contiguous
    assert ours.X.dtype == np.float64
    assert [j for term in ours.terms for j in term.columns] == list(range(ours.X.shape[1]))


def test_terms_are_units_in_the_formulas_order() -> None:
    built = design("y ~ x + C(g) + x:g + bs(z, df=4)")
    assert [(term.name, len(term.columns)) for term in built.terms] == [
        ("x", 1), ("C(g)", 2), ("bs(z, df=4)", 4), ("x:g", 2),
    ]  # fmt: skip
    assert built.column_names[:3] == ("x", "C(g)[T.b]", "C(g)[T.c]")


@pytest.mark.parametrize(
    ("formula", "intercept"), [("y ~ 1", True), ("y ~ 0", False), ("y ~ -1", False), ("y ~ . - .", True)]
)
def test_no_predictors(formula: str, intercept: bool) -> None:
    built = design(formula)
    assert built.X.shape == (N, 0)
    assert built.terms == ()
    assert built.intercept is intercept
    assert built.encoder.encode(frame().iloc[:3]).X.shape == (3, 0)


def test_spaced_names_from_the_dot_are_bare() -> None:
    data = frame().rename(columns={"x": "my x", "g": "C"})[["y", "my x", "C"]]
    assert design("y ~ .", data).column_names == ("my x", "C[T.b]", "C[T.c]")


def test_the_dot_leaves_out_weights_offset_and_groups() -> None:
    data = frame(w=1.0, o=0.0)
    built = design("y ~ .", data, weights="w", offset="o", exclude=["k"])
    assert [term.name for term in built.terms] == ["x", "z", "g", "h", "b"]


ARROW = ["int64[pyarrow]", "double[pyarrow]"]


@pytest.mark.parametrize("dtype", ["int8", "uint64", "float32", "Int64", "Float64", "UInt8", *ARROW, "object"])
def test_numbers_of_any_dtype(dtype: str) -> None:
    if "pyarrow" in dtype:
        pytest.importorskip("pyarrow")
    values = np.arange(N) % 7
    built = design(data=frame(x=pd.array(values, dtype=dtype)))
    assert np.array_equal(built.X[:, 0], values)
    assert built.column_names == ("x",)


@pytest.mark.parametrize(
    "dtype", ["Int64", "Float64", "boolean", "string", "str", "object", *ARROW, "string[pyarrow]", "bool[pyarrow]"]
)
def test_missing_values_of_any_dtype_drop_their_rows(dtype: str) -> None:
    if "pyarrow" in dtype:
        pytest.importorskip("pyarrow")
    text, boolean = dtype in ("string", "str", "object", "string[pyarrow]"), dtype.startswith("bool")
    cells = ["p", None, "q"] if text else [True, None, False] if boolean else [1, None, 2]
    values: Any = cells * (N // 3)  # text of pandas' own default dtype, which is object before pandas 3
    if dtype != "str":
        values = pd.array(values, dtype=dtype)
    built = design(data=frame(x=values))
    assert built.n_dropped == N // 3
    assert np.array_equal(built.rows, np.flatnonzero(np.arange(N) % 3 != 1))
    assert built.column_names == (("x[T.q]",) if text else ("x[T.True]",) if boolean else ("x",))
    again = built.encoder.encode(frame(x=values)).X
    assert np.array_equal(np.isnan(again[:, 0]), np.arange(N) % 3 == 1)
    assert np.array_equal(again[built.rows], built.X)


def test_arrow_dictionaries_and_decimals() -> None:
    pa = pytest.importorskip("pyarrow")
    coded = pd.array(["v", "u"] * (N // 2), dtype=pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string())))
    money = pd.array([Decimal("1.5"), Decimal(2)] * (N // 2), dtype=pd.ArrowDtype(pa.decimal128(5, 2)))
    built = design("y ~ x + z", frame(x=coded, z=money))
    assert built.column_names == ("x[T.v]", "z")
    assert set(built.X[:, 1]) == {1.5, 2.0}


def test_objects_that_are_all_numbers_are_numbers() -> None:
    built = design(data=frame(x=np.array([Decimal("0.5"), 2, np.float32(3)] * (N // 3), dtype=object)))
    assert built.column_names == ("x",)
    assert set(built.X[:, 0]) == {0.5, 2.0, 3.0}


def test_nullable_whole_numbers_keep_their_labels_as_categories() -> None:
    assert design("y ~ C(x)", frame(x=pd.array([1, None, 2] * (N // 3), dtype="Int64"))).column_names == ("C(x)[T.2]",)


def test_whole_numbers_do_not_overflow() -> None:
    big = np.full(N, 2**40) + np.arange(N)
    assert np.allclose(design("y ~ I(x**2) + I(x*x)", frame(x=big)).X, (big.astype(float) ** 2)[:, None])
    assert np.array_equal(design("y ~ I(x**2)", frame(x=np.full(N, 200, dtype="uint8"))).X, np.full((N, 1), 40000.0))


def test_ordered_categoricals_get_patsys_treatment_coding() -> None:
    data = frame(x=pd.Categorical(["lo", "mid", "hi"] * (N // 3), categories=["lo", "mid", "hi"], ordered=True))
    assert design(data=data).column_names == ("x[T.mid]", "x[T.hi]")
    assert tuple(patsy.dmatrix("x", data).design_info.column_names[1:]) == ("x[T.mid]", "x[T.hi]")


def test_categories_without_a_row_are_left_out() -> None:
    data = frame(x=pd.Categorical(["lo", "mid", "hi"] * (N // 3), categories=["lo", "none", "mid", "hi"]))
    assert design(data=data).column_names == ("x[T.mid]", "x[T.hi]")
    assert design(data=data, subset="x != 'mid'").column_names == ("x[T.hi]",)


@pytest.mark.parametrize(
    ("categories", "name"),
    [([1, 2], "x[T.2]"), ([1.5, 2.5], "x[T.2.5]"), ([False, True], "x[T.True]"), ([(1, 2), (3, 4)], "x[T.(3, 4)]")],
)
def test_categories_of_any_dtype(categories: list[Any], name: str) -> None:
    values = pd.Categorical.from_codes([0, 1] * (N // 2), categories=pd.Index(categories, tupleize_cols=False))
    assert design(data=frame(x=values)).column_names == (name,)


def test_cut_intervals_are_categories() -> None:
    data = frame()
    built = design("y ~ x", data.assign(x=pd.cut(data["z"], [0, 1.5, 3])))
    assert len(built.column_names) == 1


@pytest.mark.parametrize(
    "index",
    [
        pd.Index(["r"] * N),
        pd.MultiIndex.from_product([["p", "q"], range(N // 2)]),
        pd.date_range("2020-01-01", periods=N),
        pd.Index(range(N, 0, -1)),
        pd.CategoricalIndex(list("pq") * (N // 2)),
    ],
)
def test_any_index_comes_back(index: pd.Index) -> None:
    data = frame().set_index(index)
    data.iloc[3, 1] = np.nan
    built = design("y ~ x + x.shift(0)", data)
    assert built.index.equals(index[np.arange(N) != 3])
    assert built.encoder.encode(data).index.equals(index)
    assert np.array_equal(built.y, data["y"].to_numpy()[built.rows])


def test_data_may_be_a_dict_or_a_table() -> None:
    plain = design("y ~ x + g")
    assert np.array_equal(design("y ~ x + g", {name: list(column) for name, column in frame().items()}).X, plain.X)
    pa = pytest.importorskip("pyarrow")
    assert np.array_equal(design("y ~ x + g", pa.Table.from_pandas(frame())).X, plain.X)


def test_columns_by_names_that_are_not_text() -> None:
    data = frame().rename(columns={"x": 3, "z": ("p", 1)})
    assert design("y ~ Q('3') + `('p', 1)`", data).column_names == ("Q('3')", "('p', 1)")


def test_the_callers_data_are_never_changed() -> None:
    data = frame(o=1.0, w=2.0)
    before = data.copy(deep=True)

    def meddle(x: pd.Series) -> pd.Series:
        x[:] = 0
        return x

    built = design("y ~ meddle(x) + standardize(z) + C(k)", data, env={"meddle": meddle}, weights="w", offset="o")
    built.y[:] = 9
    built.X[:] = 9
    built.weights[:] = 9  # type: ignore[index]
    built.offset[:] = 9  # type: ignore[index]
    pd.testing.assert_frame_equal(data, before)


def test_functions_that_change_a_column_in_place_fail() -> None:
    data = frame()
    before = data.copy(deep=True)
    assert "cannot be computed" in refused("y ~ np.negative(x, out=x)", data)
    pd.testing.assert_frame_equal(data, before)


class TestMissing:
    def test_rows_are_dropped_and_counted(self) -> None:
        data = frame()
        data.loc[[1, 2], "x"] = np.nan
        data.loc[2, "g"] = None
        data.loc[5, "y"] = np.nan
        data.loc[7, "k"] = np.nan  # not in the formula
        built = design("y ~ x + g", data)
        assert built.n_dropped == 3
        assert list(built.rows) == [i for i in range(N) if i not in (1, 2, 5)]

    def test_raise_names_columns_and_counts(self) -> None:
        data = frame()
        data.loc[[1, 2], "x"] = np.nan
        data.loc[2, "g"] = None
        assert "Values are missing: x (2 rows), g (1 row)" in refused("y ~ x + g", data, missing="raise")
        assert "log(x)" in refused("y ~ log(x)", missing="raise")

    def test_what_a_transform_makes_missing_counts(self) -> None:
        data = frame()
        built = design("y ~ log(x)", data)
        assert built.n_dropped == int((data["x"] < 0).sum())
        assert not np.isnan(built.X).any()

    def test_rows_are_dropped_before_transforms_and_levels_are_learned(self) -> None:
        data = frame()
        data.loc[0, "x"] = np.nan
        data.loc[0, ["z", "g"]] = [1e6, "zzz"]
        built = design("y ~ x + standardize(z) + g", data)
        kept = data["z"].to_numpy()[1:]
        np.testing.assert_allclose(built.X[:, 1], (kept - kept.mean()) / kept.std(), rtol=1e-10)
        assert built.column_names == ("x", "standardize(z)", "g[T.b]", "g[T.c]")
        also = design("y ~ log(x) + standardize(z)", data)
        assert abs(also.X[:, 1].mean()) < 1e-12

    def test_a_transform_of_what_went_missing(self) -> None:
        data = frame()
        positive = np.log(data["x"].to_numpy()[data["x"] > 0])
        built = design("y ~ standardize(log(x))", data)
        np.testing.assert_allclose(built.X[:, 0], (positive - positive.mean()) / positive.std(), rtol=1e-10)

    def test_functions_of_missing_values_keep_the_rows(self) -> None:
        data = frame()
        data.loc[3, "x"] = np.nan
        assert design("y ~ np.isnan(x) + np.nan_to_num(x)", data).n_dropped == 0
        assert design("y ~ x.isna() + x.fillna(0)", data).n_dropped == 0
        assert design("y ~ np.isnan(x) + x", data).n_dropped == 1

    def test_shifted_columns_are_computed_before_rows_are_left_out(self) -> None:
        data = frame()
        data.loc[3, "z"] = np.nan
        built = design("y ~ z + x.shift(1)", data, subset=np.arange(N) > 1)
        assert built.n_dropped == 1
        assert np.array_equal(built.X[:, 1], data["x"].to_numpy()[built.rows - 1])

    def test_no_complete_row(self) -> None:
        said = refused(data=frame(x=np.nan))
        assert f"No row is complete: each of the {N} rows" in said
        assert f"x ({N} rows)" in said

    def test_the_option_has_two_values(self) -> None:
        assert "`missing` must be one of 'drop', 'raise'" in refused(missing="skip")


class TestResponse:
    @pytest.mark.parametrize(
        ("values", "what"),
        [
            (["p", "q"] * (N // 2), "text"),
            ([True, False] * (N // 2), "boolean"),
            (pd.Categorical([1, 2] * (N // 2)), "categorical"),
            (pd.date_range("2020", periods=N), "a date or time"),
            (np.ones(N) * 1j, "complex"),
        ],
    )
    def test_must_be_numeric(self, values: Any, what: str) -> None:
        said = refused(data=frame(y=values))
        assert said.startswith(f"Response 'y' is not numeric (it is {what}")
        assert "pandas.to_numeric" in said

    def test_made_of_categories(self) -> None:
        assert "Response 'C(y)' is not numeric" in refused("C(y) ~ x")
        assert "Response 'I(y > 0)' is not numeric" in refused("I(y > 0) ~ x")

    def test_two_columns(self) -> None:
        assert "has 2 columns" in refused("poly(y, 2) ~ x")
        assert "has 2 responses" in refused("y + z ~ x", kind=FormulaError)

    def test_transformed(self) -> None:
        built = design("log(z) ~ x")
        assert built.response == "log(z)"
        assert np.array_equal(built.y, np.log(frame()["z"].to_numpy()))

    def test_raw_labels(self) -> None:
        built = design("g ~ x", frame(g=["p", None, "q"] * (N // 3)), response="raw")
        assert set(built.y) == {"p", "q"}
        assert built.n_dropped == N // 3


class TestInfinite:
    @pytest.mark.parametrize(
        ("formula", "column"),
        [
            ("y ~ x", "y"),
            ("z ~ x", "x"),
            ("z ~ k + x:k", "x"),
            ("z ~ I(x + k) + x:g", "I(x + k)"),
            ("z ~ log(k - 1)", "log(k - 1)"),
            ("z ~ I(k/0)", "I(k / 0)"),
        ],
    )
    def test_column_and_row_are_named(self, formula: str, column: str) -> None:
        values = np.arange(N, dtype=float)
        values[4] = np.inf
        said = refused(formula, frame(x=values, y=values, k=[1, 2, 2] * (N // 3)))
        assert f"Column {column!r}" in said
        if "log" not in formula and "/0" not in formula:
            assert "1 infinite value, the first in row 4" in said

    def test_into_a_transform(self) -> None:
        assert "'standardize(log(x))': standardize() is given" in refused(
            "y ~ standardize(log(x))", frame(x=[0.0, 1] * (N // 2))
        )

    def test_weights_and_offset(self) -> None:
        bad = np.ones(N)
        bad[2] = np.inf
        assert "infinite" in refused(weights=bad)
        assert "infinite" in refused(offset=bad)
        assert "infinite" in refused(data=frame(o=bad), offset="o")


class TestData:
    @pytest.mark.parametrize("data", [[1, 2], 3, "table.csv", np.ones((3, 2)), None])
    def test_must_be_a_frame(self, data: Any) -> None:
        with pytest.raises(InputError, match="`data` must be a pandas DataFrame or a dict of columns"):
            Design.from_formula("y ~ x", data)

    def test_must_have_rows(self) -> None:
        assert "`data` is empty: 0 rows" in refused(data=frame().iloc[:0])
        assert "`data` is empty: 0 rows, 0 columns" in refused(data=pd.DataFrame())

    def test_lengths_must_agree(self) -> None:
        assert "the columns differ in length (y 3, x 2)" in refused(data={"y": [1, 2, 3], "x": [1, 2]})

    def test_columns_that_occur_twice(self) -> None:
        data = pd.concat([frame(), frame()[["x"]]], axis=1)
        assert "'x' in \"y ~ x\" occurs more than once" in refused(data=data)
        assert design("y ~ z", data).X.shape == (N, 1)

    def test_dates(self) -> None:
        said = refused(data=frame(x=pd.date_range("2020", periods=N)))
        assert "'x' is a date or time" in said
        assert "C(x)" in said
        assert design("y ~ x.dt.month", frame(x=pd.date_range("2020", periods=N))).X.shape == (N, 1)

    def test_complex_predictors(self) -> None:
        assert "'x' is complex" in refused(data=frame(x=np.ones(N) * 1j))

    def test_cells_that_are_tables(self) -> None:
        for cells in ([[1], [2]], [{"a": 1}, {"a": 2}], [np.ones(2), np.ones(2)]):
            assert "which cannot be levels" in refused(data=frame(x=pd.Series(cells * (N // 2))))

    def test_whole_numbers_beyond_all_floats(self) -> None:
        assert "infinite values" in refused(data=frame(x=pd.Series([10**400] * N, dtype=object)))

    def test_one_level(self) -> None:
        assert "'x' has only one level" in refused(data=frame(x="same"))
        assert design("y ~ 0 + x", frame(x="same")).column_names == ("x[same]",)

    def test_names_that_collide(self) -> None:
        data = frame(x=pd.Categorical([1, "1", 2] * (N // 3), categories=[2, 1, "1"]))
        assert "would both be named 'x[T.1]'" in refused(data=data) or "cannot be coded" in refused(data=data)

    def test_column_that_was_not_made_by_row(self) -> None:
        assert "gives one value" in refused("y ~ np.mean(x)")
        assert f"gives {N - 1} values for {N} rows" in refused("y ~ np.diff(x)")

    @pytest.mark.parametrize(
        ("formula", "said"),
        [
            ("y ~ log(g)", "it needs numbers"),
            ("y ~ standardize(g)", "needs numbers"),
            ("y ~ poly(g, 2)", "needs numbers"),
            ("y ~ bs(x)", "must specify either df or knots"),
            ("y ~ bs(x, df=1)", "df=1 is too small"),
            ("y ~ cr(x, df=2)", "at least three knots"),
            ("y ~ I()", "missing 1 required positional argument"),
            ("y ~ x.foo", "has no attribute 'foo'"),
            ("y ~ x | z", "'|' combines conditions"),
            ("y ~ I(x if b else z)", "write np.where(b, a, c)"),
            ("y ~ I(x is z)", "write =="),
            ("y ~ C(g, Treatment('q'))", "'C(g, Treatment('q'))' cannot be coded"),
            ("y ~ C(g, levels=['a', 'b'])", "level 'c' occurs in the data but not in levels="),
            ("y ~ C(g, levels=['a', 'b', 'c', 'a'])", "a level is named twice"),
            ("y ~ C(g, x)", "cannot be coded"),
            ("y ~ I(x + )", "is not an expression that can be read"),
            ("y ~ standardize(I(x*0))", "no spread"),
            ("y ~ I(g + 1)", "'I(g + 1)' cannot be computed"),
        ],
    )
    def test_what_cannot_be_computed(self, formula: str, said: str) -> None:
        assert said in refused(formula)


class TestWeights:
    def test_by_name_by_row_and_by_index(self) -> None:
        w = np.arange(1.0, N + 1)
        by_name = design(data=frame(w=w), weights="w")
        shuffled = pd.Series(w, index=range(N)).sample(frac=1, random_state=1)
        for given in (w, list(w), shuffled, pd.Series(w).astype("Float64")):
            assert np.array_equal(design(weights=given).weights, by_name.weights)  # type: ignore[arg-type]
        assert by_name.offset is None

    def test_an_equal_index_with_repeated_labels_goes_by_row(self) -> None:
        data = frame().set_index(pd.Index(["r"] * N))
        w = pd.Series(np.arange(1.0, N + 1), index=data.index)
        assert np.array_equal(design(data=data, weights=w).weights, w)  # type: ignore[arg-type]
        assert "cannot be aligned" in refused(data=data, weights=w.iloc[::-1].set_axis(range(N)))

    def test_rows_dropped_take_their_weights_along(self) -> None:
        data = frame(w=np.arange(N, dtype=float))
        data.loc[4, "x"] = np.nan
        data.loc[9, "w"] = np.nan
        built = design(data=data, weights="w", offset="w")
        assert np.array_equal(built.weights, np.delete(np.arange(N), [4, 9]))  # type: ignore[arg-type]
        assert np.array_equal(built.offset, built.weights)  # type: ignore[arg-type]
        assert built.n_dropped == 2

    @pytest.mark.parametrize(
        ("weights", "said"),
        [
            ("nope", "Column 'nope' (weights) is not in `data`"),
            ("g", "`weights`: column 'g' is not numeric"),
            (np.ones(3), f"{N} rows, but 3 values"),
            (np.ones((N, 2)), "one value per row"),
            (-np.ones(N), "must not be negative"),
            (np.zeros(N), "are all zero"),
            (np.full(N, np.nan), "missing values"),
            (1.0, "must be a column name or one value per row"),
            (["a"] * N, "must be numbers"),
            (np.ones(N) * 1j, "must be real numbers"),
            (pd.Series(np.ones(3)), f"without a value for {N - 3} rows"),
        ],
    )
    def test_one_message_each(self, weights: Any, said: str) -> None:
        assert said in refused(weights=weights)

    def test_no_positive_weight_among_complete_rows(self) -> None:
        w = np.zeros(N)
        w[0] = 1
        data = frame()
        data.loc[0, "x"] = np.nan
        assert "are all zero" in refused(data=data, weights=w)

    def test_rows_of_weight_zero_stay_but_teach_transforms_nothing(self) -> None:
        w = np.ones(N)
        w[:3] = 0
        data = frame(x=np.where(w == 0, 100.0, frame()["x"]))
        data.loc[0, "g"] = "only here"
        built = design("y ~ standardize(x) + poly(x, 2) + g", data, weights=w)
        assert len(built.y) == N
        assert abs(built.X[3:, :3].mean(axis=0)).max() < 1e-12
        np.testing.assert_allclose(built.X[3:, 1:3].T @ built.X[3:, 1:3], np.eye(2), atol=1e-10)
        assert "g[T.only here]" in built.column_names

    def test_repeated_rows_and_weights_code_levels_alike(self) -> None:
        w = np.arange(N) % 5
        rows = np.repeat(np.arange(N), w)
        one, other = design("y ~ x*g", weights=w), design("y ~ x*g", frame().iloc[rows])
        assert np.array_equal(one.X[rows], other.X)


class TestOffset:
    def test_is_taken_like_weights(self) -> None:
        values = np.linspace(-1, 1, N)
        assert np.array_equal(design(offset=values).offset, values)  # type: ignore[arg-type]
        assert np.array_equal(design(data=frame(o=values), offset="o").offset, values)  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        ("offset", "said"),
        [("nope", "(offset) is not in `data`"), (np.ones(3), "but 3 values"), (np.full(N, np.nan), "must be finite")],
    )
    def test_one_message_each(self, offset: Any, said: str) -> None:
        assert said in refused(offset=offset)


class TestSubset:
    mask = np.arange(N) % 4 == 0

    @pytest.mark.parametrize(
        "subset",
        [
            mask,
            list(mask),
            pd.Series(mask).iloc[::-1],
            pd.array(mask, dtype="boolean"),
            "keep",
            "number % 4 == 0",
            "keep == True",
            "(number % 4 == 0) & (number >= 0)",
            "`my col` == 'yes'",
        ],
    )
    def test_in_every_spelling(self, subset: Any) -> None:
        data = frame(keep=self.mask, number=np.arange(N), **{"my col": np.where(self.mask, "yes", "no")})
        built = design(data=data, subset=subset)
        assert np.array_equal(built.rows, np.flatnonzero(self.mask))
        assert built.n_dropped == 0

    def test_what_is_left_out_neither_counts_nor_teaches(self) -> None:
        data = frame()
        data.loc[0, "x"] = np.nan
        built = design("y ~ x + standardize(z)", data, subset=np.arange(N) > 2, weights=np.arange(N) - 2.0)
        assert built.n_dropped == 0
        assert abs(built.X[:, 1].mean()) < 1e-12

    def test_missing_is_left_out(self) -> None:
        data = frame(keep=pd.array([True, None] * (N // 2), dtype="boolean"))
        assert len(design(data=data, subset="keep").y) == N // 2

    @pytest.mark.parametrize(
        ("subset", "said"),
        [
            (np.ones(3, dtype=bool), f"{N} rows, but 3 values"),
            ([0, 1, 2], "must be booleans"),
            (np.zeros(N, dtype=bool), f"selects none of the {N} rows"),
            ("x", "column 'x' must be booleans"),
            ("nope > 1", "Column 'nope' in \"nope > 1\" is not in `data`"),
            ("x + 1", "must be booleans"),
            ("x >", "is not an expression that can be read"),
            ({"a": 1}, "must be a mask of booleans"),
            ("x > 0 & z > 1", "each in its own parentheses"),
        ],
    )
    def test_one_message_each(self, subset: Any, said: str) -> None:
        assert said in refused(subset=subset)


class TestEnvironment:
    def test_the_caller_is_captured(self) -> None:
        def model(formula: str) -> Design:
            return design(formula, env=caller_env())

        def twice(x: Any) -> Any:
            return 2 * x

        knots = [1.3, 1.6]
        built = model("y ~ twice(x) + bs(z, knots=knots)")
        assert np.array_equal(built.X[:, 0], 2 * frame()["x"].to_numpy())
        assert len(knots) == 2
        assert callable(twice)

    def test_mapping_depth_and_patsys_environment(self) -> None:
        def twice(x: Any) -> Any:
            return 2 * x

        environments: list[Any] = [{"twice": twice}, patsy.EvalEnvironment.capture()]
        for env in environments:
            assert Design.from_formula("y ~ twice(x)", frame(), env=env).column_names == ("twice(x)",)
        assert Design.from_formula("y ~ twice(x)", frame(), env=0).column_names == ("twice(x)",)
        assert "Function 'twice'" in refused("y ~ twice(x)", kind=FormulaError)
        assert "`env` must be a mapping" in refused(env="here")

    def test_a_variable_is_never_taken_for_a_column(self) -> None:
        incom = np.arange(N)
        said = refused("y ~ incom", env={"incom": incom}, kind=FormulaError)
        assert "Column 'incom' in \"y ~ incom\" is not in `data`" in said
        assert "A variable 'incom' exists where you call from" in said

    def test_users_functions_get_series_with_the_index(self) -> None:
        seen: list[pd.Index] = []

        def spy(x: pd.Series) -> pd.Series:
            seen.append(x.index)
            return x

        data = frame().set_index(pd.date_range("2020", periods=N))
        design("y ~ spy(x)", data, env={"spy": spy})
        assert seen[0].equals(data.index)

    def test_errors_of_users_functions_keep_their_cause(self) -> None:
        def broken(x: Any) -> Any:
            raise KeyError("inside")

        with pytest.raises(InputError, match=r"'broken\(x\)' cannot be computed: KeyError") as caught:
            design("y ~ broken(x)", env={"broken": broken})
        assert isinstance(caught.value.__cause__, KeyError)

    def test_users_stateful_transforms_are_remembered(self) -> None:
        class Scaled:
            def memorize_chunk(self, x: Any) -> None:
                self.top = np.max(x)

            def memorize_finish(self) -> None:
                pass

            def transform(self, x: Any) -> Any:
                return x / self.top

        scaled = patsy.stateful_transform(Scaled)
        built = design("y ~ scaled(z)", env={"scaled": scaled})
        assert built.X.max() == 1.0
        assert built.encoder.encode(frame().iloc[:2]).X.max() < 1.0


def test_no_warnings_come_out() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", MissingRowsWarning)  # that one is meant
        data = frame(x=np.linspace(-1, 1, N), c=pd.Categorical(list("pq") * (N // 2)))
        built = design("y ~ log(x) + I(1/x) + sqrt(x) + c*x", data)
        built.encoder.encode(data[data["x"] > 0])
