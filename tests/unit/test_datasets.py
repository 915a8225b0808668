"""Data sets: what ships, what is simulated, what is read from the folder of QREG_BOOST_DATA, and every message."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from qreg_boost import datasets
from qreg_boost.base.checks import InputError

SHIPPED = ["engel", "stackloss"]
FOLDER = [name for name in datasets.names() if datasets.info(name).where == "folder"]


# ---- what ships


def test_what_is_known_of_a_table_prints_as_lines() -> None:
    about = datasets.info("engel")
    lines = repr(about).splitlines()
    assert lines == str(about).splitlines()
    assert lines[0] == "Name:     engel" and "Size:     235 rows, 2 columns" in lines
    assert any(line.startswith("  foodexp: Belgian francs a year") for line in lines)


def test_engel_is_the_table_of_statsmodels() -> None:
    theirs = pytest.importorskip("statsmodels.datasets.engel").load_pandas().data
    pd.testing.assert_frame_equal(datasets.load("engel")[["income", "foodexp"]], theirs[["income", "foodexp"]])


def test_engel_documents_units_in_francs() -> None:
    units = datasets.load("engel").attrs["units"]
    assert set(units) == {"income", "foodexp"}
    assert all("Belgian francs a year" in unit for unit in units.values())


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_tables_need_no_folder(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QREG_BOOST_DATA", raising=False)
    about, frame = datasets.info(name), datasets.load(name)
    assert frame.shape == (about.rows, about.columns)
    assert set(about.response) <= set(frame.columns) and set(about.units) == set(frame.columns)


def test_load_returns_a_fresh_frame_each_time() -> None:
    first = datasets.load("engel")
    first.loc[0, "income"] = -1.0
    first.attrs["units"]["income"] = "changed"
    second = datasets.load("engel")
    assert second.loc[0, "income"] > 0 and second.attrs["units"]["income"] != "changed"


# ---- the simulated design


def test_zheng2012_has_the_coefficients_of_the_paper() -> None:
    drawn = datasets.simulate_zheng2012()
    assert drawn.coefficients.to_dict() == dict(
        Intercept=0.0, x1=3.0, x2=-1.5, x3=0.0, x4=0.0, x5=2.0, x6=0.0, x7=0.0, x8=0.0
    )
    assert list(drawn.data.columns) == ["y", *[f"x{j}" for j in range(1, 9)]]


@pytest.mark.parametrize("tau", [0.1, 0.5, 0.75, 0.99])
def test_zheng2012_truth_is_the_quantile(tau: float) -> None:
    n = 40_000
    drawn = datasets.simulate_zheng2012(n=n, tau=tau, rng=3)
    below = float((drawn.data["y"] < drawn.quantile).mean())
    # Five standard errors of a binomial share.
    assert abs(below - tau) < 5 * np.sqrt(tau * (1 - tau) / n)
    x = drawn.data.drop(columns="y")
    linear = drawn.coefficients["Intercept"] + x.to_numpy() @ drawn.coefficients[x.columns].to_numpy()
    np.testing.assert_allclose(drawn.quantile, linear, rtol=0, atol=1e-12)


def test_zheng2012_draws_depend_on_the_seed_alone() -> None:
    first, again = datasets.simulate_zheng2012(n=20, tau=0.1, rng=5), datasets.simulate_zheng2012(n=20, tau=0.9, rng=5)
    pd.testing.assert_frame_equal(first.data, again.data)
    generator = np.random.default_rng(5)
    pd.testing.assert_frame_equal(datasets.simulate_zheng2012(n=20, rng=generator).data, first.data)
    assert not datasets.simulate_zheng2012(n=20, rng=6).data.equals(first.data)


def test_zheng2012_errors_are_double_exponential() -> None:
    from scipy import stats

    drawn = datasets.simulate_zheng2012(n=5000, rng=1)
    # The seed is fixed; errors twice as wide or normal give p below 1e-10.
    assert stats.kstest(drawn.data["y"] - drawn.quantile, stats.laplace.cdf).pvalue > 0.01


def test_load_zheng2012_carries_its_truth() -> None:
    frame = datasets.load("zheng2012")
    assert frame.shape == (500, 9)
    assert frame.attrs["tau"] == 0.5 and frame.attrs["coefficients"]["x2"] == -1.5
    pd.testing.assert_frame_equal(frame, datasets.simulate_zheng2012(n=500, rng=0).data)


@pytest.mark.parametrize(("options", "message"), [({"n": 0}, "`n` must be"), ({"tau": 20}, "tau=0.2")])
def test_simulate_refuses(options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        datasets.simulate_zheng2012(**options)


# ---- the registry


def test_registry_has_no_name_twice() -> None:
    taken = [name for known in datasets.names() for name in (known, *datasets.info(known).aliases)]
    assert len(taken) == len(set(taken))
    assert {"engel", "zheng2012", "wine_red", "concrete_strength", "bodyfat", "barro"} <= set(datasets.names())


@pytest.mark.parametrize("name", datasets.names())
def test_registry_entry_is_complete(name: str) -> None:
    about = datasets.info(name)
    assert about.title and about.licence and about.citation and about.source and about.response and about.rows > 0
    assert about.where in {"shipped", "simulated", "folder"}
    assert about.where == "simulated" or (about.file and about.sha256 and len(about.sha256) == 64)


def test_the_stem_of_the_file_is_a_name_too() -> None:
    assert datasets.info("wine_quality_red") is datasets.info("wine_red")
    for name in FOLDER:
        assert datasets.info(str(datasets.info(name).file).split(".")[0]).name == name


def test_names_tells_what_is_available(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("QREG_BOOST_DATA", raising=False)
    assert datasets.names(available=True) == ["engel", "stackloss", "zheng2012"]
    (tmp_path / "bodyfat.csv").write_text("a\n1\n")
    monkeypatch.setenv("QREG_BOOST_DATA", str(tmp_path))
    assert datasets.names(available=True) == ["bodyfat", "engel", "stackloss", "zheng2012"]


def test_no_public_table_lies_in_the_source() -> None:
    files = {path.name for path in (Path(__file__).parents[2] / "data").iterdir()}
    assert files == {"README.md", "registry.json", "engel.csv", "stackloss.csv"}


# ---- the folder, with a registry entry of our own


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Return a function that registers a file of its own in an empty folder, with the checksum of `content`."""
    monkeypatch.setenv("QREG_BOOST_DATA", str(tmp_path))

    def register(file: str, content: bytes) -> Path:
        entry = {
            "where": "folder", "file": file, "title": "A table", "rows": 2, "columns": 2, "response": ["b"],
            "task": "regression", "licence": "none", "citation": "none", "source": ["https://example.org/table"],
            "units": {"b": "m"}, "sha256": hashlib.sha256(content).hexdigest(),
        }  # fmt: skip
        monkeypatch.setattr(datasets, "_registry", lambda: {"small": datasets._data_info("small", entry)})
        (tmp_path / file).write_bytes(content)
        return tmp_path / file

    return register


CSV = b"a,b\n1,x\n2,y\n"


@pytest.mark.parametrize(("file", "content"), [("t.csv", CSV), ("t.csv.gz", gzip.compress(CSV, mtime=0))])
def test_csv_and_gzip_are_read(small, file: str, content: bytes) -> None:
    small(file, content)
    frame = datasets.load("small")
    assert frame["a"].tolist() == [1, 2] and frame["b"].tolist() == ["x", "y"]
    assert frame.attrs["units"] == {"b": "m"} and frame.attrs["source"] == ["https://example.org/table"]


def test_images_are_rows_of_pixels(small) -> None:
    store = io.BytesIO()
    images = np.arange(8, dtype=np.uint8).reshape(2, 2, 2)
    np.savez(store, images=images, labels=np.array([1, 0], np.uint8), source_index=np.array([7, 9], np.int32))
    small("t.npz", store.getvalue())
    frame = datasets.load("small")
    assert list(frame.columns) == ["label", "source_index", "p00_00", "p00_01", "p01_00", "p01_01"]
    assert frame.iloc[1].tolist() == [0, 9, 4, 5, 6, 7]


def test_wrong_checksum_is_refused_unless_asked_for(small) -> None:
    path = small("t.csv", CSV)
    path.write_bytes(CSV + b"3,z\n")
    with pytest.raises(InputError, match=r"t\.csv is not the registered file .* expected .* verify=False"):
        datasets.load("small")
    assert len(datasets.load("small", verify=False)) == 3


@pytest.mark.parametrize("file", ["t.csv.gz", "t.npz"])
def test_damaged_file_is_a_clear_message(small, file: str) -> None:
    small(file, b"not what its name says")
    with pytest.raises(InputError, match=r"cannot be read"):
        datasets.load("small")


# ---- messages


def test_unset_folder_names_source_and_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QREG_BOOST_DATA", raising=False)
    with pytest.raises(InputError) as error:
        datasets.load("wine_red")
    text = str(error.value)
    assert "QREG_BOOST_DATA is not set" in text and "wine_quality_red.csv" in text and "https://github.com/" in text
    assert "1599 rows" in text and "engel" in text


def test_folder_that_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("QREG_BOOST_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match="which is not a folder"):
        datasets.load("barro")


def test_file_that_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("QREG_BOOST_DATA", str(tmp_path))
    with pytest.raises(InputError, match=r"has no quantreg_barro\.csv.*R package quantreg.*Put it there as"):
        datasets.load("barro")


def test_unknown_name_gets_the_nearest() -> None:
    with pytest.raises(InputError, match=r"There is no data set 'engle'\. Did you mean 'engel'\?"):
        datasets.load("engle")


# ---- the public tables, where they are


@pytest.mark.parametrize("name", FOLDER)
def test_public_table_is_as_registered(name: str, public_table) -> None:
    frame, about = public_table(name), datasets.info(name)
    assert frame.shape == (about.rows, about.columns)
    assert set(about.response) <= set(frame.columns)
    assert {column for column in about.units if " to " not in column} <= set(frame.columns)


def test_registry_is_plain_json() -> None:
    text = (Path(__file__).parents[2] / "data" / "registry.json").read_text(encoding="utf-8")
    assert list(json.loads(text)["datasets"]) == sorted(datasets.names())
