"""The formula functions by name, for the command line: options from text, fits without names of the program's own."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import FunctionType
from typing import Any

from qreg_boost import api, api_classes, api_compose, api_kernels, api_reject, api_rivals
from qreg_boost.base.checks import InputError, check_choice, nearest

FUNCTIONS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        *(api.qbr, api.qreg, api.qreg_process, api.l1qreg, api_kernels.kqr, api_compose.quanting),
        *(api_classes.qbc, api_classes.logitboost, api_classes.adaboost, api_classes.l2boost),
        *(api_rivals.median_classifier, api_rivals.binary_qreg, api_compose.multiclass, api_compose.jous),
        api_reject.reject_classifier,
    )
}
"""What ``--model`` takes."""


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


FLAGS: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(("learner", "step", "weights", "offset", "subset", "missing"), str),
    "init": _init,
    "mstop": _mstop,
    "nu": float,
    "step_scale": lambda text: None if text == "none" else text,
    "tau": _taus,
}
"""Options with a flag of their own, and how its text is read."""


def takes(model: str, option: str) -> bool:
    """Return whether a model has an option of this name.

    >>> takes("qbr", "mstop"), takes("qreg", "mstop")
    (True, False)
    """
    return option in inspect.signature(FUNCTIONS[check_choice(model, "--model", FUNCTIONS)]).parameters


def default(model: str, option: str) -> Any:
    """Return the value that an option of a model has if nothing is said.

    >>> default("qbr", "nu")
    0.1
    """
    return inspect.signature(FUNCTIONS[model]).parameters[option].default


def options_of(model: str, flags: Mapping[str, str], pairs: Sequence[str]) -> dict[str, Any]:
    """Return the options of a model: texts of `FLAGS` by name, and texts "name=value".

    A value of the latter is read as Python writes it (a number, True, a list, a dict), and as text where it is none of
    these.

    >>> options_of("qbc", {"tau": ".5"}, ["event=bad", "h=0.2"])
    {'tau': 0.5, 'event': 'bad', 'h': 0.2}
    """
    parameters = inspect.signature(FUNCTIONS[check_choice(model, "--model", FUNCTIONS)]).parameters
    known = [name for name in parameters if name not in ("formula", "data", "options", "progress")]
    more = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values())
    found = {name: FLAGS[name](text) for name, text in flags.items()}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise InputError(f'--set must be name=value, as in --set event=bad; got "{pair}".')
        found[name.strip()] = _value(text)
    foreign = [name for name in found if name not in known]
    if foreign and not more:
        hint = nearest(foreign[0], known)
        raise InputError(f"{model} has no option {foreign[0]!r}.{hint} Its options: {', '.join(known)}.")
    return found


def fitted(model: str, formula: str, data: Any, options: Mapping[str, Any], progress: bool) -> Any:
    """Return the fit of a model.

    >>> fitted("qreg", "y ~ 1", {"y": [1.0, 2.0, 4.0]}, {}, False).params.to_dict()
    {'Intercept': 2.0}
    """
    shown = {"progress": progress} if takes(model, "progress") else {}
    return _without_names(partial(FUNCTIONS[model], formula, data, **options, **shown))


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError):
        return text


def _called(_: Callable[[], Any]) -> Any:
    return _()


_without_names = FunctionType(_called.__code__, {})
"""Calls a function where there are no names: a formula may call functions of its caller's, and is to find none here."""
