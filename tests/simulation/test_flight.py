"""Free bodies that spin fast: momentum at impacts and in flight, energy, and rolling."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import linkwork as lw
from linkwork.simulation import ContactGround, ContactMaterial, ContactPoint, ContactScene

G = 9.81
MASS, CENTER = 2.0, np.array([0.02, -0.01, 0.03])
ABOUT = np.array([[0.02, 1e-3, 2e-3], [1e-3, 0.03, -1e-3], [2e-3, -1e-3, 0.04]])
CORNERS = [ContactPoint("body", (x, y, z)) for x in (-0.15, 0.15) for y in (-0.1, 0.1) for z in (-0.05, 0.05)]
BODY = lw.Robot.build("body", lw.Link("body", mass=MASS, com=CENTER, inertia=ABOUT), floating_base=True)


def momenta(q, v):
    """Return momentum, angular momentum about the world's origin, and the centre of each body (…, 3)."""
    X, V = BODY.pose(q, "body"), BODY.twist(q, v, "body", expressed_in="world")
    R, w = X[..., :3, :3], V[..., :3]
    arm = R @ CENTER
    p = MASS * (V[..., 3:] + np.cross(w, arm))
    c = X[..., :3, 3] + arm
    return p, np.einsum("...ij,jk,...lk,...l->...i", R, ABOUT, R, w) + np.cross(c, p), c


@pytest.mark.slow(every=9)
def test_impulses_on_spinning_bodies_change_angular_momentum_by_their_moments():
    """A lopsided body at 60 rad/s strikes the ground with its corners, with and without friction."""
    rng = np.random.default_rng(0)
    h, weight = 1e-3, MASS * np.array([0.0, 0.0, -G])
    q = BODY.random_configuration(rng, size=8)
    q[:, 4:] = 0.0, 0.0, 0.3
    v = rng.normal(size=(8, 6))
    v[:, :3] *= 60.0 / np.linalg.norm(v[:, :3], axis=1)[:, np.newaxis]
    for mu in (0.0, 0.5):
        ground = ContactGround(CORNERS, friction=mu, restitution=0.4)
        record = ["kinetic_energy", "potential_energy"]
        result = BODY.simulate(q, v, duration=0.5, dt=h, contacts=ground, record=record)
        energy = sum(result.records[name] for name in record)
        impulses = h * result.records["contact_forces"][:, 1:]
        struck = impulses[..., 2].sum(axis=-1) > 0.0
        p, L, c = momenta(result.q, result.v)
        offsets = np.array([[*corner.offset, 1.0] for corner in CORNERS])
        corners = np.einsum("...ij,pj->...pi", BODY.pose(result.q[:, :-1], "body"), offsets)[..., :3]
        assert np.all(result.success) and struck.sum() >= 6
        assert np.abs(np.diff(p, axis=1) - impulses.sum(axis=-2) - h * weight).max() < 1e-9 * np.abs(p).max()
        turned = np.cross(corners, impulses).sum(axis=-2) + np.cross(c[:, :-1], h * weight)
        assert np.abs(np.diff(L, axis=1) - turned).max() < 1e-9 * np.abs(L).max()
        assert np.diff(energy)[struck].max() < 0.0


@pytest.mark.slow(every=5)
def test_simulated_free_flight_conserves_momentum_and_energy():
    """Without gravity, for 10⁵ steps; the rotation of a step is of second order."""
    weightless = BODY.with_parameters({"gravity": [0.0, 0.0, 0.0]})
    q, v = BODY.neutral(), np.array([3.0, 40.0, 5.0, 1.0, -2.0, 0.5])
    long = weightless.simulate(q, v, duration=100.0, dt=1e-3, record_every=100, record=["kinetic_energy"])
    energy = long.records["kinetic_energy"]
    early, late = energy[:500], energy[500:]
    assert np.ptp(energy) < 1e-3 * energy[0] and abs(early.mean() - late.mean()) < 1e-5 * energy[0]
    for x in momenta(long.q, long.v)[:2]:
        assert np.abs(x - x[0]).max() < 1e-9 * np.abs(x).max()
    best = weightless.simulate(q, v, duration=0.5, dt=2.5e-4, method="rk4").q[-1]
    left = []
    for step in (2e-3, 1e-3):
        final_q = weightless.simulate(q, v, duration=0.5, dt=step).q[-1]
        left.append(np.abs(weightless.difference(best, final_q)).max())
    assert left[1] < 1e-2 and 3.5 < left[0] / left[1] < 4.5, left
    about = ABOUT + MASS * (CENTER @ CENTER * np.eye(3) - np.outer(CENTER, CENTER))
    parameters = np.concatenate([[MASS], MASS * CENTER, about[np.triu_indices(3)]])
    light = weightless.with_parameters(
        {"inertia:body": np.concatenate([[1.0, 0, 0, 0], np.eye(3)[np.triu_indices(3)]])}
    )
    same = light.simulate(q, v, duration=0.1, parameters={"inertia:body": parameters})
    assert np.abs(same.q[-1] - weightless.simulate(q, v, duration=0.1).q[-1]).max() < 1e-12


@pytest.mark.slow(every=5)
def test_lopsided_balls_and_discs_in_contact_roll_as_with_rolling_constraints():
    """A leaning disc on its rim, and a spinning ball of unequal moments; rolling constraints are the reference."""
    r, lean = 0.3, 0.2
    shape = lw.shapes.Cylinder(r, 2e-6).at(lw.pose(rpy=(0.5 * math.pi, 0, 0)))
    moments = (0.25 * r * r, 0.5 * r * r, 0.25 * r * r)
    disc = lw.Robot.build("disc", lw.Link("wheel", shape, mass=1.0, com=(0, 0, 0), inertia=moments), floating_base=True)
    ball = lw.Robot.build("ball", lw.Link("ball", mass=1.0, com=(0, 0, 0), inertia=(0.02, 0.03, 0.045)),
                          floating_base=True)  # fmt: skip
    floor = lw.Scene().with_half_space("floor")
    rough = ContactScene(floor, materials=ContactMaterial(friction=2.0))
    on_ground = ContactGround(ContactPoint("ball", radius=r), friction=2.0)
    leaning = [math.cos(0.5 * lean), math.sin(0.5 * lean), 0, 0, 0, 0, r * math.cos(lean)]
    for robot, constraint, contacts, q, v in (
        (disc, lw.constraints.Rolling("wheel", radius=r), rough, leaning, [0.0, 6.0, 0.3]),
        (ball, lw.constraints.BallRolling("ball", radius=r), on_ground, [1.0, 0, 0, 0, 0, 0, r], [2.0, 5.0, 4.0]),
    ):
        rolling = robot.with_constraints(constraint)
        q = rolling.project_configuration(np.array(q))[0]
        v = rolling.project_velocity(q, np.array([*v, 0.0, 0.0, 0.0]))
        best = rolling.simulate(q, v, duration=1.0, dt=2e-3, method="rk4")
        left = []
        for step in (4e-3, 2e-3, 1e-3, 5e-4):
            result = robot.simulate(q, v, duration=1.0, dt=step, contacts=contacts)
            left.append(np.abs(robot.difference(best.q[-1], result.q[-1])).max())
        assert left[1] < 0.03 and all(1.7 < a / b < 2.3 for a, b in itertools.pairwise(left)), left
