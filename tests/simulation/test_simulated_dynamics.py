"""Accelerations, stops and rotations of simulated robots on floats, against closed forms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork._util import own_code
from linkwork.constraints import Prescribed
from linkwork.expr import array, where
from linkwork.expr.scalar.functions import lt, sin
from linkwork.simulation import ContactGround, ControlOutput, Encoder, Event, JointStops, joint_limits
from linkwork.simulation.rollout.fast_turns import _are_tumbling
from linkwork.simulation.rollout.simulated_dynamics import SimulatedDynamics
from linkwork.simulation.rollout.spring_steps import _joint_rates, independent_inertias
from linkwork.simulation.simulation_spec import SimulationSetup


def rails(**limits: float) -> lw.Robot:
    """Return a mass of 2 kg on a rail, and a mass of 0.5 kg on a rail across."""
    return lw.Robot.build(
        "rails",
        lw.Link("a", mass=2.0),
        lw.Link("b", mass=0.5),
        lw.Joint.of(lw.joints.Prismatic((0, 0, 1)), name="up", parent="world", child="a", **limits),
        lw.Joint.of(lw.joints.Prismatic((1, 0, 0)), name="across", parent="a", child="b", **limits),
    )


def test_prescribed_motion_has_its_acceleration_at_the_time_of_the_step() -> None:
    """z = sin 3t, so z̈ = -9 sin 3t at every time; the mass across accelerates by its force."""
    robot = rails().with_constraints(Prescribed("up", lambda t: sin(3.0 * t)))
    setup = SimulationSetup(robot, "rk4", False, None, (), 1)
    system = SimulatedDynamics.of(setup, {}, 0.01).system([0.0, 1.5])
    for t in (0.0, 0.3, 1.1):
        state = [math.sin(3.0 * t), 0.2], [3.0 * math.cos(3.0 * t), -0.4]
        a = [float(x) for x in system.acceleration(t, *state)]
        assert np.abs(np.array(a) - [-9.0 * math.sin(3.0 * t), 3.0]).max() < 1e-12, t


def test_stops_act_on_joints_that_constraints_leave_free(monkeypatch: pytest.MonkeyPatch) -> None:
    robot, stops = rails(lower=-0.1, upper=0.2), JointStops(time=0.05, damping_ratio=1.0)
    at_limits: Any = [0.2, -0.1], [0.0, 0.0]
    assert np.abs(np.array(stops.forces(robot, False, *at_limits), dtype=float)).max() < 1e-9
    beyond: Any = [0.23, -0.13], [0.0, 0.0]
    up, across = (float(x) for x in stops.forces(robot, False, *beyond))
    assert up < -10.0 and across > 2.0 and abs(up / across + 5.0) < 1e-9  # by the effective inertias, 2.5 and 0.5
    monkeypatch.setattr(own_code, "_replaced", {})
    monkeypatch.setattr(joint_limits, "_inertias", lambda robot, passive, coordinates: [math.inf, 0.5])
    forces = [float(x) for x in stops.forces(robot, False, *beyond)]
    assert forces == [0.0, across]


def test_bodies_tumble_unless_they_spin_about_a_principal_axis() -> None:
    ball = lw.Robot.build(
        "ball",
        lw.Link("a", mass=2.0, inertia=(0.2, 0.3, 0.4)),
        lw.Link("b", mass=0.5, inertia=(0.1, 0.1, 0.1)),
        lw.Joint.of(lw.joints.Spherical(), name="ball", parent="world", child="a"),
        lw.Joint.of(lw.joints.Spherical(), name="second", parent="a", child="b"),
    )
    q = ball.neutral()
    for scale in (0.1, 1.0, 30.0):
        for spin, tumbles in (((1, 0, 0), False), ((0, 0, -1), False), ((0.02, 0, 1), False), ((0.1, 0, 1), True)):
            v = scale * np.array([*spin, 0.3, -0.2, 0.5])
            assert _are_tumbling(ball, q, v).tolist() == [tumbles] * 3 + [False] * 3, (scale, spin)


def test_weak_springs_of_light_joints_vibrate_with_their_frequency() -> None:
    """ω² = K/m and the damper's rate D/m of a mass of 0.4 kg on a spring of 0.3 N/m."""
    robot = lw.Robot.build(
        "spring",
        lw.Link("a", mass=0.4),
        lw.Joint.of(lw.joints.Prismatic((0, 0, 1)), name="rail", parent="world", child="a", stiffness=0.3, damping=0.2),
    )
    ((square, rate, name),) = _joint_rates(robot, robot, None)
    assert abs(float(square) - 0.75) < 1e-12 and abs(float(rate) - 0.5) < 1e-12 and name == "rail"
    bare = lw.Robot.build(
        "bare",
        lw.Link("a"),
        lw.Joint.of(lw.joints.Prismatic((0, 0, 1)), name="rail", parent="world", child="a", stiffness=0.3),
    )
    assert list(independent_inertias(bare).joints) == [0.0]
    assert abs(independent_inertias(robot).joints[0] - 0.4) < 1e-12
    assert _joint_rates(rails(), rails(), None) == []


def test_solvers_of_scipy_follow_a_controller_and_stop_at_its_failure() -> None:
    """A mass of 2 kg with the force -18 z, constant in each step: z is of a discrete oscillator; NaN ends the run."""
    pytest.importorskip("scipy")
    robot, h = rails(), 0.1

    def controller(t: Any, q: Any, v: Any, limit: Any) -> Any:
        return array([where(lt(t, limit[0]), -18.0 * q[0], math.nan) + 2.5 * 9.81, 0.0])

    how: dict[str, Any] = {"duration": 0.3, "dt": h, "method": "scipy:RK45", "passive": False}
    run = robot.simulate([[0.5, 0.0]] * 2, controller=controller, constants={"limit": [[1.0], [0.15]]}, **how)
    z, rate = 0.5, 0.0
    for k in range(4):
        assert abs(run.q[0, k, 0] - z) < 1e-9 and abs(run.v[0, k, 0] - rate) < 1e-9
        a = -18.0 * z / 2.5
        z, rate = z + h * rate + 0.5 * h * h * a, rate + h * a
    assert run.status.tolist() == ["completed", "controller_failed"] and abs(run.stopped_at[1] - 0.2) < 1e-12
    pushed = ControlOutput([0.0, 0.0], {"a": np.zeros(6)})
    with pytest.raises(ValueError, match=r"'scipy:\.\.\.' does not support wrenches"):
        robot.simulate([0.5, 0.0], controller=lambda t, q, v: pushed, **how)
    contacts = ContactGround(("a",), height=-5.0, stiffness=1e4)
    for option, words in (
        ({"events": [Event("e", lambda t, q, v: q[0])]}, "events"),
        ({"record": ["kinetic_energy"]}, "record"),
        ({"sensors": {"e": Encoder()}}, "sensors"),
    ):
        with pytest.raises(ValueError, match=f"method: 'scipy:RK45' does not support {words}; choose another method"):
            robot.simulate([0.5, 0.0], **how, **option)
    for option in ({"contacts": contacts}, {"joint_limit_mode": "held"}):
        with pytest.raises(
            ValueError, match=r"expected the method 'semi_implicit_euler', or .*; got method='scipy:RK45'"
        ):
            robot.simulate([0.5, 0.0], **how, **option)
    run = robot.simulate([0.5, 0.0], **how, contacts=contacts, contact_model="compliant")
    assert np.abs(run.q[:, 0] - (0.5 - 0.5 * 9.81 * run.t**2)).max() < 1e-9
