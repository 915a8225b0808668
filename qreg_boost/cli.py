"""The command line: ``qreg-boost demo | fit | predict | cv | compare-r | datasets``.

What a user can mend ends with exit code 2 and one line on stderr; warnings are one line each. Nothing is computed
here: every command calls `qreg_boost.api` and prints what comes back.
"""

from __future__ import annotations

import argparse
import inspect
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from qreg_boost import api, datasets
from qreg_boost.api_files import load
from qreg_boost.base.checks import InputError, MissingDependencyError, check_count, nearest
from qreg_boost.base.process import QuantileProcess
from qreg_boost.base.table_files import read_table, write_table

if TYPE_CHECKING:
    import pandas as pd

PROGRAM = "qreg-boost"
DEMO_TAUS = (0.1, 0.5, 0.9)
DATA_HELP = "a CSV file (gzipped or not), a Parquet file, - for CSV on stdin, or the name of a data set"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line on `argv`, by default the arguments of the process; return the exit code.

    Returns
    -------
    int
        0 if all went well; 1 if `compare-r` found a disagreement, or the reader of the output went away; 2 if there is
        something for the user to mend; 130 if interrupted.

    Examples
    --------
    >>> main(["datasets", "stackloss", "--out", "no/such/folder/stackloss.csv"])
    2
    """
    try:
        with _plain_warnings():
            arguments = _parser().parse_args(argv)
            code = arguments.command(arguments)
            sys.stdout.flush()
            return code
    except InputError as error:
        print(f"{PROGRAM}: error: {_one_line(error)}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # What is still buffered has no reader: flushing it when the process ends must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        print(f"{PROGRAM}: interrupted", file=sys.stderr)
        return 130


# -- commands


def _demo(arguments: argparse.Namespace) -> int:
    folder = Path(arguments.out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"Cannot make the folder {arguments.out!r}: {error.strerror or error}.") from None
    engel = datasets.load("engel")
    print(f"{datasets.info('engel').title}: {len(engel)} rows")
    fits = api.qbr("foodexp ~ income", engel, tau=list(DEMO_TAUS), progress=False)
    for fit in fits:
        print(f"\n{fit.summary()}")
    print(f"\n{fits.summary()}\n")
    try:
        _save_figure(fits[0.5].plot_path, folder / "engel_path.png")
        _save_figure(fits.plot_lines, folder / "engel_quantiles.png")
    except MissingDependencyError as error:
        print(f"No plots were drawn. {_one_line(error)}")
    return 0


def _fit(arguments: argparse.Namespace) -> int:
    _check_folders(arguments.save, arguments.plot)
    fit = _fitted(arguments, _mstop(arguments.mstop))
    print(fit.summary())
    if arguments.save:
        print(f"Saved: {fit.save(arguments.save)}")
    if arguments.plot:
        for one in _each(fit):
            _save_figure(one.plot_path, _numbered(arguments.plot, one.tau if one is not fit else None))
    return 0


def _predict(arguments: argparse.Namespace) -> int:
    _check_folders(arguments.out)
    fit = load(arguments.model)
    if fit.whole:
        raise InputError(f"{arguments.model!r} holds a whole path, not one fit of it; save {fit.whole}.")
    data = _read(arguments.data)
    if isinstance(fit, QuantileProcess):
        table = fit.predict(data, rearrange=arguments.rearrange)
    elif arguments.rearrange:
        holds = "none" if fit.tau is None else f"one, tau={fit.tau:g}"
        raise InputError(f"--rearrange needs a model of several taus; {arguments.model!r} holds {holds}.")
    else:
        table = fit.predict(data).to_frame("predicted" if fit.tau is None else fit.tau)
    table.columns = [name if isinstance(name, str) else f"tau={name:g}" for name in table.columns]
    if arguments.out is None:
        table.to_csv(sys.stdout, index=False)
    else:
        print(f"Written: {write_table(table, arguments.out)}")
    return 0


def _cv(arguments: argparse.Namespace) -> int:
    _check_folders(arguments.plot)
    check_count(arguments.rng, "rng")
    if arguments.n_jobs == 0:
        raise InputError("--n-jobs must be at least 1, or -1 for one worker per processor; got 0.")
    # Cross-validation fits the folds itself: the start alone carries data and options.
    fit = _fitted(arguments, 0)
    how = {name: getattr(arguments, name) for name in ("folds", "k", "max", "rng", "n_jobs", "rule")}
    for one in _each(fit):
        result = one.cv(**how, progress=_watched())
        print(f"tau = {one.tau:g}\n{result}")
        if arguments.plot:
            _save_figure(result.plot, _numbered(arguments.plot, one.tau if one is not fit else None))
    return 0


def _compare_r(arguments: argparse.Namespace) -> int:
    comparisons = [one.compare_r() for one in _each(_fitted(arguments, _mstop(arguments.mstop)))]
    print("\n\n".join(map(str, comparisons)))
    return 0 if all(comparison.agrees for comparison in comparisons) else 1


def _datasets(arguments: argparse.Namespace) -> int:
    if arguments.name is None:
        if arguments.out:
            raise InputError("--out needs the name of a data set.")
        for name in datasets.names():
            about = datasets.info(name)
            here = "" if about.available else f"  (not here: needs {datasets.ENVIRONMENT_VARIABLE})"
            print(f"{name:<24}{about.rows:>7} x {about.columns:<5}{about.title}{here}")
    elif arguments.out:
        _check_folders(arguments.out)
        print(f"Written: {write_table(datasets.load(arguments.name), arguments.out)}")
    else:
        print(datasets.info(arguments.name))
    return 0


# -- arguments to fits


def _fitted(arguments: argparse.Namespace, mstop: int | str) -> Any:
    same = ("learner", "nu", "step", "weights", "offset", "subset", "missing")
    model = api.QBR.from_formula(
        arguments.formula,
        _read(arguments.data),
        _taus(arguments.tau),
        env=None,  # `api.qbr` lets a formula call functions of its caller, which is this module
        mstop=mstop,
        init=_init(arguments.init),
        step_scale=None if arguments.step_scale == "none" else arguments.step_scale,
        progress=_watched(),
        **{name: getattr(arguments, name) for name in same},
    )
    return model.fit()


def _each(fit: Any) -> list[Any]:
    return list(fit) if isinstance(fit, QuantileProcess) else [fit]


def _watched() -> bool:
    return sys.stderr.isatty()


def _taus(text: str) -> float | list[float]:
    try:
        taus = [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"--tau must be a number, or numbers joined by commas as in .1,.5,.9; got {text!r}.") from None
    return taus if len(taus) > 1 else taus[0]


def _mstop(text: str) -> int | str:
    try:
        return int(text)
    except ValueError:
        if text == "cv":
            return text
        raise InputError(f"--mstop must be a whole number of at least 0, or cv; got {text!r}.") from None


def _init(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text


# -- files


def _read(name: str) -> pd.DataFrame:
    """Return the table in a file, on stdin, or of a data set; a file goes before a data set of the same name."""
    path = Path(name)
    if name == "-" or path.exists() or path.suffix or len(path.parts) > 1:
        return read_table(name)
    aliases = {alias for one in datasets.names() for alias in (one, *datasets.info(one).aliases)}
    if name in aliases:
        return datasets.load(name)
    hint = nearest(name, aliases)
    raise InputError(f"There is no file and no data set {name!r}.{hint} `{PROGRAM} datasets` lists the data sets.")


def _check_folders(*files: str | None) -> None:
    """Refuse an output whose folder is not there, before anything is fitted."""
    for file in filter(None, files):
        if not Path(file).parent.is_dir():
            raise InputError(f"Cannot write {file!r}: there is no folder {str(Path(file).parent)!r}.")


def _numbered(file: str, tau: float | None) -> Path:
    """Return the name of a figure, with the tau before the ending where there are several."""
    path = Path(file if Path(file).suffix else f"{file}.png")
    return path if tau is None else path.with_name(f"{path.stem}-tau{tau:g}{path.suffix}")


def _save_figure(draw: Callable[[], Any], path: Path) -> None:
    if "matplotlib" not in sys.modules:
        os.environ.setdefault("MPLBACKEND", "Agg")
    try:
        draw().figure.savefig(path, dpi=150, bbox_inches="tight")
    except InputError:
        raise
    except ImportError as error:
        if str(error.name).split(".")[0] != "matplotlib":
            raise
        raise MissingDependencyError("Plots need matplotlib: pip install matplotlib") from None
    except (OSError, ValueError) as error:
        raise InputError(f"Cannot write {str(path)!r}: {getattr(error, 'strerror', None) or error}.") from None
    print(f"Written: {path}")


# -- messages


def _one_line(message: object) -> str:
    return " ".join(str(message).split())


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Print what a user should know as one line, without the place in the code; drop what concerns developers."""

    def show(message: Warning | str, *_: object) -> None:
        print(f"{PROGRAM}: warning: {_one_line(message)}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("default", UserWarning)
        warnings.simplefilter("default", RuntimeWarning)
        warnings.showwarning = show  # type: ignore[assignment]
        yield


class _Parser(argparse.ArgumentParser):
    """A parser that reports errors as everything else does."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message} (`{self.prog} --help` shows what is allowed)")


# -- the parser


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog=PROGRAM,
        description="Quantile regression by boosting, from a formula to a printed summary.",
        epilog=f"example: {PROGRAM} fit engel 'foodexp ~ income' --tau .1,.5,.9",
    )
    version = sys.modules["qreg_boost"].__version__
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {version}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, (function, add, text, example) in _COMMANDS.items():
        description = f"{text[0].upper()}{text[1:]}."
        added = commands.add_parser(
            name, help=text, description=description, epilog=f"example: {PROGRAM} {name} {example}"
        )
        added.set_defaults(command=function)
        add(added.add_argument)
    return parser


def _demo_arguments(add: Callable[..., Any]) -> None:
    add("--out", metavar="DIR", default="out", help="folder for the plots (default: %(default)s)")


def _fit_arguments(add: Callable[..., Any]) -> None:
    _compare_arguments(add)
    add("--save", metavar="FILE", help=f"save the fit, for `{PROGRAM} predict`")
    add("--plot", metavar="FILE", help="draw the coefficient path (png, pdf, svg); several taus give several files")


def _predict_arguments(add: Callable[..., Any]) -> None:
    add("model", metavar="MODEL", help=f"a file written by `{PROGRAM} fit --save`")
    add("data", metavar="DATA", help=DATA_HELP)
    add("--out", metavar="FILE", help="CSV to write, a row for each row of DATA (default: stdout)")
    add("--rearrange", action="store_true", help="sort each row's quantiles, so that they do not cross")


def _cv_arguments(add: Callable[..., Any]) -> None:
    _model_arguments(add)
    add("--folds", default="kfold", help="kfold, bootstrap or subsampling (default: %(default)s)")
    add("--k", type=int, default=10, help="number of folds or replicates (default: %(default)s)")
    add("--max", type=int, default=1000, metavar="N", help="most iterations tried (default: %(default)s)")
    add("--rng", type=int, default=0, metavar="SEED", help="seed of the folds (default: %(default)s)")
    add("--n-jobs", type=int, default=1, metavar="N", help="workers; they change no number (default: %(default)s)")
    add("--rule", default="min", help="min, or 1se: first stop within a standard error (default: %(default)s)")
    add("--plot", metavar="FILE", help="draw the loss by iteration; several taus give several files")


def _compare_arguments(add: Callable[..., Any]) -> None:
    _model_arguments(add)
    _option(add, "mstop", "iterations; cv: by 10-fold cross-validation", metavar="N|cv")


def _datasets_arguments(add: Callable[..., Any]) -> None:
    add("name", nargs="?", metavar="NAME", help="tell of this one")
    add("--out", metavar="FILE", help="write it as CSV")


def _model_arguments(add: Callable[..., Any]) -> None:
    add("data", metavar="DATA", help=DATA_HELP)
    add("formula", metavar="FORMULA", help="such as 'y ~ x1 + C(g)', or 'y ~ .' for all columns")
    add("--tau", default="0.5", metavar="TAU[,TAU...]", help="quantile levels (default: %(default)s)")
    _option(add, "learner", "linear: by term; componentwise: by column; joint: all terms at once; spline; stump; tree")
    _option(add, "nu", "length of a step", type=float)
    _option(add, "step", "adaptive, fixed, line, or auto: adaptive if unit-free, else fixed")
    _option(add, "init", "start: quantile, median or a number")
    _option(add, "step_scale", "unit of a step: auto, range, or none for raw steps as in mboost")
    add("--weights", metavar="COLUMN", help="column of weights")
    add("--offset", metavar="COLUMN", help="column added to the fit")
    add("--subset", metavar="EXPR", help="rows to use, such as 'income < 2000'")
    _option(add, "missing", "drop rows in which something is missing, or raise")


def _option(add: Callable[..., Any], name: str, text: str, **more: Any) -> None:
    """Add an option of `api.qbr`, with its default there."""
    default = inspect.signature(api.qbr).parameters[name].default
    shown = "" if default is None else " (default: %(default)s)"
    add(f"--{name.replace('_', '-')}", default=default, help=f"{text}{shown}", **more)


_COMMANDS: dict[str, tuple[Callable[[argparse.Namespace], int], Callable[..., None], str, str]] = {
    "demo": (_demo, _demo_arguments, "fit Engel's food expenditure data, print the summaries, draw", "--out plots"),
    "fit": (_fit, _fit_arguments, "fit, print the summary", "cars.csv 'dist ~ speed' --mstop cv --save cars.qb"),
    "predict": (_predict, _predict_arguments, "predict from a saved fit", "cars.qb new.csv --out predicted.csv"),
    "cv": (_cv, _cv_arguments, "find the best number of iterations", "engel 'foodexp ~ income' --max 300 --rule 1se"),
    "compare-r": (
        _compare_r,
        _compare_arguments,
        "set a fit beside R's; exit code 1 if what must agree does not",
        "engel 'foodexp ~ income' --tau .9",
    ),
    "datasets": (_datasets, _datasets_arguments, "list the data sets, or tell of one", "engel --out engel.csv"),
}
"""Command -> what it does, what it takes, and the help and example that are shown."""
