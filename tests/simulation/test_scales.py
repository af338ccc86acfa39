"""Scenes in other units: powers of two of length, mass and time give the same bits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from helpers.resisted import resisted
from invariants.changes import in_other_units
from linkwork.simulation import ContactGround, ContactPair, ContactPoint, JointStops, ServoActuators

STEP, STEPS = 2.0**-10, 200
PARTS = {"cart": 1.5, "bar": 0.7}
DIMS = np.array([0.2, 0.3, 0.1])
UNITS = [(2.0**10, 4.0, 1.0), (1.0, 2.0**-10, 1.0), (1.0, 4.0, 2.0**10), (2.0**-10, 2.0**20, 2.0**-10)]


def box():
    """A free box on the ground at its neutral configuration, and its corners."""
    robot = lw.Robot.build("box", lw.Link("box", lw.shapes.Box(tuple(DIMS.tolist())), mass=1.5), floating_base=True)
    q = robot.neutral()
    q[-1] = 0.5 * DIMS[2]
    return robot, q


def ground(L, link="box", **material):
    corners = [0.5 * L * DIMS * [x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
    return ContactGround(tuple(ContactPoint(link, tuple(at.tolist())) for at in corners), **material)


def scenes():
    """Return robot, q, v and options of a simulation by scene, as functions of the units of length, mass and time."""
    robot, q = box()
    resting, tilted = q - np.eye(7)[6] * 1e-4, robot.integrate(q, [0.2, 0.3, 0.0, 0.0, 0.0, 0.3])
    zero_velocity, moving = np.zeros(6), np.array([1.0, 2.0, 3.0, 0.5, 0.0, 0.0])
    arm = lw.load("arm7").with_parameters({"gravity": [0.0, 0.0, 0.0]})
    enforced_limits = {"joint_limit_mode": "held"}
    dry = lw.Robot(resisted(arm.tree)).with_joint_dynamics(stiffness=dict.fromkeys(arm.v_names, 0.0))

    def servo(L, m, T):
        """A servo at each joint."""
        unit = m * L**2 / T**2

        def controller(t, q, v):
            return ServoActuators([0.1] * 7, stiffness=100.0 * unit, damping=2.0 * unit * T, limit=8.0 * unit)

        return {"controller": controller, "joint_limit_mode": "ignored"}

    slide = lw.Robot.build(
        "gantry",
        *(lw.Link(name, mass=mass, com=(0.1, 0.0, -0.2), inertia=(0.02, 0.03, 0.04)) for name, mass in PARTS.items()),
        lw.Joint.of(lw.joints.Prismatic((1, 0, 0)), name="slide", parent="world", child="cart", lower=-0.2, upper=0.35),
        lw.Joint.of(lw.joints.Revolute((0, 1, 0)), name="hinge", parent="cart", child="bar", lower=-0.5, upper=0.5),
    )
    free, q_arm = {"joint_limit_mode": "ignored"}, 0.5 * (arm.lower + arm.upper)
    mechanism = lw.load("fourbar")
    near = [replace(body, limits=replace(body.limits, lower=(-0.6,), upper=(0.6,))) for body in mechanism.tree.bodies]
    closed = mechanism.assemble(position_limits=False).q
    mechanism = lw.Robot(replace(mechanism.tree, bodies=tuple(near)))
    return {
        "rest": (robot, resting, zero_velocity, lambda L, m, T: {"contacts": ground(L)}),
        "deep": (robot, q - np.eye(7)[6] * 0.03, zero_velocity, lambda L, m, T: {"contacts": ground(L)}),
        "fall": (robot, tilted, moving, lambda L, m, T: {"contacts": ground(L, friction=0.5, restitution=0.6)}),
        "soft": (robot, tilted, moving, lambda L, m, T: {"contacts": ground(L, stiffness=1e4 * m / T**2)}),
        "limits": (arm, arm.upper + 1e-3, np.zeros(7), lambda L, m, T: enforced_limits),
        "soft limits": (slide, [0.3, 0.3], [1.0, 2.0], lambda L, m, T: {"joint_limit_mode": JointStops(0.0625 * T)}),
        "servos": (arm, q_arm, np.zeros(7), servo),
        "friction": (dry, q_arm, np.ones(7), lambda L, m, T: {"friction": "coulomb", **free}),
        "implicit": (slide, [0.1, 0.1], [1.0, 2.0], lambda L, m, T: {"method": "implicit_midpoint", **free}),
        "loop": (
            mechanism,
            closed,
            mechanism.project_velocity(closed, [1.0, 0.0, 0.0]),
            lambda L, m, T: enforced_limits,
        ),
    }


@pytest.mark.slow(every=9)
@pytest.mark.filterwarnings("ignore:simulate. bodies that overlap at the start")
@pytest.mark.parametrize("name", scenes())
def test_simulations_do_not_depend_on_units(name, drawn):
    robot, q, v, options = scenes()[name]

    def simulated(L, m, T):
        tree, s_q, s_v = in_other_units(robot.tree, L, m, T)
        scaled = lw.Robot(tree).simulate(
            q * s_q, v * s_v, duration=STEPS * STEP * T, dt=STEP * T, record_every=STEPS, **options(L, m, T)
        )
        assert scaled.success, f"{name} {L} {m} {T}"
        return scaled.q[-1] / s_q, scaled.v[-1] / s_v

    expected = simulated(1.0, 4.0, 1.0)  # masses of 1 kg are folded, which rounds some sums in another order
    assert np.abs(expected[0] - q).max() > 1e-6
    for units in drawn(UNITS):
        for scaled, usual in zip(simulated(*units), expected, strict=True):
            np.testing.assert_array_equal(scaled, usual, err_msg=f"{name} {units}")


def test_adaptive_substeps_do_not_depend_on_the_unit_of_length():
    """The tolerance of lengths is relative to the robot."""
    stage = lw.Robot.build(
        "stage",
        lw.Link("cart", mass=4.0),
        lw.Joint.of(lw.joints.Prismatic((1, 0, 0)), name="rail", parent="world", child="cart"),
        lw.Link("pole", mass=2.0, com=(0.0, 0.0, -0.4), inertia=(0.01, 0.01, 0.01)),
        lw.Joint.of(lw.joints.Revolute((0, 1, 0)), name="pin", parent="cart", child="pole", placement=(0.1, 0, 0)),
    ).with_joint_dynamics(stiffness={"rail": 1e3})
    ends = []
    for L in (1.0, 2.0**-20, 2.0**13):
        tree, s_q, s_v = in_other_units(stage.tree, L, 1.0)
        run = lw.Robot(tree).simulate(
            [0.1, 2.0] * s_q, [0.3, 4.0] * s_v, duration=0.5, dt=0.05, method="dormand_prince"
        )
        ends.append(run.q[-1] / s_q)
    np.testing.assert_array_equal(ends, [ends[0]] * 3)


@pytest.mark.slow(every=9)
def test_simulated_stack_of_boxes_does_not_depend_on_units():
    """Two boxes, one of which falls on the other: sizes and masses by powers of two."""

    def simulated(L, m, T):
        links = [
            lw.Link(name, lw.shapes.Box(tuple((size * L * DIMS).tolist())), mass=mass * m)
            for name, size, mass in (("low", 1.0, 1.5), ("high", 0.5, 0.75))
        ]
        floating = lw.joints.Floating()
        joints = [lw.Joint.of(floating, name=f"free {x.name}", parent="world", child=x.name) for x in links]
        robot = lw.Robot.build("stack", *links, *joints, gravity=(0.0, 0.0, -9.75 * L / T**2))
        low, high = (np.zeros(6) for _ in range(2))
        low[5], high[3:] = 0.5 * DIMS[2] * L, [0.01 * L, 0.02 * L, 1.3 * DIMS[2] * L]
        q = robot.integrate(robot.neutral(), np.concatenate([low, high]))
        contacts = [ground(L, link="low"), ContactPair("low", "high")]
        run = robot.simulate(q, duration=STEPS * STEP * T, dt=STEP * T, record_every=STEPS, contacts=contacts)
        assert run.success
        return robot.difference(q, run.q[-1]) / np.tile([1, 1, 1, L, L, L], 2)

    expected = simulated(1.0, 4.0, 1.0)
    assert np.abs(expected).max() > 1e-3
    for units in UNITS[:3]:
        np.testing.assert_allclose(simulated(*units), expected, rtol=0, atol=1e-9, err_msg=str(units))


@pytest.mark.slow(every=5)
def test_simulated_bodies_of_any_size_come_to_rest():
    """On the ground and beyond a limit, from 1 mm to 1 km: each step is solved."""
    robot, q = box()
    for L in (1e-3, 1.0, 1e3):
        tree, s_q, _ = in_other_units(robot.tree, L, L**3)
        result = lw.Robot(tree).simulate(q * s_q, duration=0.3, contacts=ground(L), record_every=100)
        assert result.success and np.abs(result.v[-1]).max() < 1e-6 * L


def test_recovery_from_a_violated_joint_limit_is_continuous_in_gravity():
    """A hinge beyond its limit without and with almost no gravity; parameters do not matter."""
    hinge = lw.Joint.of(lw.joints.Revolute((0, 1, 0)), name="hinge", parent="world", child="bar", upper=0.5)
    wrist = lw.Joint.of(
        lw.joints.Revolute((0, 1, 0)), name="wrist", parent="bar", child="hand", placement=lw.pose((0.4, 0, 0))
    )
    links = [lw.Link(name, mass=1.0, inertia=(0.1, 0.1, 0.1)) for name in ("bar", "hand")]
    arm = lw.Robot.build("arm", hinge, wrist, *links).with_gravity([0.0, 0.0, 0.0])
    options = {"duration": 0.5, "dt": 2e-3, "joint_limit_mode": "held"}
    weightless, weak = (robot.simulate([0.55, 0.0], **options) for robot in (arm, arm.with_gravity([0.0, 0.0, -1e-9])))
    assert weightless.q[-1, 0] < 0.548 and np.abs(weightless.q - weak.q).max() < 1e-7
    parameters = arm.parameters(["placement:*"])
    assert (
        parameters and np.abs(arm.simulate([0.55, 0.0], **options, parameters=parameters).q - weightless.q).max() < 1e-9
    )
    for dt in (1e-7, 1e-6, 1e-4):  # with gravity, a short step does not speed up recovery
        heavy = arm.with_gravity([0.0, 0.0, -9.81]).simulate([0.6, 0.0], **options | {"dt": dt, "duration": 100 * dt})
        assert -0.084 * np.sqrt(9.81 / 0.4) < heavy.v[-1, 0] < 0.0
