"""Motions by forward dynamics with parameters of the robot in each call, and warm starts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork import Joint, Link
from linkwork.joints import Prismatic, Revolute
from linkwork.optimal.result import OptimalResult
from linkwork.optimal.shooting import shooting_kernel

ARM = lw.load("double_pendulum").with_payload("payload", "tip", 0.0)
LEG = lw.Robot.build(
    "leg",
    Link("cart", mass=0.5),
    Link("body", mass=3.0),
    Link("rod", mass=0.5, com=(0, 0, -0.3), inertia=(5e-3, 5e-3, 1e-3)),
    Joint.of(Prismatic((1, 0, 0)), name="x", parent="world", child="cart"),
    Joint.of(Prismatic((0, 0, 1)), name="z", parent="cart", child="body"),
    Joint.of(Revolute((0, 1, 0)), name="hip", parent="body", child="rod"),
).with_frame("foot", "rod", (0, 0, -0.6))
LIMIT = 40.0
EVERY: tuple[dict[str, Any], ...] = (
    {"solver": "ilqr", "control_limits": LIMIT},
    {"solver": "shooting", "control_limits": LIMIT, "dynamics": "inverse"},
)


def _ball(mass: float) -> np.ndarray:
    J = 0.4 * mass * 0.05**2
    return np.array([mass, 0, 0, 0, J, 0, 0, J, 0, J])


def _lift(robot: lw.Robot) -> lw.TrajectoryProblem:
    problem = lw.TrajectoryProblem(robot, num_steps=20, duration=1.0)
    problem = problem.add("torque", "least_squares", scale=0.1, name="effort")
    problem = problem.add("configuration", "equality", steps=-1, target=[1.2, 0.4], name="there")
    return problem.add("velocity", "equality", steps=-1, name="rest")


def _refuses(*_: Any) -> Any:
    raise AssertionError("another kernel was made")


def _same(batch: Any, fixed: Any, k: int, edited_robot: lw.Robot) -> None:
    """Assert that motion k of a batch is that of the edited robot, and satisfies its equations."""
    assert batch.success[k] and fixed.success, (batch.explain(k), fixed.explain())
    assert abs(batch.cost[k] - fixed.cost) < 1e-8 * fixed.cost and np.abs(batch.q[k] - fixed.q).max() < 1e-5
    assert np.abs(batch.controls[k] - fixed.controls).max() < 1e-3
    h = 0.05
    before = np.concatenate([np.zeros((1, 4)), np.concatenate([batch.q[k], batch.velocities[k]], axis=-1)[:-1]])
    tau = edited_robot.inverse_dynamics(before[:, :2], before[:, 2:], batch.accelerations[k])
    assert np.abs(tau - batch.controls[k]).max() < 1e-6 and np.abs(batch.residuals["effort"][k] - tau).max() < 1e-6
    assert np.abs(before[:, 2:] + h * batch.accelerations[k] - batch.velocities[k]).max() < 1e-9


@pytest.mark.slow(every=5)
def test_optimal_motions_with_a_payload_parameter_equal_those_of_the_edited_robot(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One kernel for all payloads, with torques or accelerations as controls."""
    problem, balls = _lift(ARM), np.array([_ball(m) for m in (0.0, 0.1, 0.5)])
    heavy = ARM.with_parameters({"inertia:payload": balls[2]})
    for options in EVERY:
        batch = problem.solve([0.0, 0.0], parameters={"inertia:payload": balls}, **options)
        # from there, for an arm has several optima, and scales in the search are those of the robot that it is posed of
        _same(batch, _lift(heavy).solve([0.0, 0.0], initial_guess=batch.q[2], **options), 2, heavy)
        _same(batch, problem.solve([0.0, 0.0], **options), 0, ARM)
        with monkeypatch.context() as patch:
            patch.setattr(shooting_kernel, "_compiled", _refuses)
            alone = problem.solve([0.0, 0.0], parameters={"inertia_payload": balls[1]}, **options)
            assert np.array_equal(alone.q, batch.q[1]) and alone.cost == batch.cost[1]
            seeds = problem.solve(
                [0.0, 0.0], parameters={"inertia:payload": balls}, num_guesses=2, continue_all=True, **options
            )
            assert np.array_equal(seeds.attempts.q[:, 0], batch.q)
        assert batch.cost[2] > 1.2 * batch.cost[0]


@pytest.mark.slow(every=5)
def test_optimal_motions_in_contact_with_parameters_equal_those_of_the_edited_robot() -> None:
    """Gravity and damping change contact forces, too."""
    problem = lw.TrajectoryProblem(LEG, num_steps=10, duration=0.5)
    problem = problem.add_contact("foot", friction=None, effort=0.0)
    problem = problem.add(lw.optimal.TorqueFeature(["hip"], passive=True), "least_squares", scale=0.1, name="effort")
    problem = problem.add(
        lw.ik.PostureTask(), "least_squares", steps=-1, scale=10.0, target=[0.4, 0.5, 0.0], name="there"
    )
    start, gravity, damping = [0.0, 0.6, 0.3], [0.0, 0.0, -1.62], [0.0, 0.0, 0.5]
    options = {"solver": "ilqr", "actuated": ["hip"], "control_limits": False, "passive": True}
    batch = problem.solve(start, parameters={"gravity": [gravity, LEG.gravity], "damping": damping}, **options)
    edited = LEG.with_parameters({"gravity": gravity, "damping": damping})
    same = lw.TrajectoryProblem(edited, num_steps=10, duration=0.5)
    same = same.add_contact("foot", friction=None, effort=0.0)
    for term in problem.terms[-2:]:
        options_of_term = {
            "steps": -1 if term.single else None,
            "scale": term.scale,
            "target": term.target,
            "name": term.name,
        }
        same = same.add(term.feature, term.kind, **options_of_term)
    fixed = same.solve(start, **options)
    assert batch.success.all() and fixed.success
    assert abs(batch.cost[0] - fixed.cost) < 1e-9 * (1.0 + fixed.cost) and np.abs(batch.q[0] - fixed.q).max() < 1e-6
    force = batch.variables["foot"]
    assert np.abs(force[0] - fixed.variables["foot"]).max() < 1e-4 and np.abs(force[1] - force[0]).max() > 1.0


@pytest.mark.slow(every=3)
def test_warm_started_shooting_continues_an_earlier_search() -> None:
    """Started at its optimum, a search ends at once; from nearby sooner, at the same optimum."""
    problem = _lift(ARM).add(lw.optimal.VelocityLimits(upper=2.2), "inequality", name="speed")
    for options in EVERY:
        first = problem.solve([0.0, 0.0], **options)
        again = problem.solve([0.0, 0.0], warm_start=first, **options)
        assert again.success and again.iterations <= 2 and abs(again.cost - first.cost) < 1e-8 * first.cost
        assert np.abs(again.multipliers["speed"] - first.multipliers["speed"]).max() < 1e-3
        starts = np.array([[0.05, 0.0], [0.0, -0.05]])
        near_options = {"targets": {"there": [1.15, 0.42]}, **options}
        cold, warm = problem.solve(starts, **near_options), problem.solve(starts, warm_start=first, **near_options)
        assert cold.success.all() and warm.success.all() and (warm.iterations < cold.iterations).all()
        assert np.abs(cold.cost - warm.cost).max() < 1e-7 * cold.cost.max()
        assert np.abs(cold.q - warm.q).max() < 1e-4
        many = problem.solve(starts, warm_start=warm, num_guesses=2, continue_all=True, **near_options)
        assert (many.attempts.iterations[:, 0] <= 2).all() and np.abs(many.attempts.q[:, 0] - warm.q).max() < 1e-6
        assert (problem.solve(starts, warm_start=many, **near_options).iterations <= 2).all()
        few = problem.solve([0.0, 0.0], max_iterations=4, **options)
        assert problem.solve([0.0, 0.0], warm_start=few, **options).success


def test_invalid_parameters_and_warm_starts_of_shooting_are_refused() -> None:
    problem, options_of_solver = _lift(ARM), EVERY[0]

    def solve(**options: Any) -> Any:
        return problem.solve([0.0, 0.0], max_iterations=1, **options_of_solver | options)

    for wrong, said in (
        ({"inertia:payload": [1.0]}, r"inertia:payload: expected numbers \(\.\.\., 10\)"),
        ({"gravity": "down"}, "gravity: expected numbers"),
        ({"gravity": [0.0, 0.0, np.nan]}, "finite"),
        (
            {"inertia:payload": np.stack([_ball(1.0), -_ball(1.0)])},
            r"inertia:payload\[1\]: not the inertia of a physical body",
        ),
        ({"inertia": ARM.parameters("inertia")["inertia"], "inertia:tip": _ball(1.0)}, "already"),
    ):
        with pytest.raises(ValueError, match=said):
            solve(parameters=wrong)
    with pytest.raises(lw.errors.UnknownNameError, match=r"inertia:payload|'payload'"):
        solve(parameters={"inertia:paylod": _ball(1.0)})
    with pytest.raises(TypeError, match="parameters: expected a dict"):
        solve(parameters=[1.0])
    first = solve()
    with pytest.raises(TypeError, match=r"warm_start: expected a result .* pass its q as initial_guess="):
        solve(warm_start=object.__new__(OptimalResult))
    with pytest.raises(TypeError, match=r"warm_start: expected a result .* got 3"):
        solve(warm_start=3)
    with pytest.raises(ValueError, match="the same actuated="):
        solve(warm_start=first, actuated=[ARM.joints[0].name])
    with pytest.raises(ValueError, match="the same problem"):
        problem.add("acceleration", "least_squares").solve([0.0, 0.0], warm_start=first, **options_of_solver)
