"""Steps that do not resolve a motion are divided, and mechanisms gain no energy from springs and dampers."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.simulation import Encoder, Event

from ..helpers import linkages
from ..helpers.cut_four_bar import four_bar
from ..matrix.kinds import kind_of


def moving(robot):
    q = robot.assemble(robot.random_configuration(seed=100)).q
    return q, robot.project_velocity(q, np.random.default_rng(1).normal(size=robot.nv))


@pytest.mark.slow(every=5)
@pytest.mark.filterwarnings("ignore:simulate. dt")
def test_springs_too_stiff_for_the_time_step_add_no_energy_to_loops():
    """A spring of 10⁶ N·m/rad far from its rest position, in tree joints and in the loop joint.

    The scissor lift passes configurations in which its bars coincide, where a step may end with a small error.
    """
    stiffness = 1e6
    for robot, name, gap in (
        (four_bar("C"), "D", 1e-9),
        (four_bar("D"), "C", 1e-9),
        (four_bar("D"), "D", 1e-9),
        (linkages.spatial_slider_crank(), "slide", 1e-9),
        (lw.load("scissor_lift"), "slide", 1e-6),
    ):
        spring = {f"stiffness:{name}": [stiffness]}
        result = robot.simulate(*moving(robot), duration=0.1, parameters=spring, joint_limit_mode="ignored")
        closes = name not in robot.v_names
        angle = robot.loop_configuration(result.q)[:, 0] if closes else result.q[:, robot.v_names.index(name)]
        energy = (
            robot.kinetic_energy(result.q, result.v) + robot.potential_energy(result.q) + 0.5 * stiffness * angle**2
        )
        assert result.success, (name, result.explain())
        assert np.diff(energy).max() < 1e-6 * energy[0], name
        assert np.abs(robot.constraint_error(result.q)).max() < gap, name


@pytest.mark.slow(every=9)
def test_strong_dampers_add_no_energy_to_simulated_loops():
    """Ball joints of a delta robot whose dampers stop them at once: the other joints move on."""
    robot = lw.load("delta")
    q, v = moving(robot)
    damping = {"damping:ball_2a": 1e6 * np.eye(3)[:2]}
    result = robot.simulate(
        np.tile(q, (2, 1)), np.tile(v, (2, 1)), duration=2.0, parameters=damping, joint_limit_mode="ignored"
    )
    kinetic = robot.kinetic_energy(result.q, result.v)
    energy = kinetic + robot.potential_energy(result.q)
    assert np.all(result.success) and np.diff(energy, axis=1).max() < 1e-9 * kinetic.max()


@pytest.mark.slow(every=5)
@pytest.mark.filterwarnings("ignore:simulate. dt")
def test_implicit_methods_converge_in_a_loop_closed_by_a_composite_joint():
    """Steps of 4 ms end near the Runge–Kutta motion."""
    kind = kind_of("loop: composite")
    robot, rng = kind.robot, np.random.default_rng(3)
    v = kind.allowed(np.random.default_rng(2).normal(size=robot.nv) * 0.7, kind.q)
    options_of_method = {}
    for key, share in (("armature", 1.0), ("stiffness", 10.0), ("damping", 1.0), ("friction", 1.0)):
        options_of_method |= {
            name: share * rng.uniform(0.1, 0.4, np.shape(x)) for name, x in robot.parameters([f"{key}:*"]).items()
        }
    options_of_method |= {name: np.ones_like(x) for name, x in robot.parameters(["friction_velocity:*"]).items()}
    options = {"duration": 0.16, "parameters": options_of_method, "joint_limit_mode": "ignored"}
    best = robot.simulate(kind.q, v, method="rk4", **options).q[-1]
    for method, far in (("implicit_euler", 2e-3), ("implicit_midpoint", 1e-5)):
        result = robot.simulate(kind.q, v, dt=4e-3, method=method, **options)
        assert result.success, result.explain()
        assert np.abs(robot.difference(best, result.q[-1])).max() < far, method


@pytest.mark.slow(every=3)
@pytest.mark.filterwarnings("ignore:simulate")
def test_implicit_methods_rotate_ball_joints_by_small_steps():
    """A body at 5000 rad/s on a stiff ball joint: steps of 1 ms have roots with other revolutions."""
    moments, stiffness = np.array([0.3, 0.5, 0.4]), np.array([1e6, 2e6, 5e5])
    joint = lw.Joint.of(lw.joints.Spherical(), name="ball", parent="world", child="body")
    robot = lw.Robot.build("ball", lw.Link("body", mass=1.3, com=(0, 0, 0), inertia=tuple(moments)), joint)
    q = robot.neutral()
    v = 4.6e3 * np.array([1.0, 0.1, -0.2])
    for method, most in (("implicit_euler", 1.01), ("implicit_midpoint", 1.5)):
        result = robot.with_gravity((0, 0, 0)).simulate(
            q, v, duration=0.3, method=method, parameters={"stiffness:ball": stiffness}, joint_limit_mode="ignored"
        )
        turned = robot.difference(q, result.q)
        energy = robot.kinetic_energy(result.q, result.v) + 0.5 * (stiffness * turned**2).sum(axis=-1)
        assert result.success and energy.max() < most * energy[0], method


@pytest.mark.slow(every=5)
@pytest.mark.filterwarnings("ignore:simulate. dt")
def test_springs_far_from_rest_add_no_energy_to_simulated_trees():
    """A spring of 10⁶ or 3·10⁴ N·m/rad, implicit or not, in an arm with coupled fingers."""
    robot = lw.load("arm7_gripper")
    q = np.clip(robot.random_configuration(seed=1), -1.0, 1.0)
    v = np.random.default_rng(1).normal(size=robot.nv)
    for stiffness, fraction in ((1e6, 0.1), (3e4, 1.0)):
        spring = {"stiffness:shoulder_lift": [stiffness]}
        result = robot.simulate(q, v, duration=0.2, parameters=spring, joint_limit_mode="ignored")
        turned = result.q[:, robot.v_names.index("shoulder_lift")]
        energy = (
            robot.kinetic_energy(result.q, result.v) + robot.potential_energy(result.q) + 0.5 * stiffness * turned**2
        )
        assert result.success and np.diff(energy).max() < 1e-3 * energy[0] and energy[-1] < fraction * energy[0], (
            stiffness
        )


@pytest.mark.slow(every=5)
@pytest.mark.filterwarnings("ignore:simulate. dt")
def test_time_steps_are_divided_equally_with_sensors_events_and_signals():
    """A fast pendulum on a spring, which gains no energy, and a slow one, whose steps are not divided."""
    robot = lw.load("double_pendulum").with_joint_dynamics(stiffness=[2e4, 0.0])
    q, v = np.array([[1.0, 0.3], [1e-4, 0.0]]), np.zeros((2, 2))
    options = {"duration": 0.05, "joint_limit_mode": "ignored"}
    plain = robot.simulate(q, v, **options)
    turned = plain.q[..., 0]
    energy = robot.kinetic_energy(plain.q, plain.v) + robot.potential_energy(plain.q) + 1e4 * turned**2
    assert plain.success.all() and np.diff(energy[0]).max() < 1e-3 * energy[0, 0] and np.ptp(energy[1]) < 1e-4
    for changes in (
        {"sensors": {"angle": Encoder("elbow")}},
        {"events": [Event("far", lambda t, q, v: q[0] - 50.0)]},
        {"controller": lambda t, q, v, u: u, "time_inputs": {"u": np.zeros((50, 2))}},
    ):
        same = robot.simulate(q, v, **options, **changes)
        np.testing.assert_allclose(same.q, plain.q, rtol=0.0, atol=1e-10)


def test_spring_of_a_loop_joint_may_be_zero_in_the_first_environment():
    robot = four_bar("D")
    q, v = moving(robot)
    each = {"stiffness:D": np.array([[0.0], [5.0]])}
    options = {"duration": 0.01, "joint_limit_mode": "ignored"}
    both = robot.simulate(np.tile(q, (2, 1)), np.tile(v, (2, 1)), parameters=each, **options)
    alone = robot.simulate(q, v, parameters={"stiffness:D": [5.0]}, **options)
    np.testing.assert_allclose(both.q[1], alone.q, atol=1e-12)
