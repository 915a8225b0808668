"""The running R: quiet, undisturbing, safe in threads; frames go there and back."""

from __future__ import annotations

import datetime as dt
import gc
import pickle
import subprocess
import sys
import textwrap
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

from qreg_boost.base.checks import InputError, MissingDependencyError
from qreg_boost.r import RError, RWarning, session
from qreg_boost.r.session import evaluate

pytestmark = pytest.mark.r

SECOND_MISSING = {
    "real": pd.Series([1.5, None, -2.0]),
    "integer": pd.Series([1, None, -3], dtype="Int64"),
    "large": pd.Series([1, None, 2**40], dtype="Int64"),
    "logical": pd.Series([True, None, False], dtype="boolean"),
    "string": pd.Series(["a", None, "größe"]),
    "factor": pd.Series(pd.Categorical(["z", None, "a"], categories=["z", "unused", "a"])),
    "ordered": pd.Series(pd.Categorical(["lo", None, "hi"], categories=["lo", "mid", "hi"], ordered=True)),
    "date": pd.Series([dt.date(1969, 12, 31), None, dt.date(2024, 2, 29)]),
    "clock": pd.Series(pd.to_datetime(["2021-07-01 12:00:00", None, "1950-01-01 00:00:00"])).astype("datetime64[us]"),
    "utc": pd.Series(pd.to_datetime(["2021-07-01 12:00", None, "1950-01-01 00:00"], utc=True)).astype(
        "datetime64[us, UTC]"
    ),
    "zone": pd.Series(pd.to_datetime(["2021-07-01 12:00", None, "1999-01-01 00:00"]))
    .astype("datetime64[us]")
    .dt.tz_localize("Europe/Berlin"),
    "duration": pd.Series(pd.to_timedelta(["1D", None, "-3s"])).astype("timedelta64[us]"),
    "complex": pd.Series([1 + 2j, np.nan, 3j]),
}
CLASSES = {
    "real": "numeric", "integer": "integer", "large": "numeric", "logical": "logical", "string": "character",
    "factor": "factor", "ordered": "ordered factor", "date": "Date", "clock": "POSIXct POSIXt", "utc": "POSIXct POSIXt",
    "zone": "POSIXct POSIXt", "duration": "difftime", "complex": "complex",
}  # fmt: skip
LOOK = """
list(class = paste(class(x), collapse = " "), na = is.na(x), nan = if (is.numeric(x) || is.complex(x)) is.nan(x),
     levels = levels(x), back = x)
"""


def round_trip(kind: str) -> None:
    series = SECOND_MISSING[kind]
    seen = evaluate(LOOK, x=series)
    assert seen["class"].item() == CLASSES[kind]
    assert seen["na"].tolist() == [False, True, False]
    if seen["nan"] is not None:
        assert not seen["nan"].any()
    if kind in ("factor", "ordered"):
        assert seen["levels"].tolist() == series.cat.categories.tolist()
    expected = series.astype("float64") if kind == "large" else series
    pd.testing.assert_series_equal(seen["back"], expected)


@pytest.mark.parametrize("kind", SECOND_MISSING)
def test_round_trip(kind):
    round_trip(kind)


def test_round_trips_in_threads():
    kinds = [*SECOND_MISSING] * 8
    with ThreadPoolExecutor(8) as pool:
        assert len(list(pool.map(round_trip, kinds))) == len(kinds)


@pytest.mark.parametrize(
    ("dtype", "values", "r_class", "back"),
    [
        ("int64[pyarrow]", [1, None], "integer", "Int64"),
        ("double[pyarrow]", [1.5, None], "numeric", "float64"),
        ("bool[pyarrow]", [True, None], "logical", "boolean"),
        ("string[pyarrow]", ["a", None], "character", None),
        ("date32[day][pyarrow]", [dt.date(2020, 1, 1), None], "Date", "object"),
        (
            "timestamp[us, tz=UTC][pyarrow]",
            [pd.Timestamp("2020", tz="UTC"), None],
            "POSIXct POSIXt",
            "datetime64[us, UTC]",
        ),
        ("duration[us][pyarrow]", [pd.Timedelta("1s"), None], "difftime", "timedelta64[us]"),
    ],
)
def test_arrow_columns(dtype, values, r_class, back):
    pytest.importorskip("pyarrow")
    seen = evaluate(LOOK, x=pd.Series(values, dtype=dtype))
    assert seen["class"].item() == r_class
    assert seen["na"].tolist() == [False, True]
    assert seen["back"].isna().tolist() == [False, True]
    assert seen["back"][0] == values[0]
    assert str(seen["back"].dtype) == (back or str(pd.Series(["a"]).dtype))


def test_arrow_dictionary_is_a_factor():
    pa = pytest.importorskip("pyarrow")
    column = pd.arrays.ArrowExtensionArray(pa.chunked_array([pa.array(["b", None, "a"]).dictionary_encode()]))
    seen = evaluate(LOOK, x=pd.Series(column))
    assert (seen["class"].item(), seen["levels"].tolist()) == ("factor", ["b", "a"])


def test_a_frame_with_odd_names_and_labels():
    frame = pd.DataFrame({"a b": [1.0, 2.0], "größe": ["x", "y"], "if": [1, 2]}, index=["same", "same"])
    seen = evaluate("list(names = names(d), rows = rownames(d), class = class(d), back = d)", d=frame)
    assert seen["names"].tolist() == ["a b", "größe", "if"]
    assert seen["rows"].tolist() == ["1", "2"]
    assert seen["class"].item() == "data.frame"
    pd.testing.assert_frame_equal(seen["back"], frame.reset_index(drop=True))


@pytest.mark.parametrize(
    "frame", [pd.DataFrame({"a": pd.Series([], dtype=float), "g": pd.Categorical([])}), pd.DataFrame()]
)
def test_empty_frames(frame):
    seen = evaluate("list(dim = dim(d), back = d)", d=frame)
    assert seen["dim"].tolist() == list(frame.shape)
    assert seen["back"].shape == frame.shape
    assert list(seen["back"].columns) == list(frame.columns)


def test_time_zones_in_r():
    seen = evaluate("format(d, '%H:%M %Z')", d=SECOND_MISSING["zone"])
    assert seen[0] == "12:00 CEST"
    assert evaluate("format(d, '%H:%M')", d=SECOND_MISSING["clock"])[0] == "12:00"


def test_values_of_other_shapes():
    assert evaluate("NULL") is None
    assert evaluate("c(a = 1, b = 2)").to_dict() == {"a": 1.0, "b": 2.0}
    assert evaluate("list(1, 'a')")[1].item() == "a"
    matrix = np.array([[1.0, np.nan, 3.0], [4.0, 5.0, 6.0]])
    seen = evaluate("list(na = is.na(x), x = x)", x=matrix)
    np.testing.assert_array_equal(seen["x"].to_numpy(), matrix)
    assert seen["na"].to_numpy().tolist() == [[False, True, False], [False, False, False]]
    assert evaluate("matrix(1:4, 2, dimnames = list(c('r', 's'), NULL))").loc["s"].tolist() == [2, 4]
    assert evaluate("x$a + x$b", x={"a": 1, "b": 2}).item() == 3
    with pytest.raises(InputError, match="array of 3 dimensions"):
        evaluate("x", x=np.zeros((1, 1, 1)))


def test_what_r_prints_is_not_printed_here(capfd):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert evaluate("{print('noise'); message('more'); cat('x', file = stderr()); 1}").item() == 1.0
        evaluate("readline('a question? ')")
    printed = capfd.readouterr()
    assert (printed.out, printed.err) == ("", "")


def test_warnings_of_r_become_warnings_here(recwarn):
    assert evaluate("{warning('first'); warning('second'); 2}").item() == 2.0
    assert [(w.category, str(w.message)) for w in recwarn] == [(RWarning, "R: first"), (RWarning, "R: second")]
    assert recwarn[0].filename == __file__


def test_errors_of_r_are_errors_here(capfd):
    with pytest.raises(RError, match="R stopped: no way"):
        evaluate("stop('no way')")
    with pytest.raises(RError, match="unexpected"):
        evaluate("1 +* 2")
    assert evaluate("1").item() == 1.0
    assert capfd.readouterr() == ("", "")


def test_missing_package_of_r():
    with pytest.raises(
        MissingDependencyError, match=r"The R package 'noSuchPackage' is not installed \(R \d.*install.packages"
    ):
        session.require("noSuchPackage")


def test_variables_of_one_call_are_not_seen_by_the_next():
    evaluate("qb_left_over <- x", x=1)
    assert not evaluate("exists('qb_left_over')").item()


def test_held_objects_are_released_and_not_pickled():
    gc.collect()
    evaluate("1")
    before = len(session.RObject._held)
    held = [evaluate("list(f = function(x) x + 1)")["f"] for _ in range(5)]
    assert evaluate("f(1)", f=held[0]).item() == 2.0
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(held[0])
    del held
    gc.collect()
    evaluate("1")
    assert len(session.RObject._held) == before


def test_objects_dropped_in_threads_while_r_runs():
    def work(i):
        model = evaluate(
            "list(m = lm(y ~ x, d))", hold=("m",), d=pd.DataFrame({"x": np.arange(30.0), "y": np.arange(30.0) * i})
        )
        slope = evaluate("coef(m)[['x']]", m=model["m"]).item()
        del model
        return slope

    with ThreadPoolExecutor(8) as pool, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # lm's, on a perfect fit
        slopes = list(pool.map(work, range(60)))
    np.testing.assert_allclose(slopes, np.arange(60.0), atol=1e-10)


def fresh(code: str, **environment: str) -> str:
    """Return what a new Python process prints; anything on stderr fails."""
    import os

    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code)],
        capture_output=True, text=True, check=False, env={**os.environ, **environment},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def test_starting_r_disturbs_nothing(tmp_path):
    profile = tmp_path / "profile.R"
    profile.write_text("cat('noise from a profile\\n'); message('and more'); setwd('/')\n")
    printed = fresh(
        """
        import locale, os, signal
        def mine(*args): pass
        signal.signal(signal.SIGINT, mine)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        def state():
            names = [n for n in os.environ if not n.startswith(("R_", "PYTHON_SESSION"))]
            return (locale.setlocale(locale.LC_ALL), os.getcwd(), [os.environ[n] for n in names], names,
                    [signal.getsignal(s) for s in signal.valid_signals() if s not in (9, 19)])
        before = state()
        from qreg_boost.r.session import evaluate
        folder = evaluate("tempdir()").item()
        assert state() == before, (state(), before)
        print(evaluate("1 + 1").item(), folder)
        """,
        R_PROFILE_USER=str(profile),
        LC_ALL="C.UTF-8",
    )
    value, folder = printed.split()
    assert value == "2.0"
    import os

    assert not os.path.exists(folder)  # R's temporary folder went with the process


def test_r_can_be_started_in_a_thread():
    printed = fresh(
        """
        from concurrent.futures import ThreadPoolExecutor
        from qreg_boost.r.session import evaluate
        with ThreadPoolExecutor(4) as pool:
            print(sum(pool.map(lambda i: evaluate("x + 1", x=i).item(), range(20))))
        print(evaluate("Sys.getpid()").item() > 0)
        """
    )
    assert printed.split() == ["210.0", "True"]


def test_names_beyond_ascii_need_a_utf8_locale():
    code = """
        import pandas as pd, qreg_boost.r as r
        try:
            print(r.rq("größe ~ x", pd.DataFrame({"größe": [1.0, 2, 4], "x": [1.0, 2, 3]})).nobs)
        except ValueError as error:
            print(error)
        """
    assert fresh(code, LC_ALL="C.UTF-8", PYTHONUTF8="1").strip() == "3"
    assert "start Python with the environment variable LC_ALL=C.UTF-8" in fresh(code, LC_ALL="C", PYTHONUTF8="1")


@pytest.mark.parametrize("first", ["import rpy2.robjects as ro", "import qreg_boost.r.session as s; s.start()"])
def test_it_shares_r_with_rpy2(first):
    printed = fresh(
        f"""
        import warnings
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # rpy2's own, on environment variables
            {first}
            import rpy2.robjects as ro
        from qreg_boost.r.session import evaluate
        ro.globalenv["there"] = ro.FloatVector([1.0, 2.0])
        held = evaluate("list(f = lm(dist ~ speed, cars))", hold=("f",))["f"]
        print(evaluate("sum(there)").item(), len(ro.r["coef"](held.sexp)))
        """
    )
    assert printed.split() == ["3.0", "2"]
