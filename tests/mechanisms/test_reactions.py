"""Reactions of mechanisms: every body is in equilibrium with its inertia under the wrenches through its joints, and
they are those of Newton's and Euler's equations of each body alone, wherever the loop is cut."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from helpers.cut_four_bar import AFTER, by_bars, by_joints, closed, four_bar, newton_euler
from linkwork.constraints import LoopJoint
from linkwork.dynamics.algorithms.passive_joint_forces import element_wrenches
from linkwork.errors import UnderactuatedError
from linkwork.mechanisms.algorithms.constrained_forward_dynamics import constrained_forward_dynamics
from linkwork.mechanisms.algorithms.constraint_forces import (
    constrained_joint_wrenches,
    loop_joint_wrenches,
)

LOOPED = ("delta", "fourbar", "leg", "stewart")


def at_origin(pose, w):
    """A wrench (moment; force) in a frame's axes at its origin, in the world's axes at the world's origin."""
    R, p = pose[:3, :3], pose[:3, 3]
    moment, force = R @ w[:3], R @ w[3:]
    return np.concatenate([moment + np.cross(p, force), force])


def inertia_wrench(robot, q, v, a, body):
    """The rate of a body's momentum less its weight (moment; force), about the world's origin."""
    X = robot.pose(q, body.name)
    R, origin = X[:3, :3], X[:3, 3]
    omega = robot.twist(q, v, body.name)[:3]
    alpha, linear = np.split(robot.acceleration(q, v, a, body.name), 2)
    j = body.inertia.about
    J = R @ np.array([[j.xx, j.xy, j.xz], [j.xy, j.yy, j.yz], [j.xz, j.yz, j.zz]]) @ R.T
    h, fall = R @ np.array([*body.inertia.moment]), linear - robot.gravity
    force = body.inertia.mass * fall + np.cross(alpha, h) + np.cross(omega, np.cross(omega, h))
    moment = J @ alpha + np.cross(omega, J @ omega) + np.cross(h, fall)
    return np.concatenate([moment + np.cross(origin, force), force])


def body_of(robot, frame):
    return robot.tree.frame(frame).body


def test_constraint_jacobian_rows_are_the_wrenches_of_loop_joints():
    """W V = G v, with the twist V of a joint's frames; rows of constraints before and after it have no wrench."""
    robot = four_bar("C")
    loop, q = robot.constraints[0], by_joints(robot, closed(0.8))
    edge, gear = lw.constraints.KnifeEdge("rocker", across=(0.48, 0.6, 0.64)), lw.constraints.Gear("A", "B", ratio=0.3)
    gear_b = lw.constraints.Gear("B", "D", ratio=0.7)
    v = np.random.default_rng(0).normal(size=robot.nv)
    V = robot.twist(q, v, loop.frame, relative_to=loop.relative_to, expressed_in=loop.frame)
    rows = robot.constraint_jacobian(q) @ v
    np.testing.assert_allclose(robot.loop_wrenches(q) @ V, rows, rtol=0.0, atol=1e-12)
    combined = robot.without_constraints().with_constraints(edge, gear, loop, gear_b)
    expected = [0.0] * (len(combined.constraint_jacobian(q)) - 1 - len(rows)) + [*rows, 0.0]
    np.testing.assert_allclose(combined.loop_wrenches(q) @ V, expected, rtol=0.0, atol=1e-12)


@pytest.mark.slow(every=9)
@pytest.mark.parametrize("name", LOOPED)
def test_reaction_wrenches_of_joints_balance_every_body(name):
    robot = lw.load(name)
    ends = robot.tree.bodies[0].name, robot.tree.bodies[-1].name
    robot = robot.with_force_elements(
        lw.force_elements.SpringDamper(*ends, stiffness=40.0, damping=3.0, rest_length=0.05)
    )
    rng = np.random.default_rng(3)
    q = robot.assemble(check=False).q
    v = robot.project_velocity(q, rng.normal(size=robot.nv))
    tau, loop_forces = rng.normal(size=robot.nv), rng.normal(size=len(robot.loop_velocity(q, v)))
    link = robot.tree.bodies[-1].name
    w = rng.normal(size=6)
    wrenches = [(link, "world", w.tolist())]
    options = {"loop_forces": loop_forces.tolist(), "passive": True}
    a, forces = constrained_forward_dynamics(robot.tree, q.tolist(), v.tolist(), tau.tolist(), wrenches, **options)
    state = q.tolist(), v.tolist(), list(a)
    options |= {"constraint_forces": list(forces), "wrenches": wrenches}
    sides = {
        on: np.array(constrained_joint_wrenches(robot.tree, *state, on=on, **options)) for on in ("child", "parent")
    }
    loops = {on: np.array(loop_joint_wrenches(robot.tree, *state, on=on, **options)) for on in ("child", "parent")}
    total = [-inertia_wrench(robot, q, v, np.array(a), body) for body in robot.tree.bodies]
    identity = np.eye(4)
    identity[:3, 3] = robot.pose(q, link)[:3, 3]
    total[body_of(robot, link)] += at_origin(identity, w)
    for frame, axes, exerted in element_wrenches(robot.tree, q.tolist(), v.tolist()):
        assert frame == axes
        total[body_of(robot, frame)] += at_origin(robot.pose(q, frame), np.array(exerted))
    size = 0.0
    for i, body in enumerate(robot.tree.bodies):
        M = robot.pose(q, body.name) @ np.linalg.inv(np.array(body.rotor.elements()).reshape(4, 4))
        on_child = at_origin(M, sides["child"][i])
        total[i] += on_child
        size = max(size, np.abs(on_child).max())
        if body.parent >= 0:
            F = robot.pose(q, robot.tree.bodies[body.parent].name) @ np.array(body.placement.elements()).reshape(4, 4)
            total[body.parent] += at_origin(F, sides["parent"][i])
    for k, loop in enumerate(c for c in robot.constraints if isinstance(c, LoopJoint)):
        for on, frame in (("child", loop.frame), ("parent", loop.relative_to)):
            if body_of(robot, frame) >= 0:
                total[body_of(robot, frame)] += at_origin(robot.pose(q, frame), loops[on][k])
    assert size > 1.0
    assert np.abs(total).max() < 1e-9 * size


@pytest.mark.slow(every=5)
def test_reaction_wrenches_do_not_depend_on_the_joint_that_closes_the_loop():
    """A motor at the crank, and a spring and a damper in hinge C, which is once the loop joint."""
    angle, torque, compared = closed(0.8), 0.7, 0
    for cut in "BCD":
        robot = four_bar(cut, stiffness=3.0, damping=0.2)
        q = by_joints(robot, angle)
        v = np.linalg.svd(robot.constraint_jacobian(q))[2][-1]
        v = 3.0 * v / v[robot.joint("A").v_slice]
        tau = np.where([joint.name == "A" for joint in robot.joints], torque, 0.0)
        a, forces = robot.constrained_forward_dynamics(q, v, tau, passive=True)
        rate, bend = by_bars(robot, v), by_bars(robot, a)
        spring = -3.0 * (angle["rocker"] - angle["coupler"]) - 0.2 * (rate["rocker"] - rate["coupler"])
        _, known = newton_euler(angle, rate, bend, spring)
        options = {"constraint_forces": forces, "passive": True, "expressed_in": "world"}
        names = [joint.name for joint in robot.joints] + [cut]
        bodies = [body.name for body in robot.tree.bodies] + [{"B": "coupler", "C": "rocker", "D": "rocker"}[cut]]
        results = [*robot.joint_wrenches(q, v, a, **options), *robot.loop_joint_wrenches(q, v, a, **options)]
        for name, body, w in zip(names, bodies, results, strict=True):
            sign = 1.0 if body == AFTER[name] else -1.0
            moment = {"A": torque, "C": spring}.get(name, 0.0)
            assert np.abs(sign * w[[3, 5]] - known[name]).max() < 1e-9, (cut, name)
            assert abs(sign * w[1] - moment) < 1e-9 and np.abs(w[[0, 2, 4]]).max() < 1e-9, (cut, name)
            compared += 1
        # statics and inverse dynamics: without forces they are those of the actuators that are named
        by_motor = robot.joint_wrenches(q, v, a, actuators="A", passive=True)
        with pytest.raises(UnderactuatedError, match="joint_wrenches: actuators none cannot induce"):
            robot.joint_wrenches(q, v, a, actuators=())
        assert np.abs(by_motor - robot.joint_wrenches(q, v, a, constraint_forces=forces, passive=True)).max() < 1e-8
    assert compared == 12


def test_unique_reaction_forces_of_a_planar_four_bar_are_in_its_plane():
    """Hinges in space: forces in the plane, and moments about the hinges."""
    robot = four_bar("C")
    q = by_joints(robot, closed(0.8))
    unique = robot.determinate_joint_wrenches(q)
    assert unique.tolist() == [[False, True, False, True, False, True]] * 3
    pin = lw.constraints.PointOnLine("coupler end", "rocker end.y")  # frees what a hinge holds out of the plane
    assert robot.without_constraints().with_constraints(pin).determinate_joint_wrenches(q).all()
    free = robot.without_constraints()
    assert free.determinate_joint_wrenches(q).all() and free.loop_joint_wrenches(q, q, q).shape == (0, 6)


def test_determinate_forces_do_not_depend_on_masses():
    robot = four_bar("C")
    q = np.stack([by_joints(robot, closed(angle)) for angle in (0.8, 2.1)])
    light = robot
    for name in ("crank", "coupler"):
        light = light.with_inertia(name, mass=0.0, inertia=(0.0, 0.0, 0.0))
    with pytest.raises(lw.errors.SingularInertiaError, match="move no inertia when they move together"):
        light.without_constraints().forward_dynamics(q, q, q)
    for function in ("determinate_joint_wrenches", "determinate_constraint_forces"):
        expected = getattr(robot, function)(q)
        assert not expected.all() and expected.any()
        assert np.array_equal(getattr(light, function)(q), expected)


def test_power_of_reaction_wrenches_is_that_of_joint_forces():
    """At each joint w does work only on the joint's own motion, w · S v: joints of the tree and of the loop."""
    robot = four_bar("C")
    q = by_joints(robot, closed(0.8))
    v = np.linalg.svd(robot.constraint_jacobian(q))[2][-1]
    tau, motor = np.array([0.3, -0.2, 0.5]), np.array([0.7])
    a, forces = robot.constrained_forward_dynamics(q, v, tau, loop_forces=motor)
    options = {"constraint_forces": forces, "loop_forces": motor}
    w, loop = robot.joint_wrenches(q, v, a, **options), robot.loop_joint_wrenches(q, v, a, **options)
    assert np.allclose(w[:, 1], tau, atol=1e-9) and np.allclose(loop[0, 1], motor, atol=1e-9)
    power = w[:, 1] @ v + loop[0, 1] * robot.loop_velocity(q, v)[0]
    assert np.isclose(power, v @ robot.mass_matrix(q) @ a + v @ robot.bias_force(q, v), atol=1e-9)
    along, remaining = robot.joint_wrench_components(q, v, a, **options)
    assert np.allclose(along + remaining, w) and np.abs(remaining[:, 1]).max() < 1e-9
