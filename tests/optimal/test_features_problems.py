"""Contacts, constraints and user functions in whole problems with known answers."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.optimal.algorithms.path_window import PathWindow
from linkwork.shapes import Box


@pytest.mark.slow(every=5)
def test_surface_contact_supports_a_standing_block_in_a_trajectory_problem():
    """The wrench is the weight under the centre of mass; a slope that is too steep supports no block."""
    block = lw.Robot.build(
        "block",
        lw.Link("body", Box((0.4, 0.2, 0.2)), mass=10.0, frames={"sole": (0.05, 0.0, -0.1)}),
        lw.Joint.of(lw.joints.Floating(), name="base", parent="world", child="body"),
    )
    problem = lw.TrajectoryProblem(block, num_steps=3, duration=0.15).add("acceleration", "least_squares")
    problem = problem.add_contact("sole", surface=(0.2, 0.1), friction=0.6, effort=0.0).add(
        "unactuated", "equality", name="no motor"
    )
    result = problem.solve(block.neutral())
    assert result.success and np.abs(result.q - block.neutral()).max() < 1e-8
    # in the sole's axes at its origin: the weight acts 0.05 m behind it, m = r × f
    assert np.allclose(result.variables["sole"], [0.0, 0.05 * 98.1, 0.0, 0.0, 0.0, 98.1], atol=1e-4)
    assert all(problem.check(name).success for name in ("no motor", "sole: stays", "sole: friction"))
    tilted = block.integrate(block.neutral(), [0.0, 0.7, 0.0, 0.0, 0.0, 0.0])  # tan 0.7 > 0.6
    slides = problem.solve(tilted, max_iterations=60)
    assert not slides.success
    with pytest.raises(KeyError, match=r"no feature of the problem named 'sole: friktion'.*sole: friction"):
        problem.check("sole: friktion")


@pytest.mark.parametrize("surface", [None, (0.2, 0.1)])
def test_scales_of_contact_terms_are_relative_to_the_weight_of_the_robot(surface):
    """Moments are relative to the weight times the unit of length; ``effort`` multiplies the scales of forces."""
    block = lw.Robot.build("block", lw.Link("body", Box((400.0, 200.0, 100.0)), mass=10.0), floating_base=True)
    problem = lw.TrajectoryProblem(block, num_steps=3, duration=0.15)
    problem = problem.add_contact("body", (0, 2), friction=0.6, effort=0.03, surface=surface, height=1.0)
    scales = {term.name: term.scale for term in problem.terms}
    weight, length = 98.1, 1000.0  # of a block in millimetres
    expected = [1.0 / weight] * 3 if surface is None else [1.0 / (weight * length)] * 3 + [1.0 / weight] * 3
    assert np.allclose(scales["body: no force"], expected, rtol=1e-9)
    assert np.allclose(scales["body: force"], 0.03 * np.array(expected), rtol=1e-9)


@pytest.mark.slow(every=5)
def test_hopper_in_a_trajectory_problem_hops():
    """Between two phases of contact its centre of mass flies, and the ground returns the momentum that gravity took."""
    hopper = lw.Robot.build(
        "hopper",
        lw.Link("body", mass=2.0),
        lw.Link("leg", mass=0.2, com=(0, 0, -0.1)),
        lw.Joint.of(lw.joints.Prismatic((0, 0, 1)), name="up", parent="world", child="body", lower=0.0, upper=2.0),
        lw.Joint.of(lw.joints.Prismatic((0, 0, 1)), name="push", parent="body", child="leg", lower=-0.2, upper=0.15),
    ).with_point("toe", "leg", (0.0, 0.0, -0.3))
    phases = {"stand": (0, 8), "fly": (8, 14), "land": (14, 20)}
    problem = lw.TrajectoryProblem(hopper, num_steps=20, duration=0.6, phases=phases).add(
        "acceleration", "least_squares", scale=0.02
    )
    for phase in ("stand", "land"):
        problem = problem.add_contact("toe", phase, height=0.0, name=phase)
    problem = problem.add(lw.optimal.TorqueFeature("up"), "equality", name="no motor").add(
        "position limits", "inequality"
    )
    problem = problem.add(lambda w: 0.05 - w.point("toe")[2], "inequality", steps=11, name="high").add(
        "velocity", "equality", steps=-1
    )
    result = problem.solve([0.3, 0.0])
    heights = [
        name for name, x in result.residuals.items() if name.split(": ")[-1] in ("stays", "height", "no force", "high")
    ]
    assert len(heights) == 7 and result.feasible
    tau = 0.03
    z = hopper.center_of_mass(np.concatenate([[[0.3, 0.0]] * 2, result.q]))[:, 2]
    accelerations = (z[2:] - 2 * z[1:-1] + z[:-2]) / tau**2
    forces = result.variables["stand"][:, 2] + result.variables["land"][:, 2]
    assert np.allclose(2.2 * (accelerations + 9.81), forces, atol=1e-3)  # Newton's law, of the whole
    assert np.allclose(accelerations[8:14], -9.81, atol=1e-4) and (forces > -1e-5).all()
    toe = hopper.pose(result.q, "leg")[:, 2, 3] - 0.3
    assert np.abs(toe[[*range(8), *range(13, 20)]]).max() < 1e-5 and toe[11] > 0.05 - 1e-5


@pytest.mark.slow(every=5)
def test_car_in_a_trajectory_problem_parks_sideways():
    """Its wheels roll without slip: a planar chassis with two axles."""
    car = lw.Robot.build(
        "car",
        lw.Link("chassis", mass=1.0),
        lw.Link("front", mass=0.1),
        lw.Joint.of(lw.joints.Planar(), name="drive", parent="world", child="chassis"),
        lw.Joint.of(
            lw.joints.Revolute((0, 0, 1)),
            name="steer",
            parent="chassis",
            child="front",
            placement=(0.3, 0, 0),
            lower=-0.6,
            upper=0.6,
        ),
    ).with_constraints(lw.constraints.KnifeEdge("chassis"), lw.constraints.KnifeEdge("front"))
    problem = lw.TrajectoryProblem(car, num_steps=32, duration=4.0).add("acceleration", "least_squares", scale=0.1)
    problem = problem.add("velocity", "least_squares", scale=0.1).add("position limits", "inequality")
    problem = problem.add("configuration", "equality", steps=-1, target=[0.0, 0.4, 0.0, 0.0], name="parked")
    result = problem.solve(car.neutral(), max_iterations=150)
    assert [entry.name for entry in problem.terms][:2] == ["chassis skates", "front skates"]
    path = np.concatenate([car.neutral()[None], result.q])
    assert np.abs(path[-1] - [0.0, 0.4, 0.0, 0.0]).max() < 1e-5 and np.abs(path[:, 3]).max() < 0.6 + 1e-5
    assert np.abs(path[:, 0]).max() > 0.2  # it has to go to and fro
    step, heading = np.diff(path, axis=0), 0.5 * (path[1:, 2] + path[:-1, 2])
    axle = np.stack([-np.sin(heading), np.cos(heading)], axis=-1)
    assert np.abs((step[:, :2] * axle).sum(axis=-1)).max() < 1e-4  # by half angles a chord of each arc


@pytest.mark.slow(every=3)
def test_four_bar_in_a_trajectory_problem_is_moved_by_its_crank():
    """It stays closed, and the motor's torque is that of constrained dynamics."""
    robot = lw.load("fourbar")
    start = robot.assemble(robot.neutral()).q
    problem = lw.TrajectoryProblem(robot, num_steps=12, duration=1.0).add("acceleration", "least_squares", scale=0.1)
    problem = problem.add(lw.ik.JointTask("crank_hinge"), "equality", steps=-1, target=start[0] + 0.8, name="turned")
    followers = lw.optimal.TorqueFeature(["coupler_hinge", "rocker_hinge"])
    problem = problem.add(followers, "equality", name="no motors", steps=slice(1, None))
    problem = problem.add(lw.optimal.TorqueLimits(upper=500.0), "inequality", steps=slice(1, None))
    result = problem.solve(start)
    assert result.success and np.abs(robot.constraint_error(result.q)).max() < 1e-6
    assert abs(result.q[-1, 0] - start[0] - 0.8) < 1e-6
    tau = 1.0 / 12
    q = np.concatenate([start[None], start[None], result.q])
    v = np.diff(q, axis=0) / tau
    v[-1] *= 2.0  # the last configuration is half a step after the one before
    a, middle = np.diff(v, axis=0) / tau, 0.5 * (v[1:] + v[:-1])
    free = robot.without_constraints().inverse_dynamics(q[1:-1], middle, a)
    pushed = np.einsum("tij,ti->tj", robot.constraint_jacobian(q[1:-1]), result.variables["force of pin"])
    assert np.abs((free - pushed)[1:, 1:]).max() < 1e-5
    # power of what is not driven is power of the motor: the virtual work of motions that keep the loop
    moves = np.array([np.linalg.svd(J)[2][-1] for J in robot.constraint_jacobian(q[1:-1])])
    motor = (free - pushed)[:, 0]
    assert np.allclose((motor * moves[:, 0])[1:], (free * moves).sum(axis=-1)[1:], atol=1e-5)


def test_invalid_contacts_of_trajectory_problems_are_refused():
    arm = lw.load("arm7")
    for options, message in (
        ({"on": "hnad"}, "no frame or point named 'hnad'.*hand"),
        ({"on": "base"}, "is fixed to the world: expected a frame"),
        ({"on": 3}, "expected the name of a frame or a point"),
        ({"friction": -0.1}, "'hand': friction: expected a finite number >= 0, got -0.1"),
        ({"normal": (0, 0, 0)}, r"normal: expected a nonzero vector \(3,\)"),
        ({"normal": (0, 1)}, r"normal: expected a nonzero vector \(3,\)"),
        ({"surface": (0.1, 0.0)}, r"surface: expected its sides \(2,\)"),
        ({"cone": "round"}, "cone: expected one of 'smooth', 'pyramid', got 'round'"),
        ({"height": np.inf}, "height: expected a finite number"),
        ({"steps": "standing"}, "unknown phase 'standing'"),
    ):
        problem = lw.TrajectoryProblem(arm, num_steps=4, phases={"stand": (0, 2)})
        with pytest.raises((ValueError, TypeError, KeyError), match=message):
            problem.add_contact(**{"on": "hand", **options})
        assert not problem.terms and not problem.variables
    twice = lw.TrajectoryProblem(arm, num_steps=4).add_contact("hand")
    with pytest.raises(ValueError, match="a variable or parameter named 'hand' exists"):
        twice.add_contact("hand")


def test_contacts_add_their_terms_and_variables_to_a_trajectory_problem():
    """Terms follow the options; a point gets a frame, and forces are zero outside of their steps."""
    arm = lw.load("arm7").with_point("knob", "hand", (0.0, 0.0, 0.1))
    hop = lw.TrajectoryProblem(arm, num_steps=6, phases={"push": (0, 2), "land": (4, 6)})
    hop = hop.add_contact("hand", ["push", "land"])
    assert {term.name: term.steps for term in hop.terms} == {
        "hand: friction": (0, 1, 4, 5),
        "hand: stays": (0, 1, 4, 5),
        "hand: no force": (2, 3),
        "hand: force": (0, 1, 4, 5),
    }
    assert hop.variables["hand"].steps == (0, 1, 4, 5) and hop.variables["hand"].phases == ("push", "land")
    with pytest.raises(TypeError, match=r"expected steps, a slice or names of phases, got \['push', 3\]"):
        hop.add("velocity", "least_squares", steps=["push", 3])
    with pytest.raises(ValueError, match=r"unknown phase 'lend'.*'land'"):
        hop.add("velocity", "least_squares", steps=["push", "lend"])
    problem = lw.TrajectoryProblem(arm, num_steps=4, phases={"held": (1, 3)})
    problem = problem.add_contact("knob", "held", friction=None, height=0.2, normal=(0, 0, 2)).add_contact(
        "hand", stays=False, effort=0.0
    )
    assert [entry.name for entry in problem.terms] == [
        "knob: stays",
        "knob: height",
        "knob: no force",
        "knob: force",
        "hand: friction",
    ]
    assert problem.terms[0].steps == (1, 2) and problem.terms[2].steps == (0, 3)
    assert [contact.frame for contact in problem.contacts] == ["knob: contact", "hand"]
    q = np.linspace(0.1, 0.7, 7)
    knob = problem.robot.pose(q, "knob: contact")[:3, 3]
    assert np.allclose(knob, arm.pose(q, "hand")[:3] @ [0.0, 0.0, 0.1, 1.0])
    problem = problem.add(
        lambda w: arm.pose(w.q(), "hand")[:3, 3] - w.point("knob"), "least_squares", name="knob's place"
    )
    assert all(problem.check(name).success for name in ("knob's place", "knob: height", "hand: friction"))
    feature = problem.terms[-1].feature
    values = feature.values(PathWindow(problem.robot.tree, [[*q]], [0.1]), [])
    assert np.allclose(values, arm.pose(q, "hand")[:3, 3] - knob)
