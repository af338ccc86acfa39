"""Model-predictive control in failures: features that are NaN, limits, and time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.compiler import kernel_code
from linkwork.expr import sqrt, where

STEPS, TAU = 4, 0.05
TWO = lw.load("double_pendulum")


def _problem(scale: float = 0.1) -> Any:
    problem = lw.TrajectoryProblem(TWO, num_steps=STEPS, duration=STEPS * TAU).add(
        "acceleration", "least_squares", scale=scale
    )
    return problem.add("configuration", "least_squares", name="place")


@pytest.mark.slow(every=5)
def test_mpc_brakes_if_a_feature_of_its_problem_returns_nan() -> None:
    """A feature that is NaN from somewhere on, and one whose derivative is: by feature and step, by environment."""
    features: dict[str, Any] = {
        "value": (lambda w: sqrt(1.0 - w.q(back=1)[0]), 2.0, "'odd' is nan in step 0, component 'odd'"),
        "derivative": (
            lambda w: where(w.q(back=1)[0] - 1.0 < 0.0, w.q()[0], sqrt((2.0 - w.q(back=1)[0]) * w.q()[0])),
            2.0,
            "the derivative of 'odd' in step 0, component 'odd'",
        ),
    }
    for feature, far, why in features.values():
        for solver in ("augmented", "ilqr"):
            problem = _problem().add(feature, "least_squares", name="odd", scale=1e-3)
            controller = problem.controller(solver=solver)
            q, v = np.array([[0.1, 0.1], [0.2, 0.1]]), np.zeros((2, 2))
            first = controller.step((q, v), {"place": q})
            assert (first.status == "planned").all() and np.isfinite(first.cost).all(), solver
            assert first.explain(1) == "planned: 50 iterations"
            q[1] = far
            second = controller.step((q, v), {"place": q})
            assert second.status.tolist() == ["planned", "failed"] and np.isnan(second.cost[1]), (solver, second.status)
            assert second.explain(1).startswith(f"failed: not_finite: {why}"), (solver, second.explain(1))
            assert np.isfinite(second.torque).all() and controller.plan is not None
            alone = problem.controller(solver=solver).step((q[1], v[1]), {"place": q[1]})
            assert alone.status == "braking" and alone.message == f"not_finite: {why}"


@pytest.mark.slow(every=5)
def test_mpc_repr_and_explain_describe_its_calls() -> None:
    controller = _problem().controller()
    assert repr(controller) == "<ModelPredictiveController of 'double_pendulum': 4 steps, period 0.05 s>"
    with pytest.raises(
        TypeError, match=r"^simulate: controller: .* got <Model.*>; call controller.step\(\(q, v\)\) in"
    ):
        TWO.simulate(np.zeros(2), controller=controller, duration=0.01)
    with pytest.raises(TypeError, match=r"^ModelPredictiveController: problem: .*; TrajectoryProblem\(.*controller"):
        lw.control.ModelPredictiveController(TWO)


def test_fallback_commands_of_mpc_are_within_effort_limits() -> None:
    rail = lw.Joint.of(lw.joints.Prismatic((1, 0, 0)), name="rail", parent="world", child="mass", effort=2.0)
    mass = lw.Robot.build("mass", lw.Link("mass", mass=1.0), rail)
    problem = lw.TrajectoryProblem(mass, num_steps=STEPS, duration=STEPS * TAU).add(
        "configuration", "least_squares", name="place"
    )
    command = problem.add("acceleration", "least_squares", scale=0.01).controller().step(([0.5], [0.0]))
    assert command.torque[0] == -2.0
    for q, v, expected in ((0.8, 1.0, -2.0), (0.2, -1.0, 2.0)):
        assert command([q], [v])[0] == expected
    assert command(np.array([[0.8], [0.2]]), np.array([[1.0], [-1.0]])).tolist() == [[-2.0], [2.0]]


@pytest.mark.parametrize("solver", ["augmented", "ilqr"])
def test_mpc_warm_starts_the_multipliers_of_limits(solver: str) -> None:
    """A speed limit that bounds the plan: with its last multiplier, a step of one iteration respects it."""
    problem = _problem(0.01).add("velocity", "inequality", lower=-1.0, upper=1.0, name="slow")
    controller, target = problem.controller(solver=solver, max_iterations=2), {"place": [2.0, 0.0]}
    q, v = np.zeros(2), np.zeros(2)
    controller.step((q, v), target)
    names = [name for name in controller._search if name in ("everywhere", "moving_forces", "reached_forces")]
    assert any(np.abs(controller._search[name]).max() > 1e-2 for name in names)
    moved = controller.planner.shifted(controller._search, 1.0)
    for name in names:
        assert np.array_equal(moved[name][:, :-1], controller._search[name][:, 1:])
    q, v = controller.plan.q[1], controller.plan.v[1]
    carried = controller.step((q, v), target, elapsed=TAU)
    forgets = problem.controller(solver=solver, max_iterations=2)
    forgets.step((np.zeros(2), np.zeros(2)), target)
    forgets._search = {name: np.zeros_like(x) if name in names else x for name, x in forgets._search.items()}
    assert carried.violation < 0.5 * forgets.step((q, v), target, elapsed=TAU).violation


def test_mpc_compiles_all_code_when_it_is_constructed(monkeypatch: pytest.MonkeyPatch) -> None:
    """No step compiles code: neither the first, nor one of several environments, nor a late or braking one."""

    def refused(*_: Any) -> Any:
        raise AssertionError("something is compiled")

    for solver, q in (("augmented", np.zeros((3, 2))), ("ilqr", np.zeros((3, 2)))):
        problem = _problem().add("velocity", "inequality", lower=-1.1, upper=1.0)
        controllers = [problem.controller(solver=solver) for _ in range(2)]
        controllers[0].prepare(len(q))
        with monkeypatch.context() as patch:
            patch.setattr(kernel_code, "compiled", refused)
            for controller, configuration in zip(controllers, (q, q[0]), strict=True):
                for limit, elapsed, status in (
                    (0.0, None, "braking"),
                    (None, None, "planned"),
                    (0.0, None, "late"),
                    (0.0, 1.0, "braking"),
                ):
                    controller.time_limit = limit
                    command = controller.step(
                        (configuration, 0.0 * configuration), {"place": configuration + 0.1}, elapsed=elapsed
                    )
                    assert np.all(command.status == status)
