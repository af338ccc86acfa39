"""Untimed paths: their parameter is the path length, which files, plots and printing name."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from linkwork.motion import Trajectory, time_optimal
from linkwork.viewer.html.scene_data import Arrays, Functions, scene_data

SLOW = lw.load("arm6")
for name in SLOW.v_names:
    SLOW = SLOW.with_joint(SLOW.joint(name).with_velocity_limit(0.1))


@pytest.fixture(scope="module")
def plan() -> lw.planning.PlanResult:
    q = SLOW.neutral()
    return SLOW.plan(q, q + 0.5)


@pytest.mark.slow(every=5)
def test_trajectories_of_plans_have_path_length_as_parameter_until_they_are_timed(plan: lw.planning.PlanResult) -> None:
    path = plan.trajectory()
    assert not path.is_timed and abs(path.duration - plan.cost) < 1e-12 and "not timed" in repr(path)
    for same in (path, copy.copy(path), pickle.loads(pickle.dumps(path)), plan.trajectory(smooth=True)):
        assert not same.is_timed
    for derived in (path.slice(0.1, 0.5), path.reversed(), path.shifted(2.0), path.concatenate(path, allow_jump=True)):
        assert not derived.is_timed
    for timed in (path.retimed(10.0), path.retimed(path.knots), path.at_constant_speed(0.1)):
        assert timed.is_timed and timed != path and " s>" in repr(timed)
    fastest = plan.timed(acceleration=1.0)
    assert fastest.trajectory.is_timed and fastest.duration == time_optimal(path, acceleration=1.0).duration
    assert fastest.trajectory.satisfies_limits() and fastest.duration > 5.0


@pytest.mark.slow(every=5)
def test_limits_over_time_raise_an_error_for_untimed_paths(plan: lw.planning.PlanResult) -> None:
    path = plan.trajectory()
    assert set(path.limit_margins()) == {"lower", "upper"} and path.satisfies_limits()
    with pytest.raises(ValueError, match=r"Trajectory\.satisfies_limits: expected a trajectory over time"):
        path.satisfies_limits(velocity=0.1)
    with pytest.raises(ValueError, match=r"t = 9 rad, m is outside of \[0, 1.22"):
        path(9.0)
    with pytest.raises(ValueError, match="expected a trajectory over time"):
        path.retimed(10.0).concatenate(path, allow_jump=True)
    with pytest.raises(ValueError, match="lqr_about_trajectory: trajectory: expected a trajectory over time"):
        lw.control.lqr_about_trajectory(SLOW, path, Q=(1.0, 1.0), R=1.0)


def test_trajectories_passed_instead_of_arrays_are_refused_with_the_remedy(plan: lw.planning.PlanResult) -> None:
    law, q, fast = lw.control.ComputedTorque(SLOW, 100.0), SLOW.neutral(), plan.timed(acceleration=1.0)
    for motion, remedy in (
        (plan, r"pass its \.timed\(\.\.\.\)\.trajectory in time_inputs"),
        (plan.trajectory(), r"time it with .*, or pass plan\.timed\(\.\.\.\)\.trajectory"),
        (fast, r"pass its \.trajectory in time_inputs"),
        (fast.trajectory, r"trajectory\(t\) returns q, v and a"),
        (SLOW.simulate(q, duration=0.002, dt=0.001), r"pass its \.trajectory\(\) in time_inputs"),
    ):
        with pytest.raises(
            ValueError, match=rf"ComputedTorque: target_q: expected an array of shape \(6,\), .*{remedy}"
        ):
            law(0.0, q, 0.0 * q, target_q=motion)
        with pytest.raises(ValueError, match=rf"simulate: constants\['target_q'\]: expected an array .*{remedy}"):
            SLOW.simulate(q, controller=law, duration=0.002, constants={"target_q": motion})
        with pytest.raises(ValueError, match=rf"task 'posture': target: expected finite numbers, .*{remedy}"):
            lw.ik.PostureTask(target=motion)
        if motion is not fast.trajectory:
            with pytest.raises(ValueError, match=rf"simulate: time_inputs.*{remedy}"):
                SLOW.simulate(q, controller=law, duration=0.002, time_inputs={"target": motion})
    with pytest.raises(ValueError, match="provides NAME_q, NAME_v and NAME_a: name it 'target'"):
        SLOW.simulate(q, controller=law, duration=0.002, time_inputs={"target_q": fast.trajectory})


def test_files_and_plots_of_untimed_paths_use_the_path_length(plan: lw.planning.PlanResult, tmp_path: Path) -> None:
    path, timed = plan.trajectory(), plan.trajectory().retimed(10.0)
    for trajectory, name, unit in ((path, "length", "rad, m"), (timed, "t", "s")):
        for suffix in ("csv", "npz"):
            trajectory.save(tmp_path / f"path.{suffix}")
            assert Trajectory.load(tmp_path / f"path.{suffix}", robot=SLOW).is_timed is trajectory.is_timed
        assert (tmp_path / "path.csv").read_text().startswith(f"{name},q:")
        table = trajectory.to_pandas()
        assert table.index.name == name and table.attrs["units"][name] == unit
        assert ("v:elbow" in table.attrs["units"]) is trajectory.is_timed
    for document, is_timed in (
        (lw.viewer.scene_document(path), False),
        (lw.viewer.scene_document(plan), False),
        (lw.viewer.scene_document(timed), True),
    ):
        assert document.is_timed is is_timed
        assert scene_data(document, Arrays(), Functions())["clock"] == (
            "time [s]" if is_timed else f"{document.axis}, not timed"
        )
        assert len(document.plots) == (2 if is_timed else 1)
    labels = [axis.get_xlabel() for axis in (path.plot()[-1], timed.plot()[-1])]
    assert labels == ["path length [rad, m]", "t [s]"]


def test_tracked_cartesian_path_is_timed_with_a_speed() -> None:
    X = SLOW.pose(np.array([0.3, -1.2, 1.4, -0.9, -1.1, 0.2]), "tool")
    line = lw.motion.line(X, lw.pose((0.05, -0.1, 0.05)) @ X)
    tracked = SLOW.track_cartesian_path(line, "tool", q_init=np.array([0.3, -1.2, 1.4, -0.9, -1.1, 0.2]))
    assert not tracked.trajectory().is_timed and not any(part.is_timed for part in tracked.parts())
    assert abs(tracked.trajectory().duration - line.length) < 1e-12
    slow = tracked.trajectory(0.01)
    assert slow.is_timed and abs(slow.duration - line.length / 0.01) < 1e-9
    assert tracked.trajectory(1.0).is_timed
