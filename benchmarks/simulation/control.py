"""Operational-space and whole-body control, compared with Pinocchio and solvers of quadratic programs.

Times are for a single call and for an element of a batch.  Results are compared before anything is timed.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

import linkwork as lw
from benchmarks.measurement.robots import ROBOTS
from benchmarks.measurement.seconds import median_seconds
from benchmarks.tables.figure_rows import MotionRow
from benchmarks.tables.targets import SIMULATION
from linkwork.kinematics.algorithms.coordinates import characteristic_length
from linkwork.simulation import ContactGround, ContactPoint

__all__ = ["opspace_rows", "wholebody_rows"]

MANY = 1024
KP = 100.0
_REGULAR = 0.2  # of the largest condition number: there the controller bounds no forces
_NEAR = 0.02  # [rad] of targets and postures: farther ones lead to joint speeds that the controller bounds
_AGREED = 1e-6
_SMALL = 1e-5  # [s] of differences


def _pinocchio(robot: Any, floating: bool) -> Any:
    """Return Pinocchio, its model of the robot's file, and its data; None if it is not installed."""
    try:
        pin: Any = importlib.import_module("pinocchio")
    except ImportError:
        return None
    source = str(robot.tree.source)
    model = pin.buildModelFromUrdf(source, pin.JointModelFreeFlyer()) if floating else pin.buildModelFromUrdf(source)
    return pin, model, model.createData()


def opspace_rows(quick: bool) -> list[MotionRow]:
    """The pose of a hand of an arm of seven joints, and a posture in its null space.

    Raises AssertionError where forces are not those of the formula, or not bounded at singularities.
    """
    arm: Any = lw.load("arm7")
    hand, posture = lw.ik.PoseTask("hand"), lw.ik.PostureTask(level=1)
    law = lw.control.OperationalSpace(arm, [hand, posture], KP, effort_limits=np.inf)
    shapes = {"q": (7,), "v": (7,), "hand": (4, 4), "posture_q": (7,)}
    kernel = lw.compile(lambda q, v, hand, posture_q: law(0.0, q, v, hand=hand, posture_q=posture_q), **shapes)
    n, rng = 256 if quick else MANY, np.random.default_rng(0)
    q, v = arm.random_configuration(rng, size=n), 0.2 * rng.normal(size=(n, 7))
    near, rest_posture = (arm.integrate(q, _NEAR * rng.normal(size=(n, 7))) for _ in range(2))
    aim = arm.pose(near, "hand")
    state = (q[0].copy(), v[0].copy(), aim[0].copy(), rest_posture[0].copy())
    count = 200 if quick else 1000

    def calls() -> None:
        for _ in range(count):
            kernel(*state)

    alone = median_seconds(calls, 7) / count
    batch = median_seconds(lambda: kernel(q, v, aim, rest_posture), 15) / n
    peer = _theirs_opspace(arm, law, kernel, (q, v, aim, rest_posture), 200 if quick else 1000)
    bounds = [SIMULATION.get(("opspace", x)) for x in ("alone", "batch")]
    flat = np.zeros(7)  # stretched out, and with its wrist straight
    greatest = np.abs(kernel(flat, flat, aim, rest_posture)).max()
    assert np.isfinite(greatest)
    poisoned = q.copy()
    poisoned[3] = np.nan
    free = np.arange(n) != 3
    same = np.array_equal(kernel(poisoned, v, aim, rest_posture)[free], kernel(q, v, aim, rest_posture)[free])
    assert same, "a number that is none reached another environment"
    return [
        MotionRow("operational space, a call", alone, "s", bounds[0], peer, "Pinocchio with NumPy"),
        MotionRow(f"operational space, one of a batch of {n}", batch, "s", bounds[1], peer, "Pinocchio with NumPy"),
        MotionRow("greatest force where it is singular", float(greatest), "N·m"),
    ]


def _theirs_opspace(arm: Any, law: Any, kernel: Any, states: tuple[Any, ...], count: int) -> float | None:
    """Seconds of the same formulas with Pinocchio's dynamics, where Λ⁻¹ needs no damping."""
    result = _pinocchio(arm, floating=False)
    if result is None:
        return None
    pin, model, data = result
    frame = model.getFrameId("hand")
    damping = 2.0 * np.sqrt(KP)

    def formula(q: np.ndarray, v: np.ndarray, aim: np.ndarray, posture: np.ndarray, turning: bool = True) -> np.ndarray:
        """Compute ë = −k_p e − k_d ė for e = (Rᵀ (p − p*), log(R*ᵀ R)), whose derivative is A V for the hand's twist V.

        Without ``turning``, the derivative of log's Jacobian is left out.
        """
        pin.computeAllTerms(model, data, q, v)
        pin.updateFramePlacements(model, data)
        J = pin.getFrameJacobian(model, data, frame, pin.LOCAL)
        pin.forwardKinematics(model, data, q, v, np.zeros(7))
        X = data.oMf[frame]
        away = aim[:3, :3].T @ X.rotation
        e = np.concatenate([X.rotation.T @ (X.translation - aim[:3, 3]), pin.log3(away)])
        V = J @ v
        A = np.eye(6)
        A[:3, 3:], A[3:, 3:] = pin.skew(e[:3]), pin.Jlog3(away)
        rate = A @ V
        changed = np.concatenate([np.cross(rate[:3], V[3:]), np.zeros(3)])
        if turning:
            ahead, back = (pin.Jlog3(away @ pin.exp3(h * V[3:])) for h in (_SMALL, -_SMALL))
            changed[3:] = (ahead - back) @ V[3:] / (2.0 * _SMALL)
        drift = pin.getFrameAcceleration(model, data, frame, pin.LOCAL).vector
        a0 = KP * (posture - q) - damping * v
        task_force = np.linalg.solve(A, -KP * e - damping * rate - changed) - drift - J @ a0
        MJ = np.linalg.solve(data.M, J.T)
        force = np.linalg.solve(J @ MJ, task_force)
        return data.M @ a0 + data.nle + J.T @ force  # type: ignore[no-any-return]

    q, v, aim, posture = states
    ours = kernel(q, v, aim, posture)
    J = arm.jacobian(q, "hand")
    J[:, 3:] *= _length(arm)
    S = J @ arm.mass_matrix_inverse(q) @ np.swapaxes(J, 1, 2)
    spread = np.trace(S, axis1=1, axis2=2) * np.trace(np.linalg.inv(S), axis1=1, axis2=2)
    undamped = np.flatnonzero(spread < _REGULAR * law.max_condition)[:64]
    assert len(undamped) > 32
    for k in undamped:
        theirs = formula(q[k], v[k], aim[k], posture[k])
        assert np.abs(ours[k] - theirs).max() < _AGREED * np.abs(theirs).max(), k
    return median_seconds(lambda: formula(q[0], v[0], aim[0], posture[0], turning=False), count)


SIDES = [(x, y) for x in ("front", "hind") for y in ("left", "right")]


def wholebody_rows(quick: bool) -> list[MotionRow]:
    """A quadruped of 18 velocities on four feet, that holds its trunk; standing, and pushed.

    Raises AssertionError where accelerations are not those of another solver.
    """
    robot: Any = ROBOTS["quadruped"].load()
    ground = ContactGround(tuple(ContactPoint(f"{x}_{y}_foot", radius=0.02) for x, y in SIDES), friction=0.8)
    legs = [joint.name for joint in robot.joints if joint.nv == 1]
    tasks = [lw.ik.PoseTask("trunk", weight=10.0), lw.ik.PostureTask(legs, weight=0.3)]
    law = lw.control.WholeBody(robot, tasks, {"trunk": 100.0, "posture": 50.0}, contacts=ground)
    q = robot.neutral()
    for x, y in SIDES:
        q[robot.joint(f"{x}_{y}_hip_flexion").q_slice] = 0.7
        q[robot.joint(f"{x}_{y}_knee").q_slice] = -1.4
    q[6] += 0.02 - min(robot.pose(q, p.frame)[2, 3] for p in ground.points)
    aim, zero_velocity = robot.pose(q, "trunk"), np.zeros(18)
    shapes = {"q": (19,), "v": (18,), "trunk": (4, 4), "posture_q": (19,)}
    kernel = lw.compile(lambda q, v, trunk, posture_q: law(0.0, q, v, trunk=trunk, posture_q=posture_q), **shapes)
    count = 200 if quick else 2000
    standing = median_seconds(lambda: kernel(q, zero_velocity, aim, q), count)
    rng = np.random.default_rng(0)
    states = [(robot.integrate(q, 0.01 * rng.normal(size=18)), 0.05 * rng.normal(size=18)) for _ in range(32)]
    pushed = [median_seconds(lambda s=s: kernel(*s, aim, q), 20) for s in states]
    peer, name = _theirs_wholebody(robot, law, kernel, ground, (q, zero_velocity, aim), 20 if quick else 200)
    bound = SIMULATION.get(("wholebody", "alone"))
    return [
        MotionRow("whole body, a call, standing", standing, "s", bound, peer, name),
        MotionRow("whole body, a call, pushed: the median of 32 states", float(np.median(pushed)), "s", bound),
        MotionRow("whole body, a call, pushed: the slowest of 32 states", float(np.max(pushed)), "s"),
    ]


def _theirs_wholebody(
    robot: Any, law: Any, kernel: Any, ground: ContactGround, state: tuple[Any, ...], count: int
) -> tuple[float | None, str]:
    """Return the time of the same program with Pinocchio's dynamics and the fastest installed solver [s]."""
    result = _pinocchio(robot, floating=True)
    try:
        qp: Any = importlib.import_module("qpsolvers")
    except ImportError:
        return None, ""
    solvers = [name for name in ("proxqp", "daqp", "quadprog", "piqp") if name in qp.available_solvers]
    if result is None or not solvers:
        return None, ""
    pin, model, data = result
    q, _, aim = state
    # theirs is (place; x y z w) and linear first
    order = np.array([0, 1, 2])
    base = np.r_[3 + order, order]
    names = [joint.name for joint in robot.joints][1:]
    positions = np.r_[base, [model.joints[model.getJointId(name)].idx_v for name in names]]
    at = np.array([model.joints[model.getJointId(name)].idx_q for name in names])
    theirs = pin.neutral(model)
    theirs[:3], theirs[3:7], theirs[at] = q[4:7], np.r_[q[1:4], q[0]], q[7:]
    v, feet = np.zeros(18), [model.getFrameId(p.frame) for p in ground.points]
    trunk = model.getFrameId("trunk")
    edges = np.array([[0.8, 0, 1], [-0.8, 0, 1], [0, 0.8, 1], [0, -0.8, 1.0]]).T
    weights = np.r_[np.full(3, (10.0 * _length(robot)) ** 2), np.full(3, 100.0)]
    driven = np.array([model.joints[model.getJointId(name)].idx_v for name in names])
    limits = robot.effort_limits[6:]

    def program() -> tuple[Any, ...]:
        pin.computeAllTerms(model, data, theirs, v)
        pin.updateFramePlacements(model, data)
        moving = [pin.getFrameJacobian(model, data, k, pin.LOCAL_WORLD_ALIGNED) for k in feet]
        J = np.vstack([_lowest(rows, p.radius) for rows, p in zip(moving, ground.points, strict=True)])
        A = pin.getFrameJacobian(model, data, trunk, pin.LOCAL)
        X = data.oMf[trunk]
        e = np.concatenate([X.rotation.T @ (X.translation - aim[:3, 3]), pin.log3(aim[:3, :3].T @ X.rotation)])
        n, m = 18, 16
        H = np.zeros((n + m, n + m))
        H[:n, :n] = A.T @ (weights[:, None] * A) + 1e-3 * np.eye(n)
        H[driven, driven] += 0.09
        H[n:, n:] = 1e-4 * np.eye(m)
        g = np.zeros(n + m)
        g[:n] = A.T @ (weights * 100.0 * e)
        E = np.kron(np.eye(4), edges)
        balance = np.hstack([data.M, -J.T @ E])
        C = np.vstack([balance[:6], np.hstack([J, np.zeros((12, m))])])
        b = np.concatenate([-data.nle[:6], np.zeros(12)])
        G = np.vstack([balance[driven], -balance[driven]])
        h = np.concatenate([limits - data.nle[driven], limits + data.nle[driven]])
        low, high = np.full(n + m, -np.inf), np.full(n + m, np.inf)
        low[n:] = 0.0
        return (H, g, G, h, C, b, low, high), balance

    def solve(solver: str) -> np.ndarray:
        program_data, balance = program()
        x = qp.solve_qp(*program_data, solver=solver)
        return balance @ x + data.nle  # type: ignore[no-any-return]

    ours = kernel(q, v, aim, q)
    best, named = np.inf, ""
    for solver in solvers:
        tau = solve(solver)[positions]
        assert np.abs(tau - ours).max() < 1e-3 * np.abs(ours).max(), solver
        seconds = median_seconds(lambda solver=solver: solve(solver), count)
        if seconds < best:
            best, named = seconds, f"Pinocchio and {solver}"
    return best, named


def _lowest(J: np.ndarray, radius: float) -> np.ndarray:
    """The rows of a sphere's lowest point, of its centre's linear and angular ones."""
    arm = np.array([0.0, 0.0, -radius])
    return J[:3] + np.cross(J[3:].T, arm).T


def _length(robot: Any) -> float:
    """Return the factor that makes lengths comparable with angles in tasks."""
    return float(2.0 / characteristic_length(robot.tree))
