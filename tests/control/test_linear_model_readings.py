"""Linear models at a time, and slopes of readings in loops and of range sensors, against central differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.constraints import Holonomic, Prescribed
from linkwork.control import linear_model
from linkwork.model.friction_laws import NO_FRICTION
from linkwork.simulation import ForceTorqueSensor, RangeSensor
from linkwork.simulation.sensors.sensor import SensorInput

STEP = 1e-5  # [rad, m, 1/s] of central differences
PASSIVE: dict[str, Any] = {"passive": True, "friction": NO_FRICTION}


def chain() -> Any:
    """Return an arm in general position with a ball joint, springs and dampers."""
    rng = np.random.default_rng(5)
    kinds: dict[str, Any] = {
        "turn": lw.joints.Revolute((0.48, 0.6, 0.64)),
        "slide": lw.joints.Prismatic((0.36, -0.48, 0.8)),
        "ball": lw.joints.Spherical(),
        "wrist": lw.joints.Revolute((-0.6, 0.64, 0.48)),
    }
    parts: list[Any] = []
    parent = "world"
    for name, kind in kinds.items():
        placement = lw.pose(rpy=rng.uniform(-1.0, 1.0, 3), xyz=rng.uniform(0.2, 0.5, 3))
        link = lw.Link(
            f"{name} link", mass=rng.uniform(1.0, 2.0), com=rng.uniform(0.1, 0.3, 3), inertia=(0.2, 0.25, 0.3)
        )
        how: dict[str, Any] = {} if name == "ball" else {"damping": 0.3, "stiffness": 4.0}
        parts += [link, lw.Joint.of(kind, name=name, parent=parent, child=link.name, placement=placement, **how)]
        parent = link.name
    return lw.Robot.build("chain", *parts).with_point("tip", parent, (0.1, 0.3, -0.2))


def prescribed() -> dict[str, tuple[Any, list[str]]]:
    """Return robots with constraints that depend on time, and the names of independent joints."""
    robot = chain()
    joint = Prescribed("turn", lambda t: 0.4 + 0.5 * np.sin(1.3 * t))
    start = robot.point_position(robot.neutral(), "tip")
    point = Prescribed(point="tip", motion=lambda t: start[2] + 0.1 * np.sin(2.0 * t), axes="z")
    swept = Holonomic("swept", lambda k: k.q("turn") * (1.0 + 0.6 * np.sin(k.time)) + 0.5 * k.q("slide") ** 2 - 0.2)
    return {
        "joint": (robot.with_constraints(joint), ["slide", "ball", "wrist"]),
        "point": (robot.with_constraints(point), ["turn", "ball", "wrist"]),
        "function": (robot.with_constraints(swept), ["slide", "ball", "wrist"]),
        "several": (robot.with_constraints(point, swept), ["ball", "wrist"]),
    }


def coordinates(robot: Any, joints: list[str]) -> list[str]:
    """Return the names of the coordinates of v of joints."""
    return [robot.v_names[k] for k in robot.v_index(joints)]


def closed_state(robot: Any, independent: list[str], time: float | None, seed: int = 0) -> tuple[Any, ...]:
    """Return q, v and τ in general position that satisfy the constraints."""
    rng = np.random.default_rng(seed)
    timed = {} if time is None else {"time": time}
    q = robot.integrate(robot.neutral(), rng.uniform(-0.4, 0.4, robot.nv))
    q = robot.assemble(q, position_limits=False, **timed).q
    v = robot.explicit_velocity(q, rng.normal(size=robot.nv), coordinates(robot, independent), **timed)
    return q, v, rng.normal(size=robot.nv)


def deviated(robot: Any, state: tuple[Any, ...], independent: list[str], time: float | None, change: Any) -> Any:
    """Return the state whose independent coordinates deviate by δy and δu, and joint forces by δτ (3 nv,)."""
    (q, v, tau), n = state, robot.nv
    timed = {} if time is None else {"time": time}
    moved = robot.integrate(q, change[:n])
    hold = {name: moved[robot.joints[name].q_slice] for name in independent}
    hold = {name: x[0] if len(x) == 1 else x for name, x in hold.items()}
    q = robot.assemble(q, hold=hold, position_limits=False, tolerance=1e-13, **timed).q
    return (
        q,
        robot.explicit_velocity(q, v + change[n : 2 * n], coordinates(robot, independent), **timed),
        tau + change[2 * n :],
    )


def slopes(function: Any, robot: Any, state: Any, independent: list[str], time: Any, change: Any) -> Any:
    """Return the central difference of a function of (q, v, τ) along a change of the independent coordinates."""
    ends = [function(*deviated(robot, state, independent, time, s * change)) for s in (STEP, -STEP)]
    return (ends[0] - ends[1]) / (2.0 * STEP)


def directions(robot: Any, independent: list[str], count: int = 5) -> Any:
    """Return random changes (count, 3 nv) of independent coordinates, velocities and of all joint forces."""
    columns = robot.v_index(independent)
    result = np.zeros((count, 3 * robot.nv))
    rng = np.random.default_rng(7)
    for k in (0, robot.nv):
        result[:, k + columns] = rng.normal(size=(count, len(columns)))
    result[:, 2 * robot.nv :] = rng.normal(size=(count, robot.nv))
    return result


def compared(model: Any, robot: Any, independent: list[str], function: Any, state: Any, time: Any, rows: Any) -> None:
    """Compare rows of C and D with differences of the function."""
    columns = robot.v_index(independent)
    for change in directions(robot, independent):
        slope = slopes(function, robot, state, independent, time, change)
        x = np.concatenate([change[columns], change[robot.nv + columns]])
        expected = model.C[rows] @ x + model.D[rows] @ change[2 * robot.nv :]
        np.testing.assert_allclose(slope, expected, rtol=0, atol=1e-6 * max(np.abs(slope).max(), 1.0))


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("name", ["joint", "point", "function", "several"])
def test_linear_models_with_time_dependent_constraints_equal_finite_differences(name: str) -> None:
    """Rates of independent velocities, the twist and acceleration of a frame, and the force of a joint."""
    robot, independent = prescribed()[name]
    time = 0.7
    state = closed_state(robot, independent, time)
    sensors: Any = {"wrench": ForceTorqueSensor("slide")}
    outputs = ["a", "twist:wrist link", "acceleration:wrist link", "wrench"]
    keywords: Any = {
        "tau": state[2],
        "inputs": list(robot.v_names),
        "independent": coordinates(robot, independent),
        "time": time,
    }
    model = linear_model(robot, *state[:2], outputs=outputs, sensors=sensors, **keywords)
    columns = robot.v_index(independent)
    assert model.state_names == tuple(f"{kind}:{robot.v_names[k]}" for kind in "qv" for k in columns)

    def readings(q: Any, v: Any, tau: Any) -> Any:
        a, forces = robot.constrained_forward_dynamics(q, v, tau, time=time, **PASSIVE)
        k = [body.joint_name for body in robot.tree.bodies].index("slide")
        wrenches = robot.joint_wrenches(q, v, a, constraint_forces=forces, time=time, **PASSIVE)
        return np.concatenate(
            [a, robot.twist(q, v, "wrist link"), robot.acceleration(q, v, a, "wrist link"), wrenches[k]]
        )

    compared(model, robot, independent, readings, state, time, slice(None))
    n = len(columns)
    assert np.array_equal(model.A[n:], model.C[columns]) and np.array_equal(model.B[n:], model.D[columns])
    free, *_ = robot.without_constraints().linearize(*state, **PASSIVE)
    np.testing.assert_allclose(model.A[:n, :n], free[np.ix_(columns, columns)], atol=1e-12)
    np.testing.assert_allclose(model.A[:n, n:], np.eye(n), atol=1e-12)


@pytest.mark.slow(every=5)
def test_linear_models_at_several_times_equal_the_models_at_each_time() -> None:
    robot, independent = prescribed()["several"]
    times = np.array([0.2, 0.9])
    states = [closed_state(robot, independent, time, k) for k, time in enumerate(times)]
    q, v, tau = (np.array(x) for x in zip(*states, strict=True))
    both = linear_model(robot, q, v, tau=tau, independent=coordinates(robot, independent), time=times)
    for k, (at, rate, forces) in enumerate(states):
        single = linear_model(robot, at, rate, tau=forces, independent=coordinates(robot, independent), time=times[k])
        np.testing.assert_allclose(both.A[k], single.A, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(both.B[k], single.B, rtol=1e-9, atol=1e-9)


def test_unsuitable_times_and_velocities_of_linear_models_are_refused() -> None:
    robot, independent = prescribed()["joint"]
    q, v, tau = closed_state(robot, independent, 0.7)
    for keywords, message in (
        ({}, r"linear_model: time: expected the time \[s\] of the constraint '.*turn.*', got None"),
        ({"time": 0.4}, r"linear_model: q: expected a configuration that satisfies the constraints"),
        ({"time": np.nan}, r"linear_model: time: expected an array of finite numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            linear_model(robot, q, v, tau=tau, **keywords)
    with pytest.raises(ValueError, match=r"linear_model: v: expected velocities that the constraints permit"):
        linear_model(robot, q, 0.0 * v, tau=tau, time=0.7)
    with pytest.raises(ValueError, match=r"linear_model: tau: expected joint forces"):
        linear_model(robot, q, v, time=0.7)
    with pytest.raises(ValueError, match=r"linear_model: time: expected None, since no constraint depends on time"):
        linear_model(chain(), q, v, tau=tau, time=0.7)


@pytest.mark.slow(every=9)
@pytest.mark.parametrize("name", ["fourbar", "delta", "jansen_leg"])
def test_derivatives_of_force_torque_sensors_in_loops_equal_finite_differences(name: str) -> None:
    """The wrench across a joint that closes a loop, and across one of the tree in the loop."""
    robot: Any = lw.load(name)
    robot = robot.with_parameters({"friction": np.zeros(robot.nv)})
    loops = [loop.name for loop in robot.loops]
    joints = loops[0], next(body.joint_name for body in robot.tree.bodies if body.joint.nv == 1)
    independent = list(robot.minimal_coordinates(q=robot.assemble().q).independent)
    state = closed_state(robot, independent, None)
    sensors: Any = {f"at{k}": ForceTorqueSensor(joint) for k, joint in enumerate(joints)}
    keywords: Any = {"tau": state[2], "inputs": list(robot.v_names), "independent": independent}
    model = linear_model(robot, *state[:2], sensors=sensors, **keywords)
    names = [body.joint_name for body in robot.tree.bodies]

    def readings(q: Any, v: Any, tau: Any) -> Any:
        a, forces = robot.constrained_forward_dynamics(q, v, tau, **PASSIVE)
        of_tree = robot.joint_wrenches(q, v, a, constraint_forces=forces, **PASSIVE)
        of_loops = robot.loop_joint_wrenches(q, v, a, constraint_forces=forces, **PASSIVE)
        wrenches = [of_loops[loops.index(joint)] if joint in loops else of_tree[names.index(joint)] for joint in joints]
        return np.concatenate(wrenches)

    compared(model, robot, independent, readings, state, None, slice(None))
    assert np.abs(model.C).max() > 1.0


def ray_lengths(X: Any, rays: Any, largest: float) -> Any:
    """Return the distances along rays to a plane through (0, 0, -1.2) and to a ball of radius 0.4 at (2, 0.3, 0.2)."""
    normal, through, center, radius = np.array([0.36, 0.48, 0.8]), np.array([0, 0, -1.2]), np.array([2, 0.3, 0.2]), 0.4
    result = []
    for ray in rays @ X[:3, :3].T / np.linalg.norm(rays, axis=1)[:, None]:
        start = X[:3, 3]
        hits = [largest]
        if normal @ ray < 0.0:
            hits.append(normal @ (through - start) / (normal @ ray))
        along = (center - start) @ ray
        across = radius**2 - (center - start) @ (center - start) + along**2
        if across > 0.0 and along > 0.0:
            hits.append(along - np.sqrt(across))
        result.append(min(hits))
    return np.array(result)


@pytest.mark.slow(every=5)
def test_derivatives_of_range_sensors_equal_finite_differences() -> None:
    """Rays of an arm, and of a coupler in a loop, end at a plane, at a ball or nowhere; the lengths are analytic."""
    z = np.array([0.36, 0.48, 0.8])
    x = np.cross((0.0, 1.0, 0.0), z) / np.linalg.norm(np.cross((0.0, 1.0, 0.0), z))
    plane, ball = np.eye(4), np.eye(4)
    plane[:3, :3], plane[:3, 3] = np.stack([x, np.cross(z, x), z], axis=1), (0.0, 0.0, -1.2)
    ball[:3, 3] = (2.0, 0.3, 0.2)
    scene = lw.Scene().with_half_space("floor", plane).with_sphere("ball", 0.4, ball)
    for robot, frame, independent in (
        (chain(), "wrist link", ["turn", "slide", "ball", "wrist"]),
        (lw.load("fourbar"), "coupler", ["crank_hinge"]),
    ):
        robot = robot.with_parameters({"friction": np.zeros(robot.nv)})
        if robot.constraints:
            state = closed_state(robot, independent, None)
        else:
            rng = np.random.default_rng(4)
            state = (robot.random_configuration(rng), *rng.normal(size=(2, robot.nv)))
        X = robot.pose(state[0], frame)
        aims = np.array([[2.0, 0.35, 0.25], [0.1, 0.0, -3.0], [-0.3, 0.2, -3.0], [0.0, 0.0, 9.0], [2.1, 0.2, 0.1]])
        rays = (aims - X[:3, 3]) @ X[:3, :3]
        sensors: Any = {"lidar": RangeSensor(frame, tuple(map(tuple, rays)), scene=scene, max_range=6.0)}
        chosen: Any = {"independent": independent} if robot.constraints else {}
        inputs = list(robot.v_names)
        model = linear_model(robot, *state[:2], tau=state[2], inputs=inputs, sensors=sensors, **chosen)

        def readings(q: Any, v: Any, tau: Any, robot: Any = robot, frame: str = frame, rays: Any = rays) -> Any:
            return ray_lengths(robot.pose(q, frame), rays, 6.0)

        lengths = readings(*state)
        assert lengths[3] == 6.0 and (lengths[[0, 1, 2, 4]] < 6.0).all()
        if robot.constraints:
            compared(model, robot, independent, readings, state, None, slice(None))
            assert np.abs(model.C[[0, 1, 2, 4]]).max(axis=1).min() > 1e-3 and not model.C[3].any()
            continue
        for change in np.random.default_rng(2).normal(size=(5, robot.nv)):
            ends = [readings(robot.integrate(state[0], s * change), *state[1:]) for s in (STEP, -STEP)]
            slope = (ends[0] - ends[1]) / (2.0 * STEP)
            np.testing.assert_allclose(slope, model.C[:, : robot.nv] @ change, rtol=0, atol=1e-6 * np.abs(slope).max())
        assert not model.C[:, robot.nv :].any() and not model.D.any()


@pytest.mark.slow(every=9)
def test_derivatives_of_range_sensors_at_all_shapes_and_links_equal_finite_differences() -> None:
    """Rays from the wrist of an arm, at solids in general position, a height field, and the arm's first link."""
    robot = chain().with_collisions("turn link", lw.shapes.Box((0.5, 0.6, 0.7)))
    rng = np.random.default_rng(8)
    q, v, tau = robot.random_configuration(rng), *rng.normal(size=(2, robot.nv))
    solids: Any = [
        lw.shapes.Box((0.6, 0.8, 0.7)),
        lw.shapes.Cylinder(0.4, 0.9),
        lw.shapes.Capsule(0.3, 0.6),
        lw.shapes.Ellipsoid((0.3, 0.4, 0.5)),
        lw.shapes.Cone(0.5, 0.9),
        lw.shapes.Polytope(rng.normal(size=(12, 3)) * 0.4),
        lw.shapes.Rounded(lw.shapes.Box((0.4, 0.5, 0.6)), 0.1),
    ]
    scene, X = lw.Scene(), robot.pose(q, "wrist link")
    for k, shape in enumerate(solids):
        angle = 2.0 * np.pi * k / len(solids)
        at = X[:3, 3] + (3.0 * np.cos(angle), 3.0 * np.sin(angle), 0.4)
        scene = scene.with_shape(f"{k}", shape, lw.pose(xyz=at, rpy=rng.uniform(-1.0, 1.0, 3)))
    ground = lw.shapes.HeightField(rng.uniform(-0.2, 0.2, (12, 12)), (0.5, 0.5))
    scene = scene.with_shape("ground", ground, lw.pose(xyz=X[:3, 3] - (0.0, 0.0, 2.5)))
    aims = [scene[name].pose.matrix()[:3, 3] for name in scene.names[:-1]]
    aims += [X[:3, 3] + (0.13, -0.21, -2.5), robot.pose(q, "turn link")[:3, 3]]
    rays = (np.array(aims) - X[:3, 3]) @ X[:3, :3]
    sensor = RangeSensor("wrist link", tuple(map(tuple, rays)), scene=scene, links=("turn link",), max_range=9.0)
    model = linear_model(robot, q, v, tau=tau, inputs=list(robot.v_names), sensors={"lidar": sensor})

    def readings(at: Any) -> Any:
        return np.array(sensor.readings(SensorInput(robot, 0.0, at, v, 0.0 * v, tau)), dtype=float)

    assert (readings(q) > 0.0).all() and (readings(q) < 9.0).all()
    for change in rng.normal(size=(5, robot.nv)):
        slope = (readings(robot.integrate(q, STEP * change)) - readings(robot.integrate(q, -STEP * change))) / (
            2 * STEP
        )
        expected = model.C[:, : robot.nv] @ change
        np.testing.assert_allclose(slope, expected, rtol=0, atol=1e-6 * np.abs(slope).max())
        assert np.abs(slope).min() > 1e-6
