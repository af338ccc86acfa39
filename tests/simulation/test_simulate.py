"""`Robot.simulate`: controllers in the kernel, batches, records, failures and refusals."""

from __future__ import annotations

import re
import warnings
from itertools import pairwise

import numpy as np
import pytest

import linkwork as lw
from linkwork import joints
from linkwork._util.thread_safety import BoundedCache
from linkwork.compiler.codegen.loops import plan_program
from linkwork.errors import SimulationWarning, UnknownNameError
from linkwork.expr import adjoint, where
from linkwork.expr.scalar.symbol import Graph
from linkwork.model.random_tree import random_tree
from linkwork.simulation import ContactGround, ContactMaterial, ContactPoint, ContactScene, Event
from linkwork.simulation.algorithms import METHODS
from linkwork.simulation.arguments import whole_steps
from linkwork.simulation.rollout import kernels, step_stability


@pytest.fixture(scope="module")
def arm():
    return lw.Robot(random_tree(np.random.default_rng(0), 3, types=(joints.Revolute,)))


def target_controller(robot):
    def controller(t, q, v, target, gain):
        return gain * (target - q) - 0.1 * gain * v

    return controller


@pytest.mark.slow(every=3)
def test_robot_without_joints_can_be_simulated(drawn):
    """Every method, alone and in a batch, with limits, controllers and records; its profile is refused by name."""
    stone = lw.Robot.build("stone", lw.Link("stone", lw.shapes.Sphere(0.1), mass=1.0))
    for method in drawn(METHODS):
        result = stone.simulate(np.zeros((3, 0)), duration=0.01, method=method, record=["potential_energy"])
        assert (
            np.all(result.success) and result.q.shape == (3, 11, 0) and not result.records["potential_energy"].any()
        ), method
    late = Event("late", lambda t, q, v: t - 0.0055)
    for more in (
        {"joint_limit_mode": "held"},
        {"joint_limit_mode": "soft"},
        {"controller": lambda t, q, v: np.zeros(0)},
        {"method": "scipy:RK45"},
        {"events": late},
        {"events": late, "method": "dormand_prince"},
    ):
        result = stone.simulate([], duration=0.01, **more)
        assert np.all(result.success) and result.v.shape == (11, 0), more
        assert [event.name for event in result.events] == ["late"] * ("events" in more), more
    simulator = lw.Simulator(stone, batch=2)
    assert simulator.step(count=3).q.shape == (2, 0) and simulator.step(np.zeros(0)).steps.tolist() == [4.0, 4.0]
    with pytest.raises(ValueError, match="robot: expected at least one degree of freedom, got 'stone'"):
        stone.profile([], [], acceleration=1.0, jerk=1.0)
    with pytest.raises(ValueError, match=r"q0: expected a number or an array of shape \(n,\) with n >= 1"):
        lw.motion.profile([], [], acceleration=1.0, jerk=1.0)


@pytest.mark.slow(every=5)
def test_environments_of_a_simulated_batch_equal_single_simulations(arm):
    """Single runs have the same bits, and a plain loop agrees to rounding."""
    rng = np.random.default_rng(0)
    n = 11
    q, v = arm.random_configuration(rng, size=n), rng.normal(size=(n, 3))
    target, gain = rng.normal(size=(n, 3)), rng.uniform(1.0, 2.0, n)
    gravity = rng.normal(size=(n, 3))
    controller = target_controller(arm)

    def run(q, v, target, gain, gravity, duration=0.05):
        return arm.simulate(
            q,
            v,
            controller=controller,
            duration=duration,
            dt=1e-3,
            record_every=5,
            passive=False,
            record=["tau", "kinetic_energy", "potential_energy", ("pose", next(iter(arm.frames)))],
            constants={"target": target, "gain": gain},
            parameters={"gravity": gravity},
        )

    many = run(q, v, target, gain, gravity)
    assert many.success.all() and many.q.shape == (n, 11, 3) and many.records["tau"].shape == (n, 11, 3)
    for k in (0, 7):
        single = run(q[k], v[k], target[k], gain[k], gravity[k])
        assert np.array_equal(single.q, many.q[k]) and np.array_equal(single.v, many.v[k])
        assert all(np.array_equal(single.records[x], many.records[x][k]) for x in single.records)
        edited = arm.with_parameters({"gravity": gravity[k]})
        x, y = q[k], v[k]
        for _ in range(50):
            tau = gain[k] * (target[k] - x) - 0.1 * gain[k] * y
            _, B, M = edited.inverse_dynamics_derivatives(x, y, np.zeros(3))
            y = y + 1e-3 * np.linalg.solve(M + 5e-4 * B, tau - edited.bias_force(x, y))
            x = x + 1e-3 * y
        assert np.abs(single.q[-1] - x).max() < 1e-12 and np.abs(single.v[-1] - y).max() < 1e-11
        assert abs(single.records["kinetic_energy"][-1] - arm.kinetic_energy(x, y)) < 1e-11
        assert abs(single.records["potential_energy"][-1] - edited.potential_energy(x)) < 1e-11
        assert np.abs(single.records["tau"][-1] - tau).max() < 1e-11
    longer = run(q, v, target, gain, gravity, duration=0.9)  # of several pieces
    assert np.array_equal(longer.q[:, :11], many.q)
    ends = arm.simulate(
        longer.q[:, 100],
        longer.v[:, 100],
        controller=controller,
        duration=0.4,
        dt=1e-3,
        record_every=5,
        passive=False,
        constants={"target": target, "gain": gain},
        parameters={"gravity": gravity},
    )
    assert np.array_equal(ends.q[:, -1], longer.q[:, -1])
    assert longer.trajectory(3)(0.1).q.shape == (3,)


def test_controllers_in_simulations_may_have_state_and_signals(arm):
    """An integral over time, and signals for each step."""

    class Integrating:
        def __init__(self):
            self.start = {"sum": np.zeros(3), "count": 0.0}

        def __call__(self, t, q, v, z, push):
            return push + 0.0 * v, {"sum": z["sum"] + 1e-3 * q, "count": z["count"] + 1.0}

    push = 0.01 * np.random.default_rng(1).normal(size=(40, 3))
    result = arm.simulate(
        arm.neutral(),
        controller=Integrating(),
        duration=0.04,
        time_inputs={"push": push},
        record=["tau"],
        passive=False,
    )
    assert result.controller_state["count"] == 40.0
    assert np.abs(result.controller_state["sum"] - 1e-3 * result.q[:-1].sum(axis=0)).max() < 1e-15
    assert np.array_equal(result.records["tau"][1:], push) and np.array_equal(result.records["tau"][0], push[0])

    class Drawing:
        """A generator of 32 bits, whose state is no force."""

        start = np.array([12345.0])

        def __call__(self, t, q, v, z):
            z = 1664525.0 * z + 1013904223.0
            z = z - 4294967296.0 * np.floor(z / 4294967296.0)
            return 1e-3 * z / 4294967296.0 + 0.0 * q, z

    assert arm.simulate(arm.neutral(), controller=Drawing(), duration=0.02, passive=False).success
    spline = arm.spline([0.0, 1.0], [arm.neutral(), arm.neutral() + 0.2], "cubic", boundary="clamped")

    def following(t, q, v, path_q, path_v, path_a):
        return arm.inverse_dynamics(q, v, path_a + 400.0 * (path_q - q) + 40.0 * (path_v - v))

    along = arm.simulate(arm.neutral(), controller=following, duration=1.0, time_inputs={"path": spline}, passive=False)
    assert np.abs(along.q - spline(along.t).q).max() < 1e-3


def test_controller_that_returns_nan_stops_its_environment_only(arm):
    """The neighbours have the same motion as without it."""
    q = arm.neutral() + np.linspace(0.0, 0.1, 9)[:, None]

    def controller(t, q, v, bad):
        return where((t > 0.0105) & (bad > 0.5), np.nan, 0.0) * np.ones(3)

    bad = np.zeros(9)
    bad[4] = 1.0
    result = arm.simulate(q, controller=controller, duration=0.03, constants={"bad": bad}, passive=False)
    fine = arm.simulate(q, controller=controller, duration=0.03, constants={"bad": 0.0 * bad}, passive=False)
    neighbours = np.arange(9) != 4
    assert np.array_equal(result.q[neighbours], fine.q[neighbours]) and fine.success.all()
    assert result.status.tolist() == ["completed"] * 4 + ["controller_failed"] + ["completed"] * 4
    assert np.isnan(result.stopped_at[neighbours]).all() and abs(result.stopped_at[4] - 0.011) < 1e-12
    assert np.array_equal(result.q[4, 11:], np.broadcast_to(fine.q[4, 11], (20, 3)))
    assert result.explain(4).startswith("controller_failed: the controller returned") and "0.011 s" in result.explain(4)
    assert "1 of 9 stopped" in repr(result)


def test_gradients_of_simulations_in_reverse_mode_equal_finite_differences(arm):
    """The gradient of a cost at the end by all pushes and by the start, against differences."""
    steps = 24

    def cost(q, v, push, **more):
        def controller(t, q, v, push):
            return push

        how = {"duration": 0.01 * steps, "dt": 0.01, "time_inputs": {"push": push}, "passive": False, **more}
        end = arm.simulate(q, v, controller=controller, **how)
        return end.q[-1] @ end.q[-1]

    shapes = {"q": 3, "v": 3, "push": (steps, 3)}

    def slopes(**more):
        def all_of_them(q, v, push):
            return np.reshape(adjoint([cost(q, v, push, **more)], list(push.ravel()), [1.0]), push.shape)

        return lw.compile(all_of_them, **shapes)

    gradient = slopes()
    value = lw.compile(cost, **shapes)
    rng = np.random.default_rng(2)
    q, v, push = arm.neutral() + 0.3, rng.normal(size=3), 0.01 * rng.normal(size=(steps, 3))
    gradients = gradient(q, v, push)
    for index in ((0, 0), (5, 1), (23, 2)):
        bump = np.zeros((steps, 3))
        bump[index] = 1e-5
        slope = (value(q, v, push + bump) - value(q, v, push - bump)) / 2e-5
        assert abs(gradients[index] - slope) < 1e-6 * (1.0 + abs(slope))
    # in segments it is the same, and keeps less: of a single record, and of records
    for more in ({"record_every": steps}, {}):
        fewer = slopes(segments=3, **more)
        assert np.abs(fewer(q, v, push) - gradients).max() < 1e-13
        assert plan_program(fewer.program)[1].size < plan_program(gradient.program)[1].size
    with pytest.raises(ValueError, match="segments: expected None or an integer >= 1"):
        arm.simulate(q, duration=0.01, segments=0)


def test_unstable_time_steps_cause_a_warning_with_their_eigenvalue():
    """The eigenvalue is that of the method's amplification; stable steps cause no warning."""
    mass = lw.Robot.build(
        "mass",
        lw.Link("mass", mass=1.0),
        lw.Joint.of(lw.joints.Prismatic((1, 0, 0)), name="rail", parent="world", child="mass"),
    )
    spring = {"controller": lambda t, q, v, k: -k * q, "constants": {"k": 1e4}}
    damper = {"damping:rail": [400.0]}
    with pytest.warns(SimulationWarning, match=r"0.03 s is too long .* of 'rail' by the eigenvalue -6.85; use 0.015 s"):
        mass.simulate([0.1], dt=0.03, duration=0.03, **spring)
    with pytest.warns(SimulationWarning, match=r"eigenvalue 5; use 0.005 s"):
        mass.simulate([[0.1], [0.2]], dt=0.01, duration=0.01, method="rk4", parameters=damper)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mass.simulate([0.1], dt=0.015, duration=0.03, **spring)
        mass.simulate([0.1], dt=0.01, duration=0.01, parameters=damper)  # damping is implicit
        lw.load("double_pendulum").simulate([3.0, 0.1], dt=0.02, duration=0.1)  # falls from its top
        lw.Simulator(mass, dt=0.03).step([1.0])


@pytest.mark.slow(every=3)
def test_steps_of_mechanisms_are_unstable_only_along_motions_that_their_loops_permit(monkeypatch):
    """The projection of other deviations is no instability; feedback on a crank has the eigenvalues of a mass."""
    seconds, h = 0.002, 1e-3
    fourbar = lw.load("fourbar").with_gravity((0.0, 0.0, 0.0))
    driven = fourbar.drive_mechanism({"crank_hinge": np.linspace(0.0, 6.2, 11)}, velocity={"crank_hinge": 1.0})
    cases = [(fourbar, q, speed * v) for q, v in zip(driven.q, driven.v, strict=True) for speed in (0.0, 5.0)]
    prescribed = lw.constraints.Prescribed("crank_hinge", lambda t: 0.3 + 2.0 * t)
    led = fourbar.with_constraints(prescribed)
    at_once = fourbar.drive_mechanism({"crank_hinge": [0.3]}, velocity={"crank_hinge": 2.0})
    cases.append((led, at_once.q[0], at_once.v[0]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for robot, q, v in cases:
            monkeypatch.setattr(step_stability, "_CHECKED", BoundedCache(4))
            robot.simulate(q, v, dt=h, duration=seconds)
    q, k = driven.q[2], int(fourbar.v_index(["crank_hinge"])[0])
    direction = fourbar.explicit_velocity(q, np.eye(fourbar.nv)[k], ["crank_hinge"])
    inertia, x = direction @ fourbar.mass_matrix(q) @ direction, 9.0
    unit = np.eye(fourbar.nv)[k].tolist()

    def spring(t, q, v, stiffness, center):
        return [-stiffness * (a - b) * e for a, b, e in zip(q, center, unit, strict=True)]

    constants = {"stiffness": x * inertia / h**2, "center": q}
    expected = np.roots([1.0, x / 2.0 - 2.0, 1.0 + x / 2.0])[0]  # force and acceleration are constant in a step
    with pytest.warns(SimulationWarning, match=re.escape(f"by the eigenvalue {expected:.3g}")):
        fourbar.simulate(q, dt=h, duration=seconds, controller=spring, constants=constants)


def test_stability_of_time_steps_is_checked_for_new_ranges_of_constants(monkeypatch):
    """Targets in a workspace are checked a few times, gains beyond earlier ranges each time."""
    mass = lw.Robot.build(
        "mass",
        lw.Link("mass", mass=1.0),
        lw.Joint.of(lw.joints.Prismatic((1, 0, 0)), name="rail", parent="world", child="mass"),
    )
    checked, original = [], step_stability._warn_of_long_step
    monkeypatch.setattr(
        step_stability, "_warn_of_long_step", lambda *arguments: checked.append(1) or original(*arguments)
    )

    def law(t, q, v, target, k):
        return k * (target - q)

    def aimed(target, k):
        mass.simulate([0.1], duration=0.03, dt=0.01, controller=law, constants={"target": target, "k": k})

    for target in np.random.default_rng(0).uniform(-1.0, 1.0, 40):
        aimed(target, 10.0)
    assert 0 < len(checked) < 20
    with pytest.warns(SimulationWarning, match="too long to be stable"):
        aimed(0.5, 5e4)


def test_rounding_of_a_controller_beside_rigid_contacts_causes_no_warning_of_long_time_steps():
    """A controller whose solver ends at a tolerance changes its force by noise, also at tiny deviations."""
    ball = lw.Robot.build("ball", lw.Link("body", mass=1.0, inertia=(0.1, 0.1, 0.1)), floating_base=True)
    q, ground = ball.neutral(), ContactGround(ContactPoint("body", radius=0.1))
    q[6] = 0.1

    def law(t, q, v, gain, noise):
        return [-gain * x + noise * lw.expr.sin(1e12 * x + 1e13 * y) for x, y in zip(v, q[1:], strict=True)]

    for gain, noise, warns in ((1.0, 0.0, False), (1.0, 1e-3, False), (3e3, 0.0, True), (3e3, 1e-3, True)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ball.simulate(
                q, dt=1e-3, duration=2e-3, controller=law, contacts=ground, constants={"gain": gain, "noise": noise}
            )
        assert any("too long to be stable" in str(x.message) for x in caught) == warns, (gain, noise)


@pytest.mark.slow(every=5)
def test_unstable_controllers_and_contacts_cause_a_warning_in_simulations():
    """Controllers are constant during a step of any method, with contacts and in a Simulator."""
    mass = lw.Robot.build(
        "mass",
        lw.Link("mass", mass=1.0),
        lw.Joint.of(lw.joints.Prismatic((0, 0, 1)), name="rail", parent="world", child="mass"),
    )
    message = (
        "eigenvalue -6.85; use 0.015 s, lower gains, or linkwork.simulation.ServoActuators, which are stable with any"
    )
    ground = ContactGround(ContactPoint("mass"), height=-10.0)
    for how in ({"contacts": ground}, {"method": "implicit_euler"}):
        with pytest.warns(SimulationWarning, match=message):
            mass.simulate([0.1], duration=0.03, controller=lambda t, q, v: -1e4 * q, dt=0.03, **how)
    for batch, begin in (((), [0.1]), (3, np.full((3, 1), 0.1))):
        simulator = lw.Simulator(mass, batch=batch, controller=lambda t, q, v: -1e4 * q, dt=0.03)
        simulator.reset(begin)
        with pytest.warns(SimulationWarning, match=message):
            simulator.step()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            simulator.step()
    for stiffness, method, step, warns in (
        (1e9, "semi_implicit_euler", 1e-2, True),
        (1e6, "rk4", 1e-2, True),
        (1e6, "rk4", 1e-3, False),
        (1e9, "implicit_euler", 1e-2, False),
    ):
        soft = ContactGround(ContactPoint("mass"), stiffness=stiffness, dissipation=0.3)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fell = mass.simulate([0.5], duration=0.5, dt=step, method=method, contacts=soft, contact_model="compliant")
        assert [("'mass' and the ground overlap" in str(warning.message)) for warning in caught] == [True] * warns
        assert warns == bool((fell.q > 0.51).any() or not fell.success)


@pytest.mark.slow(every=3)
def test_constraints_hold_by_every_simulation_method():
    """Gears, distances and prescribed motions hold after each step, at the method's order."""
    link = lw.shapes.Cylinder(0.03, 0.3).at((0.0, 0.0, 0.15))
    turn = lw.joints.Revolute((0, 1, 0))
    parts = []
    for k, parent in enumerate(["world", "l0", "l1", "l2"]):
        parts.append(lw.Link(f"l{k}", link, mass=1.0, frames={f"t{k}": (0, 0, 0.3)}))
        offset = (0.0, 0.0, 0.3 * (k > 0))
        parts.append(lw.Joint.of(turn, name=f"j{k}", parent=parent, child=f"l{k}", placement=offset))
    free = lw.Robot.build("chain", *parts)
    driven = lw.constraints.Prescribed("j0", lambda t: 0.3 * np.sin(3.0 * t))
    robot = free.with_constraints(driven, lw.constraints.Gear("j1", "j2", -2.0, offset=0.1))
    q = robot.project_configuration(np.array([0.0, 0.3, -0.2, 0.5]), time=0.0)[0]
    v = robot.project_velocity(q, np.zeros(4), time=0.0)
    best = robot.simulate(q, v, duration=0.2, dt=1e-3, method="rk4", passive=False)
    for method, off in (("semi_implicit_euler", 0.1), ("implicit_midpoint", 2e-3), ("rk4", 2e-5)):
        result = robot.simulate(q, v, duration=0.2, dt=0.01, method=method, passive=False)
        assert np.abs(robot.constraint_error(result.q, time=result.t)).max() < 1e-12
        assert np.abs(result.v[:, 0] - 0.9 * np.cos(3.0 * result.t)).max() < 1e-12
        assert np.abs(result.q[-1] - best.q[-1]).max() < off, method


def test_signals_of_simulations_may_vary_by_step_or_by_environment(arm):
    """The shape decides; an ambiguous shape counts as the controller's inputs do."""
    rng = np.random.default_rng(0)
    for size in (3, 4):
        how = {"duration": size * 1e-3, "controller": lambda t, q, v, push: push}
        start, shared = np.zeros((size, 3)), rng.normal(size=(size, 3))
        each = rng.normal(size=(size, size, 3))
        if size == 3:
            with pytest.raises(ValueError, match=r"time_inputs\['push'\]: \(3, 3\) may be .* expected \(3, 3, 1\)"):
                arm.simulate(start, time_inputs={"push": shared}, **how)
            law = lw.control.PD(arm, kp=10.0, kd=1.0)
            options = {"controller": law, "duration": 3e-3}
            result = arm.simulate(start, time_inputs={"target_q": shared}, **options)
            alone = arm.simulate(start[1], time_inputs={"target_q": shared}, **options)
        else:
            result = arm.simulate(start, time_inputs={"push": shared}, **how)
            alone = arm.simulate(start[1], time_inputs={"push": shared}, **how)
        assert np.array_equal(result.q[1], alone.q)
        result = arm.simulate(start, time_inputs={"push": each}, **how)
        assert np.array_equal(result.q[1], arm.simulate(start[1], time_inputs={"push": each[1]}, **how).q)
        spline = arm.spline([0.0, 1.0], [np.zeros(3), np.full(3, 0.2)], boundary="clamped")
        how["controller"] = lambda t, q, v, path_q, path_v, path_a: path_q - q
        result = arm.simulate(start, time_inputs={"path": spline}, **how)
        assert np.array_equal(result.q[2], arm.simulate(start[2], time_inputs={"path": spline}, **how).q)


def test_duration_of_a_simulation_is_rounded_up_to_whole_steps(arm):
    """Rounding of the duration itself, as 0.3 / 0.1, does not add a step."""
    for duration, dt, count in (
        (0.0105, 1e-3, 11),
        (0.0101, 1e-3, 11),
        (0.3, 0.1, 3),
        (7 * 0.1, 0.1, 7),
        (1e-4, 0.1, 1),
    ):
        t = arm.simulate(arm.neutral(), duration=duration, dt=dt).t
        assert len(t) == count + 1 and t[-1] >= duration


@pytest.mark.light
@pytest.mark.parametrize("count", [1, 7, 1000])
def test_a_millionth_of_a_step_is_rounding_of_a_duration_and_more_is_a_step(count):
    h = 0.0137
    assert [whole_steps((count + x) * h, h) for x in (-0.4, 0.0, 0.9e-6, 1.1e-6, 0.4)] == [count] * 3 + [count + 1] * 2


def test_invalid_arguments_of_simulate_are_refused(arm):
    """Errors are raised before anything is computed."""
    q = arm.neutral()
    wrong = [
        (ValueError, "dt: expected a finite number > 0", {"dt": 0.0}),
        (ValueError, r"duration: expected a finite number >= 0 \[s\], got -0.01", {"duration": -0.01}),
        (
            ValueError,
            "record_every: expected a divisor of the number of steps, .* got 3; change it, or use duration=0.012",
            {"record_every": 3},
        ),
        (UnknownNameError, "did you mean 'rk4'", {"method": "rk5"}),
        (TypeError, "controller: expected a function", {"controller": 3.0}),
        (
            TypeError,
            r"expected a function called as \(t, q, v, gain\)",
            {"controller": lambda t, q, v: q, "constants": {"gain": 1.0}},
        ),
        (ValueError, "expected joint forces \\(3,\\)", {"controller": lambda t, q, v: q[:2]}),
        (
            ValueError,
            "time_inputs\\['push'\\]: expected a row for each of 10 steps",
            {"time_inputs": {"push": np.zeros((9, 3))}},
        ),
        (ValueError, "constants\\['gain'\\]: expected finite", {"constants": {"gain": np.nan}}),
        (ValueError, rf"^simulate: v\[1\] is NaN \(joint '{arm.joints[1].name}'\)", {"v": [0.0, np.nan, 0.0]}),
        (UnknownNameError, "kinetic_energy", {"record": ["kinetic_enrgy"]}),
        (
            ValueError,
            "expected one for steps of dt · control_every = 0.001 s, got PID for 0.002 s",
            {"controller": lw.control.PID(arm, kp=1.0, ki=1.0, kd=0.0, dt=0.002)},
        ),
        (
            ValueError,
            r"constants\['gain'\]: \(3,\) may be a number for each .* expected \(3, 1\) .* \(3, 3\)",
            {"q": np.zeros((3, 3)), "controller": lambda t, q, v, gain: gain * q, "constants": {"gain": np.ones(3)}},
        ),
    ]
    for kind, text, options in wrong:
        with pytest.raises(kind, match=text):
            arm.simulate(**{"q": q, "duration": 0.01, **options})
    # a controller that says what it takes is given that, and who shapes an input means what it has the shape of
    law, aim = lw.control.PD(arm, kp=10.0, kd=1.0), np.array([0.1, 0.2, 0.3])
    three = arm.simulate(np.zeros((3, 3)), controller=law, duration=0.01, constants={"target_q": aim})
    single = arm.simulate(np.zeros(3), controller=law, duration=0.01, constants={"target_q": aim})
    assert np.array_equal(three.q, np.repeat(single.q[None], 3, axis=0))


@pytest.mark.slow(every=5)
def test_simulations_with_other_records_materials_and_slopes_reuse_compiled_code(monkeypatch):
    """Intervals of records, counts of steps, materials, slopes and heights are data."""
    compiled = []

    def counted(*arguments, **named):
        compiled.append(named["name"])
        return kernels.compile_(*arguments, **named)

    monkeypatch.setattr(kernels, "compile_", kernels.compile, raising=False)
    monkeypatch.setattr(kernels, "compile", counted)
    ball = lw.Robot.build("rolling ball", lw.Link("body", lw.shapes.Sphere(0.1), mass=1.3), floating_base=True)
    point, scene = ContactPoint("body", radius=0.1), lw.Scene().with_half_space("floor")
    q, v = ball.neutral(), [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]

    def ran(contacts, every=50, **more):
        result = ball.simulate(q, v, duration=0.1, record_every=every, contacts=contacts, **more)
        assert np.all(result.success)
        return result

    def slope(normal):
        return ContactGround(point, friction=0.4, normal=normal, height=-0.1)

    for contacts, variants in (
        (ContactGround(point), [ContactGround(point, friction=0.3), ContactGround(point, height=-0.2)]),
        (slope((0.1, 0.0, 1.0)), [slope((0.0, 0.1, 1.0)), slope((0.3, 0.1, 1.0))]),
        (ContactScene(scene, materials=ContactMaterial(0.4)), [ContactScene(scene, materials=ContactMaterial(0.1))]),
        (ContactGround(point, stiffness=1e4), [ContactGround(point, stiffness=1e5, friction=0.2)]),
    ):
        q[-1] = 0.1 if not isinstance(contacts, ContactGround) else contacts.height + 0.1
        first, many = ran(contacts), len(compiled)
        ends = [first.q[-1], *(ran(variant, every).q[-1] for variant, every in zip(variants, (20, 10), strict=False))]
        assert np.array_equal(ran(contacts, 100).q[-1], first.q[-1])
        assert len(compiled) == many, compiled[many:]
        assert all((a != b).any() for a, b in pairwise(ends))
    simulator = lw.Simulator(ball, contacts=ContactGround(point, friction=0.4))
    simulator.reset(q, v)
    simulator.step(np.zeros(6))
    many = len(compiled)
    for count in (1, 3, 10):
        simulator.step(np.zeros(6), count=count)
    assert len(compiled) == many and simulator.state.steps == 15
    # what a slope and a material are, a robot's own numbers and parameters say too
    result = ran(ContactGround(point, friction=0.25), parameters={"contact_friction": 0.4})
    assert np.array_equal(result.q, ran(ContactGround(point, friction=0.4), parameters={"contact_friction": 0.4}).q)


def test_simulation_on_symbols_has_the_robot_times_and_states_of_its_steps():
    robot = lw.load("double_pendulum")
    graph = Graph()
    q, v = (graph.inputs(name, (2,)) for name in "qv")
    run = robot.simulate(q, v, duration=0.02, dt=0.01)
    assert run.t.tolist() == [0.0, 0.01, 0.02] and run.q.shape == run.v.shape == (3, 2)
    assert [*run.q[0]] == [*q] and [*run.v[0]] == [*v]
    assert repr(run).startswith("<Simulation of 'double_pendulum': 0.02 s in 3 records")
