"""New data encoded as the training data were; encoders saved, loaded and pickled, and files that mean harm."""

from __future__ import annotations

import copy
import json
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import patsy
import pytest

from qreg_boost.base.checks import FileFormatError, InputError
from qreg_boost.base.design import Design, Encoder

N = 24


def frame(**columns: Any) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    data = pd.DataFrame(
        {
            "y": rng.normal(size=N),
            "x": rng.normal(size=N),
            "z": rng.uniform(1, 2, size=N),
            "g": list("abc") * (N // 3),
            "b": rng.random(N) > 0.5,
            "k": rng.integers(1, 4, size=N),
        }
    )
    return data.assign(**columns)


def design(formula: str, data: Any = None, **options: Any) -> Design:
    return Design.from_formula(formula, frame() if data is None else data, **options)


def encoded(formula: str, new: Any, data: Any = None, **options: Any) -> np.ndarray:
    return design(formula, data, **options).encoder.encode(new).X


def refused(formula: str, new: Any, data: Any = None) -> str:
    encoder = design(formula, data).encoder
    with pytest.raises(InputError) as caught:
        encoder.encode(new)
    return str(caught.value)


FORMULAS = [
    "y ~ x", "y ~ x + g", "y ~ 0 + g", "y ~ x*g + b:g", "y ~ C(k) + C(g, Sum)", "y ~ C(k, Poly)*x",
    "y ~ C(g, levels=lv)", "y ~ C(g, Treatment('b'))",
    "y ~ center(x) + standardize(z) + scale(x)", "y ~ bs(z, df=5)", "y ~ bs(z, knots=kn)",
    "y ~ cr(z, df=4) + cc(z, df=4)",
    "y ~ te(cr(x, df=3), cr(z, df=3))", "y ~ poly(x, 3):g", "y ~ standardize(bs(center(z), df=4))",
    "y ~ log(z) + np.sqrt(z) + I(x**2) + exp(x)",
    "y ~ I(x > 0) + I((x > 0) & (z > 1.5)) + I(g == 'a')", "y ~ np.where(x > 0, x, -1.5)",
    "y ~ np.column_stack([x, z])", "y ~ I(g in ['a', 'b'])",
    "y ~ I(k // 2) + I(k % 2) + I(-x) + I(not b)", "y ~ poly(x, 3)[:, 1]", "y ~ .", "y ~ 1",
    "y ~ pmin(x, 0) + np.clip(x, -1, 1) + round(x, 1)",
]  # fmt: skip
ENV = {"kn": np.array([1.3, 1.6]), "lv": ["c", "b", "a"]}


@pytest.mark.parametrize("formula", FORMULAS)
def test_training_rows_are_encoded_as_in_training_to_the_last_bit(formula: str) -> None:
    built = design(formula, env=ENV)
    again = built.encoder.encode(frame())
    assert np.array_equal(again.X, built.X)
    assert again.X.flags.c_contiguous
    assert again.offset is None
    assert np.array_equal(built.encoder.encode(frame().iloc[5:6]).X, built.X[5:6])


@pytest.mark.parametrize("formula", FORMULAS)
def test_saved_and_loaded_encoders_give_the_same_bits(formula: str) -> None:
    built = design(formula, env=ENV)
    meta, arrays = built.encoder.state()
    assert all(array.dtype != object for array in arrays.values())
    loaded = Encoder.from_state(json.loads(json.dumps(meta, allow_nan=False)), arrays)
    assert np.array_equal(loaded.encode(frame()).X, built.X)
    assert loaded.terms == built.encoder.terms
    assert loaded.column_names == built.column_names
    assert np.array_equal(pickle.loads(pickle.dumps(built.encoder)).encode(frame()).X, built.X)
    twice = Encoder.from_state(*loaded.state())
    assert np.array_equal(twice.encode(frame()).X, built.X)


def test_copies_are_the_encoder_itself() -> None:
    encoder = design("y ~ own(x)", env={"own": lambda x: x}).encoder
    assert copy.deepcopy(encoder) is encoder
    assert copy.copy(encoder) is encoder


class TestEncode:
    def test_the_response_need_not_be_there(self) -> None:
        assert np.array_equal(encoded("y ~ x", {"x": [1.0, 2.0]}), [[1], [2]])
        assert np.array_equal(encoded("log(z) ~ x", frame()[["x"]].iloc[:2]), frame()[["x"]].iloc[:2])

    @pytest.mark.parametrize(
        "new",
        [
            {"x": 1.5, "g": "b"},
            {"x": [1.5], "g": ["b"]},
            pd.DataFrame({"g": pd.Categorical(["b"]), "x": [1.5]}),
            pd.DataFrame({"x": [1.5], "g": ["b"]}).iloc[0],
            pd.DataFrame({"x": [1.5], "g": pd.Categorical(["b"], categories=["z", "b"])}),
            pd.DataFrame({"x": pd.array([1.5], dtype="Float64"), "g": pd.array(["b"], dtype="string")}),
            pd.DataFrame({"x": np.array([1.5], dtype=object), "g": np.array(["b"], dtype=object)}),
        ],
    )
    def test_one_row_in_every_shape(self, new: Any) -> None:
        assert np.array_equal(encoded("y ~ x + g", new), [[1.5, 1, 0]])

    def test_a_frame_that_lacks_levels(self) -> None:
        assert np.array_equal(encoded("y ~ g", {"g": ["c", "c"]}), [[0, 1], [0, 1]])

    @pytest.mark.parametrize("new", [[1, 3], [1.0, 3.0], pd.Categorical([1, 3]), pd.array([1, 3], dtype="Int64")])
    def test_levels_that_are_numbers_match_by_value(self, new: Any) -> None:
        assert np.array_equal(encoded("y ~ C(k)", {"k": new}, frame(k=[1, 2, 3] * (N // 3))), [[0, 0], [0, 1]])

    def test_transforms_are_remembered(self) -> None:
        z = frame()["z"].to_numpy()
        found = encoded("y ~ standardize(z) + center(z)", {"z": [2.0]})
        np.testing.assert_allclose(found, [[(2 - z.mean()) / z.std(), 2 - z.mean()]], rtol=1e-12)

    def test_missing_rows_are_nan_throughout(self) -> None:
        new = pd.DataFrame({"x": [1.0, np.nan, 1.0, -1.0], "g": ["a", "b", None, "c"]})
        found = encoded("y ~ x + g + log(x)", new)
        assert np.array_equal(np.isnan(found), np.array([[0], [1], [1], [1]]).repeat(4, axis=1))
        assert np.isnan(encoded("y ~ bs(x, df=4)", {"x": [np.nan, 0.0]})).any(axis=1).tolist() == [True, False]
        assert np.isnan(encoded("y ~ x", {"x": [None]})).all()

    def test_rows_not_complete_are_not_looked_at(self) -> None:
        assert np.isnan(encoded("y ~ x + g", {"x": [np.nan], "g": ["unseen"]})).all()

    def test_no_rows(self) -> None:
        assert encoded("y ~ x + g", frame().iloc[:0]).shape == (0, 3)

    def test_an_unseen_level(self) -> None:
        said = refused("y ~ x + g", {"x": [1, 2], "g": ["a", "d"]})
        assert said == "'g' has the level 'd', which had no rows in training. Levels of g: 'a', 'b', 'c'."
        assert "'C(k)' has the level 9" in refused("y ~ C(k)", {"k": [9]})
        assert "the level 'A'" in refused("y ~ g", {"g": ["A"]})

    def test_a_declared_level_without_rows_is_unseen(self) -> None:
        data = frame(g=pd.Categorical(list("abc") * (N // 3), categories=list("abcd")))
        assert "the level 'd', which had no rows in training" in refused("y ~ g", {"g": ["d"]}, data)
        assert "the level 'd', which had no rows" in refused("y ~ C(g, levels=['a', 'b', 'c', 'd'])", {"g": ["d"]})
        assert "the level True, which had no rows" in refused("y ~ b", {"b": [True]}, frame(b=False))

    def test_an_absent_column(self) -> None:
        assert refused("y ~ income", {"incom": [1]}, frame(income=1.0)) == (
            "Column 'income' (in \"y ~ income\") is not in the new data. Did you mean 'incom'? Columns: incom."
        )

    @pytest.mark.parametrize("values", [["a"], ["1.5"], pd.Categorical(["a"]), pd.to_datetime(["2020"])])
    def test_numbers_that_became_something_else(self, values: Any) -> None:
        said = refused("y ~ x", {"x": values})
        assert "Column 'x' was numeric in training and is" in said

    def test_numbers_may_come_as_booleans_or_numeric_categories(self) -> None:
        assert np.array_equal(encoded("y ~ x", {"x": [True, False]}), [[1], [0]])
        assert np.array_equal(encoded("y ~ x", {"x": pd.Categorical([2.5, 1.5])}), [[2.5], [1.5]])

    def test_beyond_the_boundary_knots(self) -> None:
        said = refused("y ~ bs(z, df=4)", {"z": [1.5, 9.0]})
        assert "'bs(z, df=4)': 1 values lie outside the boundary knots" in said
        assert "the first 9" in said
        assert "lower_bound= and upper_bound=" in said
        assert encoded("y ~ cr(z, df=4)", {"z": [9.0]}).shape == (1, 4)

    def test_infinite(self) -> None:
        assert "Column 'x' has 1 infinite value, the first in row 1" in refused("y ~ x", {"x": [1, np.inf]})
        assert "Column 'log(z)'" in refused("y ~ log(z)", {"z": [0.0]})

    def test_not_a_frame(self) -> None:
        assert "must be a pandas DataFrame or a dict" in refused("y ~ x", [1, 2])

    def test_labels_come_back(self) -> None:
        assert list(design("y ~ x").encoder.encode(frame().iloc[[3, 3, 1]]).index) == [3, 3, 1]

    def test_functions_across_rows_see_all_the_new_rows(self) -> None:
        new = pd.DataFrame({"x": [1.0, 2.0, 3.0], "z": [1.0, np.nan, 1.0]})
        assert np.array_equal(encoded("y ~ z + x.shift(1)", new), [[np.nan, np.nan]] * 2 + [[1, 2]], equal_nan=True)

    def test_new_data_are_never_changed(self) -> None:
        new = frame()
        before = new.copy(deep=True)
        built = design("y ~ x + standardize(z) + g").encoder.encode(new)
        built.X[:] = 0
        pd.testing.assert_frame_equal(new, before)


class TestOffset:
    def test_a_column_is_found_in_the_new_data(self) -> None:
        encoder = design("y ~ x", frame(o=1.0), offset="o").encoder
        assert np.array_equal(encoder.encode({"x": [1, 2], "o": [5, 6]}).offset, [5, 6])  # type: ignore[arg-type]
        assert np.array_equal(encoder.encode({"x": [1, 2], "o": [5, 6]}, offset=[0, 0]).offset, [0, 0])  # type: ignore[arg-type]
        with pytest.raises(InputError, match=r"Column 'o' \(the offset of the fitted model\) is not in the new data"):
            encoder.encode({"x": [1, 2]})
        assert np.isnan(encoder.encode({"x": [1, 2], "o": [None, 6]}).offset).tolist() == [True, False]  # type: ignore[arg-type]

    def test_an_array_must_be_passed_again(self) -> None:
        encoder = design("y ~ x", offset=np.ones(N)).encoder
        with pytest.raises(InputError, match="fitted with an offset given as an array"):
            encoder.encode(frame())
        assert np.array_equal(encoder.encode({"x": [1, 2]}, offset=np.array([3, 4])).offset, [3, 4])  # type: ignore[arg-type]
        new = pd.DataFrame({"x": [1.0, 2.0]}, index=["p", "q"])
        assert np.array_equal(encoder.encode(new, offset=pd.Series([4, 3], index=["q", "p"])).offset, [3, 4])  # type: ignore[arg-type]

    def test_one_that_is_new_is_taken(self) -> None:
        assert np.array_equal(design("y ~ x").encoder.encode({"x": [1], "o": [2]}, offset="o").offset, [2])  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        ("offset", "said"), [([1, 2, 3], "one value per row: 2 rows"), ([1, np.inf], "infinite"), ("nope", "is not in")]
    )
    def test_one_message_each(self, offset: Any, said: str) -> None:
        with pytest.raises(InputError, match=said):
            design("y ~ x").encoder.encode({"x": [1, 2]}, offset=offset)

    def test_is_saved(self) -> None:
        encoder = Encoder.from_state(*design("y ~ x", frame(o=1.0), offset="o").encoder.state())
        assert np.array_equal(encoder.encode({"x": [1], "o": [5]}).offset, [5])  # type: ignore[arg-type]


class TestSaving:
    @pytest.mark.parametrize(
        ("formula", "fault"),
        [
            ("y ~ own(x)", "the function 'own'"),
            ("y ~ x + np.random.permutation(x)", "np.random.permutation"),
            ("y ~ x.clip(0, 1)", "x.clip"),
            ("y ~ np.cumsum(x)", "np.cumsum"),
        ],
    )
    def test_what_cannot_be_saved_is_named(self, formula: str, fault: str) -> None:
        def own(x: Any) -> Any:
            return x

        encoder = design(formula, env={"own": own}).encoder
        assert np.isfinite(encoder.encode(frame()).X).all()
        with pytest.raises(InputError, match="cannot be saved, because of") as caught:
            encoder.state()
        assert fault in str(caught.value)
        assert "_qb" not in str(caught.value)
        with pytest.raises(InputError, match="cannot be saved"):
            pickle.dumps(encoder)

    def test_functions_of_numpy_and_patsy_are_saved_however_they_were_imported(self) -> None:
        env = {"patsy": patsy, "spline": patsy.bs, "arctanh": np.arctanh, "numerics": np, "math": math, "bs": patsy.bs}
        formula = (
            "y ~ patsy.bs(z, df=4) + spline(z, df=3) + arctanh(z/3) + numerics.sqrt(z) + math.log(z) + bs(x, df=4)"
        )
        built = design(formula.replace("arctanh(z/3)", "arctanh(I(z/3))"), env=env)
        assert np.array_equal(Encoder.from_state(*built.encoder.state()).encode(frame()).X, built.X)
        assert built.column_names[-6:-4] == ("numerics.sqrt(z)", "math.log(z)")

    def test_contrasts_of_the_users_are_saved_as_numbers(self) -> None:
        matrix = np.array([[0.0], [1.0], [-1.0]])
        built = design("y ~ C(g, m)", env={"m": matrix})
        assert built.column_names == ("C(g, m)[custom0]",)
        assert np.array_equal(Encoder.from_state(*built.encoder.state()).encode(frame()).X, built.X)

    @pytest.mark.parametrize(
        "levels",
        [
            [1, 2],
            [1.5, 2.5],
            [False, True],
            ["p", "q"],
            list(pd.to_datetime(["2020", "2021"])),
            list(pd.interval_range(0, 2)),
            [(1, "p"), (2, "q")],
        ],
    )
    def test_levels_of_any_kind_are_saved(self, levels: list[Any]) -> None:
        categories = pd.Index(levels, tupleize_cols=False)
        data = frame(g=pd.Categorical.from_codes([0, 1] * (N // 2), categories=categories))
        built = design("y ~ g", data)
        meta, arrays = built.encoder.state()
        loaded = Encoder.from_state(json.loads(json.dumps(meta)), arrays)
        assert np.array_equal(loaded.encode(data).X, built.X)

    def test_column_labels_that_are_not_text_are_saved(self) -> None:
        data = frame().rename(columns={"x": 3, "z": ("p", 1)})
        built = design("y ~ `3` + Q(\"('p', 1)\")", data)
        meta, arrays = built.encoder.state()
        assert np.array_equal(Encoder.from_state(json.loads(json.dumps(meta)), arrays).encode(data).X, built.X)


HOSTILE = [
    "__import__('os').system('touch pwned')",
    "open('pwned', 'w')",
    "eval('1')",
    "exec('1')",
    "(lambda: 1)()",
    "[x for x in (1,)]",
    "_qb1_.__class__",
    "_qb1_.tofile('pwned')",
    "np.load('pwned', allow_pickle=True)",
    "np.save('pwned', _qb1_)",
    "np.fromfile('pwned')",
    "np.ctypeslib.load_library('pwned', '.')",
    "np.vectorize(_qb1_)",
    "np.log.__class__",
    "np.log(_qb1_, out=_qb1_)",
    "np.log(*[_qb1_])",
    "np.log(**{'x': _qb1_})",
    "C(__import__('os'))",
    "bs(__import__('os'), df=4)",
    "f'{_qb1_}'",
    "(_qb1_ := 1)",
    "{'a': _qb1_}",
    "log if _qb1_ else exp",
    "_qb1_ @ _qb1_",
    "getattr(np, 'load')('pwned')",
    "nothing",
    "np",
    "Treatment",
]


class TestHostileFiles:
    def tampered(
        self, change: Callable[[dict[str, Any], dict[str, np.ndarray]], None], formula: str = "y ~ x + g"
    ) -> str:
        meta, arrays = design(formula).encoder.state()
        meta, arrays = json.loads(json.dumps(meta)), dict(arrays)
        change(meta, arrays)
        with pytest.raises(FileFormatError) as caught:
            Encoder.from_state(meta, arrays)
        return str(caught.value)

    @pytest.mark.parametrize("code", HOSTILE)
    def test_code_is_refused_and_not_executed(self, code: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)

        def change(meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
            meta["factors"][0]["code"] = code

        said = self.tampered(change)
        assert "which is not on the list of what may be loaded; nothing was executed" in said or "damaged" in said
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize("code", ["1 +", "(" * 500 + ")" * 500, "-" * 30_000 + "1", "x\ny", "\x00"])
    def test_what_is_not_an_expression(self, code: str) -> None:
        def change(meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
            meta["factors"][0]["code"] = code

        assert "cannot be read" in self.tampered(change)

    def test_deep_nesting_does_no_harm(self) -> None:
        meta, arrays = design("y ~ x + g").encoder.state()
        meta["factors"][0]["code"] = "-" * 5000 + "_qb1_"
        with pytest.raises(InputError):
            Encoder.from_state(meta, arrays).encode(frame())

    def test_objects_are_not_taken(self) -> None:
        def change(meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
            key = next(iter(arrays))
            arrays[key] = np.array([[{}], [{}], [{}]], dtype=object)

        assert "damaged" in self.tampered(change)

    @pytest.mark.parametrize(
        "key", ["version", "formula", "column_names", "terms", "columns", "kinds", "factors", "blocks"]
    )
    def test_parts_that_are_gone(self, key: str) -> None:
        assert "damaged" in self.tampered(lambda meta, arrays: meta.pop(key))

    @pytest.mark.parametrize(
        "change",
        [
            lambda meta, arrays: arrays.clear(),
            lambda meta, arrays: meta["blocks"].pop(),
            lambda meta, arrays: meta["terms"].reverse(),
            lambda meta, arrays: meta["blocks"][0].update(factors=[7]),
            lambda meta, arrays: meta["blocks"][0].update(factors=[-1]),
            lambda meta, arrays: meta["factors"][1].update(levels=["a"]),
            lambda meta, arrays: meta["factors"][1].update(columns=["_qb99_"]),
            lambda meta, arrays: meta["factors"][1].update(levels=[{"evil": "x"}, "b", "c"]),
            lambda meta, arrays: meta.update(offset="call"),
            lambda meta, arrays: meta["columns"].update(np="x"),
            lambda meta, arrays: meta["factors"][0]["constants"].update(log=[1]),
            lambda meta, arrays: meta.update(column_names=["x"]),
            lambda meta, arrays: meta.update(factors=None),
        ],
    )
    def test_parts_that_do_not_fit(self, change: Callable[..., None]) -> None:
        assert "damaged" in self.tampered(change)

    def test_a_transform_without_its_state(self) -> None:
        said = self.tampered(lambda meta, arrays: meta["factors"][0]["transforms"].clear(), "y ~ bs(z, df=4)")
        assert "damaged" in said

    def test_a_newer_version(self) -> None:
        assert "Update the package" in self.tampered(lambda meta, arrays: meta.update(version=99))
