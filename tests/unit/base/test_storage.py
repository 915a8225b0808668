"""Saved fits: whole, damaged, foreign, from the future."""

# ruff: noqa: E501 (tables of cases, one a line)
from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import qreg_boost as qb
from qreg_boost.base import storage
from qreg_boost.base.checks import FileFormatError, InputError
from tests.unit.boosting.cases import frame


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> bytes:
    fit = qb.qbr("y ~ x1 + g", frame(40), [0.3, 0.7], mstop=30)
    return fit.save(tmp_path_factory.mktemp("saved") / "fit.qb", data=True).read_bytes()


def load(content: bytes, folder: Path):
    path = folder / "fit.qb"
    path.write_bytes(content)
    return qb.load(path)


def refused(content: bytes, folder: Path) -> str:
    """Return the message of a file that is refused, one line of text that names the file."""
    with pytest.raises(InputError) as raised:
        load(content, folder)
    text = str(raised.value)
    assert "\n" not in text and "fit.qb" in text
    return text


def rewritten(saved: bytes, change) -> bytes:
    """Return the file with its page changed by `change`."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(saved)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == storage.PAGE:
                page = json.loads(content)
                content = json.dumps(change(page) or page).encode()
            new.writestr(name, content)
    return out.getvalue()


def test_the_file_holds_no_code_and_no_pickles(saved) -> None:
    with zipfile.ZipFile(io.BytesIO(saved)) as archive:
        assert storage.PAGE in archive.namelist()
        for name in archive.namelist():
            if name != storage.PAGE:
                assert name.endswith(".npy")
                np.load(io.BytesIO(archive.read(name)), allow_pickle=False)


@pytest.mark.parametrize("length", [0, 1, 4, 100, 1000, -1, -30])
def test_cut_short(saved, length: int, tmp_path) -> None:
    text = refused(saved[:length], tmp_path)
    assert "cut short" in text or "damaged" in text


def test_flipped_bytes(saved, tmp_path) -> None:
    """A file with one byte changed is refused, or is read as it was: never something else, never another error."""
    whole = load(saved, tmp_path).params
    rng = np.random.default_rng(0)
    refusals = 0
    for position in rng.integers(0, len(saved), 400):
        content = bytearray(saved)
        content[position] ^= int(rng.integers(1, 256))
        (tmp_path / "fit.qb").write_bytes(content)
        try:
            assert qb.load(tmp_path / "fit.qb").params.equals(whole)
        except FileFormatError as error:
            refusals += 1
            assert "\n" not in str(error)
    assert refusals > 200


def test_bytes_gone_or_added(saved, tmp_path) -> None:
    rng = np.random.default_rng(1)
    for position in rng.integers(0, len(saved), 60):
        for content in (saved[:position] + saved[position + 7 :], saved[:position] + b"\0\1\2" + saved[position:]):
            (tmp_path / "fit.qb").write_bytes(content)
            try:
                qb.load(tmp_path / "fit.qb")
            except FileFormatError as error:
                assert "\n" not in str(error)


@pytest.mark.parametrize("content", [b"", b"x", b"y,x\n1,2\n", bytes(range(256)) * 40, b"PK\x03\x04" + bytes(99)])
def test_foreign_files(content: bytes, tmp_path) -> None:
    assert "not a fit saved by qreg_boost" in refused(content, tmp_path)


def test_another_zip(tmp_path) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("word/document.xml", "<x/>")
    assert "no page 'fit.json'" in refused(out.getvalue(), tmp_path)


@pytest.mark.parametrize("page", ["[]", "3", "null", "{}", '{"format": "other"}', "{", "\xff"])
def test_a_zip_with_another_page(page: str, tmp_path) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(storage.PAGE, page.encode("latin-1"))
    text = refused(out.getvalue(), tmp_path)
    assert "not a fit" in text or "damaged" in text


def test_a_future_version(saved, tmp_path) -> None:
    content = rewritten(saved, lambda page: page.update(version=storage.VERSION + 1))
    text = refused(content, tmp_path)
    assert f"newer qreg_boost (file version {storage.VERSION + 1}" in text and "Upgrade qreg_boost" in text


@pytest.mark.parametrize("version", [0, -1, None, "1", 1.5])
def test_a_version_that_is_none(saved, version, tmp_path) -> None:
    assert "damaged" in refused(rewritten(saved, lambda page: page.update(version=version)), tmp_path)


def test_an_unknown_kind(saved, tmp_path) -> None:
    with pytest.raises(FileFormatError, match=r"fit\.qb.*'OtherResults'.*does not know"):
        load(rewritten(saved, lambda page: page.update(kind="OtherResults")), tmp_path)


def test_an_array_that_does_not_match_its_checksum(saved, tmp_path) -> None:
    def swap(page) -> None:
        page["arrays"]["0.path.levels"] = page["arrays"]["1.path.levels"]

    assert "checksum" in refused(rewritten(saved, swap), tmp_path)


def damage(where: tuple, value):
    def change(page) -> None:
        place = page["meta"]
        for key in where[:-1]:
            place = place[key]
        if value is KeyError:
            del place[where[-1]]
        else:
            place[where[-1]] = value

    return change


ONE = ("fits", 0, "meta")


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("fits",), KeyError), (("fits",), 3), (("taus",), KeyError), ((*ONE, "facts"), []), ((*ONE, "facts", "tau"), KeyError),
        ((*ONE, "path", "names"), KeyError), ((*ONE, "path"), None), ((*ONE, "mstop"), "many"), ((*ONE, "encoder"), {}),
        ((*ONE, "facts", "terms"), "x"), ((*ONE, "facts", "news"), 1), ((*ONE, "model", "options"), {"tau": 20}), ((*ONE, "model", "options"), {"nu": -1}),
    ],
)  # fmt: skip
def test_content_that_does_not_fit_together(saved, where, value, tmp_path) -> None:
    """Such a file was not made by a disk's error, but by a hand or by another program: refused all the same, in one line."""
    with pytest.raises(FileFormatError) as raised:
        load(rewritten(saved, damage(where, value)), tmp_path)
    assert "\n" not in str(raised.value) and "fit.qb" in str(raised.value)


def test_no_such_file(tmp_path) -> None:
    with pytest.raises(InputError, match=r"There is no file '.*nothing\.qb'"):
        qb.load(tmp_path / "nothing.qb")
    with pytest.raises(InputError, match="no file"):
        qb.load(tmp_path)  # a folder


def test_a_folder_that_is_not_there(tmp_path) -> None:
    fit = qb.qbr("y ~ x1", frame(20), mstop=3)
    with pytest.raises(InputError, match=r"Cannot write '.*fit\.qb': No such file or directory"):
        fit.save(tmp_path / "no" / "fit.qb")
    with pytest.raises(InputError, match="Cannot write"):
        fit.save(tmp_path)


def test_save_returns_its_path_and_writes_over(tmp_path) -> None:
    fit = qb.qbr("y ~ x1", frame(20), mstop=3)
    path = fit.save(str(tmp_path / "fit.qb"))
    assert path == tmp_path / "fit.qb"
    fit.at(1).save(path)
    assert qb.load(str(path)).mstop == 1


def double(values):
    return 2 * values


def test_a_function_of_the_callers_own_is_refused_by_name(tmp_path) -> None:
    fit = qb.qbr("y ~ double(x1)", frame(30), mstop=5)
    with pytest.raises(InputError, match="double"):
        fit.save(tmp_path / "fit.qb")
    assert not (tmp_path / "fit.qb").exists()


@pytest.mark.parametrize(
    "formula",
    [
        "y ~ np.log(x1 + 20) + center(x2)",
        "y ~ bs(x1, df=4) + C(g)",
        "y ~ standardize(x1):g",
        "np.exp(y / 10) ~ x1 * x2",
        "y ~ 0 + g",
    ],
)
@pytest.mark.parametrize("data", [False, True])
def test_predictions_on_new_data_to_the_last_bit(formula: str, data: bool, tmp_path) -> None:
    fit = qb.qbr(formula, frame(60), 0.4, mstop=50)
    new = frame(40, seed=5).query("-2 < x1 < 2").copy()
    new.loc[new.index[0], ["x1", "x2", "g"]] = np.nan
    again = qb.load(fit.save(tmp_path / "fit.qb", data=data))
    assert again.predict(new).equals(fit.predict(new))
    assert again.predict(new).isna().sum() == 1


def test_one_array_of_objects_is_refused(tmp_path) -> None:
    with pytest.raises(InputError, match="plain arrays"):
        storage.write(tmp_path / "x", "Kind", {}, {"a": np.array([{}], dtype=object)})


def test_weights_and_offset_come_back(tmp_path) -> None:
    data = frame(50).assign(w=np.arange(50.0), o=1.5)
    fit = qb.qbr("y ~ x1", data, 0.3, weights="w", offset="o", mstop=20)
    again = qb.load(fit.save(tmp_path / "fit.qb", data=True))
    assert again.extend(40).params.equals(fit.extend(40).params)
    pd.testing.assert_series_equal(again.resid, fit.resid)
