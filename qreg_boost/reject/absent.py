"""What a kind of fit does not have."""

from __future__ import annotations

from typing import Any

from qreg_boost.base.checks import NotDefinedError


class Absent:
    """What a kind of fit does not have, and what to ask instead.

    >>> class Fit:
    ...     rho = Absent("Ask for the price.")
    >>> Fit().rho
    Traceback (most recent call last):
    ...
    qreg_boost.base.checks.NotDefinedError: `rho` is not defined for Fit. Ask for the price.
    """

    def __init__(self, instead: str) -> None:
        self.instead = instead

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, fit: Any, owner: type) -> Any:
        if fit is None:
            return self
        raise NotDefinedError(f"`{self.name}` is not defined for {owner.__name__}. {self.instead}")
