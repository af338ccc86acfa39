"""Linkages that pass flat and folded configurations stay on their branch, by every method."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import linkwork as lw
from linkwork import joints
from linkwork.errors import SimulationWarning

HINGE = joints.Revolute((0, 1, 0))


def bar(name, length, rng):
    inertia = np.full(3, rng.uniform(0.01, 0.05))
    frames = {f"{name}_tip": lw.pose((length, 0, 0))}
    return lw.Link(name, mass=rng.uniform(0.5, 2.0), com=(0.5 * length, 0, 0), inertia=inertia, frames=frames)


def parallelogram(rng, gravity, longer=1.0):
    """Return a parallelogram, a state, and the error of its rocker, which is parallel to the crank.

    Its coupler is ``longer`` by this factor.
    """
    a, d, angle, rate = rng.uniform(0.2, 0.5), rng.uniform(0.5, 1.0), rng.uniform(0.3, 1.2), rng.uniform(4.0, 12.0)
    robot = lw.Robot.build(
        "parallelogram",
        *(bar("crank", a, rng), bar("coupler", longer * d, rng), bar("rocker", a, rng)),
        lw.Joint.of(HINGE, name="first", parent="world", child="crank"),
        lw.Joint.of(HINGE, name="second", parent="crank", child="coupler", placement=(a, 0, 0)),
        lw.Joint.of(HINGE, name="third", parent="world", child="rocker", placement=(d, 0, 0)),
        gravity=gravity,
    )
    velocity, closed = np.array([1.0, -1.0, 1.0]), robot.with_loop("pin", "coupler_tip", "rocker_tip", HINGE)
    return closed, angle * velocity, rate * velocity, lambda q: np.sin(q[:, 0] - q[:, 2])


def slider_crank(rng, gravity):
    """A slider-crank with bars of one length, which folds, and the error of its slide."""
    a, angle, rate = rng.uniform(0.2, 0.5), rng.uniform(0.3, 1.2), rng.uniform(4.0, 12.0)
    robot = lw.Robot.build(
        "slider_crank",
        *(bar("crank", a, rng), bar("coupler", a, rng), lw.Link("slide", mass=rng.uniform(0.5, 2.0))),
        lw.Joint.of(HINGE, name="first", parent="world", child="crank"),
        lw.Joint.of(HINGE, name="second", parent="crank", child="coupler", placement=(a, 0, 0)),
        lw.Joint.of(joints.Prismatic((1, 0, 0)), name="third", parent="world", child="slide"),
        gravity=gravity,
    )
    q = np.array([-angle, 2.0 * angle, 2.0 * a * np.cos(angle)])
    v = rate * np.array([-1.0, 2.0, -2.0 * a * np.sin(angle)])
    wide = robot.with_loop("pin", "coupler_tip", "slide", HINGE)
    return wide, q, v, lambda q: q[:, 2] - 2.0 * a * np.cos(q[:, 0])


@pytest.mark.slow(every=5)
def test_simulated_linkages_pass_singular_configurations_on_their_branch(drawn):
    for seed in drawn(range(20)):
        rng = np.random.default_rng(seed)
        robot, q, v, error = (slider_crank if seed % 3 else parallelogram)(rng, (0, 0, -9.81 * (seed % 2)))
        for method in ("dormand_prince", "rk4", "semi_implicit_euler"):
            run = robot.simulate(q, v, duration=1.5, method=method)
            # where it lies flat, the error of the loop is the square of this one
            assert run.success and np.abs(error(run.q)).max() < 1e-3, (seed, method)
            energy = robot.kinetic_energy(run.q, run.v) + robot.potential_energy(run.q)
            bound = 1e-6 if method == "dormand_prince" else 1e-2
            assert np.ptp(energy) < bound * robot.kinetic_energy(run.q, run.v).max(), (seed, method)


@pytest.mark.slow(every=5)
def test_adaptive_simulation_method_conserves_energy_past_nearly_singular_configurations(drawn):
    for seed in drawn(range(6)):
        rng = np.random.default_rng(seed)
        robot, q, v, _ = parallelogram(rng, (0, 0, -9.81), 1.0 + 10.0 ** -(seed + 1.5))
        q, v = robot.project(q, v)
        run = robot.simulate(q, v, duration=1.5, method="dormand_prince")
        energy = robot.kinetic_energy(run.q, run.v) + robot.potential_energy(run.q)
        assert run.success and np.ptp(energy) < 1e-6 * robot.kinetic_energy(run.q, run.v).max(), seed


def test_adaptive_simulation_method_reports_more_than_a_thousand_substeps():
    """The first speed takes some 900, the second one 1100."""
    v = np.array([[30.0, -30.0], [37.0, -37.0]])
    run = lw.load("double_pendulum").simulate([0.3, 0.2], v, duration=1.0, dt=1.0, method="dormand_prince")
    assert list(run.status) == ["completed", "step_not_solved"]


def test_adaptive_simulation_method_resolves_a_stiff_spring_in_a_loop():
    """Substeps are short where accuracy requires it, and not near a singular configuration."""
    bar = lw.load("fourbar")
    q = bar.assemble().q
    stiff = bar.with_joint_dynamics(stiffness={"rocker_hinge": 1e7}, rest={"rocker_hinge": q[2:] + 1e-3})
    end = stiff.simulate(q, duration=0.01, method="dormand_prince")
    fine = stiff.simulate(q, duration=0.01, dt=1e-6, method="rk4", record_every=10_000)
    assert end.success and np.allclose(end.v[-1], fine.v[-1], rtol=1e-4)


@pytest.mark.slow(every=3)
def test_stiff_springs_gain_no_energy_beside_singular_configurations():
    """A parallelogram with a coupler that is too long by 1e-7 lies nearly flat, where a spring holds it.

    There is an assembled configuration nearby, but the robot has too little energy to move its spring there.
    """
    robot, q, v, _ = parallelogram(np.random.default_rng(1), (0, 0, -9.81), 1.0 + 1e-7)
    q = robot.assemble(q).q
    stiffness = 1e7 * np.eye(3)[:2]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SimulationWarning)  # of steps that are too long for the spring
        run = robot.simulate(
            np.tile(q, (2, 1)),
            np.tile(robot.project_velocity(q, v), (2, 1)),
            duration=0.06,
            parameters={"stiffness": stiffness, "damping": np.zeros(3)},
            joint_limit_mode="ignored",
            record=("kinetic_energy", "potential_energy"),
        )
    kinetic = run.records["kinetic_energy"]
    rises = np.diff(kinetic + run.records["potential_energy"], axis=1).max(axis=1)
    assert run.success.all() and (rises < 1e-9 * kinetic.max(axis=1)).all(), rises
    assert np.abs(robot.constraint_error(run.q)).max() < 1e-6
