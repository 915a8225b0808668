"""Kernels: functions of two rows, as matrices and as sums, made in blocks of rows so that memory stays bounded."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np

from qreg_boost.base.checks import InputError, check_choice, check_count, check_positive, listed
from qreg_boost.kernel.quadratic import Dense, LowRank, Quadratic

BLOCK = 4_000_000
"""Elements of a kernel matrix that are made at a time."""
FEW_COLUMNS = 40
"""With up to so many columns squared distances are summed as they are; with more, by a product of matrices."""
ALL_PAIRS = 4000
"""Up to so many rows, "sigest" and "median" take all pairs of rows; of more rows, so many at equal steps."""
RULES = ("sigest", "median")


@dataclass(frozen=True)
class Kernel(ABC):
    """A positive semidefinite function k(x, z) of two rows; a subclass is one function and one row in `KERNELS`."""

    name: ClassVar[str]
    kernlab: ClassVar[str]

    @abstractmethod
    def block(self, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        """Return k (n, m) of the rows of X (n, p) and Z (m, p), all at once."""

    def settled(self, X: np.ndarray) -> Kernel:
        """Return the kernel with its parameters as numbers, those that follow a rule from the rows X (n, p)."""
        return self

    def matrix(self, X: np.ndarray, Z: np.ndarray | None = None) -> np.ndarray:
        """Return k (n, m) of the rows of X (n, p) and Z (m, p); without Z, of the rows of X among themselves."""
        Z = X if Z is None else Z
        out = np.empty((len(X), len(Z)))
        for rows in _blocks(len(X), len(Z)):
            out[rows] = self.block(X[rows], Z)
        return out

    def apply(self, X: np.ndarray, Z: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return sum_j k(x_i, z_j) a_j, for a (m,) or (m, k), without the matrix in memory."""
        out = np.empty((len(X), *a.shape[1:]))
        for rows in _blocks(len(X), len(Z)):
            out[rows] = self.block(X[rows], Z) @ a
        return out

    def diagonal(self, X: np.ndarray) -> np.ndarray:
        """Return k(x_i, x_i) (n,)."""
        return np.array([self.block(row[None], row[None])[0, 0] for row in X])

    def factor(self, X: np.ndarray) -> np.ndarray | None:
        """Return Z (n, r) with k = Z Z', for kernels that have one of few columns; else None."""
        return None

    def form(self, X: np.ndarray) -> Quadratic:
        """Return the quadratic form a'Ka of the rows X (n, p)."""
        Z = self.factor(X)
        return Dense(self.matrix(X)) if Z is None or Z.shape[1] >= len(X) else LowRank(Z)

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters by name."""
        return asdict(self)

    def __str__(self) -> str:
        given = ", ".join(f"{name} = {value:.6g}" for name, value in self.parameters.items())
        return f"{self.name}, {given}" if given else self.name

    def state(self) -> dict[str, Any]:
        """Return the kernel as values that JSON holds."""
        return {"name": self.name, **self.parameters}


def _blocks(n: int, m: int) -> list[slice]:
    step = max(BLOCK // max(m, 1), 1)
    return [slice(i, i + step) for i in range(0, n, step)]


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

    def settled(self, X: np.ndarray) -> Kernel:
        """Return the kernel with gamma as a number."""
        return replace(self, gamma=width_by_rule(X, self.gamma)) if isinstance(self.gamma, str) else self

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
    """k = tanh(scale x'z + offset); not positive semidefinite everywhere, and refused where it is not."""

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


@dataclass(frozen=True)
class Spline(Kernel):
    """k = prod_j [1 + xz + xz m - (x + z) m^2 / 2 + m^3 / 3], m = min(x, z): linear splines with infinitely many knots.

    Positive semidefinite for values of at least 0.

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
            m = np.minimum(x, z)
            out *= 1.0 + x * z * (1.0 + m) - 0.5 * (x + z) * m**2 + m**3 / 3.0
        return out


@dataclass(frozen=True)
class Function(Kernel):
    """A function of the caller's own: of two matrices (n, p) and (m, p), or of two rows (p,)."""

    function: Callable[[np.ndarray, np.ndarray], Any]
    name: ClassVar[str] = "function"
    kernlab: ClassVar[str] = ""

    def block(self, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        """Return what the function says of matrices, or else of each pair of rows."""
        try:
            whole = np.asarray(self.function(X, Z), dtype=np.float64)
        except Exception:
            whole = np.empty(0)
        if whole.shape != (len(X), len(Z)) or len(X) == len(Z) == 1:
            whole = np.array([[float(self.function(x, z)) for z in Z] for x in X]).reshape(len(X), len(Z))
        if not np.isfinite(whole).all():
            raise InputError(f"The kernel function {self} returns missing or infinite values.")
        return whole

    @property
    def parameters(self) -> dict[str, Any]:
        """None."""
        return {}

    def __str__(self) -> str:
        return f"function {getattr(self.function, '__name__', self.function)!r}"

    def state(self) -> dict[str, Any]:
        """Raise: a file holds no functions."""
        raise InputError(
            f"A file cannot hold the kernel {self}: it is a function of your own. Use a kernel of the package "
            f"({listed(KERNELS)}), or keep the fit with pickle."
        )


@dataclass(frozen=True)
class Precomputed(Kernel):
    """The rows are rows of a kernel matrix already: k(x_i, z_j) is column j of row i."""

    name: ClassVar[str] = "precomputed"
    kernlab: ClassVar[str] = "as.kernelMatrix"

    def block(self, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        """Return the rows themselves, which must have one column per row of training."""
        if X.shape[1] != len(Z):
            raise InputError(
                f"A precomputed kernel needs one column per row of training, {len(Z)}; got {X.shape[1]} columns."
            )
        return X

    def diagonal(self, X: np.ndarray) -> np.ndarray:
        """Return the diagonal."""
        return np.diagonal(X).copy()


KERNELS: dict[str, type[Kernel]] = {
    kernel.name: kernel for kernel in (Linear, RBF, Laplace, Polynomial, Tanh, Spline, Precomputed)
}
"""Kernels by name; kernlab's names of them are understood too."""
_OTHER_NAMES = {kernel.kernlab: name for name, kernel in KERNELS.items()} | {"poly": "polynomial"}


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
    name = _OTHER_NAMES.get(kernel, kernel) if isinstance(kernel, str) else kernel
    made = KERNELS[check_choice(name, "kernel", [*KERNELS, *sorted(_OTHER_NAMES)] if name not in KERNELS else KERNELS)]
    known = {field.name for field in fields(made)}
    given = dict(kpar or {})
    if "gamma" in known and "sigma" in given:
        given["gamma"] = given.pop("sigma")
    if not isinstance(gamma, str) or ("gamma" in known and gamma != "sigest"):
        given["gamma"] = gamma
    wrong = [name for name in given if name not in known]
    if wrong:
        has = f"it has {listed(sorted(known))}" if known else "it has none"
        raise InputError(f"The kernel {made.name!r} has no parameter {listed(map(repr, wrong))}; {has}.")
    return made(**given)


def _refusing(kernel: Kernel, gamma: Any, kpar: Any) -> Kernel:
    if kpar or not isinstance(gamma, str) or gamma != "sigest":
        raise InputError("`gamma` and `kpar` are for kernels by name; a kernel or function brings its own parameters.")
    return kernel


def restore_kernel(state: Mapping[str, Any]) -> Kernel:
    """Return the kernel that `Kernel.state` wrote."""
    given = dict(state)
    return KERNELS[given.pop("name")](**given)


def squared_distances(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """Return |x - z|^2 (n, m), exactly 0 for equal rows where there are few columns."""
    if X.shape[1] <= FEW_COLUMNS:
        from scipy.spatial.distance import cdist

        return cdist(X, Z, "sqeuclidean")
    centre = Z.mean(axis=0)
    X, Z = X - centre, Z - centre
    d = X @ Z.T
    d *= -2.0
    d += np.einsum("ij,ij->i", X, X)[:, None]
    d += np.einsum("ij,ij->i", Z, Z)
    return np.maximum(d, 0.0, out=d)


def width_by_rule(X: np.ndarray, rule: str) -> float:
    """Return gamma by a rule over all pairs of different rows, so that nothing is random.

    "sigest" is the mean of the reciprocals of the 0.9 and 0.1 quantiles of the squared distances, what kernlab's
    kqr takes from a random half of the rows; "median" the reciprocal of their median. Of more than `ALL_PAIRS` rows,
    that many at equal steps are taken.

    Raises
    ------
    InputError
        If all rows are equal.

    Examples
    --------
    >>> width_by_rule(np.array([[0.0], [1.0], [2.0]]), "median")
    1.0
    """
    from scipy.spatial.distance import pdist

    check_choice(rule, "gamma", RULES)
    n = len(X)
    rows = X if n <= ALL_PAIRS else X[np.linspace(0, n - 1, ALL_PAIRS).astype(np.intp)]
    d = pdist(rows, "sqeuclidean")
    d = d[d > 0.0]
    if not len(d):
        raise InputError(f"gamma={rule!r} needs rows that differ, and all are equal; give a number.")
    low, middle, high = np.quantile(d, [0.1, 0.5, 0.9], overwrite_input=True)
    return float(0.5 * (1.0 / high + 1.0 / low) if rule == "sigest" else 1.0 / middle)


def _number(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not np.isfinite(value):
        raise InputError(f"`{name}` must be a number; got {value!r}.")
    return float(value)
