"""Inertial parameters of a rigid body as arrays: physical consistency, pseudo-inertia and log-Cholesky coordinates.

π (..., 10) = (m, h_x, h_y, h_z, J_xx, J_xy, J_xz, J_yy, J_yz, J_zz) are mass [kg], first moments h = m c [kg·m] and
rotational inertia [kg·m²] about a frame's origin, in its axes, as `Robot.inertial_parameters` stacks them.  Functions
take any leading dimensions.  Some take symbols, as their docstrings say.

>>> import numpy as np
>>> from linkwork import parameters
>>> ball = [2.0, 0.0, 0.0, 1.0, 0.508, 0.0, 0.0, 0.508, 0.0, 0.008]  # 2 kg, 10 cm, half a metre above the origin
>>> bool(parameters.is_physical(ball))
True
>>> theta = parameters.log_cholesky(ball)
>>> np.allclose(parameters.from_log_cholesky(theta), ball)
True
>>> parameters.explain([2.0, 0, 0, 0, 0.1, 0, 0, 0.1, 0, 0.3])
('the largest principal moment about the centre of mass exceeds the sum of the others: 0.1, 0.1, 0.3 kg m²',)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.checked_arguments import public
from linkwork._util.validation import finite_array, non_negative
from linkwork.expr.arrays.symbol_array import is_traced, map_samples, scalars
from linkwork.model.inertia_check import inertia_problems
from linkwork.spatial import Inertia
from linkwork.spatial import inertia_vector as formulas
from linkwork.spatial.inertia_vector import LOG_CHOLESKY, PARAMETERS

__all__ = [
    "LOG_CHOLESKY",
    "NAMES",
    "explain",
    "from_log_cholesky",
    "from_pseudo_inertia",
    "is_physical",
    "log_cholesky",
    "pseudo_inertia",
]

NAMES = PARAMETERS


def __dir__() -> list[str]:
    """The documented names."""
    return sorted(__all__)


@public(tolerance=non_negative)
def is_physical(parameters: ArrayLike, *, definite: bool = False, tolerance: float = 1e-9) -> np.ndarray:
    """Return True where a mass distribution with these parameters exists: (..., 10) -> (...,) bool.

    This is so if and only if the pseudo-inertia has no negative eigenvalue.  Then there is no negative mass, no first
    moment without mass, and no negative second moment about the centre of mass: the principal moments of inertia there
    are not negative, and satisfy the triangle inequality.  ``definite`` also requires mass, and extent in all
    directions, as real bodies have.  ``tolerance`` is relative to the largest second moment about the origin.
    """
    pi = finite_array("is_physical", "parameters", parameters, shape=("...", 10))
    m, least, size = _least(pi)
    if definite:
        return (m > 0.0) & (least > tolerance * size)
    return (m >= 0.0) & (least >= -tolerance * size) & ((m > 0.0) | ~pi[..., 1:4].any(axis=-1))


@public(tolerance=non_negative)
def explain(parameters: ArrayLike, *, definite: bool = False, tolerance: float = 1e-9) -> tuple[str, ...]:
    """Return the faults of a body's parameters (10,) as sentences; an empty tuple where `is_physical`.

    ``definite`` and ``tolerance`` are as in `is_physical`.
    """
    pi = finite_array("explain", "parameters", parameters, shape=(10,))
    if is_physical(pi, definite=definite, tolerance=tolerance):
        return ()
    return inertia_problems(Inertia.of_parameters(pi.tolist()))


@public
def pseudo_inertia(parameters: Any) -> Any:
    """Return the pseudo-inertia P = ∫ (r; 1) (r; 1)ᵀ dm, a symmetric matrix, of a body's parameters π.

    Its blocks are ½ tr(J) 1 − J, the first moments h and the mass m.  (..., 10) -> (..., 4, 4) [kg·m², kg·m, kg].
    Takes symbols.
    """
    return _mapped("pseudo_inertia", "parameters", parameters, (10,), formulas.pseudo_inertia, (4, 4))


@public
def from_pseudo_inertia(P: Any) -> Any:
    """Return the parameters π of a body with this pseudo-inertia: (..., 4, 4) -> (..., 10).

    Only the upper triangle of P is read.  Takes symbols.
    """

    def of_elements(elements: Sequence[Any]) -> list[Any]:
        return formulas.from_pseudo_inertia([elements[4 * k : 4 * k + 4] for k in range(4)])

    return _mapped("from_pseudo_inertia", "P", P, (4, 4), of_elements, (10,))


@public
def from_log_cholesky(theta: Any) -> Any:
    """Return inertial parameters π of log-Cholesky coordinates ``theta``.

    These are (α, d_1, d_2, d_3, s_12, s_23, s_13, t_1, t_2, t_3). Every such θ (..., 10) belongs to a physical body, so
    identification over θ needs no constraints. The pseudo-inertia is U Uᵀ with U = e^α [[e^d_1, s_12, s_13, t_1], [0,
    e^d_2, s_23, t_2], [0, 0, e^d_3, t_3], [0, 0, 0, 1]]; the mass is e^2α [kg] and t the centre of mass [m]. (..., 10)
    -> (..., 10). The map is smooth, and takes symbols. [Rucker and Wensing, 2022]
    """
    return _mapped("from_log_cholesky", "theta", theta, (10,), formulas.from_log_cholesky, (10,))


@public
def log_cholesky(parameters: Any) -> Any:
    """Return the log-Cholesky coordinates θ of inertial parameters π: the inverse of `from_log_cholesky`.

    (..., 10) -> (..., 10).  Takes symbols.  Raises ValueError with the reason where the pseudo-inertia is not positive
    definite: a point mass, a rod or a plate without thickness has no θ.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        theta = _mapped("log_cholesky", "parameters", parameters, (10,), formulas.log_cholesky, (10,))
    if not is_traced(theta) and not np.isfinite(theta).all():
        pi = finite_array("log_cholesky", "parameters", parameters, shape=("...", 10))
        position = tuple(np.argwhere(~np.isfinite(theta).all(axis=-1))[0].tolist())
        why = inertia_problems(Inertia.of_parameters(pi[position].tolist()))
        where = f" of sample {', '.join(map(str, position))}" if position else ""
        raise ValueError(
            f"log_cholesky: parameters{where}: expected a positive definite pseudo-inertia; {'; '.join(why)}"
        )
    return theta


# -- arrays


def _mapped(
    caller: str,
    name: str,
    array: Any,
    core: tuple[int, ...],
    formula: Callable[[Sequence[Any]], Any],
    shape: tuple[int, ...],
) -> Any:
    """Return the values of a formula of one body's parameters, for arrays of parameters.

    Symbols are evaluated sample by sample, numbers all together.
    """

    def flat(values: Sequence[Any]) -> list[Any]:
        return [x for row in formula(values) for x in (row if isinstance(row, list) else [row])]

    if is_traced(array):
        symbols = scalars(array)
        if symbols.shape[-len(core) :] != core:
            raise ValueError(
                f"{caller}: {name}: expected shape (..., {', '.join(map(str, core))}), got {symbols.shape}"
            )
        return map_samples(lambda values: [flat(values)], [symbols], [len(core)], [shape])[0]
    values = finite_array(caller, name, array, shape=("...", *core))
    batch = values.shape[: values.ndim - len(core)]
    result = flat([*np.moveaxis(values.reshape(*batch, -1), -1, 0)])
    return np.stack([np.broadcast_to(x, batch) for x in result], axis=-1).reshape(*batch, *shape)


def _least(pi: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the mass, the smallest second moment about the centre of mass, and the largest |moment| at the origin."""
    P = pseudo_inertia(pi)
    m, h, S = P[..., 3, 3], P[..., :3, 3], P[..., :3, :3]
    c = h / np.where(m > 0.0, m, 1.0)[..., None]
    about = S - np.where(m > 0.0, m, 0.0)[..., None, None] * c[..., :, None] * c[..., None, :]
    return m, np.linalg.eigvalsh(about)[..., 0], np.abs(S).max(axis=(-2, -1))
