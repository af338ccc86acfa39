"""Springs, dampers and dry friction in a step: of tree joints, coupled joints, and loop joints."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import linkwork as lw
from helpers.cut_four_bar import by_bars, by_joints, closed, four_bar
from linkwork.errors import SimulationWarning

IGNORED = {"joint_limit_mode": "ignored"}
METHODS = ({}, {"method": "variational"}, {"friction": "coulomb"})


def resting(cut, shift=0.0, **resisting):
    """Return a four-bar cut at a joint, and a configuration that is ``shift`` [rad] from the rest of C's spring."""
    robot = four_bar(cut, **resisting)
    q = by_joints(robot, closed(0.8))
    return robot.with_parameters({"rest:C": angle_of_C(robot, q) + shift}), q


def angle_of_C(robot, q):
    """Return the angle (..., 1) of joint C, in the tree or closing the loop."""
    return robot.loop_configuration(q) if robot.constraints[0].name == "C" else q[..., robot.joint("C").q_slice]


def simulated(robot, q, v=None, **how):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SimulationWarning)
        run = robot.simulate(q, v, **(IGNORED | how))
    assert np.all(run.success), run.explain()
    return run


@pytest.mark.slow(every=5)
def test_passive_forces_of_a_four_bar_do_not_depend_on_the_joint_that_closes_it(drawn):
    """Joint C resists in the tree or as loop joint."""
    cases = ({"damping": 0.1, "stiffness": 3.0, "friction": 0.05}, {"damping": 1e5}, {"stiffness": 1e7, "damping": 0.3})
    for resisting in drawn(cases):
        for how in METHODS:
            ends = []
            for cut in "BCD":
                robot, q = resting(cut, **resisting)
                run = simulated(robot, q, duration=0.3, record_every=300, **how)
                ends.append(np.array([x for _, x in sorted(by_bars(robot, run.q[-1]).items())]))
            # constraints in a program yield by a millionth; steps agree to second order: a quarter at half the step
            allowed = 1e-5 if "friction" in how else 2e-6
            assert np.ptp(ends, axis=0).max() < allowed, (resisting, how)


def sliders(**how):
    """Return two sliders, of which one follows the other backwards, and one slider that moves as they do."""
    joint, ratio = lw.joints.Prismatic((0, 0, 1)), -0.7
    slower = how | {"friction_velocity": 0.7e-2} if "friction" in how else how  # a share of the other's speed
    how |= {"friction_velocity": 1e-2} if "friction" in how else {}
    parts = [lw.Joint.of(joint, name=x, parent="world", child=f"mass {x}", **y) for x, y in (("a", how), ("b", slower))]
    two = lw.Robot.build("two", *parts, lw.Link("mass a", mass=1.0), lw.Link("mass b", mass=3.0))
    powers = {"stiffness": 2, "damping": 2, "friction": 1}
    sums = {key: x * (1.0 + abs(ratio) ** powers[key]) if key in powers else x for key, x in how.items()}
    weight = lw.Joint.of(joint, name="a", parent="world", child="mass a", **sums)
    mass, pull = 1.0 + 3.0 * ratio * ratio, 1.0 + 3.0 * ratio
    single_slider = lw.Robot.build("one", weight, lw.Link("mass a", mass=mass))
    return two.with_couplings({"b": ("a", ratio)}), single_slider.with_gravity((0.0, 0.0, -pull / mass * 9.81))


@pytest.mark.slow(every=3)
def test_passive_forces_of_coupled_joints_act_by_every_simulation_method():
    """Two coupled sliders move as one slider of their masses, springs, dampers and friction, however stiff."""
    cases = (({"damping": 0.3, "stiffness": 20.0, "friction": 0.5}, METHODS), ({"damping": 1e7}, METHODS[:1]))
    for resisting, methods in (*cases, ({"stiffness": 1e8, "damping": 1.0}, METHODS[:1])):
        coupled, equivalent = sliders(**resisting)
        for how in methods:
            a, b = (simulated(x, [0.2], [0.1], duration=0.5, record_every=10, **how) for x in (coupled, equivalent))
            assert np.abs(a.q - b.q).max() < 1e-12 and np.abs(a.v - b.v).max() < 1e-10, (resisting, how)
            assert np.abs(a.q).max() < 1.0


def wrist(**how):
    """Return two hinges on a palm, of which the second follows the first by -0.7."""
    hinge = lw.joints.Revolute((0, 1, 0))
    return lw.Robot.build(
        "wrist",
        lw.Link("palm", mass=2.0, inertia=(0.02, 0.03, 0.04)),
        lw.Joint.of(hinge, name="a", parent="palm", child="near", placement=lw.pose((0.1, 0, 0)), **how),
        lw.Link("near", mass=0.3, com=(0.05, 0, 0), inertia=(1e-3,) * 3),
        lw.Joint.of(hinge, name="b", parent="near", child="far", placement=lw.pose((0.1, 0, 0)), **how),
        lw.Link("far", mass=0.2, com=(0.05, 0, 0), inertia=(5e-4,) * 3),
        floating_base=not how,
    )


@pytest.mark.slow(every=3)
def test_simulated_coupling_moves_as_a_gear_constraint():
    """Both converge to the same motion with shorter steps."""
    robot = wrist(damping=0.05, stiffness=1.0, friction=0.02)
    coupled = robot.with_couplings({"b": ("a", -0.7)})
    geared = robot.with_constraints(lw.constraints.Gear("b", "a", ratio=-0.7))
    for how in METHODS:
        apart = []
        for h in (2e-3, 1e-3):
            times = {"duration": 0.4, "dt": h, "record_every": round(0.4 / h)}
            ends = [simulated(x, q, **times, **how).q[-1, 0] for x, q in ((coupled, [0.3]), (geared, [0.3, -0.21]))]
            apart.append(abs(ends[0] - ends[1]))
        assert apart[1] < max(0.6 * apart[0], 1e-10), (how, apart)
        assert apart[1] < 1e-3


def test_simulated_coupling_conserves_the_momentum_of_a_free_robot():
    """Errors are near those of a free robot without a coupling."""
    free = wrist()
    errors = []
    for robot in (free.with_couplings({"b": ("a", -0.7)}), free.with_locked_joints({"b": 0.0})):
        v = np.random.default_rng(0).normal(size=robot.nv)
        run = simulated(robot, robot.neutral(), v, duration=5.0, record_every=500, parameters={"gravity": [0.0] * 3})
        momentum = robot.momentum(run.q, run.v)
        errors.append(np.abs(momentum / np.linalg.norm(momentum[0]) - momentum[0] / np.linalg.norm(momentum[0])).max())
    assert errors[0] < 1e-3 and errors[0] < 5.0 * errors[1], errors


@pytest.mark.slow(every=5)
def test_simulated_joints_of_any_stiffness_and_damping_add_no_energy(drawn):
    """A million times the stiffness and damping of a joint of a four-bar, in the tree or as loop joint."""
    stiff, damped = {"stiffness": 0.5e6}, {"damping": 1e3}
    for cut, resisting in drawn([(cut, resistance) for cut in "BCb" for resistance in (stiff, damped, stiff | damped)]):
        if cut == "b":
            robot, q = wrist(**resisting).with_couplings({"b": ("a", -0.7)}), np.array([0.01])
        else:
            robot, q = resting(cut, 1e-3, **resisting)
        for resistance in METHODS:
            run = simulated(robot, q, duration=2.0, record_every=20, **resistance)
            energy = robot.kinetic_energy(run.q, run.v) + energy_of_springs(robot, run.q, cut)
            energy += robot.without_constraints().potential_energy(run.q)
            assert energy.max() - energy[0] < 1e-3 * np.abs(energy).max(), (cut, resisting, resistance)


def energy_of_springs(robot, q, joint_name):
    """Return the energy of the springs of joint C of a four-bar, or of both joints of a wrist whose angle is q."""
    if joint_name == "b":
        return 0.5 * robot.stiffness[0] * (1.0 + 0.7**2) * q[:, 0] ** 2
    pin = robot.constraints["C"] if joint_name == "C" else robot.joint("C")
    return 0.5 * sum(pin.stiffness) * (angle_of_C(robot, q)[:, 0] - pin.rest[0]) ** 2


@pytest.mark.slow(every=3)
def test_springs_too_stiff_with_inertia_parameters_settle():
    """A spring too fast for the step with the mass parameter settles as in the edited robot."""

    def slider(mass, owner):
        spring = {"stiffness": 2e3} if owner == "joint" else {}
        rail = lw.Joint.of(lw.joints.Prismatic((1, 0, 0)), name="rail", parent="world", child="mass", **spring)
        robot = lw.Robot.build("slider", rail, lw.Link("mass", mass=mass)).with_frame(
            "wall", "world", lw.pose((-1, 0, 0))
        )
        sprung = lw.force_elements.SpringDamper("wall", "mass", stiffness=2e3, rest_length=1.0)
        return robot if owner == "joint" else robot.with_force_elements(sprung)

    for owner in ("joint", "element"):
        light = slider(0.01, owner)
        inertia = {"inertia:mass": light.parameters("inertia:mass")["inertia_mass"]}
        for how in METHODS[:2]:
            run = simulated(slider(1.0, owner), [0.1], duration=0.05, dt=5e-3, parameters=inertia, **how)
            assert np.abs(run.q - simulated(light, [0.1], duration=0.05, dt=5e-3, **how).q).max() < 1e-12, (owner, how)
            assert abs(run.q[-1, 0]) < 1e-3
