"""Energies of simulations in records, plots and pages include active springs, force elements and armature."""

from __future__ import annotations

import inspect

import matplotlib.pyplot
import numpy as np
import pytest

import linkwork as lw
from linkwork import joints
from linkwork.force_elements import Bushing, SpringDamper
from linkwork.model.random_tree import random_tree
from linkwork.viewer.scenes.simulation_scenes import simulation_document

from ..helpers.cut_four_bar import four_bar

RECORDS = ("kinetic_energy", "potential_energy", "lagrangian")


def sprung(seed):
    """Return a random tree without damping, with springs and armature in joints and between bodies, and a state."""
    rng = np.random.default_rng(seed)
    robot = lw.Robot(random_tree(rng, 3, types=(joints.Revolute, joints.Prismatic)))
    robot = robot.with_joint_dynamics(damping=0.0, friction=0.0, stiffness=3.0, armature=0.5)
    elements = SpringDamper("body0", "ground0", name="coil", stiffness=5.0), Bushing("body2", "ground1", stiffness=4.0)
    return robot.with_force_elements(*elements), robot.random_configuration(rng), rng.normal(size=robot.nv)


@pytest.mark.slow(every=5)
def test_recorded_energies_are_those_of_the_simulated_robot(tmp_path, drawn):
    """T + U of undamped motion is constant, with and without passive forces, wherever it is shown."""
    for seed in drawn(range(4)):
        robot, q, v = sprung(seed)
        for passive in (True, False):
            how = {"duration": 0.3, "method": "rk4", "passive": passive, "record_every": 30}
            run = robot.simulate(q, v, record=RECORDS, **how)
            T, U = run.records["kinetic_energy"], run.records["potential_energy"]
            scale = np.abs(T).max() + np.abs(U).max()
            assert np.ptp(T + U) < 1e-8 * scale and np.ptp(U) > 1e-3 * scale, (seed, passive)
            assert np.allclose(run.records["lagrangian"], T - U, rtol=0.0, atol=1e-12 * scale)
            run.save(tmp_path / "run.npz")
            read = lw.simulation.Simulation.load(tmp_path / "run.npz", robot=robot)
            for shown in (run, read, robot.simulate(q, v, **{**how, "method": "scipy:DOP853"})):
                lines = {line.get_label(): line.get_ydata() for axes in shown.plot() for line in axes.lines}
                assert np.allclose(lines["kinetic"], T, rtol=0.0, atol=1e-7 * scale), (seed, passive)
                assert np.allclose(lines["sum"], T + U, rtol=0.0, atol=1e-7 * scale), (seed, passive)
            matplotlib.pyplot.close("all")
            energy = next(plot for plot in simulation_document(run, rate=100.0).plots if plot.title == "energy")
            assert np.ptp(np.asarray(energy.values)[:, 2]) < 1e-8 * scale


@pytest.mark.slow(every=3)
def test_recorded_functions_have_the_passive_option_of_the_simulation():
    """A recorded function with an option ``passive`` has that of the simulation, and its law of friction."""
    robot, q, v = sprung(0)
    names = ["mass_matrix", "gravity_force", "bias_force", "forward_dynamics", "kinetic_energy", "potential_energy"]
    for passive in (True, False):
        run = robot.simulate(q, v, duration=0.002, passive=passive, record=names, record_every=2)
        state = {"q": run.q[-1], "v": run.v[-1], "tau": np.zeros(robot.nv)}
        for name in names:
            function = getattr(robot, name)
            taken = [state[x] for x in inspect.signature(function).parameters if x in state]
            right = function(*taken, passive=passive)
            assert np.allclose(run.records[name][-1], right, rtol=1e-12, atol=1e-12), (name, passive)


@pytest.mark.slow(every=5)
def test_recorded_energies_include_springs_and_dampers_of_loop_joints():
    """A four-bar with a spring and a damper, cut at any joint: T + U falls by the dissipated work."""
    for cut in "BCD":
        robot = four_bar(cut, stiffness=3.0, damping=1.0)
        q = robot.assemble(robot.random_configuration(seed=3)).q
        v = robot.project_velocity(q, np.ones(robot.nv))
        run = robot.simulate(q, v, duration=0.5, method="rk4", record=RECORDS)
        T, U = run.records["kinetic_energy"], run.records["potential_energy"]
        assert np.allclose(run.records["lagrangian"], T - U, rtol=0.0, atol=1e-12)
        work = np.trapezoid(robot.power(run.q, run.v, np.zeros(3), passive=True)[2], run.t)
        assert work > 1e-3 and T[0] + U[0] - T[-1] - U[-1] == pytest.approx(work, rel=1e-3), cut
