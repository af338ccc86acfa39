"""Contacts and contact sensors without a simulation: sliding speeds, readings, warnings of depth, and refusals."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import linkwork as lw
from linkwork import shapes
from linkwork.errors import SimulationWarning, UnknownNameError
from linkwork.simulation import (
    ContactGround,
    ContactMaterial,
    ContactPair,
    ContactPoint,
    ContactScene,
    ContactSensor,
    ControlOutput,
    TouchSensor,
)
from linkwork.simulation.arguments import leading_of, read_arrays, read_robot_parameters
from linkwork.simulation.contacts import penetration_depth
from linkwork.simulation.contacts.contact_set import ContactDiagnostics, ContactSet
from linkwork.simulation.control_output import command_form
from linkwork.simulation.rollout.scipy_integrators import scipy_solver
from linkwork.simulation.sensors.sensor import SensorInput

WOOD, RUBBER = ContactMaterial(0.5), ContactMaterial(0.9, 0.0, 1e5, 0.2)


def robot():
    """A floating box with a ball on a hinge, and a plate that is fixed to the world."""
    hinge = lw.joints.Revolute((0.48, -0.6, 0.64))
    built = lw.Robot.build(
        "probe",
        lw.Link("plate"),
        lw.Link("box", mass=2.0, inertia=(0.1, 0.2, 0.15)),
        lw.Link("arm", mass=1.0, inertia=(0.03, 0.02, 0.04), com=(0.1, 0.05, 0.02)),
        lw.Joint.of(lw.joints.Floating(), name="free", parent="plate", child="box"),
        lw.Joint.of(hinge, name="hinge", parent="box", child="arm", placement=(0.2, 0.1, -0.1)),
    )
    built = built.with_collisions("plate", shapes.Box((0.2, 0.3, 0.1)))
    built = built.with_collisions("box", shapes.Box((0.3, 0.2, 0.1)))
    return built.with_collisions("arm", shapes.Sphere(0.1).at((0.15, 0.02, 0.01)))


ROBOT = robot()
FLOOR = lw.pose((0.1, 0.2, -0.3), rpy=(0.4, -0.5, 0.3))
SCENE = lw.Scene().with_half_space("floor", FLOOR).with_sphere("ball", 0.1, (2, 0, 0))


def test_sliding_speeds_and_touch_readings_are_those_of_the_contact_points() -> None:
    """Speeds across the normal by differences of the point fixed to the arm; forces by the normal alone."""
    contacts = ContactSet.of(ContactScene(SCENE.only(["floor"]), links=("arm",)), "convex")
    rng = np.random.default_rng(0)
    q = ROBOT.random_configuration(seed=3)
    v = rng.normal(size=ROBOT.nv)
    (candidate,) = contacts.candidates(ROBOT, q)
    normal = FLOOR[:3, 2]
    assert [*map(float, candidate.axes[2])] == pytest.approx(normal, abs=1e-14)
    arm = np.array([*map(float, candidate.arms[1])])
    X = ROBOT.pose(q, "arm")
    local = X[:3, :3].T @ arm
    h = 1e-6
    ends = [ROBOT.pose(ROBOT.integrate(q, s * h * v), "arm") for s in (1.0, -1.0)]
    velocity = np.subtract(*(P[:3, :3] @ local + P[:3, 3] for P in ends)) / (2.0 * h)
    across = np.linalg.norm(velocity - normal * (normal @ velocity))
    force = np.array([3.0, -4.0, 5.0])
    assert contacts.slips(ROBOT, q, v, [force]) == pytest.approx([across], rel=1e-8)
    assert contacts.slips(ROBOT, q, v, [0.0 * force]).tolist() == [0.0]
    state = SimpleNamespace(q=q, v=v, forces=[force], residual=0.25)
    assert ContactDiagnostics("contact_residual")(contacts, ROBOT, state) == 0.25
    assert ContactDiagnostics("contact_gap")(contacts, ROBOT, state) == pytest.approx([float(candidate.gap)])
    assert ContactDiagnostics("contact_slip")(contacts, ROBOT, state) == pytest.approx([across], rel=1e-8)
    pair = ContactSet.of(ContactPair("box", "arm"), "convex").candidates(ROBOT, q)[0]
    reading = SensorInput(ROBOT, 0.0, q, v, v, v, [(candidate, force), (pair, -2.0 * force)])
    along = [float(np.dot([*map(float, c.axes[2])], f)) for c, f in reading.contacts]
    assert TouchSensor(("arm", "box")).readings(reading) == pytest.approx([sum(along), along[1]], abs=1e-13)
    alone = SensorInput(ROBOT, 0.0, q, v, v, v, [(candidate, force)])
    sensor = ContactSensor(contacts)
    assert sensor.size(ROBOT) == 6
    assert sensor.readings(alone) == pytest.approx([*(X[:3, 3] + arm), *force], abs=1e-13)
    with pytest.raises(ValueError, match="ContactSensor: contacts: expected the contacts of the simulation, got 1 p"):
        sensor.readings(reading)


def test_warning_of_depth_names_the_deepest_pair_its_time_and_its_environment() -> None:
    contacts = ContactSet.of(ContactScene(SCENE, links=("arm", "box")), "convex")
    pairs = [name for name, _ in penetration_depth._pairs(contacts, ROBOT)]
    state = penetration_depth.depth_state(contacts, ROBOT, (2, 3))
    assert state.shape == (2, 3, 3 + len(pairs)) and len(pairs) == 4
    state[1, 2, :3] = 0.02, 1.0, 40.0  # 20 mm beyond the start's 5 mm, after 40 steps
    state[1, 2, 3 + 1] = 0.005
    state[0, 1, :3] = 0.01, 2.0, 10.0
    limit = penetration_depth.allowed_depth(ROBOT, 1e-3, penetration_depth._SUNK)
    assert limit < 0.01
    with pytest.warns(
        SimulationWarning, match=rf"{pairs[1]} are rigid and overlap by 25 mm at 0.04 s in environment 1, 2;"
    ):
        penetration_depth.warn_of_depth(contacts, ROBOT, state, 1e-3)
    single = penetration_depth.depth_state(contacts, ROBOT, ())
    for depth, count in ((limit * (1.0 - 1e-9), 0), (limit * (1.0 + 1e-9), 1)):
        single[0] = depth
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            penetration_depth.warn_of_depth(contacts, ROBOT, single, 1e-3)
            penetration_depth.warn_of_depth(contacts, ROBOT, np.zeros((0, 7)), 1e-3)
        assert len(caught) == count


def test_invalid_contacts_and_sensors_are_refused() -> None:
    mesh = ROBOT.with_collisions("arm", shapes.Mesh("arm.stl"))
    plane = ROBOT.with_collisions("arm", shapes.HalfSpace())
    checked = lambda part, model="convex", body=ROBOT: lambda: ContactSet.of(part, model).checked(body)  # noqa: E731
    wrong = {
        r"ContactScene: scene: expected at least one obstacle": lambda: ContactScene(lw.Scene()),
        r"ContactScene: links: expected names of links": lambda: ContactScene(SCENE, links=()),
        r"no link with a collision shape named 'amr'; did you mean 'arm'": checked(ContactScene(SCENE, links=("amr",))),
        r"ContactScene: links: 'plate' is fixed to the world": checked(ContactScene(SCENE, links=("plate",))),
        r"ContactScene: robot 'probe': expected a moving link with": checked(
            ContactScene(SCENE), body=ROBOT.with_collisions("arm").with_collisions("box")
        ),
        r"ContactScene: 'arm' names a link and an obstacle": checked(
            ContactScene(SCENE.with_sphere("arm", 0.1, (1, 2, 3)))
        ),
        r"ContactScene: shape 'arm': contacts are not supported.*with_collision_hulls": checked(
            ContactScene(SCENE), body=mesh
        ),
        r"expected a pair with a convex bounded shape, got 'arm', a HalfSpace, and 'floor', a HalfSpace": checked(
            ContactScene(SCENE), body=plane
        ),
        r"no link or obstacle with a material named 'bal'; did you mean 'ball'": checked(
            ContactScene(SCENE, materials={"bal": WOOD})
        ),
        r"ContactScene: materials: expected names, or pairs of names, got 3": lambda: ContactScene(
            SCENE,
            materials={3: WOOD},  # type: ignore[dict-item]
        ),
        r"ContactScene: materials\['arm'\]: expected a ContactMaterial, got 0.5": lambda: ContactScene(
            SCENE,
            materials={"arm": 0.5},  # type: ignore[dict-item]
        ),
        r"ContactPair: second: expected another link than first, got 'arm' for both": lambda: ContactPair("arm", "arm"),
        r"ContactPair: links 'hand' and 'arm' are on one body": checked(
            ContactPair("hand", "arm"), body=ROBOT.with_attached("hand", "arm", shapes.Sphere(0.1))
        ),
        r"floor.*: dissipation: expected 0 with contact_model='convex', got 0.2": checked(
            ContactScene(SCENE, materials={("arm", "floor"): ContactMaterial(0.5, 0.0, 1e4, 0.2)})
        ),
        r"stiffness: expected a number > 0 .* with contact_model='compliant', got None": checked(
            ContactScene(SCENE, materials=WOOD), "compliant"
        ),
        r"restitution: expected 0 with contact_model='compliant', got 0.1": checked(
            ContactScene(SCENE, materials=ContactMaterial(0.5, 0.1, 1e5)), "compliant"
        ),
        r"got 'foot'; frames that touch the ground are ContactGround": lambda: ContactSet.of(["foot"], "convex"),
        r"no model of contacts named 'convx'; did you mean 'convex'": lambda: ContactSet.of(None, "convx"),
        r"TouchSensor: expected a simulation with contacts, got none": lambda: TouchSensor(("arm",)).checked(
            ROBOT, False
        ),
        r"no frame, for a sensor of kind TouchSensor, named 'amr'; did you mean 'arm'": lambda: TouchSensor(
            ("amr",)
        ).checked(ROBOT, True),
        r"ContactSensor: expected a simulation with contacts, got none": lambda: ContactSensor(
            ContactPair("box", "arm")
        ).checked(ROBOT, False),
        r"ContactSensor: contacts: expected the contacts of the simulation, got None": lambda: ContactSensor(None),
        r"no solver of SciPy named 'RK54'; did you mean 'RK45'": lambda: scipy_solver("scipy:RK54"),
        r"simulate: inputs: expected identifiers as names, got 'a b'": lambda: read_arrays("inputs", {"a b": 1.0}),
        r"simulate: inputs\['a'\]: expected finite numbers, got inf": lambda: read_arrays("inputs", {"a": np.inf}),
        r"simulate: parameters: expected names of single parameters, got 'inertia:": lambda: read_robot_parameters(
            ROBOT, {"inertia:*": 1.0}, None
        ),
        r"simulate: parameters\['p'\]: expected \(..., 3\), got \(2, 4\)": lambda: leading_of(
            np.zeros((2, 8)), np.zeros(7), {"p": (np.zeros((2, 4)), (3,))}
        ),
        r"q, v and parameters: expected batches that broadcast, got \[\(2,\), \(\), \(3,\)\]": lambda: leading_of(
            np.zeros((2, 8)), np.zeros(7), {"p": (np.zeros((3, 3)), (3,))}
        ),
        r"controller: wrenches\['arm'\]: expected \(moment; force\) \(6,\) .*got 5 values": lambda: ControlOutput(
            np.zeros(7), {"arm": np.zeros(5)}
        ).checked_wrenches(ROBOT),
        r"expressed_in: expected frames of wrenches, got 'box'": lambda: ControlOutput(
            np.zeros(7), {"arm": np.zeros(6)}, {"box": "world"}
        ).checked_wrenches(ROBOT),
        r"wrenches: frame 'plate' is fixed to the world": lambda: ControlOutput(
            np.zeros(7), {"plate": np.zeros(6)}
        ).checked_wrenches(ROBOT),
    }
    for message, call in wrong.items():
        with pytest.raises((ValueError, TypeError, UnknownNameError), match=message):
            call()
    assert leading_of(np.zeros((2, 8)), np.zeros((3, 1, 7)), {"p": (np.zeros((2, 3)), (3,))}) == (3, 2)
    assert scipy_solver("scipy:RK45") == "RK45" and scipy_solver("default") == scipy_solver(3) == ""
    for part, model in (
        (ContactScene(SCENE, links=(ContactPoint("arm", (0.1, 0.2, 0.3)),), materials=WOOD), "convex"),
        (ContactScene(SCENE, materials=RUBBER), "compliant"),
        ([ContactPair("plate", "arm", materials={"arm": WOOD}), ContactGround(("arm",))], "convex"),
    ):
        ContactSet.of(part, model).checked(ROBOT)


def test_controller_with_a_state_returns_forces_and_the_next_state() -> None:
    setup = SimpleNamespace(
        robot=ROBOT, inputs=(), signals=(), hidden=(), sensors=None, begins=np.zeros(2), controller=None
    )
    setup.controller = lambda t, q, v, z: v
    with pytest.raises(ValueError, match=r"controller: expected a pair \(τ, z\) of joint forces and the next state"):
        command_form(setup)
    setup.controller = lambda t, q, v, z: ([*([0.0] * 6), 2.5 + 0.0 * t], z)
    assert command_form(setup).constants == (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.5) and not command_form(setup).servos


def test_material_without_arguments_neither_rebounds_nor_yields():
    material = ContactMaterial()
    assert (material.restitution, material.stiffness, material.dissipation) == (0.0, None, 0.0)
    assert ContactMaterial(restitution=0.5).beside(material).restitution == 0.0


@pytest.mark.parametrize("normal", [(0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (-1.0, 0.0, -0.0), (-0.0, 0.0, -2.0)])
def test_axes_of_a_horizontal_or_vertical_ground_have_no_negative_zeros(normal):
    axes = np.array(ContactGround("arm", normal=normal).axes())
    assert np.array_equal(axes @ axes.T, np.eye(3)) and not np.signbit(axes[axes == 0.0]).any()
    assert np.linalg.det(axes) == 1.0
