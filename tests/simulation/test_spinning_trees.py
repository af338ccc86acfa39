"""Energy of trees with fast rotors, by every method: drones, tops, gyroscopes, and random trees with a rotor."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import SimulationWarning, SingularInertiaError
from linkwork.simulation import ServoActuators

REVOLUTE, BALL, FLOATING = lw.joints.Revolute, lw.joints.Spherical, lw.joints.Floating
ENERGIES = {"record": ["kinetic_energy", "potential_energy"], "joint_limit_mode": "ignored"}
STABLE = ("semi_implicit_euler", "variational", "implicit_midpoint", "rk4")


def link(rng, name, mass, size):
    """A link of random moments of inertia and centre of mass."""
    moments = mass * size**2 * rng.uniform(0.1, 0.18, 3)
    return lw.Link(name, mass=mass, com=0.1 * size * rng.normal(size=3), inertia=np.diag(moments))


def joint(rng, name, kind, parent, child):
    return lw.Joint.of(kind, name=name, parent=parent, child=child, placement=lw.pose(0.15 * rng.normal(size=3)))


def spinning_tree(seed, spin):
    """Return a random tree on a floating, ball or hinge joint, with a balanced rotor, and a state with its spin."""
    rng = np.random.default_rng(seed)
    root = (FLOATING(), BALL(), REVOLUTE(rng.normal(size=3)))[seed % 3]
    parts, names = [link(rng, "base", 1.0, 0.3), joint(rng, "root", root, "world", "base")], ["base"]
    for k in range(1 + seed % 2):
        kind = REVOLUTE(rng.normal(size=3)) if rng.uniform() < 0.6 else BALL()
        parts += [link(rng, f"link{k}", 0.5, 0.2), joint(rng, f"joint{k}", kind, str(rng.choice(names)), f"link{k}")]
        names.append(f"link{k}")
    rotor = lw.Link("rotor", mass=0.1, inertia=np.diag([2e-4, 2e-4, 3.5e-4]))
    robot = lw.Robot.build(f"tree {seed}", *parts, rotor, joint(rng, "spin", REVOLUTE((0, 0, 1)), names[-1], "rotor"))
    v = 0.5 * rng.normal(size=robot.nv)
    v[robot.joint("spin").v_slice] = spin
    return robot, robot.random_configuration(seed=seed), v


def top(spin):
    """A heavy top on a ball joint."""
    body = lw.Link("top", mass=1.0, com=(0, 0, 0.1), inertia=np.diag([0.013, 0.0135, 0.005]))
    robot = lw.Robot.build("top", body, lw.Joint.of(BALL(), name="ball", parent="world", child="top"))
    return robot, robot.integrate(robot.neutral(), [0.4, 0.1, 0.0]), np.array([0.3, 0.1, spin])


def energy_error(robot, q, v, **how):
    """Return the largest change of the energy, relative to the largest kinetic energy."""
    run = robot.simulate(q, v, **ENERGIES, **how)
    assert run.success, (robot.name, how, run.message)
    total = run.records["kinetic_energy"] + run.records["potential_energy"]
    return np.abs(total - total[0]).max() / run.records["kinetic_energy"].max()


@pytest.mark.slow(every=9)
def test_energy_of_simulated_fast_rotors_is_bounded(drawn):
    """Steps rotate the rotor by up to 4 rad."""
    for seed in drawn(range(9)):
        for spin in (200.0, 2000.0):
            robot, q, v = spinning_tree(seed, spin)
            for method in STABLE:
                for h in (2e-3, 5e-4):
                    error = energy_error(robot, q, v, duration=4.0, dt=h, method=method, record_every=10)
                    first = method == "semi_implicit_euler"
                    bound = 1e-3 * (h / 5e-4) if first else 1.5e-4 * (h / 5e-4) ** 2
                    assert error < bound, (robot.name, spin, method, h, error)


@pytest.mark.slow
def test_energy_of_simulated_fast_rotors_is_bounded_over_a_minute():
    for seed in range(3):
        robot, q, v = spinning_tree(seed, 2000.0)
        assert energy_error(robot, q, v, duration=60.0, record_every=100) < 1e-3, robot.name


def test_simulated_tops_conserve_energy_with_and_without_joint_friction():
    """A top on a ball joint, in plain steps and in steps that solve a program."""
    robot, q, v = top(2000.0)
    assert energy_error(robot, q, v, duration=4.0, record_every=10) < 1e-7
    idle = ServoActuators(robot.neutral())
    assert energy_error(robot, q, v, duration=4.0, record_every=10, controller=lambda t, q, v: idle) < 1e-5


@pytest.mark.slow(every=5)
def test_rotations_too_large_for_a_simulation_method_are_reported():
    """MuJoCo's steps have inertial forces of their start; an unbalanced rotor needs shorter steps."""
    robot, q, v = top(300.0)
    with pytest.warns(SimulationWarning, match="which add energy; use a step of 0.00033 s, or method='variational'"):
        robot.simulate(q, v, duration=0.01, method="mujoco_euler")
    arm = lw.Robot.build(
        "unbalanced",
        link(np.random.default_rng(0), "arm", 1.0, 0.3),
        lw.Joint.of(REVOLUTE((1, 0, 0)), name="shoulder", parent="world", child="arm"),
        lw.Link("rotor", mass=0.1, com=(0.05, 0, 0), inertia=(1e-4, 2e-4, 1e-4)),
        lw.Joint.of(REVOLUTE((0, 0, 1)), name="spin", parent="arm", child="rotor", placement=lw.pose([0, 0.2, 0])),
    )
    with pytest.warns(SimulationWarning, match="'spin' rotates by 0.5 rad .* not balanced about its axis"):
        arm.simulate(arm.neutral(), [0.1, 500.0], duration=0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        arm.simulate(arm.neutral(), [0.1, 200.0], duration=0.01)
        robot, q, v = spinning_tree(2, 2000.0)
        robot.simulate(q, v, duration=0.01)
        flywheel = lw.Robot.build(
            "flywheel",
            link(np.random.default_rng(0), "wheel", 1.0, 0.3),
            lw.Joint.of(REVOLUTE((0, 0, 1)), name="spin", parent="world", child="wheel"),
        )  # an axis that is fixed has no inertial forces
        flywheel.simulate([0.0], [200.0], duration=0.01, method="mujoco_euler")


@pytest.mark.slow(every=9)
def test_free_body_that_tumbles_too_fast_for_the_time_step_is_reported():
    """It gains energy; a spin about a principal axis is exact at any speed, and so is that of a sphere."""
    for inertia, spin, gains in (
        ((0.2, 0.2, 0.3), [60.0, 200.0, 100.0], True),
        ((0.2, 0.2, 0.3), [0.0, 0.0, 200.0], False),
        ((0.2, 0.2, 0.2), [60.0, 200.0, 100.0], False),
    ):
        floating = lw.Joint.of(lw.joints.Floating(), name="free", parent="world", child="body")
        body = lw.Link("body", mass=1.0, com=(0.1, 0.0, 0.2), inertia=inertia)
        robot = lw.Robot.build("free", body, floating, gravity=(0.0, 0.0, 0.0))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            motion = robot.simulate(robot.neutral(), [*spin, 0.0, 0.0, 0.0], duration=0.5, dt=5e-3)
        energy = robot.kinetic_energy(motion.q, motion.v)
        assert (np.abs(energy / energy[0] - 1.0).max() > 1e-12) == gains
        assert ["tumbles" in str(x.message) for x in caught] == [True] * gains


@pytest.mark.filterwarnings("ignore::linkwork.errors.ModelWarning")
def test_warnings_of_fast_rotation_do_not_depend_on_the_unit_of_length():
    """An unbalanced ball on a fast sled, in m and in km: its velocities are small numbers in km/s."""
    for length in (1.0, 1e-3):
        inertia = np.array([0.02, 0.020002, 0.0200001]) * length**2
        sled = lw.Joint.of(lw.joints.Prismatic((1, 0, 0)), name="sled", parent="world", child="sled")
        ball = lw.Joint.of(lw.joints.Spherical(), name="ball", parent="sled", child="body")
        body = lw.Link("body", mass=1.2, com=(1e-3 * length, 0, 0), inertia=tuple(inertia))
        robot = lw.Robot.build("sled", lw.Link("sled", mass=1.0), body, sled, ball, gravity=(0.0, 0.0, 0.0))
        with pytest.warns(lw.errors.SimulationWarning, match="rotates by"):
            robot.simulate(robot.neutral(), [5.0 * length, 0.3, 4.0, 2.0], duration=0.2, dt=0.1)


@pytest.mark.slow(every=5)
def test_joints_that_tumble_too_fast_for_the_time_step_are_reported(drawn):
    """Joints with several rotations gain energy at 0.5 rad a step; a spin about a principal axis is exact."""
    composite = lw.joints.Composite((REVOLUTE((1, 0, 0)), lw.joints.Universal((0, 0, 1), (0, 1, 0))))
    universal = lw.joints.Universal((0, 0.6, 0.8), (1, 0, 0))
    balls = [lw.joints.Spherical(), lw.joints.SphericalMRP(), lw.joints.Reversed(lw.joints.Spherical())]
    tumbles, spin = np.array([60.0, -90.0, 100.0]), np.array([0.0, 0.0, 100.0])
    cases = [(universal, tumbles), *((joint, v) for joint in (*balls, composite) for v in (tumbles, spin))]
    for joint, v in drawn(cases):
        body = lw.Link("body", mass=1.0, com=(0, 0, 0.2), inertia=(0.1, 0.2, 0.3))
        tumbler = lw.Joint.of(joint, name="ball", parent="world", child="body")
        robot = lw.Robot.build("tumbling", body, tumbler, gravity=(0.0, 0.0, 0.0))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            motion = robot.simulate(robot.neutral(), v[: robot.nv], duration=0.02, dt=5e-3)
        energy = robot.kinetic_energy(motion.q, motion.v)
        gains = bool(np.abs(energy / energy[0] - 1.0).max() > 1e-3)
        assert any("rotates by" in str(x.message) for x in caught) == gains, (joint, v)
        assert gains or v is spin, joint
    both = np.array([spin, tumbles])[:, : robot.nv]
    with pytest.warns(lw.errors.SimulationWarning, match="in environment 1"):
        robot.simulate(np.tile(robot.neutral(), (2, 1)), both, duration=0.02, dt=5e-3)


def test_arm_that_rotates_too_fast_for_the_time_step_is_reported():
    arm = lw.load("arm6")
    v = 200.0 * np.random.default_rng(1).normal(size=arm.nv)
    with pytest.warns(SimulationWarning, match="rad in a step of 0.001 s at 0.001 s, too far for inertial forces"):
        arm.simulate(arm.neutral(), v, duration=0.01, joint_limit_mode="ignored")


@pytest.mark.parametrize("how", [{}, {"friction": "coulomb"}, {"joint_limit_mode": "held"}], ids=str)
def test_joints_without_inertia_are_refused_in_simulations_unless_they_have_damping(how):
    """Two hinges on one axis with a massless link between them."""

    def ends(first, v):
        solid = {"mass": 1.0, "com": (0.1, 0.2, 0.3), "inertia": np.diag([0.02, 0.03, 0.04])}
        robot = lw.Robot.build(
            "stacked hinges",
            lw.Link("arm", **solid),
            lw.Joint.of(REVOLUTE((0, 1, 0)), name="shoulder", parent="world", child="arm"),
            lw.Link("between"),
            first,
            lw.Link("hand", **solid),
            lw.Joint.of(REVOLUTE((0, 0, 1)), name="second", parent="between", child="hand"),
        )
        run = robot.simulate(robot.neutral(), v, duration=0.02, dt=0.01, **how)
        assert run.success, run.message
        return run.v[-1]

    def hinge(damping):
        return lw.Joint.of(REVOLUTE((0, 0, 1)), name="first", parent="arm", child="between", damping=damping)

    fixed = lw.Joint.of(lw.joints.Fixed(), name="first", parent="arm", child="between")
    damped_end, fixed_end = ends(hinge(0.1), [0.1, 0.0, 0.2]), ends(fixed, [0.1, 0.2])
    assert np.abs(damped_end - [fixed_end[0], 0.0, fixed_end[1]]).max() < 1e-12
    with pytest.raises(SingularInertiaError, match="'first' and 'second' move no inertia"):
        ends(hinge(0.0), [0.1, 0.0, 0.2])
