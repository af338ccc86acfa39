"""Lines of the contract: what a type says of itself, and that every scalar and every robot gives the same."""

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
from linkwork.parts.joint_checks.check_context import TOLERANCE, Bare, Line, Trial, flat, matrix
from linkwork.parts.joint_checks.motion_checks import reaches
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
            (len(j.integrate(q, v)), j.nq, "integrate"),
            (len(j.normalize(q)), j.nq, "normalize"),
            (len(j.canonical(q)), j.nq, "canonical"),
        ]
    for got, expected, what in result:
        if got != expected:
            raise ValueError(f"{what}: expected {expected} numbers, got {got}")
    return []


def _names(t: Trial) -> list[float]:
    """Units are those there are, rates of q where q̇ = v; names are texts, each another one."""
    j = t.type
    for what, units, known in (("q_units", j.q_units, _UNITS), ("v_units", j.v_units, _UNITS.values())):
        for unit in units:
            if unit not in known:
                raise ValueError(f"{what}: expected one of {', '.join(known)}, got {unit!r}")
    if type(j).q_dot is JointType.q_dot and tuple(_UNITS[unit] for unit in j.q_units) != tuple(j.v_units):
        raise ValueError(f"v_units: q̇ is v, so expected the rates of {j.q_units}, got {j.v_units}")
    for what, names in (("q_names", j.q_names), ("v_names", j.v_names), ("type_name", (j.type_name(),))):
        if not all(isinstance(name, str) and name.strip() for name in names) or len(set(names)) < len(names):
            raise ValueError(f"{what}: expected distinct strings, got {names}")
    places = [k for group in j.unit_length for k in group]
    if len(set(places)) < len(places) or not all(0 <= k < j.nq for k in places):
        raise ValueError(f"unit_length: expected places in q, none twice, got {j.unit_length}")
    return []


def _value(t: Trial) -> list[float]:
    kind = type(t.type)
    written = kind.example.__func__ is not JointType.example.__func__  # type: ignore[attr-defined]
    made = [kind.example(np.random.default_rng(0)) if written else copy(t.type) for _ in range(2)]
    if not isinstance(made[0], type(t.type)):
        raise ValueError(f"example: expected a joint of this type, got {made[0]!r}")
    if made[0] != made[1] or hash(made[0]) != hash(made[1]) or t.type != t.type:
        raise ValueError("two joints of the same parameters are not equal: make the type a frozen dataclass")
    if not all(isinstance(part, JointType) for part in t.type.parts):
        raise ValueError(f"parts: expected joint types, got {t.type.parts!r}")
    return []


def _kind(t: Trial) -> list[float]:
    j, S = t.type, [_columns(t.type, q) for q, _ in t.states()]
    rank = max((int(np.linalg.matrix_rank(s, tol=1e-9)) for s in S), default=0)
    for what, said, result in (
        ("num_constraints", j.num_constraints, 6 - rank),
        ("is_floating", j.is_floating, rank == 6),
        ("nv", j.nv, rank),
    ):
        if said != result:
            raise ValueError(f"{what}: says {said}, but S has rank {rank}: expected {result}")
    return []


def _fixed_subspace(t: Trial) -> list[float]:
    S = [_columns(t.type, q).ravel() for q, _ in t.states(max(t.samples, 4))]
    same = all(relative_error(other, S[0]) <= TOLERANCE for other in S)
    if same != t.type.has_fixed_subspaces:
        raise ValueError(
            f"has_fixed_subspaces: says {not same}, but S {'is' if same else 'is not'} the same everywhere"
        )
    return []


def _columns(joint: JointType, q: Sequence[float]) -> np.ndarray:
    return matrix(flat(joint.S(q).columns), joint.nv).T if joint.nv else np.zeros((6, 0))


def _regularity(t: Trial) -> list[float]:
    """Between 0 and 1; where it is not near 0 motions and rates are independent, and where it is they are not."""
    states = [q for q, _ in t.states(10 * t.samples)]
    for q in states:
        said, independent = float(t.type.regularity(q)), _independence(t.type, q)
        if not 0.0 <= said <= 1.0:
            raise ValueError(f"regularity: expected a number from 0 to 1, got {said} at q = {q}")
        if independent < 1e-9:
            raise ValueError(f"regularity: {said:.3g} at q = {q}, where motions or rates depend on each other")
    for q in states[: min(4, len(states))]:
        worst = _downhill(t.type, q)
        said, independent = float(t.type.regularity(worst)), _independence(t.type, worst)
        if said < 1e-5 and independent > 1e-2:
            raise ValueError(
                f"regularity: {said:.3g} at q = {worst}, where motions and rates are as independent as ever"
            )
    return []


def _independence(joint: JointType, q: Sequence[float]) -> float:
    """The least singular value of S and of the matrix of q_dot, their columns made unit: 0 where some depend."""
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


def _downhill(joint: JointType, q: list[float]) -> list[float]:
    """Where a search for small ``regularity`` ends: steps at random in q, longer where they lead down."""
    rng, step, least = np.random.default_rng(8), 0.3, float(joint.regularity(q))
    for _ in range(300):
        if least < 1e-7 or least == 1.0:
            break
        there = [float(x) for x in joint.normalize((np.array(q) + step * rng.normal(size=joint.nq)).tolist())]
        result = float(joint.regularity(there))
        q, least, step = (there, result, 2.0 * step) if result < least else (q, least, 0.8 * step)
    return q


# -- what makes no difference to it


def _unmoved(t: Trial, what: str, directions: Iterable[Vec3], turning: bool) -> list[float]:
    errors = []
    for u in directions:
        if abs(math.hypot(*map(float, u)) - 1.0) > TOLERANCE:
            raise ValueError(f"{what}: expected unit vectors, got {(*u,)}")
        T = Pose(Rotation.about(u, 0.7), Vec3.zero()) if turning else Pose(Rotation.identity(), u * 0.7)
        for q, _ in t.states():
            X = t.type.X(q)
            errors.append(relative_error((T.inv() @ X @ T).elements(), X.elements()))
    return errors


def _slides(t: Trial) -> list[float]:
    return _unmoved(t, "commuting_translations", t.type.commuting_translations(), turning=False)


def _turns(t: Trial) -> list[float]:
    return _unmoved(t, "commuting_rotations", t.type.commuting_rotations(), turning=True)


def _felt(t: Trial) -> list[float]:
    """What is not felt resists no motion, and looks the same from F in every configuration."""
    rng, errors = np.random.default_rng(9), []
    for _ in range(2):
        inertia = random_inertia(rng)
        unfelt = inertia - t.type.reduced_inertia(inertia)
        for q, _ in t.states():
            errors += [relative_error((unfelt @ column).elements(), [0.0] * 6) for column in t.type.S(q).columns]
            errors.append(relative_error(_numbers(t.type.X(q) @ unfelt), _numbers(unfelt)))
    return errors


def _numbers(inertia: Inertia) -> list[Any]:
    J = inertia.about
    return [inertia.mass, *inertia.moment, J.xx, J.xy, J.xz, J.yy, J.yz, J.zz]


def _reversed(t: Trial) -> list[float]:
    j, r = t.type, t.type.reversed()
    if r.reversed() != j:
        raise ValueError(f"reversed: turned round twice it is {r.reversed()!r}")
    for what in ("nq", "nv", "q_units", "v_units"):
        if getattr(j, what) != getattr(r, what):
            raise ValueError(f"reversed: {what} is {getattr(r, what)!r}, and the joint's {getattr(j, what)!r}")
    other = t.of(r)
    errors = [relative_error(r.zero(), j.zero()), *_slides(other), *_turns(other), *_felt(other)]
    for q, v in t.states():
        X = j.X(q)
        errors.append(relative_error((X @ r.X(q)).elements(), Pose.identity().elements()))
        errors.append(relative_error(flat(r.S(q).columns), [-x for x in flat((X @ j.S(q)).columns)]))
        errors.append(relative_error(r.bias(q, v).elements(), [-x for x in (X @ j.bias(q, v)).elements()]))
        for one, two in zip(_manifold(r, q, v), _manifold(j, q, v), strict=True):
            errors.append(relative_error([one], [two]))
    return errors


def _manifold(joint: JointType, q: Sequence[Any], v: Sequence[Any]) -> list[Any]:
    """One list of what a joint's numbers mean: the same for the joint the other way round."""
    there, rate = joint.integrate(q, v), joint.q_dot(q, v)
    near = [x * (1.0 + 1e-4) for x in q]
    maps = [*there, *rate, *joint.velocity_from_rate(q, rate), *joint.difference(q, there), *joint.normalize(q)]
    return [*maps, joint.distance(near), joint.regularity(q)]


# -- the same on every scalar and in every robot


def _everything(joint: JointType, q: Sequence[Any], v: Sequence[Any]) -> list[Any]:
    """One list of what algorithms and joints' functions take of a joint."""
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
        *joint.velocity_from_rate_adjoint(q, v),
        *joint.canonical(q),
    ]


def _back(joint: JointType, X: Pose) -> list[Any]:
    return [*joint.X(joint.configuration_from_pose(X)).elements(), *joint.pose_residual(X).elements()]


def _batches(t: Trial) -> list[float]:
    columns, states = _by_column(t)
    return _rows_off(t, _everything(t.type, *columns), states)


def _symbols(t: Trial) -> list[float]:
    columns, states = _by_column(t)
    graph = Graph()
    q, v = graph.inputs("q", (t.type.nq,)), graph.inputs("v", (t.type.nv,))
    numbers = dict(zip([*q, *v], [*columns[0], *columns[1]], strict=True))
    return _rows_off(t, list(evaluate(_everything(t.type, q, v), numbers)), states)


def _by_column(t: Trial) -> tuple[list[list[np.ndarray]], list[tuple[list[float], list[float]]]]:
    states = t.states()
    q, v = (np.array([state[k] for state in states], dtype=float) for k in range(2))
    return [[q[:, k] for k in range(t.type.nq)], [v[:, k] for k in range(t.type.nv)]], states


def _rows_off(t: Trial, together: list[Any], states: list[tuple[list[float], list[float]]]) -> list[float]:
    rows = np.array([np.broadcast_to(np.asarray(x, dtype=float), len(states)) for x in together]).T
    return [relative_error(row, _everything(t.type, *state)) for row, state in zip(rows, states, strict=True)]


def _compiled(t: Trial) -> list[float]:
    states, joint = t.states(), t.joint
    q, v = (np.array([state[k] for state in states], dtype=float) for k in range(2))
    result = joint.transform(q), np.swapaxes(joint.motion_subspace(q), -1, -2), joint.bias_acceleration(q, v)
    rows = np.concatenate([part.reshape(len(states), -1) for part in result], axis=1)
    count = rows.shape[1]
    return [relative_error(row, _everything(t.type, *state)[:count]) for row, state in zip(rows, states, strict=True)]


def _dynamics(t: Trial) -> list[float]:
    """In the middle of a chain of hinges, as algorithms see it, against the transform and the manifold alone."""
    errors = []
    stated, plain = (_chain(joint) for joint in (t.type, Bare(t.type)))
    seen = simplify_tree(stated)
    a = np.random.default_rng(10).normal(size=stated.nv).tolist()
    for (q, v), turn in zip(t.states(), np.random.default_rng(11).normal(size=(t.samples + 1, 4)), strict=False):
        q, v = [turn[0], *q, turn[1]], [turn[2], *v, turn[3]]
        errors.append(relative_error(_all(mass_matrix(seen, q)), _all(mass_matrix(plain, q))))
        errors.append(relative_error(inverse_dynamics(seen, q, v, a), inverse_dynamics(plain, q, v, a)))
    return errors


def _all(rows: Iterable[Iterable[Any]]) -> list[Any]:
    return [x for row in rows for x in row]


def _chain(joint: JointType) -> Tree:
    """A hinge, the joint and a hinge, at places along the axes, where statements have most effect."""
    rng, bodies = np.random.default_rng(12), []
    for k, kind in enumerate((Revolute((0.0, 0.0, 1.0)), joint, Revolute((0.0, 0.0, 1.0)))):
        place = Pose(Rotation.identity(), Vec3.of(rng.uniform(-0.5, 0.5, 3).tolist()))
        none = (0.0,) * kind.nv
        inertia, limits = random_inertia(rng), Limits.none(kind)
        body = Body(
            f"body{k}", k - 1, f"joint{k}", kind, place, Pose.identity(), inertia, limits, damping=none, friction=none
        )
        bodies.append(body)
    return Tree("chain", tuple(bodies), ())


STATEMENTS = (
    Line(
        "sizes",
        "every method gives as many numbers as nq and nv say",
        0.0,
        _sizes,
        ("nq", "nv"),
    ),
    Line(
        "names and units",
        "there is a unit for each number, and a name for each or none",
        0.0,
        _names,
        ("q_units", "v_units", "q_names", "v_names", "type_name"),
    ),
    Line("value", "two joints of the same parameters are equal and hash", 0.0, _value, ("example", "parts")),
    Line(
        "what kind it is",
        "num_constraints is 6 less the rank of S, which is nv; is_floating where that is 0",
        0.0,
        _kind,
        ("num_constraints", "is_floating"),
    ),
    Line("has_fixed_subspaces", "whether S is the same everywhere", 0.0, _fixed_subspace),
    Line("regularity", "0 where motions or rates depend on each other, and only there", 0.0, _regularity),
    Line("commuting_translations", "T⁻¹ X T = X for translations T along these unit vectors", TOLERANCE, _slides),
    Line("commuting_rotations", "T⁻¹ X T = X for rotations T about these unit vectors", TOLERANCE, _turns),
    Line("reduced_inertia", "the rest δ has δ S = 0 and X δ = δ", TOLERANCE, _felt),
    Line("reversed", "X⁻¹, −X S, −X bias, and the same numbers; twice, it is the joint", TOLERANCE, _reversed),
)

RESULTS = (
    Line("batches", "NumPy arrays give what floats give", TOLERANCE, _batches, ()),
    Line("symbols", "traced expressions give what floats give", TOLERANCE, _symbols, ()),
    Line("compiled", "compiled code gives what floats give", TOLERANCE, _compiled, ()),
    Line("dynamics", "a robot's are those of the transform and the manifold alone", TOLERANCE, _dynamics, ()),
)
