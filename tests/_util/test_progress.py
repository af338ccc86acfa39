"""Option ``progress`` in every function that takes it: a bar, no output, or a function of `Progress` values."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from helpers.linkages import linkage
from linkwork._util.progress import Reporter

ARM = lw.load("double_pendulum")
SCENE = lw.Scene().with_sphere("ball", 0.05, (2.0, 0.0, 2.0))


def solid_arm() -> lw.Robot:
    robot = ARM
    for name in ("upper_rod", "lower_rod"):
        robot = robot.with_collisions(name, lw.shapes.Capsule(0.02, 0.2))
    for name in ("shoulder", "elbow"):
        joint = robot.joint(name)
        robot = robot.with_joint(joint.with_position_limits(-1.0, 1.0))
    return robot


def moved() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    t = np.linspace(0.0, 10.0, 100)[:, np.newaxis] * [1.0, 1.7]
    return np.sin(t), np.cos(t) * [1.0, 1.7], -np.sin(t) * [1.0, 2.89]


def identified(progress: Any) -> Any:
    q, v, a = moved()
    tau = ARM.inverse_dynamics(q, v, a) + 1e-3 * np.random.default_rng(0).normal(size=q.shape)
    return lw.identify.inertias(ARM, q, v, a, tau, progress=progress)


def calibrated(progress: Any) -> Any:
    robot = lw.load("arm6")
    q = robot.random_configuration(seed=0, size=60)
    poses = robot.with_parameters({"placement:elbow": [0.0, 0.0, 0.002, 0.001, 0.0, 0.0]}).pose(q, "tool")
    return lw.identify.placements(robot, q, poses, "tool", parameters=["placement:elbow"], progress=progress)


def swing() -> lw.TrajectoryProblem:
    problem = lw.TrajectoryProblem(ARM, num_steps=4, duration=0.2)
    problem = problem.add("acceleration", "least_squares")
    return problem.add("configuration", "equality", steps=-1, target=[0.2, 0.2])


CALLS: dict[str, tuple[Callable[[Any], Any], float | None]] = {  # with the total, where it is known
    "simulate": (lambda p: ARM.simulate([0.3, 0.1], duration=0.1, dt=0.01, progress=p), 10),
    "scipy": (lambda p: ARM.simulate([0.3, 0.1], duration=0.02, dt=0.01, method="scipy:RK45", progress=p), 2),
    "plan": (lambda p: solid_arm().plan([0.1, 0.1], [0.5, -0.5], SCENE, time_limit=30.0, progress=p), 30.0),
    "Roadmap": (lambda p: lw.planning.Roadmap(solid_arm(), SCENE, num_nodes=10, progress=p), None),
    "precompile": (lambda p: ARM.precompile(["mass_matrix", "gravity_force"], progress=p), 2),
    "find_collision_pairs": (lambda p: solid_arm().find_collision_pairs(num_samples=20, progress=p), None),
    "workspace_map": (lambda p: ARM.workspace_map("tip", samples=1000, progress=p), None),
    "mobility": (lambda p: linkage().mobility(progress=p), 32),
    "exciting_trajectory": (lambda p: lw.identify.exciting_trajectory(ARM, num_trials=5, progress=p), 5),
    "inertias": (identified, 200),
    "placements": (calibrated, 100),
    "solve": (lambda p: swing().solve([0.1, 0.1], max_iterations=40, progress=p), 40),
    "shooting": (lambda p: swing().solve([0.1, 0.1], solver="ilqr", max_iterations=40, progress=p), 40),
}


@pytest.mark.parametrize("name", CALLS)
def test_progress_function_is_called_with_the_count_of_finished_work(name: str) -> None:
    call, total = CALLS[name]
    values: list[lw.Progress] = []
    call(values.append)
    assert values and all(isinstance(value, lw.Progress) for value in values)
    done, seconds = [value.done for value in values], [value.seconds for value in values]
    assert done == sorted(done) and seconds == sorted(seconds)
    assert done[0] >= 0.0 and done[-1] <= values[-1].total and len({value.total for value in values}) == 1
    assert total is None or values[-1].total == total


@pytest.mark.parametrize("name", CALLS)
def test_invalid_progress_options_are_refused(name: str) -> None:
    with pytest.raises(TypeError, match=r"progress: expected True, False or a function of a linkwork.Progress, got 3"):
        CALLS[name][0](3)


def test_progress_bar_is_shown_if_progress_is_true_or_in_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    for progress, lines in ((True, 4), (np.True_, 4), (False, 0), (None, 0)):  # None: in a terminal
        with Reporter("f", progress, "work", 8) as report:
            for _ in range(8):
                report.advance()
        shown = capsys.readouterr().err.splitlines()
        assert shown == [f"work: {share} % of 8" for share in (25, 50, 75, 100)][:lines]


def test_exception_raised_by_the_progress_function_stops_the_computation() -> None:
    def stop(progress: lw.Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match=r"^$"):
        ARM.simulate([0.3, 0.1], duration=0.1, dt=0.01, progress=stop)


def test_every_public_function_with_a_progress_parameter_has_a_test_of_it() -> None:
    owners: list[Any] = [lw.Robot, lw.planning.Roadmap, lw.TrajectoryProblem, lw.identify, lw]
    names = {
        name
        for owner in owners
        for name, value in inspect.getmembers(owner, callable)
        if not name.startswith("_") and "progress" in _parameters(value)
    }
    # A Roadmap's, which grows as the constructor does; and one that `tests/installation` calls, as it takes seconds.
    assert names - set(CALLS) == {"extended", "selfcheck"}


def _parameters(value: Any) -> set[str]:
    try:
        return set(inspect.signature(value).parameters)
    except (TypeError, ValueError):
        return set()
