"""Requirements on a joint's motion, its configuration manifold, and the inverses from poses and twists."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from linkwork._util.contract_report import relative_error
from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.joints import JointType
from linkwork.robot.joint_checks.check_context import (
    DIFFERENCES,
    TOLERANCE,
    Line,
    Trial,
    flat,
    matrix,
    moved,
)
from linkwork.spatial import Force, Motion, Pose, Rotation, Vec3

__all__ = ["MOTION", "REACHED", "reaches"]


def _zero(t: Trial) -> list[float]:
    """Return the error of X(zero) = identity; none if X is not the identity at any configuration near zero.

    Raises ValueError if X(zero) is not the identity, but X(q) is the identity at a configuration q near zero.
    """
    error, q = _from_identity(t.type, t.type.zero()), [float(x) for x in t.type.zero()]
    if error <= TOLERANCE:
        return [error]
    for _ in range(30):  # Gauss–Newton steps towards the identity, of length at most 1
        X = matrix(t.type.X(q).elements())
        S = np.array([float(x) for x in flat(t.type.S(q).columns)]).reshape(-1, 6).T
        A = X[:3, :3].T - X[:3, :3]
        missing = np.array([A[2, 1] / 2, A[0, 2] / 2, A[1, 0] / 2, *(-X[:3, :3].T @ X[:3, 3])])
        step = np.linalg.pinv(S) @ missing
        q = moved(t.type, q, (step / max(1.0, float(np.linalg.norm(step)))).tolist())
        if _from_identity(t.type, q) <= TOLERANCE:
            raise ValueError(f"zero: X(zero) is not the identity, but X(q) is at q = {[round(x, 6) for x in q]}")
    return []


def _from_identity(joint: JointType, q: Sequence[float]) -> float:
    return relative_error(joint.X(q).elements(), Pose.identity().elements())


def _rigid(t: Trial) -> list[float]:
    errors = []
    for q, _ in t.states():
        X = matrix(t.type.X(q).elements())
        R = X[:3, :3]
        errors += [relative_error((R.T @ R).ravel(), np.eye(3).ravel()), abs(float(np.linalg.det(R)) - 1.0)]
    return errors


def _subspace(t: Trial) -> list[float]:
    """Return the differences between the columns of the motion subspace S and X⁻¹Ẋ for unit velocities.

    Ẋ is a central difference of the transform along the manifold.
    """
    h, errors = 1e-5, []
    for q, _ in t.states():
        X = matrix(t.type.X(q).elements())
        exact = []
        for k in range(t.type.nv):
            unit = [h if i == k else 0.0 for i in range(t.type.nv)]
            ahead, behind = (matrix(t.type.X(moved(t.type, q, step)).elements()) for step in (unit, [-x for x in unit]))
            hat = np.linalg.inv(X) @ (ahead - behind) / (2.0 * h)
            exact += [hat[2, 1], hat[0, 2], hat[1, 0], *hat[:3, 3]]
        errors.append(relative_error(flat(t.type.S(q).columns), exact))
    return errors


def _closed_subspace(t: Trial) -> list[float]:
    return [relative_error(flat(t.type.S(q).columns), flat(JointType.S(t.type, q).columns)) for q, _ in t.states()]


def _bias(t: Trial) -> list[float]:
    return [
        relative_error(t.type.bias(q, v).elements(), JointType.bias(t.type, q, v).elements()) for q, v in t.states()
    ]


def _wrenches(t: Trial) -> list[float]:
    errors = []
    for q, _ in t.states():
        S = np.array([float(x) for x in flat(t.type.S(q).columns)]).reshape(-1, 6)
        T = np.array([float(x) for x in flat(t.type.constraint_wrench_subspace(q))]).reshape(-1, 6)
        errors.append(relative_error((T @ S.T).ravel(), np.zeros(T.shape[0] * S.shape[0])))
        if np.linalg.matrix_rank(T, tol=1e-9) < len(T) or np.linalg.matrix_rank(S, tol=1e-9) < len(S):
            raise ValueError(f"the motions or the wrenches are dependent at q = {q}")
    return errors


def _torque(t: Trial) -> list[float]:
    F = Force.of([0.3, -1.0, 2.0, 0.7, 1.1, -0.4])
    return [
        relative_error([sum(x * y for x, y in zip(t.type.torque(q, F), v, strict=True))], [t.type.twist(q, v).dot(F)])
        for q, v in t.states()
    ]


def _rates(t: Trial) -> list[float]:
    return [relative_error(t.type.velocity_from_rate(q, t.type.q_dot(q, v)), v) for q, v in t.states()]


def _rate_of_step(t: Trial) -> list[float]:
    h, errors = 1e-6, []
    for q, v in t.states():
        ahead, behind = (moved(t.type, q, [sign * h * x for x in v]) for sign in (1.0, -1.0))
        errors.append(
            relative_error([(a - b) / (2.0 * h) for a, b in zip(ahead, behind, strict=True)], t.type.q_dot(q, v))
        )
    return errors


def _adjoint(t: Trial) -> list[float]:
    errors = []
    for q, v in t.states():
        f_v = np.random.default_rng(3).normal(size=t.type.nv).tolist()
        f_q, rate = t.type.velocity_from_rate_adjoint(q, f_v), t.type.q_dot(q, v)
        power = sum(x * y for x, y in zip(f_v, v, strict=True))
        errors.append(relative_error([sum(x * y for x, y in zip(f_q, rate, strict=True))], [power]))
    return errors


def _steps(t: Trial) -> list[float]:
    errors = []
    for q, v in t.states():
        phi = [0.3 * x for x in v]
        errors.append(relative_error(t.type.difference(q, moved(t.type, q, phi)), phi))
        errors.append(relative_error(t.type.difference(q, q), [0.0] * t.type.nv))
    return errors


def _rate_of(map_name: str, t: Trial) -> list[float]:
    """Return the errors of the time derivative of ``difference`` or ``deflection`` from a constant configuration."""
    errors, pairs = [], t.states()
    differs, its_rate = (getattr(t.type, name) for name in (map_name, f"{map_name}_rate"))
    for (q, v), (q0, _) in zip(pairs, [*pairs[1:], pairs[0]], strict=True):
        if t.type.nv == 0:
            return []
        moving = seeded(q, t.type.q_dot(q, v))
        rate = [parts(x, moving[0].level)[1] for x in differs(q0, moving)]
        errors.append(relative_error(its_rate(q0, q, v), rate))
    return errors


def _deflections(t: Trial) -> list[float]:
    errors = []
    for q, v in t.states():
        errors.append(relative_error(t.type.deflection(q, q), [0.0] * t.type.nv))
        errors.append(relative_error(t.type.deflection_rate(q, q, v), v))
    return errors


def _principal(t: Trial) -> list[float]:
    X = t.type.X
    return [relative_error(X(t.type.canonical(q)).elements(), X(q).elements()) for q, _ in t.states()]


def _twists(t: Trial) -> list[float]:
    errors = []
    for (q, v), a in zip(t.states(), np.random.default_rng(5).normal(size=(t.samples + 1, t.type.nv)), strict=False):
        S, A = t.type.S(q), t.type.bias(q, v)
        errors.append(relative_error(t.type.twist(q, v).elements(), (S @ v).elements()))
        errors.append(relative_error(t.type.acceleration(q, v, a.tolist()).elements(), (S @ a.tolist() + A).elements()))
    return errors


def _jacobians(t: Trial) -> list[float]:
    errors = []
    for q, v in t.states():
        rate = [float(x) for x in t.type.q_dot(q, v)]
        for rows, x, image in ((t.type.q_dot_jacobian(q), v, rate), (t.type.velocity_from_rate_jacobian(q), rate, v)):
            errors.append(relative_error([sum(a * b for a, b in zip(row, x, strict=True)) for row in rows], image))
        f_v = np.random.default_rng(3).normal(size=t.type.nv).tolist()
        errors.append(
            relative_error(
                t.type.velocity_from_rate_adjoint(q, f_v), JointType.velocity_from_rate_adjoint(t.type, q, f_v)
            )
        )
    return errors


def _normal(t: Trial) -> list[float]:
    """Return the errors of ``normalize``, which must not change valid configurations, and project invalid ones.

    Valid configurations are on the manifold; the projection is checked near it.
    """
    errors = []
    for q, e in zip((q for q, _ in t.states()), _noise(t), strict=False):
        errors.append(relative_error(t.type.normalize(q), q))
        norm = [float(x) for x in t.type.normalize([a + b for a, b in zip(q, e, strict=True)])]
        R = matrix(t.type.X(norm).elements())[:3, :3]
        errors += [relative_error(t.type.normalize(norm), norm), relative_error((R.T @ R).ravel(), np.eye(3).ravel())]
    return errors


def _distance(t: Trial) -> list[float]:
    """Return the values of ``distance`` on the manifold, which must be 0.

    Raises ValueError if it is not within a factor of 3 of the change by ``normalize`` near the manifold.
    """
    errors = []
    for (q, v), e in zip(t.states(), _noise(t), strict=False):
        errors += [float(t.type.distance(q)), float(t.type.distance(moved(t.type, q, [3.0 * x for x in v])))]
        p = [a + b for a, b in zip(q, e, strict=True)]
        value, change = float(t.type.distance(p)), float(np.linalg.norm(np.subtract(t.type.normalize(p), p)))
        if not change / 3.0 - 1e-9 <= value <= 3.0 * change + 1e-9:
            raise ValueError(f"distance: {value:.3g} at q = {p}, where normalize(q) is {change:.3g} away")
    return [float(e) for e in errors]


def _noise(t: Trial) -> list[list[float]]:
    noise: list[list[float]] = (1e-4 * np.random.default_rng(6).normal(size=(t.samples + 1, t.type.nq))).tolist()
    return noise


def _unit_length(t: Trial) -> list[float]:
    result = [q for q, _ in t.states()]
    return [abs(sum(q[k] * q[k] for k in indices) - 1.0) for q in result for indices in t.type.unit_length]


def _checked(t: Trial) -> list[float]:
    """Return the changes of valid configurations by ``checked``, which must be 0.

    Raises ValueError if it accepts an invalid configuration, or one that is far off the manifold.
    """
    errors = []
    for q, _ in t.states():
        errors.append(relative_error(t.type.checked(q), q))
        far = [x + 0.5 for x in q]
        bad = [[*q, 0.0], *([[math.nan, *q[1:]]] if q else []), *([far] if float(t.type.distance(far)) > 0.1 else [])]
        for wrong in bad:
            try:
                t.type.checked(wrong)
            except ValueError:
                continue
            raise ValueError(f"checked: accepts {wrong}, which is not a configuration")
    return errors


def _random(t: Trial) -> list[float]:
    """Return the distances of the type's random configurations from the manifold.

    They are drawn within the joint's limits, and with limits of ±0.5 on unbounded angles and lengths. Raises
    ValueError for a wrong shape, configurations outside the limits, and draws that are not reproducible.
    """
    bounds = t.joint.position_bounds
    inner = np.array([0.5 if unit in ("rad", "m") else math.inf for unit in t.type.q_units])
    free = np.isinf(bounds.lower) & np.isinf(bounds.upper)
    bounded = np.where(free, -inner, bounds.lower), np.where(free, inner, bounds.upper)
    errors = []
    for lower, upper in (bounds, bounded):
        for size in ((), (3,), (2, 5)):
            q, again = (t.type.random(np.random.default_rng(4), lower.tolist(), upper.tolist(), size) for _ in range(2))
            if q.shape != (*size, t.type.nq):
                raise ValueError(f"random: expected shape {(*size, t.type.nq)}, got {q.shape}")
            if not (np.all(q >= lower) and np.all(q <= upper)):
                raise ValueError(f"random: a configuration is outside the limits {lower.tolist()}, {upper.tolist()}")
            if not np.array_equal(q, again):
                raise ValueError("random: equal generators draw different configurations")
            errors += [float(t.type.distance(x)) for x in q.reshape(math.prod(size), t.type.nq).tolist()]
    return errors


MOTION = (
    Line("zero", "X(zero) = 1, if X is the identity at any configuration", TOLERANCE, _zero),
    Line("X", "its rotation is orthonormal and right-handed", TOLERANCE, _rigid),
    Line("S", "S e_k = (X⁻¹ dX)^∨ along integrate(q, h e_k)", DIFFERENCES, _subspace),
    Line("S", "as the contract derives it from X and q_dot", TOLERANCE, _closed_subspace),
    Line("bias", "Ṡ v, as the contract derives it from S along q_dot", TOLERANCE, _bias),
    Line("twist, acceleration", "S v, and S a + Ṡ v", TOLERANCE, _twists, ("twist", "acceleration")),
    Line("constraint_wrench_subspace", "Tᵀ S = 0, and its 6 − nv columns are independent", TOLERANCE, _wrenches),
    Line("torque", "τ · v = F · S v: power is the same", TOLERANCE, _torque),
    Line("velocity_from_rate", "velocity_from_rate(q_dot(v)) = v", TOLERANCE, _rates),
    Line("q_dot", "q̇ is the rate of integrate(q, v t) at t = 0", DIFFERENCES, _rate_of_step),
    Line("velocity_from_rate_adjoint", "⟨f_q, q̇⟩ = ⟨f_v, v⟩", TOLERANCE, _adjoint),
    Line(
        "jacobians",
        "the matrices of q_dot and velocity_from_rate, and Jᵀ f_v",
        TOLERANCE,
        _jacobians,
        ("q_dot_jacobian", "velocity_from_rate_jacobian", "velocity_from_rate_adjoint"),
    ),
    Line(
        "integrate, difference",
        "difference(q, integrate(q, φ)) = φ, and difference(q, q) = 0",
        TOLERANCE,
        _steps,
        ("integrate", "difference"),
    ),
    Line("difference_rate", "φ̇ is the derivative of local along q_dot", TOLERANCE, partial(_rate_of, "difference")),
    Line("deflection", "zero at rest, where its rate is v", TOLERANCE, _deflections, ("deflection", "deflection_rate")),
    Line("deflection_rate", "φ̇ is the derivative of the deflection", TOLERANCE, partial(_rate_of, "deflection")),
    Line("normalize", "does not change a configuration of the joint, and leads to one", TOLERANCE, _normal),
    Line("distance", "0 on the manifold; near it, about |normalize(q) − q|", TOLERANCE, _distance),
    Line("unit_length", "the squares of these coordinates add up to 1", TOLERANCE, _unit_length),
    Line("checked", "accepts configurations unchanged, and nothing else", TOLERANCE, _checked),
    Line("canonical", "does not change the transform", TOLERANCE, _principal),
    Line("random", "has the requested shape, within the limits and on the manifold", TOLERANCE, _random),
)


def reaches(joint: JointType) -> bool:
    """Return True if a joint type itself computes configurations from poses.

    Otherwise the base class finds them by a slow search.
    """
    return not (
        type(joint).configuration_from_pose is JointType.configuration_from_pose
        and type(joint).pose_residual is JointType.pose_residual
    )


def _configuration(t: Trial) -> list[float]:
    return [
        relative_error(t.type.X(t.type.configuration_from_pose(X)).elements(), X.elements())
        for X in (t.type.X(q) for q, _ in t.states())
    ]


def _velocity(t: Trial) -> list[float]:
    """Return the errors of the velocities that ``velocity_from_twist`` computes from twists.

    Velocities must be exact for twists of the joint. For any other twist V, the residual S v − V must be orthogonal to
    S.
    """
    rng, errors = np.random.default_rng(13), []
    for q, v in t.states():
        S = t.type.S(q)
        errors.append(relative_error(t.type.velocity_from_twist(q, S @ v), v))
        V = Motion.of(rng.normal(size=6).tolist())
        left = S @ t.type.velocity_from_twist(q, V) - V
        along = [sum(a * b for a, b in zip(C.elements(), left.elements(), strict=True)) for C in S.columns]
        errors.append(relative_error(along, [0.0] * t.type.nv))
    return errors


def _residual(t: Trial) -> list[float]:
    """Return the errors of ``pose_residual`` and its rate at poses that the joint can reach.

    Constraint wrenches must do no work on the residual there, and the rate of this work must equal its power on the
    pose's twist. Raises ValueError if they do no work at half a revolution from a pose either.
    """
    if not reaches(t.type):
        return []
    rng, errors, states = np.random.default_rng(14), [], t.states()
    for q, _ in states:
        X, V = t.type.X(q), Motion.of(rng.normal(size=6).tolist())
        wrenches = t.type.constraint_wrench_subspace(t.type.configuration_from_pose(X))
        moving, level = _moving(X, V)
        residual = t.type.pose_residual(moving)
        result = [parts(residual.dot(F), level) for F in wrenches]
        errors.append(relative_error([x for x, _ in result], [0.0] * len(result)))
        errors.append(relative_error([rate for _, rate in result], [V.dot(F) for F in wrenches]))
    for k, (q, _) in enumerate(states[:3]):
        axis = Vec3.of([float(i == k) for i in range(3)])
        X = t.type.X(q) @ Pose(Rotation.about(axis, math.pi), Vec3.zero())
        q, residual = t.type.configuration_from_pose(X), t.type.pose_residual(X)
        error = relative_error(t.type.X(q).elements(), X.elements())
        size = max((abs(float(residual.dot(F))) for F in t.type.constraint_wrench_subspace(q)), default=0.0)
        if error > 1e-6 and size < 1e-3 * error:
            raise ValueError(f"pose_residual: {size:.1e} for a pose {error:.1e} from the nearest configuration {q}")
    return errors


def _moving(X: Pose, V: Motion) -> tuple[Pose, int]:
    """Return a pose as dual numbers that moves with a twist in its own coordinates, and their level."""
    R, w = X.rotation.T, V.angular
    rows = [w.cross(row) * -1.0 for row in (R.T.x, R.T.y, R.T.z)]  # of Ṙ = R [ω×]
    rates = [*rows[0], 0.0, *rows[1], 0.0, *rows[2], 0.0]
    rates[3::4] = [*(X.rotation @ V.linear)]
    elements = [float(x) for x in X.elements()[:12]]
    moving = seeded(elements, [float(x) for x in rates])
    return Pose.of_elements([*moving, 0.0, 0.0, 0.0, 1.0]), moving[0].level


REACHED = (
    Line("configuration_from_pose", "X(configuration_from_pose(X(q))) = X(q)", TOLERANCE, _configuration),
    Line(
        "velocity_from_twist",
        "velocity_from_twist(q, S v) = v, and residuals of other twists are orthogonal to S",
        TOLERANCE,
        _velocity,
    ),
    Line("pose_residual", "the twist to a pose along wrenches T; zero at the joint's poses only", TOLERANCE, _residual),
)
