"""Whole-body control: its quadratic program, dynamics, contacts, limits, priorities, loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.control import WholeBody
from linkwork.control.algorithms.sparse_qp import RangedRows, _Program, ranged_program
from linkwork.ik import JointTask, PoseTask, PostureTask
from linkwork.simulation import ContactGround, ContactPoint

INF = float("inf")
CORNERS = [ContactPoint("body", (x, y, -0.1)) for x in (-0.2, 0.2) for y in (-0.15, 0.15)]


def _carrier() -> Any:
    """A box of 8 kg that stands on its four corners, with an arm of two joints."""
    tilt = lw.joints.Revolute((0, 1, 0))
    robot: Any = lw.Robot.build(
        "carrier",
        lw.Link("body", lw.shapes.Box((0.4, 0.3, 0.2)), mass=8.0),
        lw.Link("upper", lw.shapes.Box((0.05, 0.05, 0.4)).at((0, 0, 0.2)), mass=1.0),
        lw.Link("lower", lw.shapes.Box((0.05, 0.05, 0.3)).at((0, 0, 0.15)), mass=0.5),
        lw.Joint.of(
            tilt, name="shoulder", parent="body", child="upper", placement=(0, 0, 0.1), effort=20, velocity=4.0
        ),
        lw.Joint.of(
            tilt, name="elbow", parent="upper", child="lower", placement=(0, 0, 0.4), effort=10, lower=-2, upper=2
        ),
        floating_base=True,
    )
    return robot


@pytest.mark.slow(every=5)
def test_sparse_qp_of_whole_body_control_equals_another_solver() -> None:
    """Random sparse programs of few and of many active rows, and with dependent rows."""
    rng = np.random.default_rng(0)
    active = []
    for size in (0.1, 1.0, 10.0):
        for _ in range(8):
            n = 9
            B = rng.normal(size=(4, n)) * (rng.random((4, n)) < 0.6)
            H, g = B.T @ B + 1e-2 * np.eye(n), size * rng.normal(size=n)
            C = rng.normal(size=(3, n)) * (rng.random((3, n)) < 0.7)
            C[2] = C[0] - 2.0 * C[1]  # as rows of many contacts do
            inside = rng.normal(size=n)
            R = np.vstack([rng.normal(size=(5, n)), np.eye(n)[:4]])
            low, high = R @ inside - rng.uniform(0.1, 1.0, 9), R @ inside + rng.uniform(0.1, 1.0, 9)
            low[:3], high[7:] = -np.inf, np.inf
            b = C @ inside
            result = ranged_program(
                H.tolist(), g.tolist(), C.tolist(), b.tolist(), RangedRows(R.tolist(), low.tolist(), high.tolist())
            )
            known = lw.quadratic_program(
                H,
                g,
                np.vstack([C, R]),
                lower=np.concatenate([b, low]),
                upper=np.concatenate([b, high]),
                tolerance=1e-12,
            )
            x, y = np.array(result.x), np.array(result.multipliers)
            assert result.optimal == 1.0 and known.status == 0.0
            assert np.abs(x - known.x).max() < 1e-6 * (1.0 + np.abs(known.x).max())
            left = H @ x + g + C.T @ result.equal + R.T @ y
            assert np.abs(left).max() < 1e-6 * (1.0 + np.abs(g).max())
            assert np.abs(C @ x - b).max() < 1e-7 and (R @ x < high + 1e-7).all() and (R @ x > low - 1e-7).all()
            active.append(int(np.count_nonzero(result.sides)))
    assert min(active) <= 3 and max(active) >= 5
    # equations that contradict each other are met in the least-squares sense where that is asked for, and only there
    C = np.array([[1.0, 2.0, 0.0, -1.0], [0.0, 1.0, 1.0, 0.0], [2.0, 3.0, -1.0, -2.0], [1.0, 0.0, 0.0, 3.0]])
    b, H, g = np.array([1.0, -1.0, 2.5, 0.3]), np.diag([1e-6, 1.0, 1e-3, 1.0]), np.array([1.0, -2.0, 0.1, 0.0])
    size = (C**2 / H.diagonal()).sum(axis=1)
    free = np.linalg.svd(C)[2][-1]
    x = np.linalg.lstsq(C / np.sqrt(size)[:, None], b / np.sqrt(size), rcond=None)[0]
    x = x - free * (free @ (H @ x + g)) / (free @ H @ free)
    ranges = RangedRows([C[1].tolist()], [C[1] @ x - 1.0], [float("inf")])
    how = H.tolist(), g.tolist(), C.tolist(), b.tolist()
    least = ranged_program(*how, ranges, loose=range(4))
    assert least.optimal == 1.0 and np.abs(least.x - x).max() < 1e-5 * np.abs(x).max() and least.rounds == 1.0
    assert ranged_program(*how, ranges).optimal == 0.0
    assert ranged_program(*how, ranges._replace(lower=[C[1] @ x + 1.0]), loose=range(4)).optimal == 0.0
    # ranges that yield do so in the least-squares sense, where others do not allow them, and say so
    ranges = RangedRows([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]], [-INF, 2.0, 3.0], [1.0, INF, INF])
    bent = ranged_program([[1.0], [0.0, 1.0]], [0.0, 0.0], [], [], ranges, yielding=[1, 2])
    assert bent.optimal == 0.0 and np.allclose(bent.x, [0.0, 1.0], atol=1e-8) and bent.rounds < 9.0
    bent = ranged_program(
        [[1.0], [0.0, 1.0]], [-9.0, -9.0], [], [], ranges._replace(lower=[-INF, 0.7, 0.1]), yielding=[1, 2]
    )
    assert bent.optimal == 1.0 and np.allclose(bent.x, [0.7, 0.3], atol=1e-7)
    # what contradicts itself is broken by as little as may be, and said
    result = ranged_program([[1.0]], [0.0], [[1.0]], [0.0], RangedRows([[1.0]], [1.0], [float("inf")]))
    assert result.optimal == 0.0 and np.isfinite(result.x).all()


def test_line_search_of_the_sparse_qp_ends_at_the_minimum_of_the_augmented_lagrangian() -> None:
    rng, ends = np.random.default_rng(0), 0
    for _ in range(40):
        B, R, delta = rng.normal(size=(3, 4)), rng.normal(size=(6, 4)), 10.0 ** rng.uniform(-3.0, 0.0, 6)
        H, g, b, low = B.T @ B + 0.1 * np.eye(4), rng.normal(size=4), rng.normal(size=1), rng.normal(size=5)
        high = low + rng.uniform(0.1, 2.0, 5)
        low[0], high[1] = -INF, INF
        ranged, sizes = RangedRows(R[1:].tolist(), low.tolist(), high.tolist()), delta.tolist()
        program = _Program(H.tolist(), g.tolist(), b.tolist(), ranged, R.tolist(), sizes, (), frozenset(), frozenset())
        x, d, y = rng.normal(size=4), 2.0 * rng.normal(size=4), rng.normal(size=6)

        def slope(t: float) -> float:
            value = R @ (x + t * d) + delta * y  # noqa: B023
            beyond = value - np.clip(value, np.r_[b, low], np.r_[b, high])  # noqa: B023
            return float(d @ (H @ (x + t * d) + g) + (R @ d) @ (beyond / delta))  # noqa: B023

        d = -d if slope(0.0) > 0.0 else d
        t = program.step(x.tolist(), y.tolist(), (x + d).tolist())
        ends += t == 1.0
        assert slope(t) <= 0.0 if t == 1.0 else abs(slope(t)) < 1e-11 * abs(slope(0.0))
    assert 2 < ends < 20


@pytest.mark.slow(every=5)
def test_whole_body_control_accelerations_satisfy_the_equations_of_motion() -> None:
    robot, rng = _carrier(), np.random.default_rng(0)
    ground = ContactGround(tuple(CORNERS), friction=0.6, height=-0.1)
    tasks = [JointTask("shoulder"), JointTask("elbow", weight=2.0)]
    law = WholeBody(robot, tasks, 30.0, contacts=ground, regularization=(1e-6, 1e-6))
    q = np.repeat(robot.neutral()[None], 16, axis=0)
    q[:, 7:] = rng.uniform(-0.5, 0.5, (16, 2))
    v = np.zeros((16, 8))
    v[:, 6:] = 0.5 * rng.normal(size=(16, 2))
    on = np.ones((16, 4))
    on[:8:2], on[8:] = 0.7, [0.0, -1.0, 0.0, 0.4]  # those above a half hold
    aims = {"shoulder": rng.uniform(-0.3, 0.3, 16), "elbow": rng.uniform(-0.3, 0.3, 16)}
    aims["elbow"][4:8] += 40.0  # what no motor can
    answer = law.answer(0.0, q, v, contact=on, **aims)
    assert answer.found.all() and not answer.tau[:, :6].any()
    J = np.stack([robot.jacobian(q, "body", expressed_in="world")] * 4, axis=1)
    arms = np.array([p.offset for p in CORNERS])
    points = J[..., 3:, :] + np.cross(J[..., :3, :], arms[None, :, :, None], axisa=2, axisb=2, axisc=2)
    pull = np.einsum("sckj,sck->sj", points, answer.contact_forces)
    a = robot.forward_dynamics(q, v, answer.tau + pull)
    assert np.abs(a - answer.acceleration).max() < 1e-5
    # it stands, within friction; where nothing is touched it falls
    assert np.abs(a[:8, :6]).max() < 1e-5 and not answer.contact_forces[8:].any()
    f = answer.contact_forces[:8]
    assert (np.hypot(f[..., 0], f[..., 1]) <= 0.6 * f[..., 2] + 1e-6).all() and (f[..., 2].sum(axis=1) > 20.0).all()
    targets = {
        name: 30.0 * (aims[name] - q[:, 7 + k]) - 2.0 * np.sqrt(30.0) * v[:, 6 + k] for k, name in enumerate(aims)
    }
    assert np.allclose(a[:4, 6], targets["shoulder"][:4], atol=1e-2) and np.allclose(
        a[:4, 7], targets["elbow"][:4], atol=1e-2
    )
    limits = robot.effort_limits[6:]
    assert (np.abs(answer.tau[:, 6:]) <= limits + 1e-9).all()
    # the same bits alone
    alone = law.answer(0.0, q[2], v[2], contact=on[2], **{name: x[2] for name, x in aims.items()})
    assert np.array_equal(alone.tau, answer.tau[2])
    with pytest.raises(ValueError, match=r"WholeBody.answer: shoulder: expected an array of finite numbers"):
        law.answer(0.0, q, v, contact=on, **(aims | {"shoulder": np.where(np.arange(16) == 3, np.nan, 0.0)}))


@pytest.mark.slow(every=5)
def test_humanoid_under_whole_body_control_stands_while_its_arm_moves() -> None:
    robot = _carrier()
    ground = ContactGround(tuple(CORNERS), friction=0.6, height=-0.1)
    law = WholeBody(robot, [JointTask("shoulder"), JointTask("elbow")], 100.0, contacts=ground)
    run = robot.simulate(
        robot.neutral(),
        controller=law,
        duration=1.0,
        dt=2e-3,
        record_every=100,
        contacts=ground,
        constants={"shoulder": 0.6, "elbow": -1.0},
    )
    assert run.success and np.abs(run.q[-1, 7:] - [0.6, -1.0]).max() < 2e-2
    assert np.abs(run.q[-1, :7] - robot.neutral()[:7]).max() < 1e-3
    assert np.abs(run.v[..., 6]).max() < 4.0


@pytest.mark.parametrize("damping", [0.0, 7.5])
def test_contact_damping_of_a_whole_body_controller_decelerates_points_in_contact(damping: float) -> None:
    """The points of a body that translates have the acceleration −k v."""
    robot: Any = lw.Robot.build(
        "chest",
        lw.Link("body", lw.shapes.Box((0.4, 0.3, 0.2)), mass=8.0),
        lw.Link("lid", lw.shapes.Box((0.1, 0.3, 0.4)).at((0.1, 0.2, 0.2)), mass=1.0),
        lw.Joint.of(lw.joints.Revolute((0, 1, 0)), name="hinge", parent="body", child="lid", effort=20.0),
        floating_base=True,
    )
    law = WholeBody(robot, PostureTask(), 50.0, contacts=ContactGround(CORNERS[:3]), contact_damping=damping)
    q = robot.integrate(robot.neutral(), [0.1, -0.2, 0.3, 0.0, 0.0, 0.0, 0.2])
    velocity = np.array([0.05, -0.03, -0.02])
    v = np.array([0.0, 0.0, 0.0, *velocity @ robot.pose(q, "body")[:3, :3], 0.0])
    answer = law.answer(0.0, q, v, posture_q=robot.neutral())
    a = robot.acceleration(q, v, answer.acceleration, "body", expressed_in="world")
    assert answer.found == 1.0 and np.abs(a - [0.0, 0.0, 0.0, *(-damping * velocity)]).max() < 1e-6


@pytest.mark.slow
def test_rotating_feet_under_whole_body_control_stay_on_the_ground() -> None:
    """Four points on each sole: their rows contradict each other by ω × (ω × r) where a foot turns, and hold it."""
    robot: Any = lw.load("humanoid", floating_base=True)
    feet, corners = ("left_foot", "right_foot"), [(x, y, -0.01) for x in (-0.05, 0.12) for y in (-0.04, 0.04)]
    ground = ContactGround([ContactPoint(foot, at) for foot in feet for at in corners])
    law = WholeBody(robot, PostureTask(weight=0.1), 50.0, contacts=ground, contact_damping=20.0)
    rng, q = np.random.default_rng(0), robot.neutral()
    J = np.vstack([robot.jacobian(q, foot, expressed_in="world") for foot in feet])
    speeds = np.array([0.0, 1e-6, 1e-5, 1e-4, 6e-4, 1e-3, 1e-2, 1e-1, 1.0])
    twists = np.zeros((len(speeds), 12))
    twists[:, :3] = speeds[:, None] * rng.normal(size=3)
    v = twists @ np.linalg.pinv(J).T
    on = np.ones((4, 1, 8))
    on[1, :, 0], on[2, :, :2], on[3, :, 1:4] = 0.0, 0.0, 0.0  # three points hold a foot, an edge, and a corner
    answer = law.answer(0.0, q, v, posture_q=q, contact=on)
    assert (answer.found == 1.0).all() and answer.rounds.max() <= 8.0
    in_contact = np.broadcast_to(on, answer.contact_forces.shape[:-1]) > 0.5
    assert not answer.contact_forces[~in_contact].any() and (answer.contact_forces[..., 2] >= -1e-9).all()
    # what is left of p̈ + k ṗ at the points that hold a foot is neither a force nor a moment on it
    for k, foot in enumerate(feet):
        rotation, omega = robot.pose(q, foot)[:3, :3], twists[:, 6 * k : 6 * k + 3]
        a = robot.acceleration(q, v, answer.acceleration, foot, expressed_in="world")
        arms = (np.array(corners) @ rotation.T)[:, None]
        speed = np.cross(omega, arms)
        left = a[:, None, :, 3:] + np.cross(a[:, None, :, :3], arms) + np.cross(omega, speed) + 20.0 * speed
        left = left * on[:, 0, 4 * k : 4 * k + 4, None, None]
        size = 1e-6 + 1e-8 * np.abs(a).max()
        assert np.abs(left.sum(axis=1)).max() < size and np.abs(np.cross(arms, left).sum(axis=1)).max() < size, foot
        assert (np.abs(left).max(axis=(1, 3)) < 1e-6 + (omega**2).sum(axis=1)).all(), foot


@pytest.mark.slow(every=5)
def test_soles_on_legs_with_few_joints_stay_on_the_ground_under_whole_body_control() -> None:
    """Soles have more equations than their legs have joints: in motion those of one sole contradict the other's, and
    what is left of all points' p̈ + k ṗ is not far from the least that joints allow."""
    leg = lw.joints.Revolute((0, 1, 0))
    parts = [lw.Link("body", lw.shapes.Box((0.2, 0.4, 0.2)), mass=8.0)]
    for side, y in (("left", 0.2), ("right", -0.2)):
        at = {"parent": "body", "child": f"{side}_foot", "placement": (0, y, -0.1)}
        parts.append(lw.Link(f"{side}_foot", lw.shapes.Box((0.3, 0.1, 0.3)).at((0, 0, -0.15)), mass=1.0))
        parts.append(lw.Joint.of(leg, name=f"{side}_hip", effort=200.0, **at))
    robot: Any = lw.Robot.build("walker", *parts, floating_base=True)
    corners = [(x, y, -0.3) for x in (-0.15, 0.0, 0.15) for y in (-0.05, 0.05)]
    points = [ContactPoint(f"{side}_foot", at) for side in ("left", "right") for at in corners]
    law = WholeBody(robot, PostureTask(weight=0.1), 50.0, contacts=ContactGround(points), contact_damping=20.0)
    rng, q = np.random.default_rng(0), robot.neutral()
    speeds = np.concatenate([[0.0], 10.0 ** np.arange(-8.0, 0.0)])
    v = speeds[:, None] * rng.normal(size=8)
    answer = law.answer(0.0, q, v, posture_q=q)
    assert (answer.found == 1.0).all() and answer.rounds.max() <= 10.0, (answer.found, answer.rounds)
    assert np.isfinite(answer.tau).all() and (answer.contact_forces[..., 2] >= -1e-9).all()
    assert np.abs(answer.contact_forces[0, :, 2].sum() - 10.0 * 9.81) < 1e-3
    rows, bounds = [], []
    for side in ("left", "right"):
        J = robot.jacobian(q, f"{side}_foot", expressed_in="world")
        drift = robot.acceleration(q, v, np.zeros(8), f"{side}_foot", expressed_in="world")
        omega = v @ J[:3].T
        for at in np.array(corners):
            point = J[3:] - np.cross(np.eye(3), at) @ J[:3]
            centripetal = np.cross(omega, np.cross(omega, at))
            rows.append(point)
            bounds.append(-drift[:, 3:] - np.cross(drift[:, :3], at) - centripetal - 20.0 * v @ point.T)
    C, b = np.concatenate(rows), np.concatenate(bounds, axis=1)
    least = np.linalg.norm(b - b @ np.linalg.pinv(C).T @ C.T, axis=1)
    left = np.linalg.norm(b - answer.acceleration @ C.T, axis=1)
    assert least[-1] > 1e-3 and (left < 2.0 * least + 1e-6).all(), (left, least)


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("units", [(1e3, 1e3, 1e3), (1e3, 1.0, 1.0), (1.0, 1e-3, 1e3), (1e-3, 1.0, 1e-3)])
def test_whole_body_control_does_not_depend_on_units(units: tuple[float, float, float]) -> None:
    """A standing robot with limits of motors, positions and a slide, in other units of length, mass and time."""
    results = []
    for L, m, t in ((1.0, 1.0, 1.0), units):
        force = m * L / t**2
        tilt, box = lw.joints.Revolute((0, 1, 0)), lw.shapes.Box
        robot: Any = lw.Robot.build(
            "carrier",
            lw.Link("body", box((0.4 * L, 0.3 * L, 0.2 * L)), mass=8.0 * m),
            lw.Link("upper", box((0.05 * L, 0.05 * L, 0.4 * L)).at((0, 0, 0.2 * L)), mass=m),
            lw.Link("lower", box((0.05 * L, 0.05 * L, 0.3 * L)).at((0, 0, 0.15 * L)), mass=0.5 * m),
            lw.Joint.of(
                tilt, name="shoulder", parent="body", child="upper", placement=(0, 0, 0.1 * L), effort=8 * force * L,
                upper=0.5, velocity=4.0 / t,
            ),
            lw.Joint.of(
                lw.joints.Prismatic((1, 0, 0)), name="slide", parent="upper", child="lower", placement=(0, 0, 0.4 * L),
                effort=10 * force, lower=-0.1 * L, upper=0.1 * L, velocity=L / t,
            ),
            floating_base=True, gravity=(0, 0, -9.81 * L / t**2),
        )  # fmt: skip
        points = tuple(ContactPoint("body", tuple(L * x for x in corner.offset)) for corner in CORNERS)
        ground = ContactGround(points, friction=0.6, height=-0.1 * L)
        tasks = [JointTask("shoulder"), JointTask("slide", level=1)]
        law = WholeBody(robot, tasks, 30.0 / t**2, contacts=ground, horizon=0.05 * t, contact_damping=20.0 / t)
        q = np.tile([*robot.neutral()[:7], 0.3, 0.02 * L], (3, 1))
        v = np.zeros((3, 8))
        v[:, 6:] = np.array([0.3, -0.2 * L]) / t
        answer = law.answer(0.0, q, v, shoulder=[0.0, 0.35, 0.2], slide=[0.0, 0.1 * L, 9.0 * L])
        assert answer.found.all()
        scale = np.array([1.0] * 3 + [L] * 3 + [1.0, L])
        forces = answer.contact_forces / force
        results.append([answer.tau / (force * L / scale), answer.acceleration * t**2 / scale, forces])
    for answer_value, scaled_value in zip(*results, strict=True):
        assert np.abs(answer_value - scaled_value).max() < 1e-6 * np.abs(answer_value).max()


def test_whole_body_control_satisfies_priority_levels_and_speed_limits() -> None:
    """A level keeps its result for any next level, and speeds stay within limits in the next step."""
    robot: Any = lw.load("double_pendulum")
    first = robot.v_names[0]
    q, v = np.array([0.3, -0.2]), np.array([0.1, 0.2])
    law = WholeBody(
        robot, [JointTask(first), PostureTask(level=1)], 25.0, regularization=(1e-9, 1e-9), effort_limits=np.inf
    )
    a = law.answer(0.0, q, v, **{first: 0.5}, posture_q=[-3.0, 0.1]).acceleration
    assert np.allclose(a, 25.0 * (np.array([0.5, 0.1]) - q) - 10.0 * v, atol=1e-4)
    far = law.answer(0.0, q, v, **{first: 300.0}, posture_q=[-3.0, 0.1])
    assert np.isclose(v[0] + 0.05 * far.acceleration[0], robot.velocity_limits[0])


def test_whole_body_control_keeps_loops_closed() -> None:
    loop: Any = lw.load("fourbar")
    crank = loop.v_names[0]
    law = WholeBody(
        loop, JointTask(loop.joints[-1].name), 25.0, actuators=crank, effort_limits=np.inf, regularization=(1e-9, 1e-9)
    )
    q = loop.assemble().q
    v = loop.explicit_velocity(q, np.full(loop.nv, 0.7), [crank])
    k = loop.joints[-1].name
    answer = law.answer(0.0, q, v, **{k: q[-1] + 0.1})
    assert answer.found == 1.0 and not answer.tau[1:].any()
    a = loop.constrained_forward_dynamics(q, v, answer.tau).a
    assert np.allclose(a, answer.acceleration, rtol=1e-5, atol=1e-5)
    assert np.isclose(a[-1], 2.5 - 10.0 * v[-1], rtol=1e-4)


def test_invalid_arguments_of_whole_body_control_are_refused() -> None:
    robot = _carrier()
    with pytest.raises(TypeError, match=r"contacts: expected linkwork\.simulation\.ContactGround"):
        WholeBody(robot, PoseTask("body"), contacts=["body"])  # type: ignore[arg-type]
    with pytest.raises(KeyError, match="no frame named"):
        WholeBody(robot, PoseTask("body"), contacts=ContactGround("foot"))
    with pytest.raises(ValueError, match=r"regularization\[1\]: expected a finite number > 0"):
        WholeBody(robot, PoseTask("body"), regularization=(1e-3, 0.0))
    law = WholeBody(robot, JointTask("elbow"), contacts=ContactGround(tuple(CORNERS)))
    with pytest.raises(ValueError, match=r"contact: expected shape \(4,\), got \(3,\)"):
        law(0.0, robot.neutral(), np.zeros(8), elbow=0.1, contact=np.ones(3))


@pytest.mark.slow(every=5)
def test_motions_that_no_whole_body_task_controls_come_to_rest() -> None:
    """An arm whose damping and friction are compensated does not turn about its hand forever."""
    arm: Any = lw.load("arm7")
    q = np.array([0.1, 0.5, 0.0, -1.5, 0.0, 1.8, 0.0])
    law = lw.control.WholeBody(arm, lw.ik.PoseTask("hand"))
    hand = {"hand": arm.pose(q, "hand")}
    run = arm.simulate(q, np.ones(7), controller=law, constants=hand, duration=3.0, record_every=1000)
    assert np.abs(run.v[-1]).max() < 0.05 and np.abs(run.q[-1] - q).max() < 0.2
