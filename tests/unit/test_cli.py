"""The command line: what is printed, what is written, and one line for what the user has to mend."""

from __future__ import annotations

import csv
import gzip
import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import qreg_boost as qb
from qreg_boost.cli import main

FORMULA = "foodexp ~ income"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def engel() -> pd.DataFrame:
    return qb.datasets.load("engel")


def error_of(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    """Return what is said of a mistake: it must be one line, with exit code 2 and nothing on stdout."""
    code = main(list(argv))
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert err.startswith("qreg-boost: error: ") and err.count("\n") == 1 and err.endswith("\n")
    return err


def numbers(text: str) -> tuple[list[str], np.ndarray]:
    """Return heading and numbers of a CSV, read to the last digit; an empty field is missing."""
    heading, *rows = csv.reader(io.StringIO(text))
    return heading, np.array([[float(field) if field.strip() else np.nan for field in row] for row in rows])


# -- fit, predict


def test_fit_prints_the_summary(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", "engel", FORMULA, "--tau", ".9", "--mstop", "20"]) == 0
    out, err = capsys.readouterr()
    assert "foodexp ~ income" in out and "0.9" in out and "235" in out
    assert err == ""


def test_options_reach_the_fit(folder: Path, engel: pd.DataFrame, capsys: pytest.CaptureFixture[str]) -> None:
    engel.assign(w=np.arange(235) % 3, base=engel.income / 10).to_csv("engel.csv", index=False)
    told = ["--tau", ".3", "--mstop", "7", "--nu", "0.2", "--learner", "componentwise", "--step", "fixed"]
    told += ["--step-scale", "none", "--init", "500", "--weights", "w", "--offset", "base", "--subset", "income < 2000"]
    assert main(["fit", "engel.csv", FORMULA, *told, "--save", "fit.qb"]) == 0
    expected = qb.qbr(
        FORMULA,
        pd.read_csv("engel.csv"),
        tau=0.3,
        mstop=7,
        nu=0.2,
        learner="componentwise",
        step="fixed",
        step_scale=None,
        init=500.0,
        weights="w",
        offset="base",
        subset="income < 2000",
    )
    saved = qb.load("fit.qb")
    pd.testing.assert_series_equal(saved.params, expected.params, check_exact=True)
    assert saved.nobs == expected.nobs < 235


def test_cv_chooses_the_stop_of_a_fit(folder: Path, engel: pd.DataFrame) -> None:
    engel.iloc[::8].to_csv("few.csv", index=False)
    assert main(["fit", "few.csv", FORMULA, "--mstop", "cv", "--save", "fit.qb"]) == 0
    assert qb.load("fit.qb").mstop == qb.qbr(FORMULA, pd.read_csv("few.csv"), mstop="cv").mstop


def test_predictions_are_those_of_the_fit(
    folder: Path, engel: pd.DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    new = pd.DataFrame({"income": [500.0, None, 1500.0]})
    new.to_csv("new.csv", index=False)
    assert main(["fit", "engel", FORMULA, "--save", "one.qb"]) == 0
    assert main(["fit", "engel", FORMULA, "--tau", ".25,.75", "--save", "two.qb"]) == 0
    capsys.readouterr()

    assert main(["predict", "one.qb", "new.csv"]) == 0
    heading, printed = numbers(capsys.readouterr().out)
    assert heading == ["tau=0.5"]
    expected = qb.qbr(FORMULA, engel).predict(new)
    np.testing.assert_array_equal(printed[:, 0], expected)  # the missing row in its place, all digits printed
    assert np.isnan(expected[1])

    assert main(["predict", "two.qb", "new.csv", "--out", "out.csv"]) == 0
    assert capsys.readouterr().out == "Written: out.csv\n"
    heading, written = numbers(Path("out.csv").read_text())
    assert heading == ["tau=0.25", "tau=0.75"]
    np.testing.assert_array_equal(written, qb.qbr(FORMULA, engel, tau=[0.25, 0.75]).predict(new))


def test_crossing_quantiles_are_one_line_and_can_be_rearranged(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fit", "engel", FORMULA, "--tau", ".9,.1", "--save", "two.qb"]) == 0
    Path("new.csv").write_text("income\n-3000\n1000\n")  # lines that fan out cross when followed far enough back
    capsys.readouterr()
    assert main(["predict", "two.qb", "new.csv"]) == 0
    out, err = capsys.readouterr()
    crossed = pd.read_csv(io.StringIO(out))
    assert err.startswith("qreg-boost: warning: The quantiles of 1 of 2 rows cross") and err.count("\n") == 1
    assert (crossed["tau=0.9"] < crossed["tau=0.1"]).tolist() == [True, False]
    assert main(["predict", "two.qb", "new.csv", "--rearrange"]) == 0
    out, err = capsys.readouterr()
    sorted_rows = pd.read_csv(io.StringIO(out))
    assert err == "" and (sorted_rows["tau=0.9"] >= sorted_rows["tau=0.1"]).all()
    assert main(["fit", "engel", FORMULA, "--save", "one.qb"]) == 0
    capsys.readouterr()
    assert "several taus" in error_of(capsys, "predict", "one.qb", "new.csv", "--rearrange")


OTHERS = {
    "l2boost": lambda data: qb.l2boost(FORMULA, data),
    "logitboost": lambda data: qb.logitboost("poor ~ income", data, learner="linear", mstop=5),
    "median_classifier": lambda data: qb.median_classifier("poor ~ income", data),
    "multiclass": lambda data: qb.multiclass("third ~ income", data, booster="l2boost", mstop=20),
    "jous": lambda data: qb.jous("poor ~ income", data, booster="logitboost", learner="linear", mstop=5),
    "reject_classifier": lambda data: qb.reject_classifier("poor ~ income", data, method="double_hinge"),
    "qreg": lambda data: qb.qreg(FORMULA, data, tau=0.3),
    "l1qreg": lambda data: qb.l1qreg(FORMULA, data).select("sic"),
}


@pytest.mark.filterwarnings("ignore::qreg_boost.base.checks.OneClassWarning")
@pytest.mark.parametrize("name", OTHERS)
def test_saved_fits_of_every_kind_predict(
    name: str, folder: Path, engel: pd.DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    """Fits without a tau too: labels, numbers, and nothing where a prediction is withheld."""
    engel["poor"] = np.where(engel["foodexp"] > 0.7 * engel["income"], "yes", "no")
    engel["third"] = pd.qcut(engel["foodexp"], 3, labels=["low", "middle", "high"])
    fit = OTHERS[name](engel)
    fit.save("fit.qb")
    new = pd.DataFrame({"income": [400.0, 900.0, 2500.0]})
    new.to_csv("new.csv", index=False)
    assert main(["predict", "fit.qb", "new.csv"]) == 0
    heading, *printed = csv.reader(io.StringIO(capsys.readouterr().out))
    assert heading == ["predicted" if fit.tau is None else f"tau={fit.tau:g}"]
    expected = fit.predict(new).astype(object)
    assert [row[0] if row else "" for row in printed] == ["" if pd.isna(one) else str(one) for one in expected]


@pytest.mark.parametrize(
    ("path", "instead"),
    [(lambda data: qb.l1qreg(FORMULA, data), "select('sic')"), (lambda data: qb.qreg_process(FORMULA, data), "fit_at")],
    ids=["l1qreg", "qreg_process"],
)
def test_a_whole_path_says_what_to_save_instead(
    path: Any, instead: str, folder: Path, engel: pd.DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    path(engel).save("path.qb")
    assert instead in error_of(capsys, "predict", "path.qb", "engel")


def test_rearrange_needs_several_taus(folder: Path, engel: pd.DataFrame, capsys: pytest.CaptureFixture[str]) -> None:
    qb.l2boost(FORMULA, engel).save("fit.qb")
    assert "several taus; 'fit.qb' holds none" in error_of(capsys, "predict", "fit.qb", "engel", "--rearrange")


# -- other models


def test_every_model_by_name_and_its_options(folder: Path, engel: pd.DataFrame) -> None:
    engel["poor"] = np.where(engel["foodexp"] > 0.65 * engel["income"], "yes", "no")
    engel.to_csv("engel.csv", index=False)
    data = pd.read_csv("engel.csv")

    def saved(formula: str, *told: str) -> Any:
        assert main(["fit", "engel.csv", formula, *told, "--save", "fit.qb"]) == 0
        return qb.load("fit.qb")

    found = saved(FORMULA, "--model", "qreg", "--tau", ".3", "--set", "se=iid")
    expected = qb.qreg(FORMULA, data, 0.3, se="iid")
    pd.testing.assert_frame_equal(found.tidy(), expected.tidy())
    found = saved(
        "poor ~ income", "--model", "qbc", "--set", "event=no", "--set", 'cost={"fn": 2, "fp": 1}', "--mstop", "9"
    )
    assert (found.event, found.tau, found.mstop) == ("no", 2 / 3, 9)
    found = saved("poor ~ income", "--model", "logitboost", "--mstop", "5")
    assert found.predict(data).equals(qb.logitboost("poor ~ income", data, mstop=5).predict(data))  # its own defaults
    found = saved("poor ~ income", "--model", "jous", "--set", "booster=logitboost", "--mstop", "3", "--set", "grid=4")
    assert len(found.parts) == 3


def test_several_taus_of_qreg_are_drawn_in_one_figure(folder: Path) -> None:
    assert main(["fit", "engel", FORMULA, "--model", "qreg", "--tau", ".1,.5,.9", "--plot", "taus.png"]) == 0
    assert Path("taus.png").stat().st_size > 0


def test_cv_of_models_without_iterations(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cv", "engel", FORMULA, "--model", "l1qreg", "--k", "3", "--rule", "1se"]) == 0
    out = capsys.readouterr().out
    expected = qb.l1qreg(FORMULA, qb.datasets.load("engel")).cv(k=3, rule="1se", progress=False)
    assert out == f"tau = 0.5\n{expected}\n"


@pytest.mark.r
def test_compare_r_of_another_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare-r", "engel", FORMULA, "--model", "qreg", "--tau", ".9"]) == 0
    assert "This package and quantreg agree." in capsys.readouterr().out


# -- kinds of files


@pytest.mark.parametrize("kind", ["csv", "gzip", "bom", "row names", "parquet", "stdin"])
def test_kinds_of_files(kind: str, folder: Path, engel: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    text = engel.to_csv(index=False).encode()
    name = "engel.data"  # the content tells the format, not the name
    if kind == "parquet":
        pytest.importorskip("pyarrow")
        engel.to_parquet(name)
    elif kind == "row names":
        engel.to_csv(name)
    elif kind == "stdin":
        name = "-"
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    else:
        Path(name).write_bytes({"csv": text, "gzip": gzip.compress(text), "bom": b"\xef\xbb\xbf" + text}[kind])
    # with a dot, a column of row names would become a predictor
    assert main(["fit", name, "foodexp ~ .", "--save", "fit.qb"]) == 0
    pd.testing.assert_series_equal(qb.load("fit.qb").params, qb.qbr(FORMULA, engel).params, rtol=1e-12)


def test_a_file_goes_before_a_data_set_of_its_name(folder: Path, engel: pd.DataFrame) -> None:
    engel.head(50).to_csv("engel", index=False)
    assert main(["fit", "engel", FORMULA, "--save", "fit.qb"]) == 0
    assert qb.load("fit.qb").nobs == 50


def test_parquet_without_pyarrow(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(*_: object, **__: object) -> None:
        raise ImportError("no pyarrow")

    monkeypatch.setattr(pd, "read_parquet", missing)
    Path("data.parquet").write_bytes(b"PAR1rest")
    assert "pip install pyarrow" in error_of(capsys, "fit", "data.parquet", FORMULA)


# -- what a user has to mend


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ([], "COMMAND"),
        (["fti", "engel", FORMULA], "invalid choice: 'fti'"),
        (["fit", "engel"], "FORMULA"),
        (["fit", "engel", FORMULA, "--tau", "20"], "write tau=0.2"),
        (["fit", "engel", FORMULA, "--tau", ".5;.9"], "--tau must be a number, or numbers joined by commas"),
        (["fit", "engel", FORMULA, "--tau", ""], "--tau must be"),
        (["fit", "engel", FORMULA, "--mstop", "many"], "--mstop must be a whole number of at least 0, or cv"),
        (["fit", "engel", FORMULA, "--mstop", "-1"], "`mstop`"),
        (["fit", "engel", FORMULA, "--nu", "x"], "argument --nu"),
        (["fit", "engel", FORMULA, "--nu", "0"], "`nu`"),
        (["fit", "engel", FORMULA, "--learner", "liner"], "Did you mean 'linear'?"),
        (["fit", "engel", FORMULA, "--init", "mode"], "`init`"),
        (["fit", "engel", FORMULA, "--step-scale", "sd"], "`step_scale`"),
        (["fit", "engel", FORMULA, "--weights", "w"], "'w'"),
        (["fit", "engel", FORMULA, "--subset", "income <"], "income <"),
        (["fit", "engel", "foodexp ~ incom"], "Did you mean 'income'?"),
        (["fit", "engel", "foodexp ~ (income"], "foodexp ~ (income"),
        (["fit", "engel", "foodexp ~ main(income)"], "Function 'main'"),  # nothing of this program's own
        (["fit", "engel", "foodexp ~ fitted(income)"], "Function 'fitted'"),
        (["fit", "engel", FORMULA, "--model", "qrep"], "`--model` must be one of 'qbr', 'qreg'"),
        (["fit", "engel", FORMULA, "--model", "qreg", "--nu", ".1"], "qreg has no option 'nu'"),
        (["fit", "engel", FORMULA, "--set", "sd=1"], "qbr has no option 'sd'"),
        (["fit", "engel", FORMULA, "--set", "se"], "--set must be name=value"),
        (["fit", "engel", FORMULA, "--model", "qreg", "--set", "se=hc3"], "`se` must be one of"),
        (["fit", "engel", FORMULA, "--model", "qreg", "--plot", "x.png"], "no path of coefficients to draw"),
        (["fit", "engel", FORMULA, "--model", "qbc"], "two are needed"),
        (["cv", "engel", FORMULA, "--model", "qreg"], "nothing to choose by cross-validation"),
        (["fit", "engle", FORMULA], "Did you mean 'engel'?"),
        (["fit", "engel.csv", FORMULA], "There is no file 'engel.csv'"),
        (["fit", "no/engel", FORMULA], "There is no file"),
        (["fit", ".", FORMULA], "is a folder"),
        (["fit", "empty.csv", FORMULA], "'empty.csv' is empty"),
        (["fit", "header.csv", FORMULA], "`data` is empty: 0 rows"),
        (["fit", "ragged.csv", FORMULA], "cannot be read as a table"),
        (["fit", "latin.csv", FORMULA], "not text in UTF-8"),
        (["fit", "binary.csv", FORMULA], "is no text"),
        (["fit", "cut.csv.gz", FORMULA], "cannot be read as a table"),
        (["fit", "cut.parquet", FORMULA], "cut.parquet"),
        (["fit", "engel", FORMULA, "--save", "no/fit.qb"], "there is no folder 'no'"),
        (["fit", "engel", FORMULA, "--plot", "no/path.png"], "there is no folder 'no'"),
        (["predict", "none.qb", "engel"], "There is no file 'none.qb'"),
        (["predict", "header.csv", "engel"], "not a fit saved by qreg_boost"),
        (["predict", "fit.qb", "header.csv", "--out", "no/out.csv"], "there is no folder 'no'"),
        (["predict", "fit.qb", "other.csv"], "'income'"),
        (["cv", "engel", FORMULA, "--folds", "kfolds"], "Did you mean 'kfold'?"),
        (["cv", "engel", FORMULA, "--k", "1"], "`k`"),
        (["cv", "engel", FORMULA, "--max", "0"], "`max`"),
        (["cv", "engel", FORMULA, "--rule", "best"], "`rule`"),
        (["cv", "engel", FORMULA, "--rng", "-1"], "`rng`"),
        (["cv", "engel", FORMULA, "--n-jobs", "0"], "--n-jobs"),
        (["datasets", "engle"], "Did you mean 'engel'?"),
        (["datasets", "--out", "x.csv"], "--out needs the name of a data set"),
        (["datasets", "engel", "--out", "no/x.csv"], "there is no folder 'no'"),
        (["demo", "--out", "empty.csv"], "Cannot make the folder 'empty.csv'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistakes(argv: list[str], said: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("empty.csv").write_text("\n")
    Path("header.csv").write_text("income,foodexp\n")
    Path("other.csv").write_text("expenditure\n1\n")
    Path("ragged.csv").write_text("income,foodexp\n1,2\n1,2,3,4\n")
    Path("latin.csv").write_bytes("income,café\n1,2\n".encode("latin-1"))
    Path("binary.csv").write_bytes(b"\x7fELF\0\0\0")
    Path("cut.csv.gz").write_bytes(gzip.compress(b"income,foodexp\n1,2\n")[:-12])
    Path("cut.parquet").write_bytes(b"PAR1 cut short")
    if "fit.qb" in argv:
        qb.qbr(FORMULA, qb.datasets.load("engel"), mstop=2).save("fit.qb")
    assert said in error_of(capsys, *argv)


def test_a_table_that_is_not_here(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QREG_BOOST_DATA", raising=False)
    assert "QREG_BOOST_DATA is not set" in error_of(capsys, "fit", "diamonds", "price ~ carat")


def test_warnings_are_one_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cv", "engel", FORMULA, "--max", "3", "--k", "3"]) == 0
    err = capsys.readouterr().err
    assert err.startswith("qreg-boost: warning: The best stop is the last iteration tried, 3") and err.count("\n") == 1


# -- cv, compare-r, datasets, demo -------------------------------------------------------------------------------------


def test_cv_prints_what_cv_finds(folder: Path, engel: pd.DataFrame, capsys: pytest.CaptureFixture[str]) -> None:
    told = ["--tau", ".5,.9", "--max", "300", "--k", "4", "--rng", "3", "--rule", "1se", "--n-jobs", "2"]
    assert main(["cv", "engel", FORMULA, *told, "--plot", "cv.png"]) == 0
    out = capsys.readouterr().out
    for tau in (0.5, 0.9):
        found = qb.qbr(FORMULA, engel, tau=tau, mstop=300).cv(k=4, rng=3, rule="1se")
        assert f"tau = {tau:g}\n{found}\n" in out
        assert Path(f"cv-tau{tau:g}.png").stat().st_size > 5000


def test_fit_draws_the_path(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    assert main(["fit", "engel", FORMULA, "--mstop", "20", "--plot", "path"]) == 0
    assert "Written: path.png\n" in capsys.readouterr().out
    assert Path("path.png").read_bytes().startswith(b"\x89PNG")
    assert main(["fit", "engel", FORMULA, "--mstop", "20", "--plot", "path.docx"]) == 2
    assert "Cannot write 'path.docx'" in capsys.readouterr().err


@pytest.mark.r
def test_compare_r(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare-r", "engel", FORMULA, "--tau", ".25,.75"]) == 0
    out = capsys.readouterr().out
    assert "tau 0.25" in out and "tau 0.75" in out and "agree" in out


def test_data_sets_are_listed_and_written(
    folder: Path, engel: pd.DataFrame, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("QREG_BOOST_DATA", raising=False)
    assert main(["datasets"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == qb.datasets.names()
    assert [line for line in lines if line.startswith("engel ") and "not here" not in line]
    assert [line for line in lines if line.startswith("diamonds ") and "needs QREG_BOOST_DATA" in line]
    assert main(["datasets", "engel"]) == 0
    assert "Belgian francs" in capsys.readouterr().out
    assert main(["datasets", "engel", "--out", "engel.csv"]) == 0
    heading, written = numbers(Path("engel.csv").read_text())
    assert heading == list(engel.columns)
    np.testing.assert_array_equal(written, engel)


def test_demo(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    assert main(["demo", "--out", "plots/engel"]) == 0
    out, err = capsys.readouterr()
    assert out.count("foodexp ~ income") >= 3 and err == ""
    for name in ("engel_path.png", "engel_quantiles.png"):
        path = Path("plots/engel") / name
        assert f"Written: {path}\n" in out
        assert path.read_bytes().startswith(b"\x89PNG") and path.stat().st_size > 5000


def test_demo_without_matplotlib(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    assert main(["demo"]) == 0
    out = capsys.readouterr().out
    assert "foodexp ~ income" in out and "No plots were drawn." in out and "pip install" in out


# -- as a program


def run(*argv: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "qreg_boost", *argv], capture_output=True, text=True, **options)  # type: ignore[call-overload]


def test_program() -> None:
    done = run("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"qreg-boost {qb.__version__}\n", "")
    done = run("fit", "engel", "foodexp ~ incom")
    assert done.returncode == 2 and done.stdout == "" and "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1 and "Did you mean 'income'?" in done.stderr


@pytest.mark.parametrize("command", ["demo", "fit", "predict", "cv", "compare-r", "datasets"])
def test_help_has_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    assert f"example: qreg-boost {command}" in capsys.readouterr().out


@pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell")
def test_reader_that_leaves() -> None:
    command = f"{sys.executable} -m qreg_boost datasets | head -n 1"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert done.stdout.count("\n") == 1 and done.stderr == ""


@pytest.mark.skipif(os.name != "posix", reason="needs a POSIX pipe")
def test_output_without_a_reader() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "qreg_boost", "datasets"], stdout=writing, stderr=subprocess.PIPE, text=True
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")
