"""Functions of the simulation on both sides of each limit, called without a compiled simulation."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.simulation import ContactGround, ContactMaterial, Encoder, Event, RangeSensor, TouchSensor
from linkwork.simulation.actuators import ServoActuators, actuator_servos
from linkwork.simulation.algorithms import METHODS
from linkwork.simulation.algorithms.contact.contact_terms import StepScale
from linkwork.simulation.algorithms.discrete_mechanics import with_resistance
from linkwork.simulation.algorithms.step_energy import is_free
from linkwork.simulation.arguments import MOST_RECORDED, MOST_STEPS, for_step, refuse_too_many, whole_steps
from linkwork.simulation.contacts.contact_materials import _series, check_parameter, varied_surface
from linkwork.simulation.contacts.contact_set import ContactSet
from linkwork.simulation.contacts.penetration_depth import allowed_depth
from linkwork.simulation.control_output import ControlOutput, reached_limits
from linkwork.simulation.energy_drift import drift_message
from linkwork.simulation.events import EventRecord, checked_events
from linkwork.simulation.initial_state_check import _null_space, _refuse
from linkwork.simulation.joint_limits import joint_limits, warn_of_limits
from linkwork.simulation.result import sentence_of
from linkwork.simulation.rollout.dense_output import _stretches, trajectory_through
from linkwork.simulation.rollout.rollout import ENDED, GUARD, STATE
from linkwork.simulation.rollout.spring_steps import independent_inertias
from linkwork.simulation.rollout.step_division import PlausibleValues
from linkwork.simulation.rollout.step_stability import _factor, _worst
from linkwork.simulation.sensors.sensor_suite import SensorSuite

ARM = lw.load("double_pendulum")


def chain(*links: lw.Link, **limits: float) -> lw.Robot:
    """Return a serial robot of links on revolute joints about y, named ``hinge0``, ``hinge1`` and so on."""
    names = ["world", *(link.name for link in links)]
    axis = lw.joints.Revolute((0.0, 1.0, 0.0))
    hinges = [
        lw.Joint.of(axis, name=f"hinge{k}", parent=names[k], child=names[k + 1], **limits) for k in range(len(links))
    ]
    return lw.Robot.build("chain", *links, *hinges)


def test_number_of_steps_and_of_records_is_limited() -> None:
    assert whole_steps(0.5 * MOST_STEPS, 0.5) == MOST_STEPS == 10_000_000_000
    with pytest.raises(ValueError, match=r"duration: expected at most 1e\+10 steps of dt = 0.5 s"):
        whole_steps(0.5 * MOST_STEPS + 0.5, 0.5)
    assert [whole_steps(x, 0.1) for x in (0.3, 0.3 + 0.5e-7, 0.3 + 2e-7)] == [3, 3, 4]
    assert MOST_RECORDED == 8 * 1024**3
    small: Any = SimpleNamespace(nq=1, nv=1)
    for leading, records in (((), 2**32), ((4, 2), 2**29), ((0,), 2**32)):
        refuse_too_many(records, leading, small)
        with pytest.raises(ValueError, match=f"at most {MOST_RECORDED} values in q and v.*increase record_every"):
            refuse_too_many(records + 1, leading, small)


def test_controller_has_the_time_step_of_its_evaluations() -> None:
    for step in (0.01, 0.01 * (1.0 + 0.6e-9), np.float64(0.01), 0.0, None, "0.2"):
        controller: Any = SimpleNamespace(dt=step)
        assert for_step("simulate", controller, 0.01, 0) is controller
    for step in (0.01 * (1.0 + 3e-9), 0.01 * (1.0 - 3e-9), 0.2, 3.0):
        for controller in (SimpleNamespace(dt=step), SimpleNamespace(law=SimpleNamespace(dt=step))):
            with pytest.raises(ValueError, match=r"controller: expected one for steps of dt · control_every = 0.01 s"):
                for_step("simulate", controller, 0.01, 0)


def test_events_are_at_most_50() -> None:
    events = [Event(f"e{k}", lambda t, q, v: q[0]) for k in range(51)]
    assert len(checked_events(events[:50])) == 50
    with pytest.raises(ValueError, match="events: expected at most 50, got 51"):
        checked_events(events)


def test_sensors_are_checked_before_a_simulation() -> None:
    cloud = lw.shapes.PointCloud([(0.0, 0.0, 0.0), (0.1, 0.2, 0.3)], 0.01)
    robot = chain(
        lw.Link("upper", lw.shapes.Box((0.1, 0.2, 0.3)), mass=1.0),
        lw.Link("lower", mass=1.0),
        lw.Link("hand", mass=1.0, collisions=[cloud]),
    )
    down = [(0.0, 0.0, -0.5)]
    accepted = {
        "angle": Encoder(noise=(0.1, 0.2, 0.3)),
        "range": RangeSensor("lower", down, links=("upper",)),
        "_": TouchSensor(("upper",)),
    }
    contacts = ContactSet.of(ContactGround("upper"), "convex")
    suite = SensorSuite.of(accepted, robot, 0.001, contacts)
    assert suite is not None and suite.names == ("angle", "range", "_")
    for sensors, error, words in (
        ({3: Encoder()}, ValueError, "sensors: expected identifiers besides t, q, v and z as names, got 3"),
        ({"a-b": Encoder()}, ValueError, "sensors: expected identifiers .* got 'a-b'"),
        ({"z": Encoder()}, ValueError, "sensors: expected identifiers .* got 'z'"),
        ({"angle": "encoder"}, TypeError, r"sensors\['angle'\]: expected a sensor of linkwork.simulation, got 'enc"),
        ([Encoder()], TypeError, "sensors: expected a dict of sensors by name"),
        ({"e": Encoder(noise=(0.1, 0.2))}, ValueError, r"Encoder: noise: expected a number or \(3,\), got 2 values"),
        ({"e": Encoder(bias=(0.1,) * 4)}, ValueError, r"Encoder: bias: expected a number or \(3,\), got 4 values"),
        ({"r": RangeSensor("lower", down, links=("lower",))}, lw.errors.UnknownNameError, "link with a collision sh"),
        ({"r": RangeSensor("lower", down, links=("hand",))}, ValueError, "at which rays do not end; remove it"),
    ):
        with pytest.raises(error, match=words):
            SensorSuite.of(sensors, robot, 0.001, contacts)
    with pytest.raises(ValueError, match="noise: expected standard deviations >= 0"):
        Encoder(noise=(0.5, -1e-12))
    with pytest.raises(ValueError, match="directions: expected non-zero vectors"):
        RangeSensor("lower", [(0.0, 0.0, -0.5), (0.0, 0.0, 0.0)], links=("upper",))


def test_readings_of_encoders_are_multiples_of_the_resolution() -> None:
    x = [0.37, -1.62]
    for resolution, expected in ((0.0, x), (0.25, [0.25, -1.5]), (1.0, [0.0, -2.0]), (1.5, [0.0, -1.5])):
        assert list(Encoder(resolution=resolution).digitized(x)) == expected


def test_options_that_do_not_fit_a_simulation_are_refused() -> None:
    q = ARM.neutral()
    how: dict[str, Any] = {"duration": 0.01, "dt": 0.01}

    def two(t: Any, q: Any) -> Any:
        return q

    class Counting:
        start = 0.0

        def __call__(self, t: Any, q: Any, v: Any) -> Any:
            return q

    class Single(Counting):
        def __call__(self, t: Any, q: Any, v: Any, z: Any) -> Any:
            return q

    for options, error, words in (
        ({"record": ["contact_gap"]}, ValueError, "record: expected contacts for these records, got none"),
        ({"sensors": {"events": Encoder()}}, ValueError, "sensors: 'events' is also the name of an input or a record"),
        (
            {"sensors": {"kinetic_energy": Encoder()}, "record": ["kinetic_energy"]},
            ValueError,
            "sensors: 'kinetic_energy' is also the name",
        ),
        ({"controller": two}, TypeError, r"controller: expected a function called as \(t, q, v\)"),
        ({"controller": Counting()}, TypeError, r"controller: expected a function called as \(t, q, v, z\)"),
        ({"controller": Single()}, ValueError, r"controller: expected a pair \(τ, z\) of joint forces"),
    ):
        with pytest.raises(error, match=words):
            ARM.simulate(q, **how, **options)
    simulator = lw.Simulator(ARM, controller=lambda t, q, v: [0.0, 0.0])
    with pytest.raises(TypeError, match=r"Simulator.step: tau: expected None, as there is a controller; leave it out"):
        simulator.step([0.0, 0.0])


def test_materials_of_contacts_have_values_in_range() -> None:
    assert _series(3.0, None) == (3.0, 1.0) and _series(None, 3.0) == (3.0, 0.0) and _series(None, None) == (None, 0.5)
    assert _series(2.0, 6.0) == (1.5, 0.75)
    inside = (("friction", 0.0), ("friction", 0.5), ("restitution", 0.0), ("restitution", 1.0), ("stiffness", 1e-9))
    for kind, value in inside:
        check_parameter(f"contact_{kind}", np.array([value, value]))
    for kind, value, words in (
        ("friction", -1e-12, "numbers >= 0, got -1e-12"),
        ("restitution", 1.0 + 1e-15, "numbers from 0 to 1, got 1"),
        ("restitution", -0.1, "numbers from 0 to 1"),
        ("stiffness", 0.0, "numbers > 0, got 0"),
        ("dissipation", math.nan, "numbers >= 0, got nan"),
    ):
        with pytest.raises(ValueError, match=rf"parameters\['contact_{kind}'\]: expected {words}"):
            check_parameter(f"contact_{kind}", np.array([1.0, value, 1.0]))
    material = ContactMaterial(friction=0.3, stiffness=2e4)
    by = [("contact_friction:foot", 0.7), ("contact_friction", 0.5), ("contact_stiffness:hand", 1e3)]
    for of, friction, stiffness in ((("foot", "floor"), 0.7, 2e4), (("hand",), 0.5, 1e3), (("knee",), 0.5, 2e4)):
        varied = varied_surface(material, of, by, "a")
        assert (varied.friction, varied.stiffness) == (friction, stiffness)
    assert varied_surface(material, ("knee",), by[:1], "a") is material
    with pytest.raises(ValueError, match="expected one friction for the contact of a, got 'contact_friction:hand'"):
        varied_surface(material, ("foot", "hand"), [*by, ("contact_friction:hand", 0.1)], "a")
    ground = ContactGround(("tip",), normal=(0.3, -0.1, 0.2))
    assert np.allclose(ground.normal, np.array([3.0, -1.0, 2.0]) / math.sqrt(14.0), atol=1e-15)


@pytest.mark.parametrize(
    ("model", "material", "words"),
    [
        ("convex", {"dissipation": 0.2}, "dissipation: expected 0 with contact_model='convex', got 0.2"),
        ("compliant", {"stiffness": 1e5, "restitution": 0.2}, "restitution: expected 0 with .*'compliant', got 0.2"),
        ("compliant", {}, "stiffness: expected a number > 0"),
    ],
)
@pytest.mark.light
def test_materials_that_a_contact_model_lacks_are_refused(model: str, material: Any, words: str) -> None:
    contacts = ContactGround(("tip",), height=-5.0, **material)
    with pytest.raises(ValueError, match=words):
        ARM.simulate(ARM.neutral(), duration=0.01, dt=0.01, contacts=contacts, contact_model=model)


def test_messages_name_energies_events_and_saturated_joints() -> None:
    def drift(kinetic: float, change: float) -> str:
        energies = {"kinetic": np.array([0.0, kinetic]), "sum": np.array([3.0, 3.0 + change])}
        return drift_message("semi_implicit_euler", energies)

    assert "changes by 20 % of the largest kinetic energy" in drift(0.4, 0.08)
    assert drift(0.0, 0.08) == drift(0.4, 0.0) == ""
    assert drift_message("semi_implicit_euler", dict.fromkeys(("kinetic", "sum"), np.array([0.0, 3e-75]))) == ""
    assert drift_message("", {"kinetic": np.array([0.4, 0.4]), "sum": np.array([1.0, 2.0])}) == ""
    codes, watched = np.array([ENDED, GUARD, GUARD + 1.0, STATE, ENDED]), ("low", "high")
    said = [sentence_of((k,), codes, 0.25, {(0,): "contact"}, watched) for k in range(5)]
    names = [[name for name in ("'low'", "'high'", "'contact'") if name in text] for text in said]
    assert names == [["'contact'"], ["'low'"], ["'high'"], [], []]
    assert all(text.endswith(" 0.25 s") for text in said)
    robot: Any = SimpleNamespace(nv=4, effort_limits=(0.5, 0.0, 3.0, math.inf))
    controller: Any = SimpleNamespace(effort_limits=(0.0, 0.2, 0.2, 7.0))
    assert {k: round(x, 3) for k, x in reached_limits(robot, controller).items()} == {1: 0.2, 2: 0.2, 3: 6.999}
    assert set(reached_limits(robot, lambda t, q, v: None)) == {0, 2, 3} and reached_limits(robot, None) == {}
    with pytest.raises(ValueError, match=r"wrenches\['tip'\]: expected \(moment; force\) \(6,\) .* got 3 values"):
        ControlOutput([0.0, 0.0], {"tip": (1.0, 2.0, 3.0)}).checked_wrenches(ARM)
    ((frame, axes, values),) = ControlOutput([0.0, 0.0], {"tip": (1, 2, 3, 4, 5, 6)}).checked_wrenches(ARM)
    assert (frame, axes, list(values)) == ("tip", "world", [1, 2, 3, 4, 5, 6])


def test_actuators_that_are_no_servos_are_refused() -> None:
    planar = lw.Robot.build(
        "planar",
        lw.Link("plate", mass=1.0, inertia=(0.1, 0.2, 0.3)),
        lw.Link("arm", mass=0.2, inertia=(0.1, 0.2, 0.3)),
        lw.Joint.of(lw.joints.Planar(), name="table", parent="world", child="plate"),
        lw.Joint.of(lw.joints.Revolute((0.0, 1.0, 0.0)), name="elbow", parent="plate", child="arm"),
    )
    joint = "table"
    base = lw.Actuator.position(
        "servo", joint, gear=(0.0, 2.0, 0.0), stiffness=30.0, damping=0.5, force_range=(-4.0, 4.0)
    )
    servos = actuator_servos(planar.with_actuators(base), [0.25]).of(planar)
    assert list(servos.stiffness) == [0.0, 120.0, 0.0, 0.0] and list(servos.damping) == [0.0, 2.0, 0.0, 0.0]
    assert list(servos.limit) == [0.0, 8.0, 0.0, 0.0] and list(servos.force) == [0.0, 15.0, 0.0, 0.0]
    for name in ("stiffness", "damping", "limit"):
        assert list(getattr(ServoActuators([0.0, 0.0], **{name: (0.5, 0.0)}).of(ARM), name)) == [0.5, 0.0]
        with pytest.raises(ValueError, match=f"ServoActuators: {name}: expected numbers >= 0, got -0.5"):
            ServoActuators([0.0, 0.0], **{name: (0.5, -0.5)}).of(ARM)
    for changes, words in (
        ({"joints": ((joint, (1.0, 2.0, 0.0)),)}, "it acts on several velocities together"),
        ({"joints": ((joint, (0.0, 2.0, 0.0)), ("elbow", (1.0,)))}, "it acts on several velocities together"),
        ({"bias": (0.0, 0.25, 0.0)}, "its stiffness or damping is negative"),
        ({"bias": (0.0, 0.0, 0.25)}, "its stiffness or damping is negative"),
        ({"gain": (1.0, 0.5, 0.0)}, "its gain depends on its length"),
        ({"force_range": (-4.0, 3.0)}, "force_range: expected symmetric bounds"),
    ):
        kind: dict[str, Any] = {
            "joints": ((joint, (0.0, 2.0, 0.0)),),
            "gain": (1.0, 0.0, 0.0),
            "bias": (0.0, -1.0, 0.0),
            **changes,
        }
        wrong = planar.with_actuators(lw.Actuator("servo", **kind))
        with pytest.raises(ValueError, match=f"actuator 'servo': {words}"):
            actuator_servos(wrong, [0.25])


def test_initial_states_at_the_accepted_error_pass() -> None:
    rows, bounds = [("loop: x", "m"), ("loop: angle", "rad")], np.array([2e-6, 1e-6])
    _refuse("simulate", "q", bounds, bounds, rows)
    _refuse("simulate", "q", -bounds, bounds, rows)
    _refuse("simulate", "q", np.zeros(0), np.zeros(0), [])
    for left in (bounds * (1.2, 1.0), -bounds * (1.2, 1.0)):
        with pytest.raises(ValueError, match=r"q: expected an assembled configuration.*loop: x"):
            _refuse("simulate", "q", left, bounds, rows)
    with pytest.raises(ValueError, match=r"in environment 1 \(1 of 2 environments\)"):
        _refuse("simulate", "v", np.stack([bounds, bounds * (1.0, math.nan)]), bounds, rows)
    # Singular values of 3e-5 of the largest are independent, of 3e-6 redundant, and all are of a zero matrix.
    turn = np.linalg.qr(np.array([[1.0, 2.0, 4.0], [3.0, -1.0, 2.0], [0.5, 0.2, -1.0]]))[0]
    counts = [
        _null_space(scale * np.diag([1.0, 3e-5, x]) @ turn).shape[1] for scale in (0.1, 7.0) for x in (3e-5, 3e-6)
    ]
    assert counts == [0, 1, 0, 1] and _null_space(np.zeros((2, 3))).shape == (3, 3)


def test_eigenvalues_of_a_step_by_a_spring_are_those_of_its_matrix() -> None:
    """Semi-implicit Euler: [[1 - x, 1], [-x, 1]] in units of h, of size 1 up to x = 4; Runge-Kutta: truncated exp."""
    for x in (0.3, 2.0, 4.0, 4.3, 5.7, 8.0):
        eigenvalues = np.linalg.eigvals(np.array([[1.0 - x, 1.0], [-x, 1.0]]))
        expected = eigenvalues[np.argmax(np.abs(eigenvalues))]
        factor = _factor("semi_implicit_euler", x)
        assert abs(abs(factor) - abs(expected)) < 1e-7 and (x <= 4.0 or abs(factor - expected) < 1e-12)
        A = np.array([[0.0, 1.0], [-x, 0.0]])
        power = np.eye(2) + A + A @ A / 2.0 + A @ A @ A / 6.0 + A @ A @ A @ A / 24.0
        assert np.abs(np.linalg.eigvals(power) - _factor("rk4", x)).min() < 1e-12
    assert "semi_implicit_euler" in METHODS


def test_unstable_steps_are_those_with_an_eigenvalue_outside_of_the_circle() -> None:
    robot, zero, size = ARM, np.zeros(2), np.full(4, 1e-4)

    def worst(*factors: float) -> Any:
        """Step by which deviations of q stay, and those of v are multiplied by the factors."""

        def step(q: Any, v: Any, h: float) -> Any:
            return q, v * np.array(factors)

        return _worst(robot, step, zero, zero, size, np.eye(4), 0.01)

    assert worst(1.0, -1.0) is None and worst(0.5, 0.2) is None and worst(1.0, -1.0 - 1e-7) is None
    assert worst(math.nan, 2.0) is None
    value, joint = worst(0.5, -1.5)
    assert abs(value + 1.5) < 1e-9 and joint == robot.v_names[1]
    value, joint = worst(30.0, -1.5)
    assert abs(value - 30.0) < 1e-9 and joint == robot.v_names[0]
    assert _worst(robot, lambda *_: None, zero, zero, size, np.zeros((4, 0)), 0.01) is None


def test_robots_without_inertia_or_freedom_are_simulated_or_refused() -> None:
    bare = chain(lw.Link("a"), lw.Link("b"))
    assert list(independent_inertias(bare).joints) == [0.0, 0.0]
    units = PlausibleValues.of(bare.tree)
    assert np.isfinite(units.forces).all() and min(units.forces) >= 1.0
    fixed = lw.Robot.build("post", lw.Link("post", mass=1.0, inertia=(0.1, 0.2, 0.3)))
    for method in ("semi_implicit_euler", "rk4"):
        run = fixed.simulate(np.zeros(0), controller=lambda t, q, v: [], duration=0.02, dt=0.01, method=method)
        assert run.q.shape == (3, 0) and run.success
    body = lw.Robot.build("body", lw.Link("body", mass=1.0, inertia=(0.1, 0.2, 0.3)), floating_base=True)
    assert is_free(body.tree) and not is_free(ARM.tree)


def test_stiff_resistances_are_added_to_the_mass_matrix() -> None:
    M = [[3.0], [0.4, 2.0], [0.1, -0.2, 5.0]]  # lower triangle
    row, c = [0.5, 0.0, -2.0], 0.7
    result = with_resistance([list(x) for x in M], [(row, c)], [0.1, 0.2, 0.3])
    full = np.array([[3.0, 0.4, 0.1], [0.4, 2.0, -0.2], [0.1, -0.2, 5.0]])
    expected = full + np.diag([0.1, 0.2, 0.3]) + c * np.outer(row, row)
    assert [len(x) for x in result] == [1, 2, 3]
    assert all(abs(x - expected[i, j]) < 1e-15 for i, each in enumerate(result) for j, x in enumerate(each))


def test_depth_that_causes_no_warning_counts_bodies_below_a_kilogram() -> None:
    """A light wide plate is wider than the arm that it hangs on is long."""
    depths = [
        allowed_depth(chain(lw.Link("plate", mass=0.5, inertia=moment)), 1e-3, (1e-3, 0.0))
        for moment in ((3e-3, 4e-3, 5e-3), (30.0, 40.0, 50.0))
    ]
    assert depths[1] > 5.0 * depths[0] > 0.0


def record(time: float, q: float, next_q: float, v: float = 1.0, next_v: float = 1.0) -> EventRecord:
    return EventRecord("hit", (), time, *(np.array([x]) for x in (q, v, next_q, next_v)))


@pytest.mark.parametrize(
    ("events", "end", "expected"),
    [
        ([], None, [([0, 1, 2, 3], [0, 1, 2])]),
        ([record(1.5, 15, 40)], None, [([0, 1, 1.5], [0, 1]), ([1.5, 2, 3], [1, 2])]),
        ([record(1.5, 15, 15)], None, [([0, 1, 2, 3], [0, 1, 2])]),
        ([record(1.5, 15, 15, 1.0, -0.5)], None, [([0, 1, 1.5], [0, 1]), ([1.5, 2, 3], [1, 2])]),
        ([record(2.0, 20, 40)], None, [([0, 1, 2], [0, 1]), ([2, 3], [2])]),
        ([record(0.0, 0, 40)], None, [([0, 1, 2, 3], [0, 1, 2])]),
        ([record(1.5, 15, 15)], 1.5, [([0, 1, 1.5], [0, 1])]),
        ([record(1.2, 12, 12), record(1.5, 15, 15)], 1.5, [([0, 1, 1.5], [0, 1])]),
        ([], 2.0, [([0, 1, 2], [0, 1])]),
        (
            [record(1.2, 12, 30), record(1.6, 34, 50)],
            None,
            [([0, 1, 1.2], [0, 1]), ([1.2, 1.6], [1]), ([1.6, 2, 3], [1, 2])],
        ),
        ([], 0.0, []),
    ],
)
@pytest.mark.light
def test_trajectories_of_simulations_are_divided_at_jumps(events: Any, end: float | None, expected: Any) -> None:
    t = np.arange(4.0)
    stretches = _stretches(t, 10.0 * t[:, None], np.ones((4, 1)), events, end)
    assert [(x.t.tolist(), x.step.tolist()) for x in stretches] == expected
    for k, stretch in enumerate(stretches):
        before = max((e for e in events if e.time <= stretch.t[0]), key=lambda e: e.time, default=None)
        assert stretch.q[0, 0] == (before.next_q[0] if before is not None else 10.0 * stretch.t[0])
        after = [e for e in events if e.time == stretch.t[-1]]
        assert stretch.q[-1, 0] == (after[0].q[0] if after else 10.0 * stretch.t[-1]) and k < 3
    if not expected:
        with pytest.raises(ValueError, match="trajectory: expected at least two records, got one"):
            trajectory_through(None, t, t[:, None], t[:, None], events, end, None, ())


def test_joint_limits_push_back_from_both_sides_and_are_reported_by_side() -> None:
    robot = chain(lw.Link("arm", mass=2.0, com=(0.0, 0.0, 0.3)), lower=-0.4, upper=0.7)
    low, high = joint_limits(robot, [[1.0]], [0.1], 0.01, StepScale.of(robot.tree, robot.gravity, 0.01))
    assert (low.low, low.high, high.low, high.high) == (0.0, math.inf, -math.inf, 0.0)
    t = np.arange(3.0)
    for path, words in (
        ([0.0, -0.5, -0.6], "lower limit of -0.4 at 1 s"),
        ([0.0, 0.6, 0.8], "upper limit of 0.7 at 2 s"),
    ):
        with pytest.warns(lw.errors.SimulationWarning, match=f"passed its {words}"):
            warn_of_limits(robot, t, np.array(path)[:, None])
    warn_of_limits(robot, t, np.array([[0.7], [-0.4], [0.7]]))  # at the limits
    warn_of_limits(robot, t, np.array([[0.9], [0.9], [0.8]]))  # outside from the start
