"""Force elements in simulation: every method applies them, energy is conserved, stiff ones settle with a warning."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import SimulationWarning

SYMPLECTIC = ("semi_implicit_euler", "variational")


def slider(stiffness, damping=0.0, kind="spring"):
    """Build a slider of 1 kg on a rail with a force element."""
    robot = lw.Robot.build(
        "slider",
        lw.Link("mass", mass=1.0),
        lw.Joint.of(lw.joints.Prismatic((1, 0, 0)), name="rail", parent="world", child="mass"),
    ).with_frame("wall", "world", lw.pose((-1.0, 0.0, 0.0)))
    if kind == "spring":
        how = {"stiffness": stiffness, "damping": damping, "rest_length": 1.0}
        return robot.with_force_elements(lw.force_elements.SpringDamper("wall", "mass", name="held", **how))
    rest_pose = lw.pose((1.0, 0.0, 0.0))
    return robot.with_force_elements(
        lw.force_elements.Bushing("mass", "wall", stiffness=stiffness, damping=damping, rest=rest_pose)
    )


def fourbar(stiffness, damping=0.0, stretched=0.1):
    """A four-bar with a spring between its coupler and the world, assembled, and the spring longer than at rest [m]."""
    robot = lw.load("fourbar").with_joint_dynamics(damping=0.0, friction=0.0)
    robot = robot.with_frame("above", "world", lw.pose((0.3, 0.0, 0.6)))
    robot = robot.with_frame("eye", "coupler", lw.pose((0.05, 0.0, 0.02)))
    q = robot.neutral()
    length = float(np.linalg.norm(robot.pose(q, "eye", relative_to="above")[:3, 3]))
    how = {"stiffness": stiffness, "damping": damping, "rest_length": length - stretched}
    return robot.with_force_elements(lw.force_elements.SpringDamper("above", "eye", name="held", **how)), q


def energies(robot, q, v=None, **how):
    """Return the total energy by record, and the largest kinetic energy."""

    def both(t, q, v, tau):
        return [robot.kinetic_energy(q, v, passive=True), robot.potential_energy(q, passive=True)]

    result = robot.simulate(q, v, record={"both": both}, joint_limit_mode="ignored", **how)
    assert np.all(result.success), result.explain()
    return result.records["both"].sum(axis=-1), result.records["both"][:, 0].max()


@pytest.mark.slow(every=9)
def test_force_elements_act_by_every_simulation_method():
    """A spring with a damper on a four-bar, and on a slider; the reference is the most accurate method."""
    bar, start = fourbar(20.0, 1.0)
    bushing_slider = slider(100.0, 2.0, "bushing")
    for robot, q in ((bar, start), (bushing_slider, np.array([0.1]))):
        how = {"duration": 0.2, "record_every": 200, "joint_limit_mode": "ignored"}
        best = robot.simulate(q, method="dormand_prince", **how).q[-1]
        far = np.abs(best - robot.without_force_elements().simulate(q, method="dormand_prince", **how).q[-1]).max()
        assert far > 0.05
        for method in ("semi_implicit_euler", "variational", "implicit_midpoint"):
            assert np.abs(robot.simulate(q, method=method, **how).q[-1] - best).max() < 0.02 * far, method
        assert np.abs(robot.simulate(q, friction="coulomb", **how).q[-1] - best).max() < 0.05 * far


@pytest.mark.slow(every=5)
def test_simulated_undamped_force_elements_conserve_energy():
    """A slider on a spring, and a four-bar on one, which moves by a large part of its length, over 10 s."""
    bar, start = fourbar(50.0)
    cases = ((slider(100.0), [0.1], 5e-3), (bar, start, 1e-3))
    for robot, q, h in cases:
        for method in SYMPLECTIC:
            energy, size = energies(robot, q, duration=10.0, dt=h, method=method, record_every=5)
            error = (energy - energy[0]) / size
            most = 0.03 if robot.nv == 1 and method == "semi_implicit_euler" else 1e-3
            assert np.abs(error).max() < most, (robot.name, method, np.abs(error).max())
            assert abs(error[-200:].mean() - error[:200].mean()) < 0.1 * most, (robot.name, method)


@pytest.mark.slow(every=3)
def test_force_elements_too_stiff_for_the_time_step_settle_with_a_warning():
    """Springs with their own damping, or slow enough for the step, cause no warning."""
    for kind in ("spring", "bushing"):
        for method in SYMPLECTIC:
            robot = slider(1e6, 0.0, kind)
            with pytest.warns(SimulationWarning, match="too fast for steps of 0.01 s, and is treated implicitly"):
                result = robot.simulate([0.1], duration=0.5, dt=0.01, method=method)
            assert np.abs(result.q[-1]) < 1e-9 and np.abs(result.v[-1]) < 1e-9, (kind, method)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        slider(1e6, 2e4).simulate([0.1], duration=0.5, dt=0.01)
        slider(100.0).simulate([0.1], duration=0.01, dt=0.01)


@pytest.mark.slow(every=9)
@pytest.mark.parametrize(("stiffness", "damping"), [(2.5e3, 0.0), (3.9e4, 0.0), (1e8, 1.0), (1.0, 1e6)])
def test_simulated_force_elements_of_any_stiffness_and_damping_are_stable(stiffness, damping):
    """Slow springs and springs far too fast for the step, in a tree, a loop and the convex program."""
    bar, start = fourbar(stiffness, damping, 0.01)
    for robot, q in ((slider(stiffness, damping), [0.1]), (bar, start)):
        for how in ({}, {"method": "variational"}, {"friction": "coulomb"}):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SimulationWarning)
                energy, _ = energies(robot, q, duration=2.0, dt=0.01, **how)
            stored = energy[0] - robot.without_force_elements().potential_energy(q)
            gains = 1e-9 if "method" in how or (robot.constraints and not how) else 0.6
            assert energy.max() - energy[0] < gains * stored, (robot.name, how)
