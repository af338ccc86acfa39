"""`check_joint`: the contract of a joint type, line by line, on anyone's joint.

Every line is an identity that follows from the transform X(q); it is tried on floats, at random configurations and at
zero.  The references are the contract's own derivations from X, differences, and the other side of the identity.
"""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import JointContractError
from ..expr.dual import parts, seeded
from ..joints import JointType
from ..spatial import Force, Pose
from .joint import Joint

__all__ = ["JointLine", "JointReport", "check_joint"]

TOLERANCE = 1e-8  # of identities between closed forms, relative to the size of what is compared
_SINGULAR = 1e-2  # of a type's `regularity`
DIFFERENCES = 1e-5  # of those whose reference is a difference quotient


@dataclass(frozen=True, slots=True)
class JointLine:
    """One line of the contract: what it says, the largest error found, and what went wrong where something did."""

    name: str  # what of the contract it is about, e.g. "S"
    identity: str
    error: float  # relative to 1 or the size of what is compared; NaN where nothing could be compared
    tolerance: float
    problem: str = ""  # why it fails

    @property
    def passed(self) -> bool:
        return not self.problem and self.error <= self.tolerance

    def __str__(self) -> str:
        text = f"{'ok  ' if self.passed else 'FAIL'}  {self.name:<27} {self.error:9.1e}  {self.identity}"
        return f"{text}\n      {self.problem}" if self.problem else text


@dataclass(frozen=True, slots=True)
class JointReport:
    """What `check_joint` found: printed, a line an identity."""

    joint: str
    lines: tuple[JointLine, ...]

    @property
    def passed(self) -> bool:
        """Whether every line of the contract holds."""
        return all(line.passed for line in self.lines)

    @property
    def failures(self) -> tuple[JointLine, ...]:
        """The lines that do not hold."""
        return tuple(line for line in self.lines if not line.passed)

    def raise_if_failed(self) -> None:
        """Raises JointContractError with the lines that do not hold, if there are any."""
        if not self.passed:
            raise JointContractError(f"{self.joint} breaks the contract:\n" + "\n".join(map(str, self.failures)))

    def __str__(self) -> str:
        verdict = "keeps the contract" if self.passed else f"breaks {len(self.failures)} lines of the contract"
        return "\n".join([f"{self.joint} {verdict}", *map(str, self.lines)])


def check_joint(
    joint: JointType | Joint, *, samples: int = 12, rng: np.random.Generator | int | None = 0
) -> JointReport:
    """Run the identities of the contract on a joint type, yours for example, and say which lines hold.

    ``samples`` random configurations between the joint's bounds (or unbounded) and the zero configuration are tried;
    ``rng`` is a NumPy generator or a seed for one.  What the joint's own methods raise is caught, and the line of the
    report says where.  The report prints as a table; ``check_joint(joint).raise_if_failed()`` is a test.
    """
    held = joint if isinstance(joint, Joint) else Joint.of(joint)
    generator = np.random.default_rng(rng)
    trial = _Trial(held, samples, generator)
    lines = []
    for name, identity, tolerance, errors in _LINES:
        error, problem = math.nan, ""
        try:
            found = [float(e) for e in errors(trial)]
            error = max((math.inf if math.isnan(e) else e for e in found), default=0.0)
        except Exception as raised:
            problem = _place(raised, type(held.type))
        lines.append(JointLine(name, identity, error, tolerance, problem))
    return JointReport(f"joint type {type(held.type).__name__}", tuple(lines))


def _place(raised: Exception, kind: type[JointType]) -> str:
    """The error and the last line of the joint's own code that it came through."""
    bases = kind.__mro__[: kind.__mro__.index(JointType)]
    files = {
        value.__code__.co_filename for base in bases for value in vars(base).values() if hasattr(value, "__code__")
    }
    own = [frame for frame in traceback.extract_tb(raised.__traceback__) if frame.filename in files]
    where = f" in {kind.__name__}.{own[-1].name}, line {own[-1].lineno}: {own[-1].line}" if own else ""
    return f"{type(raised).__name__}: {raised}{where}"


class _Trial:
    """A joint and the states that it is tried in."""

    def __init__(self, joint: Joint, samples: int, rng: np.random.Generator) -> None:
        self.joint, self.type, self.samples = joint, joint.type, samples
        self.seed = int(rng.integers(2**32))

    def states(self) -> list[tuple[list[float], list[float]]]:
        """Configurations, the first of them zero, and velocities; the same each time.

        Those are left out of which the type says that its coordinates are singular there, or nearly so.
        """
        rng = np.random.default_rng(self.seed)
        drawn = self.joint.random_configuration(rng, size=self.samples).tolist()
        q = [[float(x) for x in self.type.zero()], *drawn]
        v = rng.normal(size=(len(q), self.type.nv)).tolist()
        regularity = getattr(self.type, "regularity", lambda q: 1.0)
        return [state for state in zip(q, v, strict=True) if float(regularity(state[0])) > _SINGULAR]


def _off(a: Any, b: Any) -> float:
    """How far two sequences of numbers are apart, relative to 1 or to their size."""
    one, two = (np.array([float(x) for x in side], dtype=float) for side in (a, b))
    if one.shape != two.shape:
        raise ValueError(f"expected {two.size} numbers, got {one.size}")
    return float(np.max(np.abs(one - two), initial=0.0)) / max(1.0, float(np.max(np.abs(two), initial=0.0)))


def _derived(trial: _Trial, method: str, *arguments: Any) -> Any:
    """What the contract derives, whatever the type has written."""
    return getattr(JointType, method)(trial.type, *arguments)


def _flat(columns: Any) -> list[Any]:
    return [x for column in columns for x in column.elements()]


def _moved(joint: JointType, q: Sequence[float], v: Sequence[float]) -> list[float]:
    return [float(x) for x in joint.retract(q, list(v))]


# -- the lines


def _sizes(t: _Trial) -> list[float]:
    j = t.type
    found = [
        (len(j.q_units), j.nq, "q_units"),
        (len(j.v_units), j.nv, "v_units"),
        (len(j.zero()), j.nq, "zero"),
        (len(j.q_names), j.nq if j.q_names else 0, "q_names"),
        (len(j.v_names), j.nv if j.v_names else 0, "v_names"),
    ]
    for q, v in t.states()[:1]:
        found += [
            (len(j.X(q).elements()), 16, "X"),
            (len(j.S(q)), j.nv, "S"),
            (len(j.constraint_wrench_subspace(q)), 6 - j.nv, "constraint_wrench_subspace"),
            (len(j.q_dot(q, v)), j.nq, "q_dot"),
            (len(j.v_of(q, j.q_dot(q, v))), j.nv, "v_of"),
            (len(j.local(q, q)), j.nv, "local"),
            (len(j.retract(q, v)), j.nq, "retract"),
            (len(j.normalize(q)), j.nq, "normalize"),
            (len(j.principal(q)), j.nq, "principal"),
        ]
    for got, expected, what in found:
        if got != expected:
            raise ValueError(f"{what}: expected {expected} numbers, got {got}")
    return []


def _value(t: _Trial) -> list[float]:
    again = type(t.type).example(np.random.default_rng(0))
    if again != type(t.type).example(np.random.default_rng(0)) or hash(again) != hash(again):
        raise ValueError(
            "example: the same generator gives joints that are not equal: make the type a frozen dataclass"
        )
    return []


def _zero(t: _Trial) -> list[float]:
    """Where the transform at zero is another, no configuration near it may have the identity's."""
    error, q = _from_identity(t.type, t.type.zero()), [float(x) for x in t.type.zero()]
    if error <= TOLERANCE:
        return [error]
    for _ in range(30):  # Gauss and Newton's steps towards the identity, of at most 1
        X = np.array([float(x) for x in t.type.X(q).elements()]).reshape(4, 4)
        S = np.array([float(x) for x in _flat(t.type.S(q).columns)]).reshape(-1, 6).T
        A = X[:3, :3].T - X[:3, :3]
        missing = np.array([A[2, 1] / 2, A[0, 2] / 2, A[1, 0] / 2, *(-X[:3, :3].T @ X[:3, 3])])
        step = np.linalg.pinv(S) @ missing
        q = _moved(t.type, q, (step / max(1.0, float(np.linalg.norm(step)))).tolist())
        if _from_identity(t.type, q) <= TOLERANCE:
            raise ValueError(f"zero: X is not the identity there, but it is at q = {[round(x, 6) for x in q]}")
    return []


def _from_identity(joint: JointType, q: Sequence[float]) -> float:
    return _off(joint.X(q).elements(), Pose.identity().elements())


def _rigid(t: _Trial) -> list[float]:
    errors = []
    for q, _ in t.states():
        X = np.array([float(x) for x in t.type.X(q).elements()]).reshape(4, 4)
        R = X[:3, :3]
        errors += [_off((R.T @ R).ravel(), np.eye(3).ravel()), abs(float(np.linalg.det(R)) - 1.0)]
    return errors


def _subspace(t: _Trial) -> list[float]:
    """The reference is X⁻¹Ẋ along v, by differences of the transform over a step of the manifold."""
    h, errors = 1e-5, []
    for q, _ in t.states():
        X = np.array([float(x) for x in t.type.X(q).elements()]).reshape(4, 4)
        exact = []
        for k in range(t.type.nv):
            unit = [h if i == k else 0.0 for i in range(t.type.nv)]
            ahead, behind = (
                np.array([float(x) for x in t.type.X(_moved(t.type, q, step)).elements()]).reshape(4, 4)
                for step in (unit, [-x for x in unit])
            )
            hat = np.linalg.inv(X) @ (ahead - behind) / (2.0 * h)
            exact += [hat[2, 1], hat[0, 2], hat[1, 0], *hat[:3, 3]]
        errors.append(_off(_flat(t.type.S(q).columns), exact))
    return errors


def _closed_subspace(t: _Trial) -> list[float]:
    return [_off(_flat(t.type.S(q).columns), _flat(_derived(t, "S", q).columns)) for q, _ in t.states()]


def _fixed_subspace(t: _Trial) -> list[float]:
    if not t.type.has_fixed_subspaces:
        return []
    columns = [_flat(t.type.S(q).columns) for q, _ in t.states()]
    return [_off(other, columns[0]) for other in columns[1:]]


def _bias(t: _Trial) -> list[float]:
    return [_off(t.type.bias(q, v).elements(), _derived(t, "bias", q, v).elements()) for q, v in t.states()]


def _wrenches(t: _Trial) -> list[float]:
    errors = []
    for q, _ in t.states():
        S = np.array([float(x) for x in _flat(t.type.S(q).columns)]).reshape(-1, 6)
        T = np.array([float(x) for x in _flat(t.type.constraint_wrench_subspace(q))]).reshape(-1, 6)
        errors.append(_off((T @ S.T).ravel(), np.zeros(T.shape[0] * S.shape[0])))
        if np.linalg.matrix_rank(T, tol=1e-9) < len(T) or np.linalg.matrix_rank(S, tol=1e-9) < len(S):
            raise ValueError(f"at q = {q} the motions or the wrenches are not independent")
    return errors


def _torque(t: _Trial) -> list[float]:
    F = Force.of([0.3, -1.0, 2.0, 0.7, 1.1, -0.4])
    return [
        _off([sum(x * y for x, y in zip(t.type.torque(q, F), v, strict=True))], [t.type.twist(q, v).dot(F)])
        for q, v in t.states()
    ]


def _rates(t: _Trial) -> list[float]:
    return [_off(t.type.v_of(q, t.type.q_dot(q, v)), v) for q, v in t.states()]


def _rate_of_step(t: _Trial) -> list[float]:
    h, errors = 1e-6, []
    for q, v in t.states():
        ahead, behind = (_moved(t.type, q, [sign * h * x for x in v]) for sign in (1.0, -1.0))
        errors.append(_off([(a - b) / (2.0 * h) for a, b in zip(ahead, behind, strict=True)], t.type.q_dot(q, v)))
    return errors


def _adjoint(t: _Trial) -> list[float]:
    errors = []
    for q, v in t.states():
        f_v = np.random.default_rng(3).normal(size=t.type.nv).tolist()
        f_q, rate = t.type.v_of_adjoint(q, f_v), t.type.q_dot(q, v)
        power = sum(x * y for x, y in zip(f_v, v, strict=True))
        errors.append(_off([sum(x * y for x, y in zip(f_q, rate, strict=True))], [power]))
    return errors


def _steps(t: _Trial) -> list[float]:
    errors = []
    for q, v in t.states():
        phi = [0.3 * x for x in v]
        errors.append(_off(t.type.local(q, _moved(t.type, q, phi)), phi))
        errors.append(_off(t.type.local(q, q), [0.0] * t.type.nv))
    return errors


def _local_rate(t: _Trial) -> list[float]:
    errors, pairs = [], t.states()
    for (q, v), (q0, _) in zip(pairs, [*pairs[1:], pairs[0]], strict=True):
        if t.type.nv == 0:
            return []
        moving = seeded(q, t.type.q_dot(q, v))
        rate = [parts(x, moving[0].level)[1] for x in t.type.local(q0, moving)]
        errors.append(_off(t.type.local_rate(q0, q, v), rate))
    return errors


def _normal(t: _Trial) -> list[float]:
    return [_off(t.type.normalize(q), q) for q, _ in t.states()]


def _principal(t: _Trial) -> list[float]:
    X = t.type.X
    return [_off(X(t.type.principal(q)).elements(), X(q).elements()) for q, _ in t.states()]


def _random(t: _Trial) -> list[float]:
    """Within the joint's bounds, and within ±0.5 where it has none, but for numbers that are no angles or lengths."""
    held = t.joint.position_bounds
    inner = np.array([0.5 if unit in ("rad", "m") else math.inf for unit in t.type.q_units])
    free = np.isinf(held.lower) & np.isinf(held.upper)
    tried = np.where(free, -inner, held.lower), np.where(free, inner, held.upper)
    for lower, upper in (held, tried):
        for size in ((), (3,), (2, 5)):
            q = t.type.random(np.random.default_rng(4), lower.tolist(), upper.tolist(), size)
            if q.shape != (*size, t.type.nq):
                raise ValueError(f"random: expected shape {(*size, t.type.nq)}, got {q.shape}")
            if not (np.all(q >= lower) and np.all(q <= upper)):
                raise ValueError(f"random: a configuration is outside the bounds {lower.tolist()}, {upper.tolist()}")
    return []


def _everything(joint: JointType, q: Sequence[Any], v: Sequence[Any]) -> list[Any]:
    """One list of what the algorithms take of a joint."""
    return [
        *joint.X(q).elements(),
        *_flat(joint.S(q).columns),
        *joint.bias(q, v).elements(),
        *joint.q_dot(q, v),
        *joint.retract(q, v),
        *joint.normalize(q),
    ]


def _batches(t: _Trial) -> list[float]:
    states = t.states()
    q, v = (np.array([state[k] for state in states], dtype=float) for k in range(2))
    nq, nv, count = t.type.nq, t.type.nv, len(states)
    together = _everything(t.type, [q[:, k] for k in range(nq)], [v[:, k] for k in range(nv)])
    rows = np.array([np.broadcast_to(np.asarray(x, dtype=float), count) for x in together]).reshape(-1, count).T
    return [_off(row, _everything(t.type, *state)) for row, state in zip(rows, states, strict=True)]


def _compiled(t: _Trial) -> list[float]:
    states = t.states()
    q, v = (np.array([state[k] for state in states], dtype=float) for k in range(2))
    X, S, A = t.joint.transform(q), t.joint.motion_subspace(q), t.joint.bias_acceleration(q, v)
    rate, moved = t.joint.velocity_to_configuration_derivative(q, v), t.joint.global_coordinates(q, v)
    normal = t.joint.normalize_configuration(q)
    columns = (X, np.swapaxes(S, -1, -2), A, rate, moved, normal)
    rows = np.concatenate([part.reshape(len(states), -1) for part in columns], axis=1)
    return [_off(row, _everything(t.type, *state)) for row, state in zip(rows, states, strict=True)]


_LINES: tuple[tuple[str, str, float, Callable[[_Trial], list[float]]], ...] = (
    ("sizes and units", "every method gives as many numbers as nq and nv say, and each has a unit", 0.0, _sizes),
    ("value", "two examples of the same generator are equal and hash", 0.0, _value),
    ("zero", "X(zero) = 1, if X is that for any configuration", TOLERANCE, _zero),
    ("X", "its rotation is orthonormal and right-handed", TOLERANCE, _rigid),
    ("S", "S e_k = (X⁻¹ dX)^∨ along retract(q, h e_k)", DIFFERENCES, _subspace),
    ("S", "as the contract derives it from X and q_dot", TOLERANCE, _closed_subspace),
    ("has_fixed_subspaces", "where it says so, S is the same everywhere", TOLERANCE, _fixed_subspace),
    ("bias", "Ṡ v, as the contract derives it from S along q_dot", TOLERANCE, _bias),
    ("constraint_wrench_subspace", "Tᵀ S = 0, and its 6 − nv columns are independent", TOLERANCE, _wrenches),
    ("torque", "τ · v = F · S v: power is the same", TOLERANCE, _torque),
    ("v_of", "v_of(q_dot(v)) = v", TOLERANCE, _rates),
    ("q_dot", "q̇ is the rate of retract(q, v t) at t = 0", DIFFERENCES, _rate_of_step),
    ("v_of_adjoint", "⟨f_q, q̇⟩ = ⟨f_v, v⟩", TOLERANCE, _adjoint),
    ("retract, local", "local(q, retract(q, φ)) = φ, and local(q, q) = 0", TOLERANCE, _steps),
    ("local_rate", "φ̇ is the derivative of local along q_dot", TOLERANCE, _local_rate),
    ("normalize", "leaves a configuration of the joint as it is", TOLERANCE, _normal),
    ("principal", "keeps the transform", TOLERANCE, _principal),
    ("random", "has the shape asked for, and is within the bounds", 0.0, _random),
    ("batches", "NumPy arrays give what floats give", TOLERANCE, _batches),
    ("symbols", "compiled code gives what floats give", TOLERANCE, _compiled),
)
