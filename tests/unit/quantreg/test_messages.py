"""Every message that qreg's user may meet: what is wrong, what was found, what is allowed, what to do."""

# ruff: noqa: E501 (a message and its pattern belong on one line)
from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import qreg_boost as qb
from qreg_boost.base.checks import InputError
from tests.unit.quantreg.cases import DATA, ENGEL

N = len(DATA)
X = DATA[["x", "z"]].to_numpy()


def fit(formula: str = "y ~ x", data=DATA, tau=0.5, **options):
    return qb.qreg(formula, data, tau, **options)


BAD = {
    # columns and rows
    "unknown column": (lambda: qb.qreg("foodexp ~ incom", ENGEL), r"Column 'incom' in \"foodexp ~ incom\" is not in `data`\. Did you mean 'income'\?"),
    "nothing to fit": (lambda: fit("y ~ 0"), r"neither an intercept nor a predictor: nothing to fit\. Write \"y ~ 1\""),
    "y not numeric": (lambda: fit("g ~ x"), r"'g'.*(numeric|numbers)"),
    "infinite y": (lambda: fit(data=DATA.assign(y=np.inf)), r"infinite"),
    "all rows missing": (lambda: fit(data=DATA.assign(x=np.nan)), r"No row is complete"),
    "missing refused": (lambda: fit(data=DATA.assign(x=DATA["x"].where(DATA.index != 3)), missing="raise"), r"missing"),
    # tau
    "tau 20": (lambda: fit(tau=20), r"`tau` must lie strictly between 0 and 1; got 20\. For the 20th percentile write tau=0\.2"),
    "tau 0": (lambda: fit(tau=0), r"`tau` must lie strictly between 0 and 1; got 0"),
    "tau text": (lambda: fit(tau="median"), r"`tau` must be a number strictly between 0 and 1; got 'median'"),
    "tau empty": (lambda: fit(tau=[]), r"`tau` is an empty list; give at least one"),
    "tau twice": (lambda: fit(tau=[0.5, 0.5]), r"`tau` names a quantile level twice: 0\.5, 0\.5"),
    "one tau of several": (lambda: fit(tau=[0.5, 50]), r"got 50\. For the 50th percentile write tau=0\.5"),
    # weights and offset
    "negative weights": (lambda: fit(weights=-np.ones(N)), rf"`weights` must not be negative; found {N} negative values"),
    "weights of wrong length": (lambda: fit(weights=np.ones(7)), rf"`weights` must have one value per row: {N} rows, but 7 values"),
    "all weights 0": (lambda: fit(weights=np.zeros(N)), "at least one row needs a weight above 0"),
    "offset of wrong length": (lambda: fit(offset=np.ones(7)), rf"`offset` must have one value per row: {N} rows, but 7 values"),
    "offset missing in new data": (lambda: fit(offset=np.ones(N)).predict(DATA), r"an offset given as an array, so predicting needs one too"),
    "offset without new data": (lambda: fit().predict(offset=np.ones(N)), "`offset` goes with new data"),
    # options
    "se": (lambda: fit(se="nids"), r"`se` must be one of 'nid', 'iid', .*; got 'nids'\. Did you mean 'nid'\?"),
    "se in with_se": (lambda: fit().with_se("robust"), r"`se` must be one of 'nid', .*; got 'robust'"),
    "method": (lambda: fit(method="br"), r"`method` must be one of 'exact', .*; got 'br'"),
    "option of another kind": (lambda: fit().with_se("iid", groups="g"), r"se='iid' has no option 'groups'\. It belongs to se=.*'cluster'.*Its options: bandwidth"),
    "alpha as an option": (lambda: fit().with_se("rank", alpha=0.05), r"no option 'alpha'\. conf_int\(alpha=\.\.\.\) and summary\(alpha=\.\.\.\) set the level"),
    "bandwidth": (lambda: fit().with_se("nid", bandwidth="hall").bse, r"`bandwidth` must be one of 'hall-sheather', 'bofinger'; got 'hall'"),
    "style": (lambda: fit().summary(style="R"), r"`style` must be 'r'; got 'R'"),
    "conf_int of tidy": (lambda: fit().tidy(conf_int=1), "`conf_int` must be True or False; got 1"),
    # groups
    "no groups": (lambda: fit(se="cluster"), r"se=\"cluster\" needs `groups`: a column name, or one label per row"),
    "no groups later": (lambda: fit().with_se("cluster"), r"se=\"cluster\" needs `groups`"),
    "groups column": (lambda: fit(se="cluster", groups="village"), r"Column 'village' \(groups\) is not in `data`"),
    "groups of wrong length": (lambda: fit(se="cluster", groups=[1, 2]), rf"`groups` must have one label per row: {N} rows, but shape \(2,\)"),
    "one group": (lambda: fit(se="cluster", groups=np.ones(N)).bse, r"`groups`"),
    "column of arrays": (lambda: qb.QReg(DATA["y"], X, se="cluster", groups="g"), r"`groups` names a column, 'g', but the data are not there; pass one label per row"),
    # alpha and intervals
    "alpha 95": (lambda: fit().conf_int(95), r"`alpha` must lie strictly between 0 and 1; got 95\. For 95 % intervals write alpha=0\.05"),
    "alpha 0": (lambda: fit().conf_int(0), r"`alpha` must lie strictly between 0 and 1; got 0\. 0\.05 gives 95 % intervals"),
    "interval": (lambda: fit().predict(DATA, interval="conf"), r"`interval` must be one of None, 'confidence', 'prediction'; got 'conf'"),
    "level not seen": (lambda: fit("y ~ g").predict({"g": ["d"]}), r"'?d'?"),
    # several
    "no such tau": (lambda: fit(tau=[0.25, 0.5])[0.75], r"No fit at tau=0\.75; taus: 0\.25, 0\.5"),
    # arrays
    "rows of arrays": (lambda: qb.QReg(DATA["y"][:5], X), rf"`y` has 5 values and `X` has {N} rows"),
    "rows of sparse arrays": (lambda: qb.QReg(DATA["y"][:5], sparse.csr_matrix(X)), rf"`y` has 5 values and `X` has {N} rows"),
    "sparse gaps": (lambda: qb.QReg(DATA["y"], sparse.csr_matrix(X * np.nan)), "`X` has missing or infinite values; a sparse design must be complete"),
    "sparse names": (lambda: qb.QReg(DATA["y"], sparse.csr_matrix(X), names=["a"]), "`names` must name each of the 2 columns of `X` once; got 1 names"),
    # every tau, every bound
    "process at 20": (lambda: qb.qreg_process("y ~ x", DATA).params_at(20), r"For the 20th percentile write tau=0\.2"),
    "process at 0": (lambda: qb.qreg_process("y ~ x", DATA).params_at(0), r"`tau` must lie strictly between 0 and 1; got 0"),
    "process plot": (lambda: qb.qreg_process("y ~ x", DATA).plot(terms="xx"), "There is no coefficient 'xx'"),
    "l1 of several taus": (lambda: qb.l1qreg("y ~ x", DATA, tau=[0.1, 0.2]), r"`tau` must be one number: a path belongs to one quantile"),
    "l1 of nothing": (lambda: qb.l1qreg("y ~ 1", DATA), "There is no predictor, so there is no path"),
    "l1 unpenalised": (lambda: qb.l1qreg("y ~ x + g", DATA, unpenalised=["xx"]), r"`unpenalised` names 'xx', which is no term\. Did you mean 'x'\? Terms: "),
    "l1 standardize": (lambda: qb.l1qreg("y ~ x", DATA, standardize=1), "`standardize` must be True or False; got 1"),
    "l1 at nothing": (lambda: qb.l1qreg("y ~ x", DATA).at(), r"Give either `s`, the bound, or `lam`, the multiplier"),
    "l1 at both": (lambda: qb.l1qreg("y ~ x", DATA).at(s=1, lam=1), r"Give either `s`, the bound, or `lam`"),
    "l1 at several": (lambda: qb.l1qreg("y ~ x", DATA).at(s=[1, 2]), r"Give one number, for one fit; got \[1, 2\]"),
    "l1 at text": (lambda: qb.l1qreg("y ~ x", DATA).at(s="a"), r"`s` must be a number of at least 0; got 'a'"),
    "l1 below 0": (lambda: qb.l1qreg("y ~ x", DATA).at(s=-1.0), r"`s` must be at least 0; got -1"),
    "l1 criterion": (lambda: qb.l1qreg("y ~ x", DATA).select("bic"), r"`criterion` must be one of 'sic', 'gacv', 'cv'; got 'bic'"),
    "l1 options": (lambda: qb.l1qreg("y ~ x", DATA).select("sic", k=5), r"criterion='sic' has no options; k belong to 'cv'"),
    "process at no tau": (lambda: qb.qreg_process("y ~ x", DATA).predict(DATA, []), "`tau` is empty; give at least one"),
    "process plot of nothing": (lambda: qb.qreg_process("y ~ x", DATA).plot(terms=[]), r"`terms` is empty.*Terms: Intercept, x"),
    "plot of nothing": (lambda: fit(tau=[0.2, 0.8]).plot(terms=[]), r"`terms` is empty.*Terms: Intercept, x"),
    "l1 in R": (lambda: qb.l1qreg("y ~ x", DATA).at(s=1.0).compare_r(), "quantreg has no path in the bound"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_message(case: str) -> None:
    ask, pattern = BAD[case]
    with pytest.raises(InputError, match=pattern):
        ask()


def test_loaded_paths_say_what_they_cannot(tmp_path) -> None:
    path = qb.load(qb.l1qreg("y ~ x", DATA).save(tmp_path / "path.qb"))
    with pytest.raises(InputError, match=r"loaded without its rows, so it cannot be cross-validated.*fit the path to"):
        path.select("cv")
    for one in (path, path.at(s=1.0), qb.load(path.at(s=1.0).save(tmp_path / "fit.qb"))):
        with pytest.raises(InputError, match=r"never holds the rows of an L1 path.*anew with l1qreg") as caught:
            one.model  # noqa: B018
        assert "data=True" not in str(caught.value)
    for ask in (lambda fit: fit.fittedvalues, lambda fit: fit.resid, lambda fit: fit.augment()):
        with pytest.raises(InputError, match="never holds the rows of an L1 path"):
            ask(path.select("sic"))
    process = qb.load(qb.qreg_process("y ~ x", DATA).save(tmp_path / "process.qb"))
    for ask in (lambda path: path.fit_at(0.5), lambda path: path.model):
        with pytest.raises(InputError, match=r"never holds its rows.*params_at\(tau\).*qreg or qreg_process"):
            ask(process)


@pytest.mark.parametrize("made", [qb.qreg_process("y ~ x", DATA), qb.l1qreg("y ~ x", DATA)])
def test_paths_are_saved_without_their_rows(made, tmp_path) -> None:
    for one in (made, made.at(s=1.0)) if hasattr(made, "at") else (made,):
        with pytest.raises(InputError, match=r"leave out data=True.*pickle"):
            one.save(tmp_path / "path.qb", data=True)
    assert not (tmp_path / "path.qb").exists()
