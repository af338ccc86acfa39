"""Contacts with the ground: closed forms for blocks, balls, feet and limits."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import linkwork as lw
from helpers.linkages import linkage
from invariants.changes import turned
from linkwork import joints
from linkwork.errors import SimulationWarning, UnknownNameError
from linkwork.model.random_tree import random_pose
from linkwork.simulation import ContactGround, ContactPoint, ServoActuators
from linkwork.simulation.algorithms.contact.contact_step import contact_velocities
from linkwork.simulation.algorithms.contact.contact_terms import ContactAt, Interval, StepScale, cone_impulse
from linkwork.simulation.algorithms.contact.convex_contact_solver import ContactProgram
from linkwork.spatial import Vec3

G = 9.81
SCALE = StepScale(1.0, 3.0)


def thing(shape, gravity=(0.0, 0.0, -G)):
    """A free body of 1 kg."""
    robot = lw.Robot.build("thing", lw.Link("body", shape, mass=1.0), floating_base=True)
    return robot.with_parameters({"gravity": list(gravity)})


def test_projection_on_the_friction_cone_is_the_gradient_of_a_convex_function():
    """γ is the nearest admissible impulse, and its derivative G is symmetric after R."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        y = rng.normal(size=3) * [1.0, 1.0, 1.5]
        mu, across, along = rng.uniform(0.1, 1.5), rng.uniform(0.1, 2.0), rng.uniform(0.1, 2.0)
        gamma, slope = cone_impulse(list(y), mu, across, along)
        gamma, R = np.array(gamma), np.array([across, across, along])
        assert np.hypot(*gamma[:2]) <= mu * gamma[2] + 1e-12
        distance = ((gamma - y) ** 2 * R).sum()
        angle, n = rng.uniform(0, 2 * np.pi, 50), np.abs(gamma[2] + 0.1 * rng.normal(size=50))
        size = np.minimum(mu * n, np.hypot(*gamma[:2]) + 0.1 * np.abs(rng.normal(size=50)))
        candidates = np.stack([size * np.cos(angle), size * np.sin(angle), n], axis=1)
        assert (((candidates - y) ** 2 * R).sum(axis=1) >= distance - 1e-12).all()
        steps = 1e-7 * np.eye(3)
        impulses = np.array(
            [
                (
                    np.array(cone_impulse(list(y + d), mu, across, along)[0])
                    - cone_impulse(list(y - d), mu, across, along)[0]
                )
                / 2e-7
                for d in steps
            ]
        ).T
        assert np.abs(impulses - slope).max() < 1e-5
        bent = np.array(slope) / R
        assert np.abs(bent - bent.T).max() < 1e-12


@pytest.mark.slow(every=3)
def test_contact_velocities_minimize_the_contact_function():
    """Random systems with several contacts and intervals: the gradient vanishes, and impulses are admissible.

    Contacts that bounce have impulses between those without restitution and those of Newton's law of impact.
    """
    small_rng, large_rng, n = np.random.default_rng(1), np.random.default_rng(15), 5
    for rng, restitution in [(small_rng, None)] * 10 + [(large_rng, 0.6)]:
        root = rng.normal(size=(n, n))
        A = root @ root.T + np.eye(n)
        each = [(rng.normal(size=(3, n)).tolist(), 0.01 * rng.normal()) for _ in range(3)]
        contacts = [ContactAt(J, gap, 0.7, restitution=restitution) for J, gap in each]
        intervals = [Interval(np.eye(n)[0].tolist(), 0.3, 10.0, 0.0, 5.0)]
        v, push = rng.normal(size=n), rng.normal(size=n)
        solution = contact_velocities(A.tolist(), v.tolist(), push.tolist(), contacts, intervals, 0.01, SCALE)
        w, impulses = np.array(solution.v, float), np.array(solution.impulses, float)
        pulled = sum(np.array(c.J).T @ g for c, g in zip(contacts, impulses, strict=True))
        left = A @ (w - v) - push - pulled - np.eye(n)[0] * solution.pushes[0]
        assert np.abs(left).max() < 1e-7 and solution.iterations < 60
        assert (np.hypot(impulses[:, 0], impulses[:, 1]) <= 0.7 * impulses[:, 2] + 1e-9).all()
    normals = np.array([c.J[2] for c in contacts])
    assert ((normals @ v < -0.1) & (normals @ w > 0.1)).any() and 0.0 < solution.pushes[0] < 5.0  # the last bounces


@pytest.mark.parametrize("stiffness", [None, 1e3])
@pytest.mark.parametrize("mass", [0.02, 2.0, 200.0])
def test_contacts_of_masses_of_any_size_separate_with_the_speed_of_restitution(mass, stiffness):
    J, v = np.eye(3).tolist(), np.array([0.0, 0.0, -2.0])
    contact = ContactAt(J, -1e-6, 0.7, restitution=0.6, stiffness=stiffness)
    solution = contact_velocities((mass * np.eye(3)).tolist(), v.tolist(), [0.0] * 3, [contact], [], 1e-3, SCALE)
    assert np.allclose(solution.v, [0.0, 0.0, 1.2], rtol=1e-4, atol=1e-9)
    assert np.allclose(solution.impulses[0], [0.0, 0.0, 3.2 * mass], rtol=1e-4, atol=1e-9)


@pytest.mark.light
@pytest.mark.parametrize(("stiffness", "acts"), [(1e3, True), (1e7, True), (1e10, True), (1e3, False), (1e14, False)])
def test_contact_solver_converges_to_rounding_errors_with_stiff_limits_that_act(stiffness, acts):
    """The gradient of a stiff interval rounds with its speed; an interval at its bound leaves no rounding."""
    rng, n = np.random.default_rng(3), 4
    row, v, push = rng.normal(size=(3, n))
    target = row @ v if acts else row @ v - 20.0
    stiff = Interval(row.tolist(), target, stiffness, -math.inf if acts else 0.0, math.inf)
    root = rng.normal(size=(n, n))
    A = root @ root.T + np.eye(n)
    contact = ContactAt(rng.normal(size=(3, n)).tolist(), 0.0, 0.5)
    solution = contact_velocities(A.tolist(), v.tolist(), push.tolist(), [contact], [stiff], 1e-2, SCALE)
    assert solution.iterations < 40 and solution.residual < 1.0
    pulled = np.array(contact.J).T @ solution.impulses[0] + row * solution.pushes[0]
    left = np.abs(A @ (np.array(solution.v) - v) - push - pulled).max()
    rounding = 1e-14 * stiffness * np.abs(row).max() * np.abs(v).sum() if acts else 0.0
    assert left < 1e-8 * np.abs(push).max() + rounding and (solution.pushes[0] != 0.0) == acts


def test_points_of_the_contact_program_have_the_velocities_of_all_rows():
    """Velocities of rows that are elements of w are not stored, those of other rows are; steps change both alike."""
    rng, n = np.random.default_rng(4), 5
    rows = [np.eye(n)[3], rng.normal(size=n), np.eye(n)[0], -np.eye(n)[1], 2.0 * np.eye(n)[2]]
    intervals = [Interval(row.tolist(), 0.1, 10.0, 0.0, 5.0) for row in rows]
    contacts = [ContactAt(rng.normal(size=(3, n)).tolist(), 0.0, 0.5) for _ in range(2)]
    w = rng.normal(size=n)
    program = ContactProgram(np.eye(n).tolist(), [0.0] * n, [0.0] * n, contacts, intervals, 1e-3)
    point = program.point(w.tolist())
    assert len(point.rates) == 2 * 3 + 3
    expected = np.concatenate([*(np.array(contact.J) @ w for contact in contacts), np.array(rows) @ w])
    assert np.abs(np.array(program.rates_of(point)) - expected).max() < 1e-14


CORNERS = tuple(ContactPoint("body", (x, y, -0.1)) for x in (-0.1, 0.1) for y in (-0.1, 0.1))


@pytest.mark.slow(every=5)
def test_simulated_block_on_an_incline_sticks_or_slides_by_coulombs_law():
    """It sticks below the angle of friction, and slides above with g (sin θ − μ cos θ); its weight is carried."""
    mu = 0.5
    cube = lw.shapes.Box((0.2, 0.2, 0.2))
    for theta in (0.95 * np.arctan(mu), 1.2 * np.arctan(mu)):
        robot = thing(cube, (G * np.sin(theta), 0.0, -G * np.cos(theta)))
        q = robot.neutral()
        q[-1] = 0.1
        result = robot.simulate(q, duration=0.5, contacts=ContactGround(CORNERS, friction=mu), record_every=10)
        positions = robot.pose(result.q, "body")[:, :3, 3]
        expected = max(G * (np.sin(theta) - mu * np.cos(theta)), 0.0)
        assert abs(positions[-1, 0] - positions[0, 0] - 0.5 * expected * 0.25) < 1e-3
        forces = result.records["contact_forces"][-1]
        assert abs(forces[:, 2].sum() - G * np.cos(theta)) < 1e-3 * G
        assert abs(forces[:, 0].sum() + min(np.sin(theta), mu * np.cos(theta)) * G) < 1e-2 * G
        assert np.abs(positions[:, 2] - 0.1).max() < 2e-3


def test_sticking_points_creep_at_a_thousandth_of_the_velocity_that_gravity_adds_along_the_ground_in_a_step() -> None:
    sliding = lw.Joint.of(joints.Translational(), name="moves", parent="world", child="body")
    ground = ContactGround(ContactPoint("body", (0.0, 0.0, 0.0)), friction=0.8)
    for mass, tilt, step in ((1.0, 0.1, 1e-3), (3.0, 0.3, 4e-3)):
        along = np.array([0.6, -0.8]) * G * math.sin(tilt)
        robot = lw.Robot.build("point", lw.Link("body", mass=mass, inertia=(0.1, 0.1, 0.1)), sliding)
        robot = robot.with_parameters({"gravity": [*along, -G * math.cos(tilt)]})
        v = robot.simulate(np.zeros(3), duration=0.2, dt=step, contacts=ground, record_every=10).v[-1]
        np.testing.assert_allclose(v[:2], 1e-3 * along * step, rtol=1e-9)
        assert abs(v[2]) < 1e-9 * G


@pytest.mark.slow(every=3)
def test_simulated_ball_slides_until_it_rolls_at_five_sevenths_of_its_speed():
    """A ball that is thrown along the ground slides until it rolls, then at 5/7 of its speed, whatever the friction."""
    ball = thing(lw.shapes.Sphere(0.1))
    ground = ContactGround(ContactPoint("body", radius=0.1), friction=0.4)
    q = ball.neutral()
    q[-1] = 0.1
    v = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    result = ball.simulate(np.stack([q, q]), np.stack([v, 2.0 * v]), duration=1.0, contacts=ground, record_every=50)
    twist = ball.twist(result.q, result.v, "body", expressed_in="world")
    for k, start in enumerate((1.0, 2.0)):
        assert abs(twist[k, -1, 3] - 5.0 / 7.0 * start) < 2e-3 * start
        assert abs(twist[k, -1, 1] - twist[k, -1, 3] / 0.1) < 2e-2 * start
    alone = ball.simulate(q, v, duration=1.0, contacts=ground, record_every=50)
    assert np.array_equal(alone.q, result.q[0])
    high = q + np.array([0, 0, 0, 0, 0, 0, 0.3])
    fallen = ball.simulate(high, duration=2.0, contacts=ground, record_every=100, record=["kinetic_energy"])
    assert abs(fallen.q[-1, -1] - 0.1) < 1e-4 and fallen.records["kinetic_energy"][-1] < 1e-8
    assert np.isclose(fallen.q[1, -1], high[-1] - 0.5 * G * 0.1**2, atol=1e-3)


def test_simulated_oblique_falls_do_not_bounce_and_initial_overlaps_do_not_throw_bodies():
    ball = thing(lw.shapes.Sphere(0.1))
    ground = ContactGround(ContactPoint("body", radius=0.1), friction=0.8)
    q = np.stack([ball.neutral(), ball.neutral()])
    q[:, -1] = 0.15, 0.09
    v = np.array([[0.0, 0.0, 0.0, 10.0, 0.0, -5.0], [0.0] * 6])
    for step in (1e-3, 2.5e-4):
        with pytest.warns(SimulationWarning, match="'body' and the ground by 10 mm"):
            result = ball.simulate(q, v, duration=0.2, dt=step, contacts=ground, record_every=4)
        later = result.t > 0.02
        assert result.q[0, later, -1].max() < 0.1 + 2e-3 and result.q[1, :, -1].max() < 0.1 + 2e-2
        assert result.q[0, :, -1].min() > 0.1 - 1e-2


def test_soft_and_tilted_ground_supports_the_weight():
    """A spring of the ground carries it at its depth along the normal; a point's own friction counts."""
    n = np.array([0.6, 0.0, 0.8])
    ball = thing(lw.shapes.Sphere(0.1), tuple(-G * n))
    ground = ContactGround(ContactPoint("body", radius=0.1, friction=0.0), stiffness=2e3, normal=tuple(n), height=0.3)
    q = ball.neutral()
    q[4:] = (0.4 - G / 2e3) * n  # where it rests
    result = ball.simulate(q, duration=0.5, contacts=ground, record_every=100)
    assert abs(n @ result.q[-1, 4:] - (0.4 - G / 2e3)) < 1e-4
    assert np.abs(result.records["contact_forces"][-1, 0] - G * n).max() < 1e-2


@pytest.mark.slow(every=9)
def test_simulated_impacts_never_add_energy():
    """Random impacts of several contacts with friction, some at rest: impulses stay in their cones."""
    rng = np.random.default_rng(2)
    bounced = 0
    for _ in range(25):
        n = 10
        root = rng.normal(size=(n, n))
        A = 0.1 * root @ root.T + np.eye(n)
        J = rng.normal(size=(3, 3, n))
        v, push = rng.normal(size=n), 1e-2 * rng.normal(size=n)
        v -= np.linalg.pinv(J[0]) @ J[0] @ v  # the first one rests
        e = rng.uniform(size=3)
        contacts = [ContactAt(rows.tolist(), 0.0, 0.7, None, part) for rows, part in zip(J, e, strict=True)]
        solution = contact_velocities(A.tolist(), v.tolist(), push.tolist(), contacts, [], 1e-3, SCALE)
        w, impulses = np.array(solution.v, float), np.array(solution.impulses, float)
        assert np.abs(A @ (w - v) - push - np.einsum("cin,ci->n", J, impulses)).max() < 1e-6
        assert (np.hypot(impulses[:, 0], impulses[:, 1]) <= 0.7 * impulses[:, 2] + 1e-9).all() and (
            impulses[:, 2] >= 0.0
        ).all()
        free = v + np.linalg.solve(A, push)
        before, after = free @ A @ free, w @ A @ w
        normal = J[:, 2] @ w
        assert after <= before + 1e-9 and (normal > -0.02 * np.abs(J[:, 2] @ v).max()).all()
        bounced += int((normal > 0.9 * e * np.abs(J[:, 2] @ v) + 0.1).any())
    assert bounced > 5


def test_simulated_ball_bounces_by_newtons_law():
    """Times and heights of impacts converge with smaller steps; at last the ball lies still."""
    ball, e, fall = thing(lw.shapes.Sphere(0.1)), 0.7, 0.5
    ground = ContactGround(ContactPoint("body", radius=0.1, restitution=e), restitution=0.2)
    q = ball.neutral()
    q[-1] = 0.1 + fall
    first = np.sqrt(2.0 * fall / G)
    hits = first + 2.0 * first * np.concatenate([[0.0], np.cumsum(e ** np.arange(1, 4))])
    worst = []
    for step in (2e-3, 5e-4):
        result = ball.simulate(q, duration=2.6, dt=step, contacts=ground)
        height, speed = result.q[:, -1] - 0.1, result.v[:, 5]
        at = np.flatnonzero(np.diff(speed) > 0.1)[:4]
        tops = [height[a:b].max() for a, b in pairwise(at)]
        worst.append((np.abs(result.t[at] - hits).max(), np.abs(tops - fall * e ** (2 * np.arange(1, 4))).max()))
        assert np.diff(0.5 * speed**2 + G * height).max() < 1e-5
        assert abs(height[-1]) < 1e-4 and abs(speed[-1]) < 1e-6
    assert worst[0][0] < 0.03 and worst[1][0] < 0.4 * worst[0][0] and worst[1][1] < 1e-3


@pytest.mark.slow(every=5)
def test_simulated_joint_limits_hold_with_and_without_contacts():
    """A pendulum that falls against its limit stays at the limit, with contacts or without any nearby."""
    arm = lw.load("arm7")
    ground = ContactGround(("hand",), height=-50.0)
    result = arm.simulate(arm.neutral(), 3.0 * np.ones(7), duration=1.0, contacts=ground, record_every=20)
    assert np.all(result.success) and (result.q < arm.upper + 2e-2).all() and (result.q > arm.lower - 2e-2).all()
    arm = arm.with_parameters({"friction": np.zeros(7)})  # which contacts' program has exactly
    inside = 0.5 * (arm.lower + arm.upper)
    free = arm.simulate(inside, np.ones(7), duration=0.05, record_every=10)
    same = arm.simulate(inside, np.ones(7), duration=0.05, contacts=ground, record_every=10)
    assert np.abs(free.q - same.q).max() < 1e-9


@pytest.mark.slow(every=5)
def test_dry_friction_and_loops_act_in_simulations_with_contacts():
    """Joints with dry friction stick below its bound and stop by its work; loops move as without contacts."""
    pendulum = lw.load("double_pendulum").with_parameters({"friction": [6.0, 2.0]})
    away = ContactGround((list(pendulum.frames)[-1],), height=-50.0)
    q = np.array([0.3, 0.2])
    assert (np.abs(pendulum.gravity_force(q)) < [6.0, 2.0]).all()
    result = pendulum.simulate(q, duration=2.0, contacts=away, record_every=1000, friction="coulomb")
    assert np.abs(result.q - q).max() < 1e-5 and np.abs(result.v).max() < 1e-5
    rail = lw.Joint.of(joints.Prismatic((1, 0, 0)), name="rail", parent="world", child="box", friction=3.0)
    rod = lw.Robot.build("rod", lw.Link("box", mass=1.5), rail)
    slid = rod.simulate([0.0], [2.0], duration=1.0, record_every=100, friction="coulomb")
    assert abs(slid.q[-1, 0] - 2.0**2 / (2.0 * 3.0 / 1.5)) < 2e-3 and abs(slid.v[-1, 0]) < 1e-8
    bars = lw.load("fourbar")
    q = bars.project_configuration(bars.neutral()).q
    v = bars.project_velocity(q, np.ones(bars.nv))
    how = {"duration": 0.3, "record_every": 60}
    with_ground = bars.simulate(q, v, contacts=ContactGround("rocker_tip", height=-50.0), **how)
    assert np.abs(with_ground.q - bars.simulate(q, v, **how).q).max() < 1e-12


def test_servos_respect_their_limits_and_are_stable_at_any_gain():
    """A servo holds its place as K and the weight say, gives no more than its limit, and is stable at any gain; as a
    velocity source it keeps its speed.  The forces are what is recorded."""
    rail = lw.Joint.of(joints.Prismatic((0, 0, 1)), name="rail", parent="world", child="box")
    lift = lw.Robot.build("lift", lw.Link("box", mass=2.0), rail)

    def controller(t, q, v, K, D, target_position, speed, limit):
        return ServoActuators(target_position, speed, K, D, limit=limit)

    inputs = {"K": [1e3, 1e12, 1e3, 0.0], "D": [1e2, 1e9, 1e2, 1e6], "target_position": [[0.1], [0.1], [0.1], [0.0]]}
    inputs |= {"speed": [0.0, 0.0, 0.0, 0.3], "limit": [1e3, 1e3, 10.0, 1e3]}
    how = {"constants": {k: np.array(x) for k, x in inputs.items()}, "record_every": 500, "record": ["tau"]}
    result = lift.simulate(np.zeros((4, 1)), controller=controller, duration=1.0, **how)
    weight = 2.0 * G
    falls = -0.5 * (G - 5.0) * 1.0**2
    assert np.abs(result.q[:, -1, 0] - [0.1 - weight / 1e3, 0.1, falls, 0.3]).max() < 5e-3
    assert np.abs(result.records["tau"][:, -1, 0] - [weight, weight, 10.0, weight]).max() < 1e-2
    with pytest.raises(ValueError, match=r"ServoActuators: velocity: expected .* without NaN, got nan"):
        ServoActuators([0.0], np.nan, damping=1.0, limit=2.0)
    with pytest.raises(ValueError, match=r"ServoActuators: limit: expected shape \(1,\), got 2 values"):
        lift.simulate([0.0], controller=lambda t, q, v: ServoActuators(q, limit=[1.0, 2.0]), duration=0.1)
    with pytest.raises(ValueError, match="expected the method 'semi_implicit_euler'"):
        lift.simulate([0.0], controller=lambda t, q, v: ServoActuators(q), duration=0.1, method="rk4")


@pytest.mark.slow(every=3)
def test_derivatives_of_time_steps_with_contacts_equal_finite_differences():
    """Forward and reverse, by state, forces and parameters: a point that rests, slides or bounces."""
    along = lw.Joint.of(joints.Prismatic((1, 0, 0)), name="along", parent="world", child="cart", friction=0.5)
    up = lw.Joint.of(joints.Prismatic((0, 0, 1)), name="up", parent="cart", child="box", damping=0.3)
    robot = lw.Robot.build("point", lw.Link("cart", mass=0.5), lw.Link("box", mass=1.5), along, up)
    ground = ContactGround(ContactPoint("box", radius=0.1), friction=0.5, restitution=0.6)

    def step(q, v, tau, gravity):
        how = {"constants": {"u": tau}, "parameters": {"gravity": gravity}, "contacts": ground}
        result = robot.simulate(q, v, controller=lambda t, q, v, u: u, duration=1e-3, friction="coulomb", **how)
        return np.concatenate([result.q[-1], result.v[-1], result.records["contact_forces"][-1].ravel()])

    kernel = lw.compile(step, q=2, v=2, tau=2, gravity=3)
    forward, reverse = kernel.jacobian(mode="forward"), kernel.jacobian(mode="reverse")
    q, v = np.zeros((5, 2)), np.zeros((5, 2))
    q[:, 1] = np.array([0.1 - 1e-6, 0.1 - 1e-5, 0.3, 0.1, 0.1 - 1e-6])
    v[:, 0] = 0.0, 0.4, 0.3, -0.5, 1e-9
    v[3, 1] = -2.0
    tau = np.array([[3.0, 0.1], [1.0, -0.2], [1.0, 0.0], [0.3, 0.0], [0.1, 0.0]])
    gravity = np.tile([0.1, 0.2, -G], (5, 1))
    arguments = [q, v, tau, gravity]
    forward_derivatives, back = forward(*arguments), reverse(*arguments)
    for k, (derivative, same) in enumerate(zip(forward_derivatives, back, strict=True)):
        for j in range(arguments[k].shape[1]):
            ahead, behind = ([x.copy() for x in arguments] for _ in range(2))
            small = 1e-6 if k else 1e-7
            ahead[k][:, j] += small
            behind[k][:, j] -= small
            expected = (kernel(*ahead) - kernel(*behind)) / (2.0 * small)
            scale = np.maximum(1.0, np.maximum(np.abs(expected), np.abs(kernel(*arguments))).max(axis=1))
            assert (np.abs(derivative[..., j] - expected).max(axis=1) < 1e-5 * scale).all(), (k, j)
        assert np.abs(derivative - same).max() < 1e-9 * max(1.0, np.abs(derivative).max())


def test_invalid_contacts_of_simulations_are_refused():
    arm = lw.load("arm7")

    def simulate_arm(**options):
        return arm.simulate(arm.neutral(), duration=0.1, **options)

    for kind, text, wrong in (
        (
            UnknownNameError,
            "did you mean 'hand'",
            lambda: arm.simulate(arm.neutral(), duration=0.1, contacts=ContactGround("hnd")),
        ),
        (ValueError, "friction: expected a finite number >= 0", lambda: ContactGround("hand", friction=-0.1)),
        (
            ValueError,
            "restitution: expected a finite number >= 0 and <= 1",
            lambda: ContactGround("hand", restitution=1.1),
        ),
        (ValueError, "fixed to the world", lambda: simulate_arm(contacts=ContactGround("base"))),
        (ValueError, "expected at least one", lambda: ContactGround(())),
        (ValueError, "radius", lambda: ContactPoint("hand", radius=np.nan)),
        (ValueError, "normal: expected a non-zero vector", lambda: ContactGround("hand", normal=(0, 0, 0))),
        (
            TypeError,
            "expected linkwork.simulation.ContactGround",
            lambda: arm.simulate(arm.neutral(), duration=0.1, contacts=3),
        ),
        (
            ValueError,
            "expected the method 'semi_implicit_euler'",
            lambda: simulate_arm(method="rk4", contacts=ContactGround("hand")),
        ),
    ):
        with pytest.raises(kind, match=text):
            wrong()


@pytest.mark.costly
@pytest.mark.parametrize("axis", [(0.0, 1.0, 0.0), (0.36, 0.48, 0.8)])
def test_contact_of_an_immovable_point_does_not_change_the_motion(axis):
    """A point on a fixed hinge's axis, below the ground; its Jacobian is zero but for rounding."""
    link = lw.Link("rod", mass=1.2, com=(0.3, 0.1, 0.2), inertia=(0.02, 0.03, 0.04))
    turned = {"placement": lw.pose((0.1, 0.2, 0.3), rpy=(0.3, 0.4, 0.5)), "rotor": lw.pose(rpy=(0.1, 0.7, 0.2))}
    hinge = lw.Joint.of(joints.Revolute(axis), name="hinge", parent="world", child="rod", **turned)
    robot = lw.Robot.build("pendulum", link, hinge)
    with pytest.warns(SimulationWarning, match="overlap at the start"):
        result = robot.simulate([0.3], [0.5], duration=0.1, contacts=ContactGround((ContactPoint("rod"),), height=0.31))
    assert result.success
    assert np.abs(result.q - robot.simulate([0.3], [0.5], duration=0.1).q).max() < 1e-12


def _rail_of_a_loop():
    """Return a sled whose floating joint has the motion of a rail, by the joint that closes a loop."""
    sled = lw.Link("rocker", mass=1.2, inertia=(0.02, 0.03, 0.04))
    free = lw.Joint.of(joints.Floating(), name="free", parent="world", child="rocker")
    robot = lw.Robot.build("sled", sled, free).with_frame("base", "world", lw.pose())
    return robot.with_loop("rail", "base", "rocker", joints.Prismatic((0.6, 0.8, 0.0)))


@pytest.mark.slow(every=9)
@pytest.mark.filterwarnings("ignore:simulate. bodies that overlap")
def test_contacts_on_normals_that_the_joints_lock_have_no_force():
    """A sphere about the axis of the rocker, and a sled on a rail: no force along the normal changes the motion.

    The mechanisms and the ground are turned at random, so the gap and its Jacobian are zero but for rounding.
    """
    crank, rail = linkage(), _rail_of_a_loop()
    for robot, q, center in ((crank, crank.assemble([0.8, -0.5, 1.0]).q, 3.0), (rail, rail.neutral(), 0.0)):
        v = robot.project_velocity(q, np.ones(robot.nv))
        free = robot.simulate(q, v, duration=0.15, joint_limit_mode="ignored")
        for seed, overlap in enumerate((0.0, 0.0, 0.0, 1e-3)):
            X = random_pose(np.random.default_rng(seed))
            tree = turned(robot.tree, X)
            frames = tuple(robot.tree.frames[k] if x.name == "world" else x for k, x in enumerate(tree.frames))
            normal = tuple(X.rotation @ Vec3(0.0, 0.0, 1.0))
            height = float(np.dot(normal, tuple(X.point(Vec3(center, 0.0, 0.0))))) - 0.02 + overlap
            ground = ContactGround(ContactPoint("rocker", radius=0.02), normal=normal, height=height, friction=0.5)
            run = lw.Robot(replace(tree, frames=frames)).simulate(
                q, v, duration=0.15, contacts=ground, joint_limit_mode="ignored"
            )
            assert run.success and np.abs(run.v - free.v).max() < 1e-9, (robot.name, seed)
            assert not run.records["contact_forces"].any(), (robot.name, seed)


def test_light_links_of_heavy_machines_can_touch_the_ground():
    """A hook of 1 g at a crane of 1 t and 10 m, which spins about the normal: it carries the crane all the same."""
    lift = lw.Joint.of(joints.Prismatic((0, 0, 1)), name="lift", parent="world", child="crane")
    placed = {"parent": "crane", "child": "hook", "placement": lw.pose((10.0, 0.0, 0.0))}
    spin = lw.Joint.of(joints.Revolute((0, 0, 1)), name="spin", **placed)
    hook = lw.Link("hook", mass=1e-3, inertia=(5e-8, 5e-8, 5e-8))
    robot = lw.Robot.build("crane", lw.Link("crane", mass=1e3, inertia=(1.0, 1.0, 1.0)), hook, lift, spin)
    run = robot.simulate([1e-3, 0.0], duration=0.1, contacts=ContactGround(ContactPoint("hook", (5e-3, 0, 0))))
    assert abs(run.q[-1, 0]) < 1e-4


@pytest.mark.slow(every=3)
@pytest.mark.filterwarnings("ignore:simulate. bodies that overlap")
def test_contacts_of_immovable_links_are_solved_to_the_accuracy_of_float64():
    """Feet of a fixed base below the ground: their forces exceed all others."""
    robot = lw.load("quadruped")
    feet = [link.name for link in robot.links if "foot" in link.name]
    q = robot.neutral()
    least = min(float(np.asarray(robot.pose(q, foot))[2, 3]) for foot in feet)
    for depth in (1e-4, 1e-3, 1e-2):
        options = {"duration": 0.1, "dt": 1e-3, "contacts": ContactGround(feet, height=least + depth)}
        run = robot.simulate(q, np.zeros(robot.nv), **options, record=["contact_residual"])
        assert run.success and run.records["contact_forces"].max() > 1e8
        assert run.records["contact_residual"].max() < 1e-7


def test_initial_overlaps_of_simulations_use_placements_from_parameters():
    """A ball on a post: each environment has its own post, of which the second overlaps."""
    hinge = lw.Joint.of(joints.Prismatic((0.0, 0.0, 1.0)), name="post", parent="world", child="ball")
    robot = lw.Robot.build("post", lw.Link("ball", mass=1.0, inertia=(0.1, 0.1, 0.1)), hinge)
    ground = ContactGround(ContactPoint("ball", radius=0.1))
    high, low = ([0.0, 0.0, 0.0, 0.0, 0.0, z] for z in (0.2, -0.25))
    options = {"contacts": ground, "parameters": {"placement:post": [high, low]}}
    for q, depth in (([0.3], 50), ([0.0], 350)):
        with pytest.warns(SimulationWarning, match=f"'ball' and the ground by {depth} mm"):
            robot.simulate(q, duration=0.001, **options)
    simulator = lw.Simulator(robot, batch=2, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        simulator.reset([0.0], where=[True, False])
    with pytest.warns(SimulationWarning, match="by 350 mm"):
        simulator.reset([0.0], where=[False, True])


@pytest.mark.filterwarnings("ignore:simulate")
def test_bodies_jammed_between_two_surfaces_are_simulated_at_any_depth_and_step():
    """A ball between a floor and a ceiling that overlap it stays, with equal and opposite forces."""
    body = lw.Link("ball", mass=1.0, com=(0, 0, 0), inertia=(0.02, 0.03, 0.045))
    ball, point = lw.Robot.build("ball", body, floating_base=True), ContactPoint("ball", radius=0.3)
    for h in (1e-2, 1e-4, 1e-7):
        for depth in (1e-3, 1.0):
            walls = [ContactGround(point), ContactGround(point, normal=(0, 0, -1), height=2.0 * depth - 0.6)]
            options = {"duration": 20 * h, "dt": h, "contacts": walls, "record": ["contact_residual"]}
            result = ball.simulate([1, 0, 0, 0, 0, 0, 0.3 - depth], np.zeros(6), **options)
            below, above = result.records["contact_forces"][-1][:, 2]
            assert result.success and result.records["contact_residual"].max() < 1e-6, (h, depth)
            assert np.abs(result.v).max() < 1e-7 and below > 1e6 and abs(below + above) < 1e-6 * below, (h, depth)
