"""Derivatives of steps with contacts: exact solutions of the program, and exact slopes."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork import joints
from linkwork.simulation import ContactGround, ContactPoint
from linkwork.simulation.algorithms.contact.contact_step import contact_velocities
from linkwork.simulation.algorithms.contact.contact_terms import ContactAt, Interval, StepScale, bounded_contact
from linkwork.simulation.algorithms.contact.convex_contact_solver import ContactProgram

H = 1e-3
SCALE = StepScale(1.0, 3.0)
RESTING, SLIDE, STICK, APART = range(4)


@pytest.mark.slow(every=9)
def test_contact_velocities_used_for_derivatives_are_exact_to_rounding():
    """Newton's step of A (w − v) = p + Jᵀ γ is zero at w, with the slips of w itself."""
    rng = np.random.default_rng(2)
    kinds = set()
    for trial in range(24):
        n, kind = 5, trial % 4
        root = rng.normal(size=(n, n))
        A = root @ root.T + np.eye(n)
        gap = rng.uniform(0.0, 2e-3) if kind == APART else -rng.uniform(0.0, 2e-5)
        contacts = [
            ContactAt(rng.normal(size=(3, n)).tolist(), gap, (0.0, 0.4, 0.8)[k], 1e4 if trial % 3 == 0 else None)
            for k in range(3)
        ]
        intervals = [Interval(np.eye(n)[0].tolist(), -0.01, 1e3, 0.0, np.inf)] if trial % 2 else []
        v = rng.normal(size=n) * (1e-4, 1.0, 1e-2, 0.3)[kind]
        push = H * rng.normal(size=n) * 10.0
        A, v, push = A.tolist(), v.tolist(), push.tolist()
        solution = contact_velocities(A, v, push, contacts, intervals, H, SCALE, closely=True)
        w, impulses = list(map(float, solution.v)), np.array(solution.impulses, float)
        program = ContactProgram(
            A, v, push, [bounded_contact(contact, A, v, push, H, SCALE) for contact in contacts], intervals, H
        )
        gradient = program.gradient(program.terms(program.slips(program.rates(w))), w)
        error = np.linalg.norm(np.linalg.solve(np.array(program.jacobian(w)), gradient))
        assert error < 1e-12 * np.linalg.norm(w), (trial, error)
        sizes = np.hypot(*impulses[:, :2].T)
        limits = np.array([c.friction for c in contacts]) * impulses[:, 2]
        kinds |= {
            "apart" if not c else "slides" if a > (1.0 - 1e-9) * b else "sticks"
            for a, b, c in zip(sizes, limits, impulses[:, 2], strict=True)
            if b or not c
        }
    assert kinds == {"apart", "slides", "sticks"}


def _cart():
    """A box of 1.5 kg on two horizontal rails, one with limits, and a vertical one; a ball touches the ground."""
    rails = [
        lw.Joint.of(joints.Prismatic((1, 0, 0)), name="along", parent="world", child="cart", friction=0.5),
        lw.Joint.of(joints.Prismatic((0, 1, 0)), name="side", parent="cart", child="middle", lower=-0.1, upper=0.1),
        lw.Joint.of(joints.Prismatic((0, 0, 1)), name="up", parent="middle", child="box", damping=0.3),
    ]
    links = [lw.Link(name, mass=mass) for name, mass in (("cart", 0.5), ("middle", 0.2), ("box", 1.5))]
    return lw.Robot.build("cart", *links, *rails), (ContactPoint("box", radius=0.1),), [4.0, 4.0, 3.0]


def _block():
    """A free cube of 1 kg, which touches the ground with its four lower corners."""
    robot = lw.Robot.build("block", lw.Link("block", lw.shapes.Box((0.2, 0.2, 0.2)), mass=1.0), floating_base=True)
    corners = tuple(ContactPoint("block", (x, y, -0.1)) for x in (-0.1, 0.1) for y in (-0.1, 0.1))
    return robot, corners, [0.05, 0.05, 0.05, 1.5, 1.5, 1.5]


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("robot_with_contacts", [_cart, pytest.param(_block, marks=pytest.mark.slow(every=9))])
def test_derivatives_of_contact_steps_by_velocities_and_forces_equal_finite_differences(robot_with_contacts):
    """Slopes by velocities and forces: random states at rest, sliding, sticking and in flight, rigid and compliant."""
    robot, points, forces = robot_with_contacts()
    n, count, rng = robot.nv, 400, np.random.default_rng(1)
    kind = rng.integers(0, 4, count)
    q = np.repeat(robot.neutral()[None], count, axis=0)
    q[:, -1] = 0.1 + np.where(kind == APART, rng.uniform(-1e-4, 1e-3, count), -rng.uniform(1e-6, 2e-5, count))
    q = robot.integrate(q, 1e-5 * rng.normal(size=(count, n)) * (np.arange(n) < n - 3))  # a block is not quite level
    if n == 3:
        q[:, 1] = np.clip(0.2 * rng.normal(size=count), -0.1, 0.1)  # many are at a limit
    speeds = np.array([1e-6, 1.0, 1e-3, 0.4])[kind]
    v = rng.normal(size=(count, n)) * speeds[:, None] * (0.3 if n > 3 else 1.0)
    v[kind == SLIDE, -1] *= 1e-2
    tau = rng.normal(size=(count, n)) * forces
    for stiffness in (None, 1e4):
        ground = ContactGround(points, friction=0.5, stiffness=stiffness)

        def step(q, v, tau, ground=ground):
            how = {"constants": {"u": tau}, "duration": H, "dt": H, "contacts": ground}
            return robot.simulate(q, v, controller=lambda t, q, v, u: u, **how).v[-1]

        kernel = lw.compile(step, q=robot.configuration_space, v=n, tau=n)
        slopes = kernel.jacobian("v", "tau")(q, v, tau)
        at = kernel(q, v, tau)
        for k, slope in enumerate(slopes, 1):
            wide, narrow, bent = (np.zeros((count, n, n)) for _ in range(3))
            for j in range(n):
                for size, result in ((1e-6, wide), (5e-7, narrow)):
                    sides = []
                    for sign in (size, -size):
                        moved = [q, v, tau]
                        moved[k] = moved[k] + sign * np.eye(n)[j]
                        sides.append(kernel(*moved))
                    result[:, :, j] = (sides[0] - sides[1]) / (2.0 * size)
                bent[:, :, j] = (sides[0] + sides[1] - 2.0 * at) / 5e-7
            expected = (4.0 * narrow - wide) / 3.0
            scale = np.maximum(1.0, np.abs(expected).max(axis=(1, 2)))
            # states near a kink, where a contact starts to slide or to touch, have other slopes on both of its sides
            smooth = np.abs(bent).max(axis=(1, 2)) < 1e-2 * scale
            smooth &= np.abs(wide - narrow).max(axis=(1, 2)) < 1e-5 * scale
            assert smooth.mean() > 0.95 and set(kind[smooth]) == {RESTING, SLIDE, STICK, APART}
            error = (np.abs(slope - expected).max(axis=(1, 2)) / scale)[smooth]
            assert error.max() < 1e-6, (k, stiffness, kind[smooth][error.argmax()])


def test_contact_steps_in_float32_are_close_to_float64():
    """Stiff contacts are beyond the accuracy of float32."""
    robot = lw.Robot.build("ball", lw.Link("ball", lw.shapes.Sphere(0.125), mass=1.0), floating_base=True)
    ground = ContactGround(ContactPoint("ball", radius=0.125), friction=0.4)
    kernel = lw.compile(lambda q, v: robot.simulate(q, v, duration=3 * H, dt=H, contacts=ground).v[-1], q=robot.nq, v=6)
    rng = np.random.default_rng(0)
    q = np.repeat(np.float32(robot.neutral()[None]), 40, axis=0)
    q[:, -1] = 0.125 - np.float32(1e-4) * (np.arange(40) % 2)
    v = np.float32(rng.normal(size=(40, 6)) * rng.choice([0.0, 1e-3, 1.0], size=(40, 1)))
    velocity = kernel(q, v)
    assert velocity.dtype == np.float32
    assert np.array_equal(velocity, np.float32(kernel(q.astype(float), v.astype(float))))
