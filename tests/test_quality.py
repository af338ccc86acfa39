"""Quality of results: path lengths compared with the shortest, success rates, iteration counts, file sizes.

`tests/golden/quality.json` has the values, of which smaller ones are better; each may be larger by a tenth.
``--update-golden`` writes them anew.
"""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from helpers.gantry import gantry
from linkwork.simulation.algorithms.contact.contact_step import contact_velocities
from linkwork.simulation.algorithms.contact.contact_terms import ContactAt, Interval, StepScale

GOLDEN = Path(__file__).parent / "golden" / "quality.json"
MARGIN = 1.1


def _excess(robot, scene, begin, end, shortest):
    """Return by how much paths are longer than the shortest, relative to it: the mean over seeds."""
    plans = [robot.plan(begin, end, scene, seed=seed) for seed in range(8)]
    assert all(plan.cost > shortest for plan in plans)
    return np.mean([plan.cost for plan in plans]) / shortest - 1.0


def paths(_):
    """Obstacles grow by the half width of what moves: corners of boxes stay corners, a point sees the same circle."""
    begin, end = np.array([-1.5, 0.1]), np.array([1.5, -0.1])
    box = lw.Scene().with_box("box", (0.9, 1.2, 1.0))
    around = np.array([begin, (-0.5, 0.65), (0.5, 0.65), end])
    walls = lw.Scene().with_box("a", (0.1, 2.9, 1.0), (-0.5, -0.5, 0.0)).with_box("b", (0.1, 2.9, 1.0), (0.5, 0.5, 0.0))
    between = np.array([begin, (-0.6, 1.0), (-0.4, 1.0), (0.4, -1.0), (0.6, -1.0), end])
    r, far = 0.6, math.hypot(*begin)  # tangents, and the arc between them
    post = 2.0 * math.sqrt(far * far - r * r) + r * (math.pi - 2.0 * math.acos(r / far))
    length = {
        name: np.linalg.norm(np.diff(x, axis=0), axis=1).sum() for name, x in (("box", around), ("walls", between))
    }
    maps = [lw.planning.Roadmap(gantry(), box, num_nodes=200, seed=seed) for seed in range(4)]
    results = {
        "around a box": _excess(gantry(), box, begin, end, length["box"]),
        "between two walls": _excess(gantry(), walls, begin, end, length["walls"]),
        "around a cylinder": _excess(gantry(1e-4), lw.Scene().with_cylinder("post", r, 3.0), begin, -begin, post),
        "around a box by roadmaps": np.mean([single.plan(begin, end).cost for single in maps]) / length["box"] - 1.0,
    }
    return results


def inverse_kinematics(_):
    """Iterations until poses are solved, and the number of 200 poses that one start does not solve."""
    results = {}
    for name, frame, solver in (
        ("arm6", "tool", "augmented"),
        ("arm7", "hand", "augmented"),
        ("arm7", "hand", "damped"),
    ):
        robot = lw.load(name)
        X = robot.pose(robot.random_configuration(np.random.default_rng(0), size=200), frame)
        problem = robot.ik_problem(lw.ik.PoseTask(frame), solver=solver, num_starts=1, max_iterations=100)
        result = problem.solve(**{frame: X})
        results[f"{name} {solver} iterations"] = result.iterations[result.success].mean()
        results[f"{name} {solver} unsolved"] = int((~result.success).sum())
    return results


def optimal_motion(_):
    """Iterations of swinging up a double pendulum, and the cost that each method reaches."""
    problem = lw.TrajectoryProblem(lw.load("double_pendulum"), num_steps=40, duration=2.0)
    problem = problem.add("torque", "least_squares").add("velocity", "equality", steps=-1)
    problem = problem.add("configuration", "equality", steps=-1, target=[math.pi, 0.3], name="up")
    results = {}
    for solver in ("augmented", "ilqr"):
        result = problem.solve([0.0, 0.0], solver=solver)
        assert result.success
        results |= {f"{solver} iterations": result.iterations, f"{solver} cost": result.cost}
    return results


def contact(_):
    """Newton iterations of random contact programs."""
    rng, iterations = np.random.default_rng(1), []
    for _ in range(12):
        root = rng.normal(size=(5, 5))
        contacts = [ContactAt(rng.normal(size=(3, 5)).tolist(), 0.01 * rng.normal(), 0.7) for _ in range(3)]
        interval = Interval(np.eye(5)[0].tolist(), 0.3, 10.0, 0.0, 5.0)
        A, (v, push) = root @ root.T + np.eye(5), rng.normal(size=(2, 5))
        scale = StepScale(1.0, 3.0)
        result = contact_velocities(A.tolist(), v.tolist(), push.tolist(), contacts, [interval], 0.01, scale)
        iterations.append(result.iterations)
    return {"mean iterations": np.mean(iterations), "largest number": max(iterations)}


def files(folder):
    """Sizes of files [bytes] of arm7, its path, motion and kernel."""
    robot = lw.load("arm7")
    q = robot.random_configuration(np.random.default_rng(0), size=2)
    motion = robot.simulate(robot.neutral(), np.zeros(7), duration=0.05, dt=1e-3, joint_limit_mode="ignored")
    robot.save(folder / "robot.json")
    robot.to_urdf(folder / "robot.urdf")
    robot.plan(*q).trajectory().save(folder / "path.npz")
    motion.save(folder / "motion.npz")
    motion.show(html=folder / "motion.html")
    lw.compile(lambda q: robot.inverse_dynamics(q, q, q), q=7).save(folder / "kernel")
    return {file.name: file.stat().st_size for file in folder.iterdir()}


@pytest.mark.slow(every=5)
@pytest.mark.parametrize(
    "subject", [paths, inverse_kinematics, optimal_motion, contact, files], ids=lambda x: x.__name__
)
def test_measures_of_quality_are_as_good_as_recorded(subject, tmp_path, update_golden):
    results = {name: float(f"{value:.5g}") for name, value in subject(tmp_path).items()}
    if update_golden:
        golden = json.loads(GOLDEN.read_text(encoding="utf-8")) if GOLDEN.exists() else {}
        golden = dict(sorted((golden | {subject.__name__: results}).items()))
        GOLDEN.write_text(json.dumps(golden, indent=2) + "\n", encoding="utf-8")
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))[subject.__name__]
    assert results.keys() == golden.keys()
    hint = "python -m pytest -n0 tests/test_quality.py --update-golden writes what became better, or has a reason"
    assert {name: x for name, x in results.items() if x > MARGIN * golden[name]} == {}, hint
