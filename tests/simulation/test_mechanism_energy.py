"""Mechanisms with loops in simulation: energy over time, orders of methods, and constraints."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from benchmarks.mechanisms.energy import bundled_mechanism, energy_runs, random_mechanism

import linkwork as lw
from linkwork import joints
from linkwork.errors import SimulationWarning
from linkwork.simulation import ContactGround, ContactPoint, ServoActuators

from ..helpers.fourbars import fourbars, parallel
from ..helpers.mechanisms import driven

CRANK = "crank_hinge"


def turning_fourbar(speed):
    robot = lw.load("fourbar")
    q = robot.neutral()
    return robot, q, robot.explicit_velocity(q, {CRANK: speed}, [CRANK])


def energies(result):
    return result.records["kinetic_energy"] + result.records["potential_energy"]


ENERGIES = {"record": ["kinetic_energy", "potential_energy"], "joint_limit_mode": "ignored"}


@pytest.mark.slow(every=9)
@pytest.mark.parametrize("method", ["semi_implicit_euler", "variational"])
def test_energy_of_simulated_loops_is_bounded(method):
    """A bundled four-bar and random loops over 20 s: the variational method has no drift."""
    seeds = (0, 1) if method == "variational" else (0, 5)  # the last one comes near its dead points
    mechanisms = [bundled_mechanism("fourbar"), *(random_mechanism(np.random.default_rng(seed)) for seed in seeds)]
    for robot, q in mechanisms:
        coarse, fine = energy_runs(robot, q, method, steps=(2e-3, 1e-3), speeds=(6.0,), duration=20.0)
        for run in (coarse, fine):
            assert not run.reason and run.error < (0.3 * run.turn**2 if method == "variational" else 1e-9), run
            assert method != "variational" or abs(run.drift) < 0.02 * run.error, run
        assert method != "variational" or coarse.error / fine.error > 3.0, (coarse, fine)


@pytest.mark.slow(every=9)
@pytest.mark.parametrize("method", ["semi_implicit_euler", "variational"])
def test_energy_of_simulated_rolling_robots_is_conserved(method):
    """A bicycle that falls over, its wheels flat on the ground, and a cart on two wheels."""
    for name in ("bicycle", "differential_drive"):
        for run in energy_runs(*bundled_mechanism(name), method, steps=(2e-3,), speeds=(3.0, 10.0), duration=3.0):
            assert not run.reason and run.error < 1e-9, run


@pytest.mark.slow(every=5)
def test_simulated_free_linkage_conserves_momentum_and_energy():
    """Four bars in a vacuum: momentum to rounding, and energy to the accuracy of the step."""
    hinge, ahead = lw.joints.Revolute((0, 1, 0)), lw.pose((0.2, 0, 0))
    robot = lw.Robot.build(
        "flying",
        *(lw.Link(name, mass=1.0, com=(0.1, 0, 0), inertia=(1e-3, 2e-3, 2e-3)) for name in ("base", "a", "b", "c")),
        lw.Joint.of(hinge, name="j1", parent="base", child="a"),
        lw.Joint.of(hinge, name="j2", parent="a", child="b", placement=ahead),
        lw.Joint.of(hinge, name="j3", parent="base", child="c", placement=lw.pose((0, 0, 0.1))),
        floating_base=True,
    )
    robot = robot.with_frame("tip", "b", ahead).with_frame("end", "c", lw.pose((0.25, 0, 0)))
    robot = robot.with_loop("closure", "tip", "end", hinge)
    q = robot.project(robot.neutral() + np.array([0.0] * 7 + [0.3, -0.5, 0.2]))
    v = robot.project_velocity(q, np.random.default_rng(0).normal(size=robot.nv) * 2.0)
    how = {
        "duration": 2.0,
        "record_every": 100,
        "parameters": {"gravity": [0.0, 0.0, 0.0]},
        "record": ["kinetic_energy"],
    }
    result = robot.simulate(q, v, **how)
    momentum, energy = robot.momentum(result.q, result.v), result.records["kinetic_energy"]
    assert np.all(result.success) and np.abs(momentum - momentum[0]).max() < 1e-10
    assert np.abs(energy / energy[0] - 1.0).max() < 1e-5


@pytest.mark.slow(every=9)
@pytest.mark.parametrize("method", ["semi_implicit_euler", "variational"])
def test_stiff_springs_of_a_leg_cause_a_warning_and_add_no_energy(method):
    """The spring in the shin vibrates at up to 1.7e3 rad/s: shorter steps resolve it."""
    robot, q = bundled_mechanism("leg")
    coarse, fine = energy_runs(robot, q, method, steps=(1e-3, 1e-4), speeds=(3.0,), duration=0.6)
    assert not coarse.reason and coarse.gain < 0.01 and coarse.loss > 0.01, coarse
    assert not fine.reason and fine.error < 2e-3, fine
    with pytest.warns(SimulationWarning, match=r"'shin_spring' vibrates at up to .* too fast for steps of 0.001 s"):
        robot.simulate(q, duration=0.005, method=method, joint_limit_mode="ignored", record_every=5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        robot.simulate(q, duration=0.001, dt=2e-4, method=method, joint_limit_mode="ignored", record_every=5)


@pytest.mark.slow(every=9)
@pytest.mark.parametrize(("name", "seed"), [("scissor_lift", 100), ("leg", 100)])
def test_very_stiff_springs_or_dampers_add_no_energy_to_mechanisms(name, seed):
    """Each velocity in turn has a spring or a damper of 1e6; at turning points the kinetic energy is nearly zero."""
    robot = lw.load(name)
    q = robot.assemble(robot.random_configuration(seed=seed)).q
    v = robot.project_velocity(q, np.random.default_rng(1).normal(size=robot.nv))
    zero = np.zeros((robot.nv, robot.nv))
    stiff = 1e6 * np.eye(robot.nv)
    parameters = {"stiffness": np.concatenate([stiff, zero]), "damping": np.concatenate([zero, stiff])}
    many = 2 * robot.nv
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SimulationWarning)  # such springs are treated implicitly
        result = robot.simulate(
            np.tile(q, (many, 1)),
            np.tile(v, (many, 1)),
            duration=15.0,
            dt=1e-3,
            parameters=parameters,
            record_every=50,
            **ENERGIES,
        )
    energy = energies(result)
    scale = result.records["kinetic_energy"].max(axis=1) + np.abs(energy[:, 0])
    assert np.all(result.success) and np.all(np.diff(energy, axis=1).max(axis=1) < 1e-9 * scale)


@pytest.mark.slow(every=5)
def test_simulation_methods_converge_with_their_order_for_robots_with_loops():
    """Errors at the end fall by 2^order where the step is halved; with damping the default method is of first order."""
    robot, q, v = turning_fourbar(6.0)
    orders = {"semi_implicit_euler": 2, "variational": 2, "implicit_midpoint": 2, "implicit_euler": 1, "rk4": 4}
    damped = robot.with_joint_dynamics(damping=0.02)
    for moving, expected in ((robot, orders), (damped, {"semi_implicit_euler": 1, "variational": 2})):
        how = {"duration": 0.4, "joint_limit_mode": "ignored"}
        best = moving.simulate(q, v, dt=4e-5, method="rk4", record_every=10000, **how)
        for method, order in expected.items():
            errors = []
            for h in (5e-3, 2.5e-3):
                end = moving.simulate(q, v, dt=h, method=method, record_every=round(0.4 / h), **how)
                errors.append(np.linalg.norm([*(end.q[-1] - best.q[-1]), *(end.v[-1] - best.v[-1])]))
            rate = np.log2(errors[0] / errors[1])
            assert order - 0.3 < rate < order + (1.6 if method == "rk4" else 0.3), (method, errors)


@pytest.mark.slow(every=5)
def test_inactive_contacts_and_limits_do_not_change_simulated_loops():
    """A rotating four-bar, and a flat one, with friction and limits that are not reached."""
    robot, q, v = turning_fourbar(6.0)
    flat = fourbars(1)
    for moving, at, rates in ((robot, q, v), (flat, *parallel(flat, 0.6, -1.0))):
        free = moving.simulate(at, rates, duration=2.0, dt=2e-3, **ENERGIES)
        for how in ({"friction": "coulomb"}, ENERGIES | {"joint_limit_mode": "held"}):
            result = moving.simulate(at, rates, duration=2.0, dt=2e-3, **(ENERGIES | how))
            total = energies(result)
            assert np.abs(result.q - free.q).max() < 1e-7, how
            assert np.abs(total - total[0]).max() < 1e-9 * result.records["kinetic_energy"].max(), how


def test_servo_on_bodies_of_a_loop_does_not_slow_bodies_outside_the_loop():
    """A servo brakes two carts, which a loop connects; a third cart rolls without a loop."""
    J, names = lw.joints, ("a", "b", "puck")
    rails = [lw.Joint.of(J.Prismatic((1, 0, 0)), name=f"to_{x}", parent="world", child=x) for x in names]
    links = [lw.Link(name, mass=1.0, inertia=(0.1, 0.1, 0.1)) for name in names]
    robot = lw.Robot.build("rails", *rails, *links).with_loop("close", "a", "b", J.Prismatic((0, 1, 0)))
    brake = ServoActuators(np.zeros(3), damping=np.array([2.0, 0.0, 0.0]))
    result = robot.simulate(np.zeros(3), np.ones(3), duration=0.5, dt=5e-3, controller=lambda t, q, v: brake)
    assert np.abs(result.v[:, 2] - 1.0).max() < 1e-9 and abs(result.v[-1, 0] - np.exp(-0.5)) < 0.01


def test_bodies_outside_a_loop_keep_their_speed_in_simulations():
    """A rotor about its centre of mass, in a robot with a four-bar, in steps without a program."""
    hinge, bars = joints.Revolute((0, 1, 0)), {"crank": 1.0, "coupler": 2.5, "rocker": 2.0}
    links = [lw.Link(x, mass=1.0, com=(0.5 * a, 0, 0), inertia=(0.1, 0.1, 0.1)) for x, a in bars.items()]
    positions = {"crank": ("world", 0.0), "coupler": ("crank", 1.0), "rocker": ("world", 3.0), "rotor": ("world", -1.0)}
    parts = [
        lw.Joint.of(hinge, name=f"to_{x}", parent=on, child=x, placement=(at, 0, 0))
        for x, (on, at) in positions.items()
    ]
    rotor = lw.Link("rotor", mass=1.0, inertia=(0.1, 0.2, 0.3))
    robot = lw.Robot.build("both", *links, rotor, *parts)
    for name in ("coupler", "rocker"):
        robot = robot.with_frame(f"{name}_end", name, lw.pose((bars[name], 0, 0)))
    robot = robot.with_loop("pin", "coupler_end", "rocker_end", hinge)
    q = robot.assemble([1.0, -0.5, 1.5, 0.0]).q
    v = robot.project_velocity(q, [5.0, 0.0, 0.0, 1.0])
    for method in ("semi_implicit_euler", "variational"):
        result = robot.simulate(q, v, duration=0.5, dt=5e-3, method=method)
        assert result.success and np.abs(result.v[:, 3] - v[3]).max() < 1e-12, method


@pytest.mark.slow(every=5)
def test_energy_of_simulated_loops_with_servos_does_not_drift():
    """A rotating four-bar with servos of almost no force: its energy varies in proportion to the step."""
    robot, q, v = turning_fourbar(6.0)
    sizes = []
    for h in (2e-3, 1e-3):
        result = robot.simulate(
            q, v, duration=10.0, dt=h, controller=lambda t, q, v: ServoActuators(q + 1.0, stiffness=1e-9), **ENERGIES
        )
        error = energies(result) / energies(result)[0] - 1.0
        assert np.all(result.success) and np.abs(robot.constraint_error(result.q)).max() < 1e-5
        tenth = len(error) // 10
        assert abs(error[-tenth:].mean() - error[:tenth].mean()) < 0.1 * np.abs(error).max()
        sizes.append(np.abs(error).max())
    assert 1.6 < sizes[0] / sizes[1] < 2.4 and sizes[1] < 0.01, sizes


@pytest.mark.slow(every=5)
def test_servo_in_a_loop_moves_slowly_to_its_target_with_strong_damping():
    """A damped servo moves a four-bar slowly, as a spring and a damper."""
    robot, q, v = turning_fourbar(3.0)
    servo = ServoActuators([0.3, 0.0, 0.0], stiffness=[20.0, 0.0, 0.0], damping=[0.5, 0.0, 0.0])
    spring_damper = {"stiffness": {CRANK: 20.0}, "rest": {CRANK: [0.3]}, "damping": {CRANK: 0.5}}
    options = {"duration": 0.5, "joint_limit_mode": "ignored"}
    result = robot.simulate(q, v, controller=lambda t, q, v: servo, **options)
    exact = robot.with_joint_dynamics(**spring_damper).simulate(q, v, method="dormand_prince", **options)
    assert np.abs(result.q[-1] - exact.q[-1]).max() < 1e-5 and np.abs(result.v[-1] - exact.v[-1]).max() < 1e-4


@pytest.mark.slow(every=9)
@pytest.mark.parametrize(("name", "link"), [("double_wishbone", "wheel"), ("delta", "rod_3b")])
def test_simulated_impacts_of_mechanisms_never_add_energy(name, link):
    """Two points of a link strike planes, with friction and restitution."""
    robot, rng, count = lw.load(name).with_gravity((0, 0, 0)), np.random.default_rng(1), 100
    q, options = robot.assemble().q, {"passive": False, "joint_limit_mode": "ignored", "record": ["kinetic_energy"]}
    X, most, struck = np.asarray(robot.pose(q, link)), 0.0, 0
    for _ in range(6):
        arms, normal = 0.2 * rng.normal(size=(2, 3)), rng.normal(size=3)
        normal /= np.linalg.norm(normal)
        height = min(normal @ (X[:3, :3] @ arm + X[:3, 3]) for arm in arms)
        points = [ContactPoint(link, tuple(arm)) for arm in arms]
        ground = ContactGround(points, friction=0.7, restitution=0.6, normal=normal, height=height)
        v = np.array([robot.project_velocity(q, 3.0 * rng.normal(size=robot.nv)) for _ in range(count)])
        run = robot.simulate(np.tile(q, (count, 1)), v, duration=2e-4, dt=2e-4, contacts=ground, **options)
        before, after = run.records["kinetic_energy"].T
        hits = np.abs(run.records["contact_forces"][:, 1]).max(axis=(1, 2)) > 0.0
        assert run.success.all()
        struck, most = struck + hits.sum(), max(most, (after / before)[hits].max(initial=0.0))
    assert struck > 100 and most < 1.0 + 1e-12


@pytest.mark.slow(every=9)
def test_simulated_mechanisms_pass_singular_configurations_without_energy_gain():
    """A four-bar of equal rods lies flat, where its loop is singular, and moves on."""
    robot = fourbars(1)
    q, v = parallel(robot, 0.6, -1.0)
    for method in ("semi_implicit_euler", "variational"):
        result = robot.simulate(q, v, duration=4.0, method=method, record_every=4, **ENERGIES)
        total = energies(result)
        assert np.all(result.success), result.explain()
        assert np.abs(robot.constraint_error(result.q)).max() < 1e-8
        size = result.records["kinetic_energy"].max()
        assert (total - total[0]).max() < 1e-3 * size, method


@pytest.mark.slow(every=9)
def test_rheonomic_and_rolling_constraints_hold_after_each_time_step():
    """A hand with a prescribed height that slips in no direction of its x axis; and wheels."""
    lifted, _, v = driven()
    q = lifted.assemble(time=0.0).q
    v = lifted.project_velocity(q, 0.3 * v, time=0.0)
    cart = lw.load("differential_drive")
    start = cart.project(cart.neutral())
    rolling = cart.project_velocity(start, np.random.default_rng(0).normal(size=cart.nv))
    for robot, at, moving in ((lifted, q, v), (cart, start, rolling)):
        for method in ("semi_implicit_euler", "variational"):
            result = robot.simulate(
                at, moving, duration=0.2, dt=2e-3, method=method, joint_limit_mode="ignored", record_every=20
            )
            assert np.all(result.success), result.explain()
            for t, now, rates in zip(result.t, result.q, result.v, strict=True):
                G, drift = robot.constraint_jacobian(now, time=t), robot.constraint_drift(now, time=t)
                assert np.abs(robot.constraint_error(now, time=t)).max(initial=0.0) < 1e-9, method
                assert np.abs(G @ rates + drift).max() < 1e-9, method


@pytest.mark.slow(every=5)
def test_gradients_through_time_steps_of_loops_equal_finite_differences():
    """The gradient of a roll-out with loops is that of differences, for both symplectic methods."""
    robot, q, v = turning_fourbar(6.0)
    for method in ("semi_implicit_euler", "variational"):

        def end(torque, method=method):
            def controller(t, q, v, torque):
                return [torque, 0.0, 0.0]

            how = {"duration": 5e-3, "record_every": 5, "method": method, "joint_limit_mode": "ignored"}
            return robot.simulate(q, v, controller=controller, constants={"torque": torque}, **how).v[-1]

        compiled = lw.compile(end, torque=())
        slope, d = compiled.jacobian()(0.3), 1e-4
        assert np.abs(slope - (compiled(0.3 + d) - compiled(0.3 - d)) / (2.0 * d)).max() < 1e-7, method
        assert np.abs(slope).max() > 1e-2


@pytest.mark.slow(every=5)
def test_passive_forces_of_loop_joints_act_by_every_simulation_method():
    """A spring and a damper in the pin of a four-bar, by every method, and in the program of contacts."""
    bare, q, v = turning_fourbar(6.0)
    pin = bare.constraints[0]
    robot = bare.without_constraints(pin.name).with_loop(
        pin.name, pin.frame, pin.relative_to, pin.joint, damping=(0.01,), stiffness=(0.2,)
    )
    how = {"duration": 0.3, "record_every": 300, "joint_limit_mode": "ignored"}
    best = robot.simulate(q, v, method="dormand_prince", **how).q[-1]
    free = bare.simulate(q, v, method="dormand_prince", **how).q[-1]
    far = np.abs(best - free).max()
    for method in ("semi_implicit_euler", "variational", "rk4", "implicit_midpoint"):
        assert np.abs(robot.simulate(q, v, method=method, **how).q[-1] - best).max() < 0.02 * far, method
    assert np.abs(robot.simulate(q, v, friction="coulomb", **how).q[-1] - best).max() < 0.2 * far


@pytest.mark.slow(every=5)
def test_time_steps_that_rotate_bodies_too_far_cause_a_warning():
    """A crank at 400 rad/s in steps of 1 ms, with a proposed step; 6 rad/s causes none."""
    robot, q, v = turning_fourbar(6.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        robot.simulate(q, v, duration=0.5, joint_limit_mode="ignored")
    with pytest.warns(SimulationWarning, match=r"rotates by .* rad in a step of 0.001 s .* use a step of"):
        robot.simulate(q, 100.0 * v, duration=0.01, method="rk4", joint_limit_mode="ignored")


def test_steps_satisfy_velocity_constraints_that_depend_on_time_at_their_middle():
    """A conveyor of varying speed: the mean velocity of each step is the speed at half of the step."""
    robot = lw.Robot.build(
        "sleds",
        lw.Link("a", mass=1.3),
        lw.Joint.of(lw.joints.Prismatic("x"), name="x", parent="world", child="a"),
        lw.Link("b", mass=0.7),
        lw.Joint.of(lw.joints.Prismatic("y"), name="y", parent="a", child="b"),
    )
    belt = lw.constraints.Pfaffian(
        "belt", lambda k: [k.v("x") + 0.3 * k.v("y") - lw.expr.sin(3.0 * k.time + 0.4)], time_dependent=True
    )
    robot = robot.with_constraints(belt)
    q, h = np.array([0.1, -0.2]), 0.05
    _, v = robot.project(q, [0.0, 0.3], time=0.0)
    run = robot.simulate(q, v, duration=0.5, dt=h)
    assert np.allclose(np.diff(run.q @ [1.0, 0.3]) / h, np.sin(3.0 * (run.t[:-1] + 0.5 * h) + 0.4), atol=1e-13)
    assert np.allclose(run.v @ [1.0, 0.3], np.sin(3.0 * run.t + 0.4), atol=1e-13)
