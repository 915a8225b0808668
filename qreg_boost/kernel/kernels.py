"""The kernels by name, and what a caller may say of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np

from qreg_boost.base.checks import InputError, check_choice, check_count, check_positive, listed, nearest
from qreg_boost.kernel.given import Function, Precomputed
from qreg_boost.kernel.kernel import Kernel
from qreg_boost.kernel.widths import RULES, squared_distances, width_by_rule


@dataclass(frozen=True)
class Linear(Kernel):
    """k = x'z.

    >>> Linear().matrix(np.array([[1.0, 2.0], [0.0, 1.0]])).tolist()
    [[5.0, 2.0], [2.0, 1.0]]
    """

    name: ClassVar[str] = "linear"
    kernlab: ClassVar[str] = "vanilladot"

    def block(self, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        """Return x'z."""
        return X @ Z.T

    def diagonal(self, X: np.ndarray) -> np.ndarray:
        """Return x'x."""
        return np.einsum("ij,ij->i", X, X)

    def factor(self, X: np.ndarray) -> np.ndarray:
        """Return the rows themselves."""
        return X


@dataclass(frozen=True)
class _Radial(Kernel):
    gamma: Any = "sigest"

    def __post_init__(self) -> None:
        if isinstance(self.gamma, str):
            check_choice(self.gamma, "gamma", RULES)
        else:
            object.__setattr__(self, "gamma", check_positive(self.gamma, "gamma"))

    def settled(self, X: np.ndarray, weights: np.ndarray | None = None) -> Kernel:
        """Return the kernel with gamma as a number."""
        return replace(self, gamma=width_by_rule(X, self.gamma, weights)) if isinstance(self.gamma, str) else self

    def diagonal(self, X: np.ndarray) -> np.ndarray:
        """Return ones."""
        return np.ones(len(X))


@dataclass(frozen=True)
class RBF(_Radial):
    """k = exp(-gamma |x - z|^2), gamma kernlab's sigma.

    >>> RBF(0.5).matrix(np.array([[0.0], [1.0]])).round(4).tolist()
    [[1.0, 0.6065], [0.6065, 1.0]]
    """

    name: ClassVar[str] = "rbf"
    kernlab: ClassVar[str] = "rbfdot"

    def block(self, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        """Return exp(-gamma |x - z|^2)."""
        d = squared_distances(X, Z)
        d *= -self.gamma
        return np.exp(d, out=d)


@dataclass(frozen=True)
class Laplace(_Radial):
    """k = exp(-gamma |x - z|), |.| the Euclidean norm.

    >>> Laplace(0.5).matrix(np.array([[0.0], [2.0]])).round(4).tolist()
    [[1.0, 0.3679], [0.3679, 1.0]]
    """

    name: ClassVar[str] = "laplace"
    kernlab: ClassVar[str] = "laplacedot"

    def block(self, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        """Return exp(-gamma |x - z|)."""
        d = squared_distances(X, Z)
        np.sqrt(d, out=d)
        d *= -self.gamma
        return np.exp(d, out=d)


@dataclass(frozen=True)
class Polynomial(Kernel):
    """k = (scale x'z + offset)^degree.

    >>> Polynomial(degree=2).matrix(np.array([[1.0], [2.0]])).tolist()
    [[4.0, 9.0], [9.0, 25.0]]
    """

    degree: int = 2
    scale: float = 1.0
    offset: float = 1.0
    name: ClassVar[str] = "polynomial"
    kernlab: ClassVar[str] = "polydot"

    def __post_init__(self) -> None:
        object.__setattr__(self, "degree", check_count(self.degree, "degree", 1))
        object.__setattr__(self, "scale", check_positive(self.scale, "scale"))
        if _number(self.offset, "offset") < 0.0:
            raise InputError(f"`offset` of the polynomial kernel must be at least 0; got {self.offset!r}.")

    def block(self, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        """Return (scale x'z + offset)^degree."""
        return (self.scale * (X @ Z.T) + self.offset) ** self.degree


@dataclass(frozen=True)
class Tanh(Kernel):
    """k = tanh(scale x'z + offset); hardly ever positive semidefinite, so that a fit is a stationary point at best."""

    scale: float = 1.0
    offset: float = 1.0
    name: ClassVar[str] = "tanh"
    kernlab: ClassVar[str] = "tanhdot"

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", check_positive(self.scale, "scale"))
        object.__setattr__(self, "offset", _number(self.offset, "offset"))

    def block(self, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        """Return tanh(scale x'z + offset)."""
        return np.tanh(self.scale * (X @ Z.T) + self.offset)

    def definite(self, X: np.ndarray) -> bool:
        """Return False: whether it is depends on the rows."""
        return False


@dataclass(frozen=True)
class Spline(Kernel):
    """k = prod_j [1 + xz + xz m - (x + z) m^2 / 2 + m^3 / 3], m = min(x, z): linear splines with infinitely many knots.

    The knots lie above 0. Where a value is below it, m is 0, so that fits go on as straight lines and the kernel is
    positive semidefinite everywhere (kernlab's takes the minimum as it is: a cubic on the left, and no kernel there).

    >>> Spline().matrix(np.array([[1.0]])).round(4).tolist()
    [[2.3333]]
    """

    name: ClassVar[str] = "spline"
    kernlab: ClassVar[str] = "splinedot"

    def block(self, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        """Return the product over the columns."""
        out = np.ones((len(X), len(Z)))
        for j in range(X.shape[1]):
            x, z = X[:, j, None], Z[None, :, j]
            m = np.maximum(np.minimum(x, z), 0.0)
            out *= 1.0 + x * z * (1.0 + m) - 0.5 * (x + z) * m**2 + m**3 / 3.0
        return out


KERNELS: dict[str, type[Kernel]] = {
    kernel.name: kernel for kernel in (Linear, RBF, Laplace, Polynomial, Tanh, Spline, Precomputed)
}
"""Kernels by name; kernlab's names of them are understood too."""
_OTHER_NAMES = {kernel.kernlab: name for name, kernel in KERNELS.items()} | {"poly": "polynomial"}
_ABSENT = ("besseldot", "anovadot", "stringdot")
"""kernlab's kernels that are not here."""


def read_kernel(kernel: Any, gamma: Any = "sigest", kpar: Mapping[str, Any] | None = None) -> Kernel:
    """Return the kernel that is meant.

    Parameters
    ----------
    kernel : str, Kernel or callable
        A name of `KERNELS` or kernlab's ("rbfdot", "vanilladot", "polydot", "tanhdot", "laplacedot", "splinedot"); a
        kernel; or a function of two matrices of rows, or of two rows.
    gamma : float, "sigest" or "median"
        Of the radial kernels; others have none.
    kpar : mapping, optional
        Parameters by name: ``degree``, ``scale``, ``offset``; ``sigma`` is kernlab's name of gamma.

    Raises
    ------
    InputError
        If the kernel is not known, or has no such parameter.

    Examples
    --------
    >>> read_kernel("rbfdot", kpar={"sigma": 0.1})
    RBF(gamma=0.1)
    >>> read_kernel("polydot", kpar={"degree": 3})
    Polynomial(degree=3, scale=1.0, offset=1.0)
    """
    if isinstance(kernel, Kernel):
        return _refusing(kernel, gamma, kpar)
    if callable(kernel):
        return _refusing(Function(kernel), gamma, kpar)
    made = KERNELS[_name_of(kernel)]
    known = {field.name for field in fields(made)}
    given = _parameters(made, gamma, kpar)
    wrong = [name for name in given if name not in known]
    if wrong:
        has = f"it has {listed(sorted(known))}" if known else "it has none"
        raise InputError(f"The kernel {made.name!r} has no parameter {listed(map(repr, wrong))}; {has}.")
    return made(**given)


def _name_of(kernel: Any) -> str:
    name = _OTHER_NAMES.get(kernel, kernel) if isinstance(kernel, str) else kernel
    if isinstance(name, str) and name in KERNELS:
        return name
    if name in _ABSENT:
        raise InputError(
            f"kernlab's {name} is not among the kernels here ({listed(map(repr, KERNELS))}). Pass it as a function of "
            "two matrices of rows."
        )
    hint = nearest(name, [*KERNELS, *_OTHER_NAMES]) if isinstance(name, str) else ""
    raise InputError(
        f"`kernel` must be one of {listed(map(repr, KERNELS))}, kernlab's name of one ('rbfdot', ...), or a function "
        f"of two matrices of rows; got {kernel!r}.{hint}"
    )


def _parameters(made: type[Kernel], gamma: Any, kpar: Any) -> dict[str, Any]:
    """Return the parameters by this package's names; none may be given twice."""
    if isinstance(kpar, str) and kpar == "automatic":
        kpar = {}
    if kpar is not None and not isinstance(kpar, Mapping):
        raise InputError(f"`kpar` must be a mapping, for example {{'sigma': 0.1}}, or \"automatic\"; got {kpar!r}.")
    given = dict(kpar or {})
    radial = "gamma" in {field.name for field in fields(made)}
    names = [name for name in ("sigma", "gamma") if name in given]
    explicit = not isinstance(gamma, str) or (radial and gamma != "sigest")
    if radial and len(names) + explicit > 1:
        raise InputError("gamma is given twice: `gamma` and kpar's 'sigma' are one parameter; leave out one of them.")
    if radial and "sigma" in given:
        given["gamma"] = given.pop("sigma")
    if explicit:
        given["gamma"] = gamma
    return given


def _refusing(kernel: Kernel, gamma: Any, kpar: Any) -> Kernel:
    if kpar or not isinstance(gamma, str) or gamma != "sigest":
        raise InputError("`gamma` and `kpar` are for kernels by name; a kernel or function brings its own parameters.")
    return kernel


def restore_kernel(state: Mapping[str, Any]) -> Kernel:
    """Return the kernel that `Kernel.state` wrote."""
    given = dict(state)
    return KERNELS[given.pop("name")](**given)


def _number(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not np.isfinite(value):
        raise InputError(f"`{name}` must be a number; got {value!r}.")
    return float(value)
