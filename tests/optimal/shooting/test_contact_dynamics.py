"""Contacts by phases, impacts, loops and wheels in motions by forward dynamics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork import Joint, Link
from linkwork.joints import Planar, Prismatic, Revolute
from linkwork.optimal.algorithms.shooting.contact_dynamics import ContactDynamics, ContactModel
from linkwork.optimal.features import PathContact, StickingContact

PITCH = Revolute((0, 1, 0))
LEGS = 0.3  # [m]
MONOPED = lw.Robot.build(
    "monoped",
    Link("cart", mass=0.5),
    Link("body", mass=3.0, inertia=(0.1, 0.1, 0.1)),
    Link("thigh", mass=0.5, com=(0, 0, -0.15), inertia=(5e-3, 5e-3, 1e-3)),
    Link("shank", mass=0.3, com=(0, 0, -0.15), inertia=(3e-3, 3e-3, 1e-3)),
    Joint.of(Prismatic((1, 0, 0)), name="x", parent="world", child="cart"),
    Joint.of(Prismatic((0, 0, 1)), name="z", parent="cart", child="body"),
    Joint.of(PITCH, name="hip", parent="body", child="thigh"),
    Joint.of(PITCH, name="knee", parent="thigh", child="shank", placement=(0, 0, -LEGS)),
).with_frame("foot", "shank", (0, 0, -LEGS))
START = np.array([0.0, 2 * LEGS * np.cos(0.6), -0.6, 1.2])
FRICTION = 0.06  # little: the foot is about to slip at some steps
MOTORS = ["hip", "knee"]
FOOT = PathContact("foot", "foot")


def _step(dynamics: ContactDynamics, x: Any, u: Any) -> np.ndarray:
    return np.array(dynamics.outputs_of_step([*x], [*u]), dtype=float)


@pytest.mark.slow(every=5)
def test_time_step_with_contact_keeps_the_foot_at_rest_and_can_be_differentiated() -> None:
    """The foot may move when the contact begins: momentum changes by the impulse, energy decreases."""
    h, u, rubbing = 0.02, [1.0, -2.0], MONOPED
    for joint in MONOPED.joints:
        rubbing = rubbing.with_joint(joint.with_damping(0.4).with_friction(0.7).with_armature(0.02))
    rng = np.random.default_rng(0)
    for robot, surface, on in (
        (MONOPED, False, 1.0), (MONOPED, True, 1.0), (MONOPED, False, 0.0), (rubbing, False, 1.0), (rubbing, True, 1.0)
    ):  # fmt: skip
        contact, passive = PathContact("foot", "foot", surface=surface), robot is rubbing
        models = (ContactModel(contact, StickingContact(contact)),)
        dynamics = ContactDynamics(
            robot.tree, h, (2, 3), passive=passive, contact_models=models, active=(on,), time=0.5
        )
        q, v = START, rng.normal(size=4)
        y, linear = dynamics.linear([*q, *v], u)
        y = np.array(y, dtype=float)
        assert np.allclose(_step(dynamics, [*q, *v], u), y, atol=1e-9)
        q1, v1, f = y[:4], y[4:8], y[8:]
        foot_motion = MONOPED.pose(q1, "foot") - MONOPED.pose(q, "foot")
        assert (np.abs(foot_motion[:3, 3]).max() < 1e-14) == bool(on) and (np.abs(f).max() == 0.0) == (not on)
        if surface:
            assert np.abs(foot_motion).max() < 1e-14
        # M (v⁺ − v) = h (τ − c − R(v⁺) + Jᵀ f), and what the foot's impulse takes
        J = robot.jacobian(q, "foot", expressed_in="foot" if surface else "world")[6 - contact.size :]
        M, tau = robot.mass_matrix(q, passive=passive), np.array([0.0, 0.0, *u])
        rubs = robot.passive_force(q, v1) if passive else 0.0
        impulse = h * (tau - robot.bias_force(q, v) + rubs + J.T @ f)
        assert np.abs(M @ (v1 - v) - impulse).max() < 1e-12 * max(1.0, np.abs(f).max())
        assert np.isclose(0.5 * v1 @ M @ v1 - 0.5 * v @ M @ v, 0.5 * (v1 + v) @ impulse, atol=1e-11)
        whole = np.array([*linear.rows(), *linear.more], dtype=float)
        for k in range(10):
            ends = []
            for sign in (1e-6, -1e-6):
                e = sign * np.eye(10)[k]
                ends.append(_step(dynamics, np.concatenate([q, v]) + e[:8], u + e[8:]))
            assert np.allclose(whole[:, k], (ends[0] - ends[1]) / 2e-6, rtol=1e-5, atol=1e-5)


def test_instantaneous_impact_in_shooting_equals_the_impact_of_a_constrained_robot() -> None:
    constrained = MONOPED.with_point("toe", "foot", (0, 0, 0))
    constrained = constrained.with_constraints(
        lw.constraints.Ball("toe", point=constrained.pose(START, "foot")[:3, 3], name="toe")
    )
    v = np.array([0.3, -1.2, 0.5, -0.7])
    known = constrained.constrained_impact(START, v)
    dynamics = ContactDynamics(
        MONOPED.tree, 1e-7, (2, 3), contact_models=(ContactModel(FOOT, StickingContact(FOOT)),), active=(1.0,)
    )
    y = _step(dynamics, [*START, *v], [0.0, 0.0])
    assert np.abs(y[4:8] - known.v).max() < 1e-5
    assert np.abs(1e-7 * y[8:] - known.constraint_impulses).max() < 1e-5
    M = MONOPED.mass_matrix(START)
    lost = 0.5 * v @ M @ v - 0.5 * y[4:8] @ M @ y[4:8]
    assert lost > 0.1 and np.isclose(lost, 0.5 * (v - y[4:8]) @ M @ (v - y[4:8]), rtol=1e-4)  # and gravity


def _hop() -> lw.TrajectoryProblem:
    """Off the ground, and back on it at rest."""
    problem = lw.TrajectoryProblem(
        MONOPED, num_steps=15, duration=0.75, phases={"push": (0, 5), "fly": (5, 8), "land": (8, 15)}
    )
    problem = problem.add_contact("foot", steps="push", friction=FRICTION)
    problem = problem.add_contact("foot", steps="land", friction=FRICTION, height=0.0, name="landing")
    problem = problem.add(lw.optimal.TorqueFeature(MOTORS), "least_squares", scale=0.02, name="effort")
    problem = problem.add("velocity", "least_squares", scale=0.05)
    problem = problem.add("velocity", "equality", steps=-1, name="rest")
    return problem.add("configuration", "equality", steps=-1, target=START, name="back")


@pytest.mark.slow(every=5)
def test_hop_optimized_by_shooting_is_an_optimum_of_inverse_dynamics() -> None:
    """Iterative LQR and multiple shooting find the same hop, which satisfies the conditions of another formulation."""
    problem, T, h = _hop(), 15, 0.05
    options: dict[str, Any] = {"actuated": MOTORS, "control_limits": False, "max_iterations": 400}
    by_shooting = problem.solve(START, solver="shooting", **options)
    again = problem.solve(START, solver="ilqr", controls=by_shooting.controls + 0.01, **options)
    options |= {"solver": "ilqr", "dynamics": "inverse", "second_order": False}
    inverse = problem.solve(START, **options)  # forces as controls, and what holds as constraints
    assert inverse.success and abs(by_shooting.cost - inverse.cost) < 1e-7 * by_shooting.cost, inverse.explain()
    assert np.abs(inverse.controls - by_shooting.controls).max() < 1e-3
    for result in (by_shooting, again, inverse):
        assert result.success and max(result.violations.values()) < 1e-8, result.explain()
    assert abs(by_shooting.cost - again.cost) < 1e-7 * by_shooting.cost
    force = by_shooting.variables["foot"] + by_shooting.variables["landing"]
    assert (force[5:8] == 0.0).all() and force[8:, 2].min() > 0.0
    assert np.abs(MONOPED.pose(by_shooting.q[7:], "foot")[:, 2, 3]).max() < 1e-8
    weight, flight = 9.81 * MONOPED.mass, slice(5, 8)

    def taken(z: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return v, joint forces, foot positions and foot forces of a path by inverse dynamics."""
        q, f = z[: 4 * T].reshape(T, 4), z[4 * T :].reshape(T, 2).copy()
        f[flight] = 0.0
        before = np.vstack([START, q[:-1]])
        v = (q - before) / h
        slow = np.vstack([np.zeros(4), v[:-1]])
        pulled = np.einsum("tki,tk->ti", MONOPED.jacobian(before, "foot")[:, [3, 5]], f)
        a = np.einsum("tij,tj->ti", MONOPED.mass_matrix(before), v - slow) / h
        return (
            v,
            a + MONOPED.bias_force(before, slow) - pulled,
            MONOPED.pose(np.vstack([START, q]), "foot")[:, [0, 2], 3],
            f,
        )

    def cost(z: np.ndarray) -> float:
        v, tau, _, f = taken(z)
        return 0.5 * sum(float((x * x).sum()) for x in (0.05 * v, 0.02 * tau[:, 2:], 1e-2 / weight * f))

    def equal(z: np.ndarray) -> np.ndarray:
        v, tau, foot, _ = taken(z)
        stays = np.delete(np.diff(foot, axis=0), flight, axis=0)
        ends = z[4 * T - 4 : 4 * T] - START, v[-1]  # with these the foot is on the ground
        return np.concatenate([tau[:, :2].ravel() / weight, stays.ravel(), *ends])

    def within(z: np.ndarray) -> np.ndarray:
        f = np.delete(taken(z)[3], flight, axis=0)
        return np.asarray(FRICTION * f[:, 1] / weight + 1e-5 - np.hypot(f[:, 0] / weight, 1e-5))

    z = np.concatenate([by_shooting.q.ravel(), force[:, [0, 2]].ravel()])
    assert np.abs(equal(z)).max() < 1e-8 and within(z).min() > -1e-8 and abs(cost(z) - by_shooting.cost) < 1e-8
    assert np.abs(taken(z)[1][:, 2:] - by_shooting.controls).max() < 1e-6

    # its gradient is a combination of those of what holds, of inequalities with a sign
    def gradient(of: Any) -> np.ndarray:
        steps_of_z = 1e-6 * np.eye(z.size)
        return np.array([(of(z + step_of_z) - of(z - step_of_z)) / 2e-6 for step_of_z in steps_of_z])

    pressed = within(z) < 1e-6
    assert pressed.any()
    slope, rows = gradient(cost), np.hstack([gradient(equal), -gradient(within)[:, pressed]])
    forces, *_ = np.linalg.lstsq(rows, -slope, rcond=1e-9)
    assert np.abs(rows @ forces + slope).max() < 1e-5 * np.abs(slope).max()
    assert (forces[-pressed.sum() :] > -1e-6).all()


@pytest.mark.slow(every=5)
def test_optimal_motions_satisfy_loop_and_rolling_constraints() -> None:
    """A four-bar with redundant equations, driven by its crank; and a sleigh on its blade."""
    turn = Revolute((0, -1, 0))

    def bar(name: str, parent: str, length: float, x: float) -> list[Any]:
        inertia = (0.01, length**2 / 12, length**2 / 12)
        joint = Joint.of(turn, name=f"{name}_joint", parent=parent, child=name, placement=(x, 0, 0))
        return [Link(name, mass=1.0, com=(length / 2, 0, 0), inertia=inertia), joint]

    four = lw.Robot.build(
        "four", bar("crank", "world", 0.3, 0.0), bar("coupler", "crank", 1.0, 0.3), bar("rocker", "world", 0.8, 1.0)
    )
    four = four.with_frame("a", "coupler", (1.0, 0, 0)).with_frame("b", "rocker", (0.8, 0, 0))
    four = four.with_loop("pin", "a", "b", turn)
    q = four.assemble(np.array([0.5, 0.3, 1.8])).q
    problem = lw.TrajectoryProblem(four, num_steps=12, duration=0.8)
    problem = problem.add(lw.optimal.TorqueFeature(["crank_joint"]), "least_squares", scale=0.1, name="effort")
    problem = problem.add(lambda w: w.q("crank_joint") - q[0] - 1.0, "equality", steps=-1, name="turned")
    problem = problem.add(lambda w: w.v("crank_joint"), "equality", steps=-1, name="at rest")
    result = problem.solve(q, solver="ilqr", actuated=["crank_joint"], control_limits=False)
    assert result.success and np.abs(four.constraint_error(result.q)).max() < 1e-12
    inverse = problem.add(lw.optimal.TorqueFeature(["coupler_joint", "rocker_joint"]), "equality", name="none").solve(q)
    assert inverse.success and abs(result.cost / inverse.cost - 1.0) < 0.05
    sled = lw.Robot.build(
        "sled",
        Link("sled", mass=2.0, com=(0.3, 0, 0), inertia=(0.1, 0.1, 0.2)),
        Joint.of(Planar(), name="place", parent="world", child="sled"),
    ).with_constraints(lw.constraints.KnifeEdge("sled"))
    path = lw.TrajectoryProblem(sled, num_steps=12, duration=1.0).add(
        "torque", "least_squares", scale=0.1, name="effort"
    )
    path = path.add("configuration", "equality", steps=-1, target=[0.5, 0.3, 0.0]).add("velocity", "equality", steps=-1)
    slid = path.solve(np.zeros(3), solver="shooting", control_limits=False)
    assert slid.success and max(slid.violations.values()) < 1e-9
    middle = np.vstack([np.zeros(3), slid.q])[:-1] + 0.5 * np.diff(np.vstack([np.zeros(3), slid.q]), axis=0)
    step = np.diff(np.vstack([np.zeros(3), slid.q]), axis=0)[:, :2]
    across = np.stack([-np.sin(middle[:, 2]), np.cos(middle[:, 2])], axis=1)
    assert (
        np.abs((across * step).sum(axis=1)).max() < 1e-12 and abs(slid.cost / path.solve(np.zeros(3)).cost - 1) < 0.02
    )


def test_unsupported_contacts_and_options_of_shooting_are_refused() -> None:
    problem = lw.TrajectoryProblem(MONOPED, num_steps=4, duration=0.2).add("velocity", "least_squares")
    sliding = (
        lw.TrajectoryProblem(MONOPED, num_steps=4).add("velocity", "least_squares").add_contact("foot", stays=False)
    )
    problem = problem.add_contact("foot")
    for options, said in (({"integrator": "runge_kutta_4"}, "integrator"), ({"second_order": True}, "second_order")):
        with pytest.raises(ValueError, match=f"{said}: expected .* with contacts or constraints"):
            problem.solve(START, solver="ilqr", **options)
    with pytest.raises(ValueError, match="contact 'foot': stays"):
        sliding.solve(START, solver="ilqr")
    problem = problem.add_variable("slack", 2)
    with pytest.raises(ValueError, match="not supported: slack"):
        problem.solve(START, solver="shooting")
