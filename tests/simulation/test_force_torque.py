"""Force–torque sensors of robots with loops: the wrench through a joint satisfies Newton and Euler for each bar."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from helpers.cut_four_bar import (
    AFTER,
    GRAVITY,
    LENGTHS,
    MASSES,
    by_bars,
    by_joints,
    closed,
    four_bar,
    newton_euler,
    turned,
)
from linkwork.mechanisms.algorithms.constraint_forces import constrained_joint_wrench
from linkwork.simulation import ContactGround, ForceTorqueSensor


def agree(robot, q, joint, w, forces, moment, error):
    """Assert that a wrench across a joint has the known components."""
    body = robot.tree.bodies[robot.tree.joint_index(joint)]
    sign = 1.0 if AFTER[joint] == body.name else -1.0
    f = sign * turned(by_bars(robot, q)[body.name], w[[3, 5]])
    return np.abs(f - forces[joint]).max() < error and np.abs(w[[0, 1, 2, 4]] - [0, sign * moment, 0, 0]).max() < error


def test_joint_wrenches_of_a_four_bar_do_not_depend_on_the_joint_that_closes_it():
    angle, torque, compared = closed(0.8), 0.7, 0
    for cut in "BCD":
        robot = four_bar(cut, stiffness=3.0, damping=0.2)
        q = by_joints(robot, angle)
        assert np.abs(robot.constraint_error(q)).max() < 1e-12
        v = np.linalg.svd(robot.constraint_jacobian(q))[2][-1]
        v = 3.0 * v / v[robot.joint("A").v_slice]
        tau = np.where([joint.name == "A" for joint in robot.joints], torque, 0.0)
        a, forces = robot.constrained_forward_dynamics(q, v, tau, passive=True)
        rate, bend = by_bars(robot, v), by_bars(robot, a)
        spring = -3.0 * (angle["rocker"] - angle["coupler"]) - 0.2 * (rate["rocker"] - rate["coupler"])
        felt, known = newton_euler(angle, rate, bend, spring)
        assert abs(felt - torque) < 1e-9
        for joint in ("A", "B", "C", "D"):
            if joint != cut:
                w = constrained_joint_wrench(robot.tree, joint, q, v, a, forces, passive=True)
                moment = {"A": torque, "C": spring}.get(joint, 0.0)
                assert agree(robot, q, joint, np.array(w), known, moment, 1e-9), (cut, joint)
                compared += 1
    assert compared == 9


@pytest.mark.slow(every=3)
@pytest.mark.parametrize("limits", [None, "held"])
def test_force_torque_sensors_in_a_four_bar_measure_static_and_dynamic_wrenches(limits):
    """At rest they equal statics; in motion they converge with smaller steps."""
    robot, angle = four_bar("C"), closed(0.8)
    q, at_rest = by_joints(robot, angle), dict.fromkeys(LENGTHS, 0.0)
    torque, known = newton_euler(angle, at_rest, at_rest)
    sensors = {joint: ForceTorqueSensor(joint) for joint in "ABD"}

    def pushed(t, q, v, push, **readings):
        return np.array([push, 0.0, 0.0])

    moved = []
    for push, step in ((torque, 1e-3), (torque + 1.0, 1e-3), (torque + 1.0, 5e-4)):
        how = {
            "constants": {"push": push},
            "duration": 0.02,
            "dt": step,
            "joint_limit_mode": limits,
            "sensors": sensors,
        }
        result = robot.simulate(q, controller=pushed, **how)
        last_readings = {joint: result.records[joint][-1] for joint in sensors}
        if push == torque:
            assert np.abs(result.q[-1] - q).max() < 1e-6
            for joint, w in last_readings.items():
                assert agree(robot, q, joint, w, known, torque if joint == "A" else 0.0, 1e-4), (limits, joint)
            continue
        at, rate = result.q[-1], result.v[-1]
        bend = (result.v[-1] - result.v[-2]) / step
        felt, forces = newton_euler(*(by_bars(robot, x) for x in (at, rate, bend)))
        assert abs(rate[0]) > 0.5
        moments = {"A": felt, "B": 0.0, "D": 0.0}
        errors = np.geomspace(1e-5, 10.0, 400)
        moved.append(
            min(
                e
                for e in errors
                if all(agree(robot, at, j, w, forces, moments[j], e) for j, w in last_readings.items())
            )
        )
    assert moved[1] < 0.6 * moved[0] and moved[1] < 0.05


def test_four_bar_on_the_ground_is_supported_by_hinges_and_contact():
    """A hinge transmits no moment about its axis."""
    robot, angle = four_bar("C"), closed(0.8)
    q = by_joints(robot, angle)
    height = -LENGTHS["crank"] * np.sin(0.8)
    ground = ContactGround(("crank end",), height=height, friction=0.5)
    sensors = {joint: ForceTorqueSensor(joint) for joint in "AD"}
    result = robot.simulate(q, duration=0.3, record_every=50, contacts=ground, sensors=sensors)
    assert np.abs(result.v[-1]).max() < 1e-5
    carried = result.records["contact_forces"][-1, 0]
    assert carried[2] > 1.0
    for joint, bar, sign in (("A", "crank", 1.0), ("D", "rocker", 1.0)):
        w = result.records[joint][-1]
        f = sign * turned(by_bars(robot, result.q[-1])[bar], w[[3, 5]])
        carried = carried + np.array([f[0], 0.0, f[1]])
        assert abs(w[1]) < 1e-4
    assert np.abs(carried - [0.0, 0.0, sum(MASSES.values()) * GRAVITY]).max() < 1e-3


def test_floating_joint_transmits_no_wrench():
    """A rod of fixed length or a rolling constraint carries the body."""
    body = lw.Link("b", mass=2.0, com=(0.02, 0.0, 0.05), inertia=(0.3, 0.2, 0.4))
    free = lw.Robot.build("h", body, lw.Joint.of(lw.joints.Floating(), name="F", parent="world", child="b"))
    hung = free.with_constraints(lw.constraints.Distance("b", "world", 0.5))
    q = free.neutral()
    q[4:] = 0.1, 0.2, -0.6
    rolling = lw.load("differential_drive")
    for robot, joint, start in ((hung, "F", hung.project(q)), (rolling, "drifting", rolling.neutral())):
        v = robot.project_velocity(start, 0.3 * np.arange(robot.nv))
        a, forces = robot.constrained_forward_dynamics(start, v, np.zeros(robot.nv))
        w = constrained_joint_wrench(robot.tree, joint, start, v, a, forces)
        size = np.abs(constrained_joint_wrench(robot.tree, joint, start, v, a, np.zeros(len(forces)))).max()
        assert size > 1.0 and np.abs(np.array(w)).max() < 1e-9 * size, joint


def test_forces_of_gears_and_prescribed_motions_are_measured_in_joints():
    """The forces of a gear, and of a prescribed motion, act like those of a motor."""
    z = lw.joints.Revolute((0, 0, 1))
    parts = [
        part
        for name in ("a", "b")
        for part in (
            lw.Link(name, mass=1.0, inertia=(0.1, 0.1, 0.1)),
            lw.Joint.of(z, name=name, parent="world", child=name),
        )
    ]
    geared = lw.Robot.build("gears", *parts).with_constraints(lw.constraints.Gear("a", "b", -2.0))
    q, v, tau = np.array([0.2, -0.1]), np.array([2.0, -1.0]), np.array([1.5, 0.0])
    a, forces = geared.constrained_forward_dynamics(q, v, tau)
    for k, joint in enumerate("ab"):
        w = constrained_joint_wrench(geared.tree, joint, q, v, a, forces)
        assert np.isclose(w[2], 0.1 * a[k]) and np.isclose(w[5], GRAVITY)
    driven = geared.with_constraints(lw.constraints.Prescribed("a", lambda t: 1.5 * t * t, name="drive"))
    sensors = {"axle": ForceTorqueSensor("a"), "other": ForceTorqueSensor("b")}
    result = driven.simulate(np.zeros(2), duration=0.05, sensors=sensors, record_every=10)
    assert np.abs(result.records["axle"][1:, 2] - 0.1 * 3.0).max() < 1e-6
    assert np.abs(result.records["other"][1:, 2] + 0.1 * 1.5).max() < 1e-6
    with pytest.raises(lw.errors.UnknownNameError, match="joint"):
        geared.simulate(q, duration=0.01, sensors={"s": ForceTorqueSensor("c")})


def welded(joint, **loop):
    """Two rods, a hand that ``joint`` mounts on the second, a tool welded to the hand, and a flap hinged to it."""
    y = lw.joints.Revolute((0, 1, 0))
    rod = {"mass": 1.0, "com": (0.25, 0.0, 0.0), "inertia": (0.01, 0.03, 0.03)}
    ahead = lw.pose((0.5, 0.0, 0.0))
    parts = [
        (lw.Link("upper", **rod), lw.Joint.of(y, name="hip", parent="world", child="upper")),
        (lw.Link("lower", **rod), lw.Joint.of(y, name="knee", parent="upper", child="lower", placement=ahead)),
        (
            lw.Link("hand", mass=0.6, com=(0.03, 0.01, 0.02), inertia=(0.01, 0.02, 0.015)),
            lw.Joint.of(
                joint, name="mount", parent="lower", child="hand", placement=lw.pose((0.5, 0.1, 0), rpy=(0.3, 0.2, 0.1))
            ),
        ),
        (
            lw.Link("tool", mass=0.2, com=(0.0, 0.0, 0.05)),
            lw.Joint.of(lw.joints.Fixed(), name="grip", parent="hand", child="tool", placement=ahead),
        ),
        (
            lw.Link("flap", mass=0.3, com=(0.0, 0.1, 0.0), inertia=(0.002, 0.001, 0.002)),
            lw.Joint.of(y, name="flap_hinge", parent="tool", child="flap", placement=lw.pose((0.0, 0.0, 0.1))),
        ),
    ]
    robot = lw.Robot.build("welded", *(part for pair in parts for part in pair))
    robot = robot.with_force_elements(lw.force_elements.SpringDamper("tool", "world", stiffness=20.0, rest_length=0.5))
    return robot.with_constraints(lw.constraints.Distance("tool", "upper", 0.9)) if loop else robot


@pytest.mark.slow(every=9)
def test_wrenches_measured_in_welds_equal_those_in_resting_joints():
    """Open and closed robots: a slider at rest in place of the weld has the same wrench."""
    for loop in ({}, {"loop": True}):
        robot, free = welded(lw.joints.Fixed(), **loop), welded(lw.joints.Prismatic((0, 0, 1)), **loop)
        q, v = np.array([0.4, 0.9, 0.2]), np.array([1.0, -0.7, 2.0])
        q, v = robot.project(q, v) if loop else (q, v)
        result = robot.simulate(q, v, duration=0.02, dt=1e-3, sensors={"weld": ForceTorqueSensor("mount")})
        middle, rate = 0.5 * (result.q[1:] + result.q[:-1]), 0.5 * (result.v[1:] + result.v[:-1])
        bend = np.diff(result.v, axis=0) / 1e-3
        known = {}
        if loop:
            forces = robot.constrained_forward_dynamics(middle, rate, np.zeros_like(rate), passive=True)[1]
            known = {"constraint_forces": forces}
        wide = [np.insert(x, 2, 0.0, axis=1) for x in (middle, rate, bend)]
        expected = free.joint_wrenches(*wide, passive=True, **known)[:, 2]
        assert np.abs(expected).max() > 3.0
        np.testing.assert_allclose(result.records["weld"][1:], expected, rtol=0, atol=1e-9)
    sensors = {"weld": ForceTorqueSensor("mount"), "grip": ForceTorqueSensor("grip")}
    values = {"inertia:hand": 1.3 * robot.parameters("inertia:hand")["inertia_hand"], "gravity": [0.0, 1.0, -9.0]}
    values |= {"placement:grip": [0.1, 0.2, 0.0, 0.0, 0.0, 0.0]}
    how = {"duration": 0.005, "dt": 1e-3, "sensors": sensors}
    robot = welded(lw.joints.Fixed())
    alone = robot.with_parameters(values).simulate(q, v, **how)
    result = robot.simulate(q, v, parameters=values, **how)
    for name in sensors:
        np.testing.assert_allclose(result.records[name], alone.records[name], rtol=0, atol=1e-9)
    with pytest.raises(ValueError, match=r"across fixed joint '\w+': expected the inertia of link .*'inertia:"):
        robot.simulate(q, v, parameters=robot.parameters("inertia"), **how)


def test_force_torque_sensors_in_loop_joints_measure_as_in_tree_joints():
    """At rest the forces of its pins bear the rocker, wherever the loop is closed."""
    angle = closed(0.8)
    at_rest = dict.fromkeys(LENGTHS, 0.0)
    torque = newton_euler(angle, at_rest, at_rest)[0]
    for cut, pins in (("C", "DC"), ("D", "CD")):
        robot = four_bar(cut)
        q = by_joints(robot, angle)
        tau = np.where([joint.name == "A" for joint in robot.joints], torque, 0.0)
        sensors = {joint: ForceTorqueSensor(joint) for joint in pins}
        result = robot.simulate(q, controller=lambda t, q, v, tau=tau: tau, duration=0.01, dt=1e-3, sensors=sensors)
        total = np.zeros(3)
        for joint in pins:
            frame = robot.loops[cut].other if joint == cut else robot.joint(joint).child
            on_rocker = 1.0 if robot.link(frame).body == "rocker" else -1.0
            total += on_rocker * robot.pose(result.q[-1], frame)[:3, :3] @ result.records[joint][-1, 3:]
        np.testing.assert_allclose(total, [0, 0, MASSES["rocker"] * GRAVITY], rtol=0, atol=1e-3)
