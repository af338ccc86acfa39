"""Springs in a step of the default method: symplectic where the step resolves them, else implicit.

With stiffness K, deflection φ, damping D, inertial forces b, and a share g from 0 to 1 of each spring,

    (M + h D + h² K (1 + 3 g)/4) (v⁺ − v) = h (τ − K φ(q) − D v − g h K v − b),      q⁺ = q ⊕ h v⁺.

g = 0 is the trapezoidal rule for the midpoints between configurations, which conserves the energy of linear springs for
any step.  g = 1 is implicit Euler, whose energy falls by 1/(1 + ω² h²) a step.  Every share in between is stable.  The
share grows with ω h, where ω² = K/m and m is the smallest effective inertia of the joint.  Springs of force elements,
of joints that close loops and of `has_curved_springs` have the largest ω that they cause in the robot.

Source: Hairer, Lubich and Wanner, Geometric Numerical Integration, 2nd ed. 2006, sections I.1 and VI.3.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from linkwork._util.user_frames import levels_up
from linkwork.dynamics.algorithms.passive_joint_forces import has_curved_springs
from linkwork.errors import SimulationWarning
from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.control import scan
from linkwork.expr.linalg.sparse_dot import dot, is_zero
from linkwork.expr.scalar.functions import fmax, fmin, lt, sqrt, where
from linkwork.joints.base.joint_type import JointType
from linkwork.joints.base.plain_coordinates import moved_alone
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.mechanisms.algorithms.loop_joint_functions import loop_rows
from linkwork.model.body import Body
from linkwork.model.loop_joints import body_of, loops_of, periodic_angles
from linkwork.model.periodic_coordinates import revolutions
from linkwork.model.tree import Tree
from linkwork.simulation.algorithms.passive_resistance import (
    curved_damper_rows,
    has_rows,
    joint_resistances,
    resisting_rows,
)

__all__ = [
    "WEIGHTS",
    "IndependentInertias",
    "SpringRates",
    "SpringShares",
    "independent_inertias",
    "least_inertias",
    "sampled_inertias",
    "sampled_rates",
    "spring_shares",
    "warn_of_implicit_springs",
    "warn_of_jumping_springs",
]

Scalars = Sequence[Any]

_SAMPLES = 32  # random configurations in which inertias are evaluated
_RESOLVED, _STIFF = 0.25, 4.0  # (ω h)² up to which a spring is symplectic, and from which on it is implicit
_VIBRATES = 0.6  # twice the damping ratio below which a spring vibrates, and is reported
WEIGHTS = ("inertia", "armature", "placement", "frame")  # kinds of parameters that change effective inertias
_INDEPENDENT: LazyCache[IndependentInertias] = LazyCache(64)
_INERTIAS: LazyCache[tuple[float, ...]] = LazyCache(64)
_OWNERS: LazyCache[dict[str, tuple[float, float]]] = LazyCache(64)
_SPRINGS: LazyCache[tuple[tuple[int, float, float], ...]] = LazyCache(64)  # (index in v, K, D) of joints with springs


class SpringRates(NamedTuple):
    """Least effective inertia of each velocity (nv), and ``squares``, the largest ω² [1/s²] of other springs by name.

    Names are those of force elements, and of joints that close loops or have curved springs.
    """

    inertias: Scalars
    squares: Mapping[str, Any]

    @staticmethod
    def of(robot: Any, values: Scalars) -> SpringRates:
        """Return the rates from a list: the inertias (nv), then ω² of each force element and each such joint."""
        return SpringRates(list(values[: robot.nv]), dict(zip(_owners(robot), values[robot.nv :], strict=True)))


def _owners(robot: Any) -> list[str]:
    return list(dict.fromkeys(row.owner for row in resisting_rows(robot.tree, robot.neutral().tolist())))


def least_inertias(robot: Any, passive: bool) -> tuple[float, ...]:
    """Return the smallest effective inertia 1/(M⁻¹)ₖₖ of each velocity (nv), NaN or 0 without inertia.

    The minimum is over random configurations within limits.
    """
    return _INERTIAS.get((robot, passive), lambda: _inertias(robot, passive))


def _inertias(robot: Any, passive: bool) -> tuple[float, ...]:
    q = robot.random_configuration(seed=0, size=_SAMPLES)
    diagonal = np.diagonal(_inverse(robot, q, passive), axis1=-2, axis2=-1)
    return tuple(map(float, 1.0 / diagonal.max(axis=0)))


def _inverse(robot: Any, q: Any, passive: bool) -> Any:
    """Return the inverse of the mass matrix (..., nv, nv), for motions that the constraints allow."""
    inverse = robot.constrained_mass_matrix_inverse if robot.constraints else robot.mass_matrix_inverse
    return inverse(q, passive=passive)


class IndependentInertias(NamedTuple):
    """Inertias of the coordinates of v (nv), and of the velocities of joints that close loops, by name."""

    joints: tuple[Any, ...]
    loops: dict[str, tuple[Any, ...]]

    @staticmethod
    def of(robot: Any, values: Scalars) -> IndependentInertias:
        """Return the inertias from a list of the inertias of v and then of all rows of loop joints."""
        n, loops = int(robot.nv), dict[str, tuple[Any, ...]]()
        for row, x in zip(loop_rows(robot.tree, robot.neutral().tolist(), every=True), values[n:], strict=True):
            loops[row.owner] = (*loops.get(row.owner, ()), x)
        return IndependentInertias(tuple(values[:n]), loops)


def independent_inertias(robot: Any) -> IndependentInertias:
    """Return inertias m that are at most those of the joints: 2 M − Σ m rᵀr is positive semidefinite.

    r (nv) are the velocities of all joints, also of those that close loops, by v. M is the mass matrix on motions that
    the constraints permit. m is at most 1/(r M⁻¹ rᵀ), over random configurations within limits. It is zero for a robot
    with joints without inertia.
    """
    return _INDEPENDENT.get(robot, lambda: _independent(robot))


def sampled_inertias(robot: Any, moving: Any, parameters: Collection[str]) -> list[Any] | None:
    """Return `independent_inertias` as a list for the robot ``moving`` with other ``parameters``; None if unchanged.

    The configurations are those of the robot itself.
    """
    if not any(name.partition(":")[0] in WEIGHTS for name in parameters):
        return None
    n, loops = int(robot.nv), len(loop_rows(moving.tree, robot.neutral().tolist(), every=True))
    samples = robot.random_configuration(seed=0, size=_SAMPLES)

    def terms(q: Any) -> tuple[list[list[Any]], list[list[Any]]]:
        """Return the rows (nv) of all joint velocities at q, also of loop joints, and the rows of M⁻¹."""
        Y = _inverse(moving, q, True)
        units = [[1.0 if j == k else 0.0 for j in range(n)] for k in range(n)]
        further_rows = [row.row for row in loop_rows(moving.tree, list(q), every=True)]
        return [*units, *further_rows], [list(Y[k]) for k in range(n)]

    def yields(most: Any, q: Any) -> tuple[Any, None]:
        rows, Y = terms(q)
        now = [dot(row, [dot(y, row) for y in Y]) for row in rows]
        return array([fmax(a, b) for a, b in zip(most, now, strict=True)]), None

    most = list(scan(yields, array([0.0] * (n + loops)), samples)[0])
    least = [where(lt(0.0, x), 1.0 / where(lt(0.0, x), x, 1.0), 0.0) for x in most]

    def larger(most: Any, q: Any) -> tuple[Any, None]:
        rows, Y = terms(q)
        return fmax(most, _largest(rows, least, Y)), None

    share = fmin(2.0 / scan(larger, 1.0, samples)[0], 1.0)
    return [share * x for x in least]


def _independent(robot: Any) -> IndependentInertias:
    n, q = int(robot.nv), robot.random_configuration(seed=0, size=_SAMPLES)
    if not robot.constraints and not (np.linalg.eigvalsh(robot.mass_matrix(q, passive=True))[:, 0] > 0.0).all():
        return IndependentInertias((0.0,) * n, {})
    loops = [loop_rows(robot.tree, x, every=True) for x in q.tolist()]
    R = np.array([[*np.eye(n).tolist(), *(row.row for row in rows)] for rows in loops], dtype=float)
    W = np.einsum("nki,nij,nlj->nkl", R, np.asarray(_inverse(robot, q, True)), R)
    yielding = np.diagonal(W, axis1=-2, axis2=-1).max(axis=0)
    least = np.where(yielding > 0.0, 1.0 / np.where(yielding > 0.0, yielding, 1.0), 0.0)
    root = np.sqrt(least)
    eigenvalues = np.linalg.eigvalsh(W * np.multiply.outer(root, root))
    power = 2.0 ** (_DOUBLINGS + 1)  # as `_largest`, so that values given as parameters move a robot as its own values
    largest = np.linalg.norm(eigenvalues, power, axis=-1).max(initial=1.0)
    return IndependentInertias.of(robot, [float(x) for x in min(2.0 / largest, 1.0) * least])


def sampled_rates(robot: Any, moving: Any, parameters: Mapping[str, Any]) -> list[Any] | None:
    """Return `SpringRates` as a list for the robot ``moving`` with other ``parameters``; None if unchanged.

    Rates are maxima over the configurations of `least_inertias`.
    """
    owners = {loop.name for loop in loops_of(robot.tree)}
    owners |= {body.joint_name for body in moving.tree.bodies if has_curved_springs(body)}
    parameters_of_springs = {f"{kind}:{name}" for kind in ("stiffness", "rest") for name in owners}
    parameters_of_springs |= {"stiffness", "rest"} if len(owners) > len(loops_of(robot.tree)) else set()
    if all(
        key.partition(":")[0] not in (*WEIGHTS, "point", "direction") and key not in parameters_of_springs
        for key in parameters
    ):
        return None
    names = _owners(moving)
    if not names and all(is_zero(resistance.stiffness) for resistance in joint_resistances(moving.tree)):
        return None

    def larger(most: Any, q: Any) -> tuple[Any, None]:
        Y = _inverse(moving, q, True)
        rows = [list(Y[k]) for k in range(robot.nv)]
        squares = _owner_rates(moving, list(q), rows, dampers=False)
        now = [*(row[k] for k, row in enumerate(rows)), *(squares[name][0] for name in names)]
        return array([fmax(a, b) for a, b in zip(most, now, strict=True)]), None

    samples = robot.random_configuration(seed=0, size=_SAMPLES)
    most = list(scan(larger, array([0.0] * (robot.nv + len(names))), samples)[0])
    return [*(1.0 / x for x in most[: robot.nv]), *most[robot.nv :]]


class SpringShares(NamedTuple):
    """Shares g, from 0 (symplectic) to 1 (implicit Euler), by which a step treats springs implicitly.

    They are those of joints (nv), and by name those of force elements, loop joints and curved springs.
    """

    joints: list[Any]
    owners: dict[str, Any]


def spring_shares(robot: Any, stiffness: Scalars, h: Any, rates: SpringRates | None = None) -> SpringShares:
    """Return the implicit shares of springs in a step of h [s].

    ``stiffness`` (nv) is the stiffness of the joints' springs, and ``rates`` are by default the robot's.
    """
    shares: list[Any] = [0.0] * robot.nv
    if not all(map(is_zero, stiffness)):
        inertias = least_inertias(robot, True) if rates is None else rates.inertias
        each = zip(stiffness, inertias, strict=True)
        shares = [0.0 if is_zero(k) else _share(h * h * k * (1.0 / m)) for k, m in each]
    squares = {name: x for name, (x, _) in owner_rates(robot).items()} if rates is None else rates.squares
    return SpringShares(shares, {name: 0.0 if is_zero(x) else _share(h * h * x) for name, x in squares.items()})


def owner_rates(robot: Any) -> dict[str, tuple[float, float]]:
    """Return (ω², rate) by name of a force element or joint: of its stiffest spring [1/s²] and damper [1/s].

    The joints close loops or have curved springs. The values are maxima over random configurations.
    """
    return _OWNERS.get(robot, lambda: _sampled_owner_rates(robot) if has_rows(robot.tree) else {})


def _sampled_owner_rates(robot: Any) -> dict[str, tuple[float, float]]:
    q = robot.random_configuration(seed=0, size=_SAMPLES)
    result: dict[str, tuple[float, float]] = {}
    for at, inverse in zip(q.tolist(), _inverse(robot, q, True).tolist(), strict=True):
        for name, new in _owner_rates(robot, at, inverse).items():
            old = result.get(name, (0.0, 0.0))
            result[name] = max(old[0], float(new[0])), max(old[1], float(new[1]))
    return result


def _owner_rates(robot: Any, q: Scalars, Y: Sequence[Scalars], dampers: bool = True) -> dict[str, tuple[Any, Any]]:
    """Return the largest eigenvalues of Y Σ K rᵀr and Y Σ D rᵀr at q, by name of a force element or joint.

    r (nv) are its rows, with the stiffness K and the damping D; Y = M⁻¹.
    """
    grouped: dict[str, list[Any]] = {}
    for row in (*resisting_rows(robot.tree, q), *(curved_damper_rows(robot.tree) if dampers else ())):
        grouped.setdefault(row.owner, []).append(row)
    result = {}
    for name, rows in grouped.items():
        resistances = [[row.stiffness for row in rows], [row.damping if dampers else 0.0 for row in rows]]
        square, rate = (_largest([row.row for row in rows], coefficients, Y) for coefficients in resistances)
        result[name] = square, rate
    return result


_DOUBLINGS = 3  # of the power of a matrix whose norm is a bound of its largest eigenvalue, too large by up to 12 %


def _largest(rows: Sequence[Scalars], coefficients: Scalars, Y: Sequence[Scalars]) -> Any:
    """Return the largest eigenvalue of Y Σ c rᵀr for rows r with coefficients c, or a little more."""
    used = [(row, sqrt(c)) for row, c in zip(rows, coefficients, strict=True) if not is_zero(c)]
    carried = [[dot(y, row) for y in Y] for row, _ in used]
    G = [[c * d * dot(row, second) for second, (_, d) in zip(carried, used, strict=True)] for row, c in used]
    size: Any = sum((row[k] for k, row in enumerate(G)), 0.0)
    if len(G) < 2:
        return size
    per = 1.0 / fmax(size, 1e-300)
    G = [[x * per for x in row] for row in G]
    for _ in range(_DOUBLINGS):
        G = [[dot(row, second) for second in G] for row in G]
    norm: Any = sum((x * x for row in G for x in row), 0.0)
    for _ in range(_DOUBLINGS + 1):
        norm = sqrt(norm)
    return size * norm


def _share(stiff: Any) -> Any:
    return fmax(0.0, fmin(1.0, (stiff - _RESOLVED) * (1.0 / (_STIFF - _RESOLVED))))


def warn_of_implicit_springs(
    robot: Any, h: float, parameters: Mapping[str, Any], rates: SpringRates | None, leading: tuple[int, ...]
) -> None:
    """Warn of the stiffest spring that a step of h [s] damps more than its own damper does.

    ``parameters`` are stiffness and damping, by name, that replace parameters of the robot.  ``rates`` are the rates of
    springs with all parameters, None if these are the robot's own.  Elements of both are arrays over environments,
    whose shape is ``leading``.
    """
    each = _joint_rates(robot.with_parameters(dict(parameters)) if parameters else robot, robot, rates)
    owners: dict[str, tuple[Any, Any]] = dict(owner_rates(robot))
    for name, square in ({} if rates is None else rates.squares).items():
        owners[name] = square, owners.get(name, (0.0, 0.0))[1]
    index: tuple[int, ...] = ()
    fastest, spring = 0.0, ""
    for square, rate, name in (*each, *((*sizes, name) for name, sizes in owners.items())):
        speeds = np.atleast_1d(np.where(_is_reported(square, rate, h), np.sqrt(square), 0.0))
        if speeds.max() > fastest:
            environment = int(speeds.argmax())
            fastest, spring = float(speeds[environment]), name
            index = tuple(map(int, np.unravel_index(environment, leading))) if np.ptp(speeds) > 0.0 else ()
    if not spring:
        return
    of_environment = f" in environment {', '.join(map(str, index))}" if index else ""
    warnings.warn(
        f"simulate: dt: the spring in {spring!r} vibrates at up to {fastest:.3g} rad/s{of_environment}, too fast for "
        f"steps of {h:g} s, and is treated implicitly, which damps it; use a step of {0.5 / fastest:.2g} s",
        SimulationWarning,
        stacklevel=levels_up(),
    )


def warn_of_jumping_springs(robot: Any, parameters: Mapping[str, Any], t: np.ndarray, q: np.ndarray) -> None:
    """Warn of the first spring whose deflection jumps by a revolution between two records q (..., n, nq) at times t.

    The deflection is that by the shortest rotation from the rest, which changes its axis at half a revolution.
    ``parameters`` are stiffness and rests that replace parameters of the robot, by name, as arrays over environments.
    """
    if not q.size or not _has_jumping(robot.tree):
        return
    leading, records = q.shape[:-2], q.reshape(-1, *q.shape[-2:])
    jumps = []
    for body, part, closes in _with_slices(robot.with_parameters(dict(parameters)).tree if parameters else robot.tree):
        stiffness = [np.broadcast_to(x, len(records)) for x in body.drive.stiffness]
        jumping = _jumping(body.joint, closes)
        if body.coupling is None and jumping and np.any(stiffness):
            now = (robot.loop_configuration(records) if closes else records)[..., part]
            at_rest = [np.asarray(x, dtype=float)[..., None] for x in body.drive.rest or body.joint.zero()]
            deflection = body.joint.deflection(at_rest, [*np.moveaxis(now, -1, 0)])
            turns = 2.0 * np.pi * closes * periodic_angles(body.joint).in_v
            squares = sum(np.diff(x - turns[k] * revolutions(x)) ** 2 for k, x in enumerate(deflection) if k in jumping)
            jumped = (squares > np.pi**2) & np.any(stiffness, axis=0)[:, None]
            jumps += [(k, i, body.joint_name) for i, k in np.argwhere(jumped).tolist()]
    if not jumps:
        return
    k, i, name = min(jumps)
    index = np.unravel_index(i, leading) if leading else ()
    of_environment = f" in environment {', '.join(map(str, map(int, index)))}" if index else ""
    warnings.warn(
        f"simulate: {name!r} turns past half a revolution from the rest of its spring at {t[k + 1]:g} s"
        f"{of_environment}: the spring's force jumps there; limit the rotation, or use "
        "linkwork.force_elements.SpringDamper between points",
        SimulationWarning,
        stacklevel=levels_up(),
    )


def _with_slices(tree: Tree) -> list[tuple[Body, slice, bool]]:
    """Return the joints of a tree and those that close loops, with the slice of their coordinates."""
    ends = np.cumsum([0, *(loop.joint.nq for loop in loops_of(tree))]).tolist()
    closing = zip(map(body_of, loops_of(tree)), map(slice, ends, ends[1:]), strict=False)
    each = [*((body, part, False) for body, part in zip(tree.bodies, tree.q_slices, strict=True))]
    return [*each, *((body, part, True) for body, part in closing)]


@lru_cache(64)
def _has_jumping(tree: Tree) -> bool:
    return any(_jumping(body.joint, closes) for body, _, closes in _with_slices(tree))


def _jumping(joint: JointType, closes: bool) -> tuple[int, ...]:
    """Return the indices of a joint's spring deflections that jump at half a revolution: shortest rotations.

    Angles of joints in the tree count their revolutions.  The pose of a joint that closes a loop has no count.
    """
    counted = {k for n, k in enumerate(moved_alone(joint)) if joint.q_units[n] == "rad"}
    if closes:
        counted -= set(np.flatnonzero(periodic_angles(joint).in_v).tolist())
    return tuple(k for k, unit in enumerate(joint.v_units) if unit == "rad/s" and k not in counted)


def _joint_rates(moving: Any, robot: Any, rates: SpringRates | None) -> list[tuple[Any, Any, str]]:
    """Return (ω², damper's rate, name) of each joint coordinate of ``moving`` that has a spring [1/s², 1/s].

    Inertias are those of ``rates``, by default of the ``robot``.
    """

    def stiff_joints() -> tuple[tuple[int, Any, Any], ...]:
        return tuple((k, K, D) for k, (K, D, _) in enumerate(joint_resistances(moving.tree)) if np.any(K > 0.0))

    springs = _SPRINGS.get(robot, stiff_joints) if moving is robot else stiff_joints()
    if not springs:
        return []
    inertias = least_inertias(robot, True) if rates is None else rates.inertias
    each = [(K, D, inertias[k], robot.v_names[k]) for k, K, D in springs]
    return [(K / m, D / m, name) for K, D, m, name in each if np.all(m > 0.0)]


def _is_reported(square: Any, rate: Any, h: float) -> Any:
    """Return True if a step of h [s] damps a vibration more than its damper does, so that this is reported.

    ``square`` is ω² of the vibration [1/s²], and ``rate`` that of the damper [1/s].
    """
    share = np.clip((h * h * square - _RESOLVED) / (_STIFF - _RESOLVED), 0.0, 1.0)
    return (share * h * square > rate) & (_VIBRATES * np.sqrt(square) > rate)
