"""The command line: ``qreg-boost demo | fit | predict | cv | compare-r | datasets``.

What a user can mend ends with exit code 2 and one line on stderr; warnings are one line each. Nothing is computed
here: every command calls a formula function and prints what comes back.
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

import numpy as np

from qreg_boost import api, cli_models, datasets
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
    fit = _fitted(arguments)
    figures = _figures(fit, arguments.plot) if arguments.plot else {}
    print(fit.summary())
    if arguments.save:
        print(f"Saved: {fit.save(arguments.save)}")
    for path, draw in figures.items():
        _save_figure(draw, path)
    return 0


def _figures(fit: Any, file: str) -> dict[Path, Callable[[], Any]]:
    """Return what draws each figure of a fit, by the file it goes to."""
    if hasattr(fit, "plot") and not hasattr(fit, "mstop"):
        return {_numbered(file, None): lambda: np.ravel(fit.plot())[0]}
    return {
        _numbered(file, one.tau if one is not fit else None): _asked(
            one, "plot_path", "no path of coefficients to draw"
        )
        for one in _each(fit)
    }


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
    # Cross-validation fits the folds itself: of a boosted model the start alone carries data and options.
    fit = _fitted(arguments, **({"mstop": 0} if cli_models.takes(arguments.model, "mstop") else {}))
    how = {name: getattr(arguments, name) for name in ("folds", "k", "max", "rng", "n_jobs", "rule")}
    for one in _each(fit):
        cv = _asked(one, "cv", "nothing to choose by cross-validation")
        known = inspect.signature(cv).parameters
        result = cv(**{name: value for name, value in how.items() if name in known}, progress=_watched())
        print(result if one.tau is None else f"tau = {one.tau:g}\n{result}")
        if arguments.plot:
            _save_figure(result.plot, _numbered(arguments.plot, one.tau if one is not fit else None))
    return 0


def _compare_r(arguments: argparse.Namespace) -> int:
    comparisons = [one.compare_r() for one in _each(_fitted(arguments))]
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


def _fitted(arguments: argparse.Namespace, **more: Any) -> Any:
    """Return the fit of the model asked for; options that were not given are left to its function."""
    flags = {name: text for name, text in vars(arguments).items() if name in cli_models.FLAGS and text is not None}
    options = {**cli_models.options_of(arguments.model, flags, arguments.set or []), **more}
    return cli_models.fitted(arguments.model, arguments.formula, _read(arguments.data), options, _watched())


def _asked(fit: Any, method: str, without: str) -> Any:
    """Return a method of a fit that not every kind has."""
    if not hasattr(type(fit), method):
        raise InputError(f"A fit of this model has {without}.")
    return getattr(fit, method)


def _each(fit: Any) -> list[Any]:
    return list(fit) if isinstance(fit, QuantileProcess) else [fit]


def _watched() -> bool:
    return sys.stderr.isatty()


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
        description="Quantile regression and classification, from a formula to a printed summary.",
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
    names = ", ".join(cli_models.FUNCTIONS)
    add("--model", default="qbr", metavar="NAME", help=f"{names} (default: %(default)s)")
    add("--set", action="append", metavar="NAME=VALUE", help="any other option of the model, such as --set event=bad")
    _option(add, "tau", "quantile levels", metavar="TAU[,TAU...]")
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
    """Add an option that several models have, with its default in `api.qbr`."""
    known = cli_models.default("qbr", name)
    shown = "" if known is None else f" (qbr: {known})"
    add(f"--{name.replace('_', '-')}", help=f"{text}{shown}", **more)


_COMMANDS: dict[str, tuple[Callable[[argparse.Namespace], int], Callable[..., None], str, str]] = {
    "demo": (_demo, _demo_arguments, "fit Engel's food expenditure data, print the summaries, draw", "--out plots"),
    "fit": (
        _fit,
        _fit_arguments,
        "fit, print the summary",
        "cars.csv 'dist ~ speed' --model qreg --tau .9 --save cars.qb",
    ),
    "predict": (_predict, _predict_arguments, "predict from a saved fit", "cars.qb new.csv --out predicted.csv"),
    "cv": (
        _cv,
        _cv_arguments,
        "choose by cross-validation: iterations, bound, C",
        "engel 'foodexp ~ income' --max 300 --rule 1se",
    ),
    "compare-r": (
        _compare_r,
        _compare_arguments,
        "set a fit beside R's; exit code 1 if what must agree does not",
        "engel 'foodexp ~ income' --tau .9",
    ),
    "datasets": (_datasets, _datasets_arguments, "list the data sets, or tell of one", "engel --out engel.csv"),
}
"""Command -> what it does, what it takes, and the help and example that are shown."""
