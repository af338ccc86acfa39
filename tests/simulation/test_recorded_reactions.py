"""Records of reactions, external wrenches, and controllers with a longer period."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from helpers.cut_four_bar import by_joints, closed, four_bar
from linkwork.simulation import ContactGround, ControlOutput, ForceTorqueSensor, ServoActuators

LIFT = np.array([0.1, -0.2, 0.3, 1.0, -2.0, 3.0])
REACTIONS = ("constraint_forces", "joint_wrenches", "loop_joint_wrenches")


@pytest.mark.slow(every=3)
def test_recorded_reaction_wrenches_equal_constrained_dynamics():
    """Loops, springs, a motor and an external wrench, by any method."""
    robot = four_bar("C", stiffness=3.0, damping=0.2)
    q = by_joints(robot, closed(0.8))
    push = np.array([0.7, 0.0, 0.0])
    for method in ("rk4", "semi_implicit_euler"):
        result = robot.simulate(
            q,
            controller=lambda t, q, v: push,
            duration=0.02,
            method=method,
            record=REACTIONS,
            wrenches={"coupler": LIFT},
            expressed_in="rocker",
        )
        for k in (0, 20):
            at, v = result.q[k], result.v[k]
            options = {"wrenches": {"coupler": LIFT}, "passive": True}
            a, forces = robot.constrained_forward_dynamics(at, v, push, expressed_in="rocker", **options)
            options |= {"wrenches_expressed_in": "rocker", "constraint_forces": forces}
            known = forces, robot.joint_wrenches(at, v, a, **options), robot.loop_joint_wrenches(at, v, a, **options)
            for name, expected in zip(REACTIONS, known, strict=True):
                assert np.abs(result.records[name][k] - expected).max() < 1e-9, (method, k, name)


@pytest.mark.slow(every=5)
def test_recorded_reactions_with_limits_and_servos_converge_to_the_reactions_of_the_state():
    """Held limits and servos are impulses of a step: reactions are of the step, and converge with it."""
    robot = four_bar("C")
    q = by_joints(robot, closed(0.8))
    exact = robot.simulate(
        q, duration=0.04, method="rk4", record=REACTIONS, record_every=40, wrenches={"coupler": LIFT}
    )
    servos = lambda t, q, v: ServoActuators(q, force=np.zeros(3))  # noqa: E731
    for how in ({"joint_limit_mode": "held"}, {"controller": servos}):
        errors = []
        for h in (1e-3, 2.5e-4):
            n = round(0.04 / h)
            result = robot.simulate(
                q, duration=0.04, dt=h, record=REACTIONS, record_every=n, wrenches={"coupler": LIFT}, **how
            )
            errors.append(max(np.abs(result.records[x][-1] - exact.records[x][-1]).max() for x in REACTIONS))
        assert errors[1] < 0.4 * errors[0] < 0.1, (how, errors)


@pytest.mark.slow(every=5)
def test_resting_body_is_supported_by_contacts_or_its_joint():
    """Record and sensor agree; on the ground the rail carries the remaining weight."""
    rail = lw.Joint.of(lw.joints.Prismatic((0, 0, 1)), name="rail", parent="world", child="box")
    box = lw.Robot.build("box", rail, lw.Link("box", mass=2.0, inertia=(0.1, 0.1, 0.1)))
    side = np.array([0.0, 0.0, 0.0, 3.0, 0.0, -5.0])
    result = box.simulate(
        [0.0],
        duration=0.5,
        record_every=100,
        contacts=ContactGround(("box",)),
        wrenches={"box": side},
        record=["joint_wrenches"],
        sensors={"rail_sensor": ForceTorqueSensor("rail")},
    )
    assert np.allclose(result.records["contact_forces"][-1][0], [0.0, 0.0, 2.0 * 9.81 + 5.0], atol=1e-6)
    assert np.allclose(result.records["joint_wrenches"][-1][0], [0.0, 0.0, 0.0, -3.0, 0.0, 0.0], atol=1e-5)
    assert np.allclose(result.records["rail_sensor"][-1], [0.0, 0.0, 0.0, -3.0, 0.0, 0.0], atol=1e-5)


@pytest.mark.slow(every=9)
def test_external_wrenches_in_simulations_act_as_in_forward_dynamics():
    """Constant, by environment, by step, and by a controller; in every stage of a method."""
    robot = lw.load("arm7")
    q, n = 0.3 * np.ones(7), 40
    how = {"duration": 0.04, "method": "rk4", "passive": False, "joint_limit_mode": "ignored"}
    constant = robot.simulate(q, wrenches={"hand": LIFT}, **how)
    by_step = robot.simulate(q, wrenches={"hand": np.tile(LIFT, (n, 1))}, **how)
    each = robot.simulate(np.tile(q, (3, 1)), wrenches={"hand": np.outer([0.0, 1.0, 2.0], LIFT)}, **how)
    both = robot.simulate(np.tile(q, (2, 1)), wrenches={"hand": np.tile(LIFT, (2, n, 1))}, **how)
    by_controller = robot.simulate(q, controller=lambda t, q, v: ControlOutput(np.zeros(7), {"hand": LIFT}), **how)
    pushed = robot.simulate(q, controller=lambda t, q, v: robot.static_torque(q, wrenches={"hand": LIFT}), **how)
    for q_of_run in (by_step.q, each.q[1], both.q[1], by_controller.q):
        assert np.array_equal(q_of_run, constant.q)
    fine = robot.simulate(q, wrenches={"hand": LIFT}, dt=1e-4, **how).q[-1]
    assert np.abs(constant.q[-1] - fine).max() < 1e-9 < np.abs(pushed.q[-1] - fine).max()
    a = robot.forward_dynamics(q, np.zeros(7), np.zeros(7), wrenches={"hand": LIFT})
    by_constant = robot.simulate(q, wrenches={"hand": LIFT}, **how)
    assert np.abs(by_constant.v[1] / 1e-3 - a).max() < 1e-2 * np.abs(a).max()
    turned = robot.simulate(q, wrenches={"hand": LIFT}, expressed_in="hand", **how)
    assert np.abs(turned.q - constant.q).max() > 1e-4


def test_invalid_wrenches_of_simulations_are_refused():
    robot = lw.load("arm7")
    q, how = np.zeros(7), {"duration": 0.01}
    for wrong, error, message in (
        ([1.0], TypeError, "simulate: wrenches: expected a dict by frame"),
        ({"hand": np.ones(5)}, ValueError, r"wrenches\['hand'\]: expected \(moment; force\)"),
        ({"hand": lambda t: np.ones(6)}, TypeError, r"wrenches\['hand'\]: .* got a function; pass \(\d+, 6\), a row"),
        ({"hand": np.full(6, np.nan)}, ValueError, r"wrenches\['hand'\]: expected finite numbers"),
        ({"hand": [np.nan] * 6}, ValueError, "expected finite numbers"),
        ({"base": LIFT}, ValueError, "fixed to the world"),
        ({"hnad": LIFT}, KeyError, "hnad"),
    ):
        with pytest.raises(error, match=message):
            robot.simulate(q, wrenches=wrong, **how)
    with pytest.raises(ValueError, match="for each environment or for each step"):
        robot.simulate(np.zeros((10, 7)), wrenches={"hand": np.ones((10, 6))}, **how)
    with pytest.raises(ValueError, match="does not support wrenches"):
        robot.simulate(q, wrenches={"hand": LIFT}, method="scipy:DOP853", **how)
    with pytest.raises(ValueError, match="record: 'constraint_forces': expected constraints"):
        robot.simulate(q, record=["constraint_forces"], **how)


class Counting:
    """An integrating controller, which counts how often it is evaluated."""

    start = np.zeros(1)

    def __call__(self, t, q, v, z):
        return -20.0 * v - 50.0 * q + 0.1 * z, z + 1.0


def test_sampled_controller_is_evaluated_at_its_period():
    robot = lw.Robot.build(
        "cart",
        lw.Joint.of(lw.joints.Prismatic((1, 0, 0)), name="rail", parent="world", child="cart"),
        lw.Link("cart", mass=2.0),
    )
    n, h, steps = 10, 1e-3, 400  # more steps than a piece of compiled code has, and no multiple of it
    result = robot.simulate([1.0], controller=Counting(), duration=steps * h, control_every=n, record=["tau"])
    assert result.controller_state == steps / n
    q, v, z, tau = 1.0, 0.0, 0.0, 0.0
    for k in range(steps):
        if k % n == 0:
            tau, z = -20.0 * v - 50.0 * q + 0.1 * z, z + 1.0
        v += h * tau / 2.0
        q += h * v
        assert abs(result.records["tau"][k + 1, 0] - tau) < 1e-9 and abs(result.q[k + 1, 0] - q) < 1e-9

    def servos(t, q, v):
        return ServoActuators(position=np.sin(t) + 0.0 * q, stiffness=100.0, damping=20.0)

    with_servos = robot.simulate([0.0], controller=servos, duration=0.4, control_every=n)
    known = robot.simulate(
        [0.0],
        controller=lambda t, q, v, goal: ServoActuators(position=goal, stiffness=100.0, damping=20.0),
        duration=0.4,
        time_inputs={"goal": np.sin(h * n * (np.arange(steps) // n))[:, None]},
    )
    assert np.abs(with_servos.q - known.q).max() < 1e-12
    with pytest.raises(ValueError, match="control_every: expected a number of steps >= 1"):
        robot.simulate([0.0], controller=servos, duration=0.4, control_every=0)


def test_names_of_recorded_frames_have_underscores_for_special_characters():
    """Two records may not have one name."""
    robot = lw.load("arm7").with_frame("left/hand", "hand", np.eye(4)).with_frame("left-hand", "hand", np.eye(4))
    result = robot.simulate(np.zeros(7), duration=0.002, record=[("pose", "left/hand"), "tau"])
    assert np.allclose(result.records["pose_left_hand"][0], robot.pose(np.zeros(7), "left/hand"))
    with pytest.raises(ValueError, match=r"are both called 'pose_left_hand'"):
        robot.simulate(np.zeros(7), duration=0.002, record=[("pose", "left/hand"), ("pose", "left-hand")])
