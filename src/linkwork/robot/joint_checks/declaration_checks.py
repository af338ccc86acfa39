"""Requirements on what a joint type declares, and on equal results for every scalar type and in a robot."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from copy import copy
from typing import Any

import numpy as np

from linkwork._util.contract_report import relative_error
from linkwork.dynamics.algorithms.inverse_dynamics import inverse_dynamics
from linkwork.dynamics.algorithms.mass_matrix import mass_matrix
from linkwork.expr.scalar.interpreter import evaluate
from linkwork.expr.scalar.symbol import Graph
from linkwork.joints import JointType, Revolute
from linkwork.model.body import Body, Limits
from linkwork.model.random_tree import random_inertia
from linkwork.model.simplify import simplify_tree
from linkwork.model.tree import Tree
from linkwork.robot.joint_checks.check_context import TOLERANCE, Bare, Line, Trial, flat, matrix
from linkwork.robot.joint_checks.motion_checks import reaches
from linkwork.spatial import Force, Inertia, Pose, Rotation, Vec3

__all__ = ["RESULTS", "STATEMENTS"]

_UNITS = {"rad": "rad/s", "m": "m/s", "1": "1/s"}


def _sizes(t: Trial) -> list[float]:
    j = t.type
    if not 0 <= j.nv <= min(6, j.nq):
        raise ValueError(f"nq, nv: expected nq ≥ nv, and nv from 0 to 6, got {j.nq} and {j.nv}")
    result = [
        (len(j.q_units), j.nq, "q_units"),
        (len(j.v_units), j.nv, "v_units"),
        (len(j.zero()), j.nq, "zero"),
        (len(j.q_names), j.nq if j.q_names else 0, "q_names"),
        (len(j.v_names), j.nv if j.v_names else 0, "v_names"),
    ]
    for q, v in t.states()[:1]:
        result += [
            (len(j.X(q).elements()), 16, "X"),
            (len(j.S(q)), j.nv, "S"),
            (len(j.constraint_wrench_subspace(q)), 6 - j.nv, "constraint_wrench_subspace"),
            (len(j.torque(q, Force.zero())), j.nv, "torque"),
            (len(j.configuration_from_pose(j.X(q))), j.nq, "configuration_from_pose"),
            (len(j.velocity_from_twist(q, j.twist(q, v))), j.nv, "velocity_from_twist"),
            (len(j.q_dot(q, v)), j.nq, "q_dot"),
            (len(j.velocity_from_rate(q, j.q_dot(q, v))), j.nv, "velocity_from_rate"),
            (len(j.difference(q, q)), j.nv, "difference"),
            (len(j.difference_rate(q, q, v)), j.nv, "difference_rate"),
            (len(j.deflection(q, q)), j.nv, "deflection"),
            (len(j.deflection_rate(q, q, v)), j.nv, "deflection_rate"),
            (len(j.integrate(q, v)), j.nq, "integrate"),
            (len(j.normalize(q)), j.nq, "normalize"),
            (len(j.canonical(q)), j.nq, "canonical"),
        ]
    for got, expected, quantity in result:
        if got != expected:
            raise ValueError(f"{quantity}: expected {expected} values, got {got}")
    return []


def _names(t: Trial) -> list[float]:
    """Return no errors; raise ValueError for invalid units or names of coordinates.

    Units must be known, and names must be distinct strings. If q̇ = v, the units of v must be the rates of q's units.
    """
    j = t.type
    for name, units, known in (("q_units", j.q_units, _UNITS), ("v_units", j.v_units, _UNITS.values())):
        for unit in units:
            if unit not in known:
                raise ValueError(f"{name}: expected one of {', '.join(known)}, got {unit!r}")
    if type(j).q_dot is JointType.q_dot and tuple(_UNITS[unit] for unit in j.q_units) != tuple(j.v_units):
        raise ValueError(f"v_units: q̇ is v, so expected the rates of {j.q_units}, got {j.v_units}")
    for attribute, names in (("q_names", j.q_names), ("v_names", j.v_names), ("type_name", (j.type_name(),))):
        if not all(isinstance(name, str) and name.strip() for name in names) or len(set(names)) < len(names):
            raise ValueError(f"{attribute}: expected distinct strings, got {names}")
    indices = [k for group in j.unit_length for k in group]
    if len(set(indices)) < len(indices) or not all(0 <= k < j.nq for k in indices):
        raise ValueError(f"unit_length: expected distinct indices of q, got {j.unit_length}")
    return []


def _value(t: Trial) -> list[float]:
    kind = type(t.type)
    written = kind.example.__func__ is not JointType.example.__func__  # type: ignore[attr-defined]
    pair = [kind.example(np.random.default_rng(0)) if written else copy(t.type) for _ in range(2)]
    if not isinstance(pair[0], type(t.type)):
        raise ValueError(f"example: expected a joint of this type, got {pair[0]!r}")
    if pair[0] != pair[1] or hash(pair[0]) != hash(pair[1]) or t.type != t.type:
        raise ValueError("two joints of the same parameters are not equal: make the type a frozen dataclass")
    if not all(isinstance(part, JointType) for part in t.type.parts):
        raise ValueError(f"parts: expected joint types, got {t.type.parts!r}")
    return []


def _kind(t: Trial) -> list[float]:
    j, S = t.type, [_columns(t.type, q) for q, _ in t.states()]
    rank = max((int(np.linalg.matrix_rank(s, tol=1e-9)) for s in S), default=0)
    for name, declared, result in (
        ("num_constraints", j.num_constraints, 6 - rank),
        ("is_floating", j.is_floating, rank == 6),
        ("nv", j.nv, rank),
    ):
        if declared != result:
            raise ValueError(f"{name}: expected {result}, since S has rank {rank}, got {declared}")
    return []


def _fixed_subspace(t: Trial) -> list[float]:
    S = [_columns(t.type, q).ravel() for q, _ in t.states(max(t.samples, 4))]
    same = all(relative_error(S_other, S[0]) <= TOLERANCE for S_other in S)
    if same != t.type.has_fixed_subspaces:
        raise ValueError(
            f"has_fixed_subspaces: expected {same}, since S {'is' if same else 'is not'} constant, got {not same}"
        )
    return []


def _columns(joint: JointType, q: Sequence[float]) -> np.ndarray:
    return matrix(flat(joint.S(q).columns), joint.nv).T if joint.nv else np.zeros((6, 0))


def _regularity(t: Trial) -> list[float]:
    """Return no errors; raise ValueError for a wrong `regularity`.

    It must be in [0, 1], and near 0 exactly where columns of the motion subspace, or rates q̇, are linearly dependent.
    """
    states = [q for q, _ in t.states(10 * t.samples)]
    for q in states:
        value, independent = float(t.type.regularity(q)), _independence(t.type, q)
        if not 0.0 <= value <= 1.0:
            raise ValueError(f"regularity: expected a number from 0 to 1, got {value} at q = {q}")
        if independent < 1e-9:
            raise ValueError(f"regularity: {value:.3g} at q = {q}, where motions or rates are dependent")
    for q in states[: min(4, len(states))]:
        worst = _least_regular(t.type, q)
        value, independent = float(t.type.regularity(worst)), _independence(t.type, worst)
        if value < 1e-5 and independent > 1e-2:
            raise ValueError(f"regularity: {value:.3g} at q = {worst}, where motions and rates are independent")
    return []


def _independence(joint: JointType, q: Sequence[float]) -> float:
    """Return a measure of linear independence of the columns of S, and of J with q̇ = J v: 1 orthogonal, 0 dependent.

    It is the smallest singular value of both matrices, after columns are scaled to length 1.
    """
    if not joint.nv:
        return 1.0
    least = 1.0
    rows = [[float(x) for x in row] for row in joint.q_dot_jacobian(q)]
    for columns in (_columns(joint, q), np.array(rows)):
        sizes = np.linalg.norm(columns, axis=0)
        if not np.isfinite(sizes).all() or not sizes.all():
            return 0.0
        least = min(least, float(np.linalg.svd(columns / sizes, compute_uv=False)[-1]))
    return least


def _least_regular(joint: JointType, q: list[float]) -> list[float]:
    """Return a configuration near a singularity, found by a random search from q that minimises `regularity`.

    The search adapts its step size.
    """
    rng, step, least = np.random.default_rng(8), 0.3, float(joint.regularity(q))
    for _ in range(300):
        if least < 1e-7 or least == 1.0:
            break
        trial = [float(x) for x in joint.normalize((np.array(q) + step * rng.normal(size=joint.nq)).tolist())]
        result = float(joint.regularity(trial))
        q, least, step = (trial, result, 2.0 * step) if result < least else (q, least, 0.8 * step)
    return q


# -- invariances


def _commuting(t: Trial, name: str, directions: Iterable[Vec3], rotation: bool) -> list[float]:
    errors = []
    for u in directions:
        if abs(math.hypot(*map(float, u)) - 1.0) > TOLERANCE:
            raise ValueError(f"{name}: expected unit vectors, got {(*u,)}")
        T = Pose(Rotation.about(u, 0.7), Vec3.zero()) if rotation else Pose(Rotation.identity(), u * 0.7)
        for q, _ in t.states():
            X = t.type.X(q)
            errors.append(relative_error((T.inv() @ X @ T).elements(), X.elements()))
    return errors


def _translations(t: Trial) -> list[float]:
    return _commuting(t, "commuting_translations", t.type.commuting_translations(), rotation=False)


def _rotations(t: Trial) -> list[float]:
    return _commuting(t, "commuting_rotations", t.type.commuting_rotations(), rotation=True)


def _reduced_inertia(t: Trial) -> list[float]:
    """Return the errors of the inertia that the type's ``reduced_inertia`` subtracts.

    This inertia must not resist a motion of the joint, and must be constant in the frame F.
    """
    rng, errors = np.random.default_rng(9), []
    for _ in range(2):
        inertia = random_inertia(rng)
        removed = inertia - t.type.reduced_inertia(inertia)
        for q, _ in t.states():
            errors += [relative_error((removed @ column).elements(), [0.0] * 6) for column in t.type.S(q).columns]
            errors.append(relative_error(_elements(t.type.X(q) @ removed), _elements(removed)))
    return errors


def _elements(inertia: Inertia) -> list[Any]:
    J = inertia.about
    return [inertia.mass, *inertia.moment, J.xx, J.xy, J.xz, J.yy, J.yz, J.zz]


def _reversed(t: Trial) -> list[float]:
    j, r = t.type, t.type.reversed()
    if r.reversed() != j:
        raise ValueError(f"reversed: expected the joint itself when reversed twice, got {r.reversed()!r}")
    for name in ("nq", "nv", "q_units", "v_units"):
        if getattr(j, name) != getattr(r, name):
            raise ValueError(f"reversed: {name}: expected the joint's {getattr(j, name)!r}, got {getattr(r, name)!r}")
    trial = t.of(r)
    errors = [relative_error(r.zero(), j.zero()), *_translations(trial), *_rotations(trial), *_reduced_inertia(trial)]
    for q, v in t.states():
        X = j.X(q)
        errors.append(relative_error((X @ r.X(q)).elements(), Pose.identity().elements()))
        errors.append(relative_error(flat(r.S(q).columns), [-x for x in flat((X @ j.S(q)).columns)]))
        errors.append(relative_error(r.bias(q, v).elements(), [-x for x in (X @ j.bias(q, v)).elements()]))
        for got, two in zip(_manifold(r, q, v), _manifold(j, q, v), strict=True):
            errors.append(relative_error([got], [two]))
    return errors


def _manifold(joint: JointType, q: Sequence[Any], v: Sequence[Any]) -> list[Any]:
    """Return the values of all functions of the configuration manifold, which are the same for the reversed joint."""
    moved, rate = joint.integrate(q, v), joint.q_dot(q, v)
    near = [x * (1.0 + 1e-4) for x in q]
    maps = [*moved, *rate, *joint.velocity_from_rate(q, rate), *joint.difference(q, moved), *joint.normalize(q)]
    maps += joint.deflection(q, moved)
    return [*maps, joint.distance(near), joint.regularity(q)]


# -- equal results for every scalar type and in a robot


def _everything(joint: JointType, q: Sequence[Any], v: Sequence[Any]) -> list[Any]:
    """Return the values of all functions of a joint that algorithms use."""
    wrench = Force.of([0.3, -1.0, 2.0, 0.7, 1.1, -0.4])
    return [
        *joint.X(q).elements(),
        *flat(joint.S(q).columns),
        *joint.bias(q, v).elements(),
        *joint.twist(q, v).elements(),
        *joint.acceleration(q, v, v).elements(),
        *joint.torque(q, wrench),
        *flat(joint.constraint_wrench_subspace(q)),
        *joint.velocity_from_twist(q, joint.X(q) @ joint.twist(q, v)),
        *(_back(joint, joint.X(q)) if reaches(joint) else ()),
        *_manifold(joint, q, v),
        *joint.difference_rate(joint.zero(), q, v),
        *joint.deflection_rate(joint.zero(), q, v),
        *joint.velocity_from_rate_adjoint(q, v),
        *joint.canonical(q),
    ]


def _back(joint: JointType, X: Pose) -> list[Any]:
    return [*joint.X(joint.configuration_from_pose(X)).elements(), *joint.pose_residual(X).elements()]


def _batches(t: Trial) -> list[float]:
    columns, states = _by_column(t)
    return _row_errors(t, _everything(t.type, *columns), states)


def _symbols(t: Trial) -> list[float]:
    columns, states = _by_column(t)
    graph = Graph()
    q, v = graph.inputs("q", (t.type.nq,)), graph.inputs("v", (t.type.nv,))
    values = dict(zip([*q, *v], [*columns[0], *columns[1]], strict=True))
    return _row_errors(t, list(evaluate(_everything(t.type, q, v), values)), states)


def _by_column(t: Trial) -> tuple[list[list[np.ndarray]], list[tuple[list[float], list[float]]]]:
    states = t.states()
    q, v = (np.array([state[k] for state in states], dtype=float) for k in range(2))
    return [[q[:, k] for k in range(t.type.nq)], [v[:, k] for k in range(t.type.nv)]], states


def _row_errors(t: Trial, together: list[Any], states: list[tuple[list[float], list[float]]]) -> list[float]:
    rows = np.array([np.broadcast_to(np.asarray(x, dtype=float), len(states)) for x in together]).T
    return [relative_error(row, _everything(t.type, *state)) for row, state in zip(rows, states, strict=True)]


def _compiled(t: Trial) -> list[float]:
    states, joint = t.states(), t.joint
    q, v = (np.array([state[k] for state in states], dtype=float) for k in range(2))
    result = joint.transform(q), np.swapaxes(joint.motion_subspace(q), -1, -2), joint.bias_acceleration(q, v)
    rows = np.concatenate([array.reshape(len(states), -1) for array in result], axis=1)
    count = rows.shape[1]
    return [relative_error(row, _everything(t.type, *state)[:count]) for row, state in zip(rows, states, strict=True)]


def _dynamics(t: Trial) -> list[float]:
    """Return the differences between a chain's dynamics with a joint and with its `Bare` joint.

    The chain is hinge, joint, hinge. A `Bare` joint has the transform and the manifold of the joint; all its other
    methods are derived from them.
    """
    errors = []
    declared, plain = (_chain(joint) for joint in (t.type, Bare(t.type)))
    simplified = simplify_tree(declared)
    a = np.random.default_rng(10).normal(size=declared.nv).tolist()
    for (q, v), hinge in zip(t.states(), np.random.default_rng(11).normal(size=(t.samples + 1, 4)), strict=False):
        q, v = [hinge[0], *q, hinge[1]], [hinge[2], *v, hinge[3]]
        errors.append(relative_error(_all(mass_matrix(simplified, q)), _all(mass_matrix(plain, q))))
        errors.append(relative_error(inverse_dynamics(simplified, q, v, a), inverse_dynamics(plain, q, v, a)))
    return errors


def _all(rows: Iterable[Iterable[Any]]) -> list[Any]:
    return [x for row in rows for x in row]


def _chain(joint: JointType) -> Tree:
    """Return a tree of three joints in series: a hinge, ``joint`` and another hinge, without rotations between them."""
    rng, bodies = np.random.default_rng(12), []
    for k, kind in enumerate((Revolute((0.0, 0.0, 1.0)), joint, Revolute((0.0, 0.0, 1.0)))):
        placement = Pose(Rotation.identity(), Vec3.of(rng.uniform(-0.5, 0.5, 3).tolist()))
        zeros = (0.0,) * kind.nv
        inertia, limits = random_inertia(rng), Limits.none(kind)
        body = Body(
            f"body{k}",
            k - 1,
            f"joint{k}",
            kind,
            placement,
            Pose.identity(),
            inertia,
            limits,
            damping=zeros,
            friction=zeros,
        )
        bodies.append(body)
    return Tree("chain", tuple(bodies), ())


STATEMENTS = (
    Line(
        "sizes",
        "every method returns as many values as nq and nv state",
        0.0,
        _sizes,
        ("nq", "nv"),
    ),
    Line(
        "names and units",
        "there is a unit for each coordinate, and a name for each or none",
        0.0,
        _names,
        ("q_units", "v_units", "q_names", "v_names", "type_name"),
    ),
    Line("value", "two joints of the same parameters are equal and hashable", 0.0, _value, ("example", "parts")),
    Line(
        "degrees of freedom",
        "num_constraints is 6 minus the rank of S, which is nv; is_floating if that is 0",
        0.0,
        _kind,
        ("num_constraints", "is_floating"),
    ),
    Line("has_fixed_subspaces", "True exactly if S is constant", 0.0, _fixed_subspace),
    Line("regularity", "0 exactly where motions or rates are dependent", 0.0, _regularity),
    Line("commuting_translations", "T⁻¹ X T = X for translations T along these unit vectors", TOLERANCE, _translations),
    Line("commuting_rotations", "T⁻¹ X T = X for rotations T about these unit vectors", TOLERANCE, _rotations),
    Line("reduced_inertia", "the removed inertia δ has δ S = 0 and X δ = δ", TOLERANCE, _reduced_inertia),
    Line("reversed", "X⁻¹, −X S, −X bias, and the same coordinates; twice, it is the joint", TOLERANCE, _reversed),
)

RESULTS = (
    Line("batches", "NumPy arrays and floats have equal results", TOLERANCE, _batches, ()),
    Line("symbols", "traced expressions and floats have equal results", TOLERANCE, _symbols, ()),
    Line("compiled", "compiled code and floats have equal results", TOLERANCE, _compiled, ()),
    Line("dynamics", "equal to those of the transform and the manifold only", TOLERANCE, _dynamics, ()),
)
