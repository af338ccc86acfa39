"""Optimal motion: features, constraints, solvers, derivatives, reports."""

from __future__ import annotations

from typing import Any

import numpy as np

import linkwork as lw
from linkwork import optimal
from recorded_results.case import case
from recorded_results.robots import arm, crane, hopper


def _plain(x: Any) -> Any:
    """Return an array without numbers that are rounding."""
    return np.where(np.abs(x) < 1e-4, 0.0, x)


def _all(result: Any) -> Any:
    """Return every number of a result, without violations, which are rounding."""
    return {
        "q": result.q,
        "cost": result.cost,
        "status": str(result.status),
        "times": result.times,
        "multipliers": {name: _plain(x) for name, x in result.multipliers.items() if name != "unactuated"},
        "residuals": {name: _plain(x) for name, x in result.residuals.items() if name not in result.violations},
        "margins": {name: _plain(x) for name, x in result.residuals.items() if name in result.violations},
        "words": " ".join(x for x in str(result).split() if x.isalpha()),
    }


@case(3e-4)
def features_of_every_kind(_: Any) -> Any:
    robot = arm()
    scene = lw.Scene().with_sphere("ball", 0.11, (0.3, 0.35, 0.75))
    steps: dict[str, Any] = {"first": (0, 3), "second": (3, 6)}
    problem = lw.TrajectoryProblem(robot, num_steps=6, duration={"first": 0.4, "second": (0.3, 0.9)}, phases=steps)
    for name, scale in {
        "velocity": 0.3, "acceleration": 0.05, "jerk": 0.002, "torque": 0.07, "energy": 0.02, "momentum": 0.4,
    }.items():  # fmt: skip
        problem = problem.add(name, "least_squares", scale=scale)
    targets = np.linspace([0.1, 0.2, 0.3], [0.5, -0.2, 0.6], 6)
    kinetic = optimal.EnergyFeature("kinetic", name="kinetic")
    spin = optimal.MomentumFeature("world", "angular", name="spin")
    reach = lw.ik.PositionTask("tool", target=(0.45, 0.25, 0.7))
    problem = problem.add(optimal.PowerFeature(name="power"), "least_squares", scale=0.03)
    problem = problem.add(kinetic, "cost", scale=0.1).add(spin, "least_squares", scale=0.2)
    problem = problem.add("configuration", "least_squares", target=optimal.PerStep(targets), scale=0.8, name="follow")
    problem = problem.add(reach, "least_squares", scale=2.0, steps="second", name="reach")
    problem = problem.add(
        lw.ik.PositionTask("elbow"), "least_squares", order=1, scale=0.3, target=(0.1, 0.2, 0.1), name="rate"
    )
    problem = problem.add(optimal.Clearance(scene, 0.06, between=1), "inequality", name="clear")
    problem = problem.add(
        lambda w: w.q("turn") * w.v("bend") + 0.1 * w.time, "least_squares", lower=-0.9, upper=0.05, name="own"
    )
    problem = problem.add_variable("slack", 1, lower=0.0, upper=2.0, initial_guess=0.1).add_parameter(
        "gain", 2, lower=-1.0, upper=1.0
    )
    problem = problem.add(
        lambda w: w.v("turn") - 0.1 - w.variables("slack")[0], "least_squares", scale=0.9, name="slow"
    )
    problem = problem.add(
        lambda w: w.variables("slack")[0] + 0.1 * w.parameter("gain")[1], "cost", scale=0.07, name="price"
    )
    problem = problem.add(
        lambda w: w.parameter("gain")[0] - w.point("tool")[2], "least_squares", steps=-1, scale=0.5, name="height"
    )
    problem = problem.add_limits(torques={"bend": 3.3}, velocities=0.55, accelerations=9.0, jerks=90.0)
    result = problem.solve([0.1, 0.2, 0.3], velocity=[0.1, -0.1, 0.2], step_tolerance=1e-7)
    curve = result.trajectory()
    checks = [problem.check(name, windows=2) for name in ("rate",)]
    return {
        **_all(result),
        "duration": result.duration,
        "iterations": result.iterations,
        "variables": {name: _plain(x) for name, x in result.variables.items()},
        "parameters": dict(result.parameters),
        "curve": list(curve(np.linspace(0.0, curve.duration, 7))),
        "problem": repr(problem),
        "checks": [[x.feature, bool(x.success), x.scale, x.where] for x in checks],
    }


@case(1e-4)
def motions_that_are_infeasible_or_unfinished(_: Any) -> Any:
    robot = crane()
    never = lw.TrajectoryProblem(robot, num_steps=5, duration=0.7).add("acceleration", "least_squares", scale=0.4)
    never = never.add(lw.ik.PositionTask("hook"), "equality", steps=-1, name="far")
    failed = never.solve([0.3, 0.1], targets={"far": [5.0, 0.7, 0.2]})
    limited = never.add_limits(torques=True).solve([0.3, 0.1], targets={"far": [0.9, 0.1, -0.1]}, max_iterations=3)
    several = never.solve(
        [0.3, 0.1],
        targets={"far": robot.point_position([[0.9, 0.2], [1.0, -0.3]], "hook")},
        num_guesses=3,
        seed=5,
        continue_all=True,
    )
    return {
        "failed": [str(failed.status), list(failed.conflicts), failed.explain(), dict(failed.multipliers)],
        "limited": [str(limited.status), limited.iterations, limited.q],
        "several": [several.q, several.cost, np.atleast_1d(several.status).astype(str).tolist()],
    }


def _swing() -> lw.TrajectoryProblem:
    problem = lw.TrajectoryProblem(crane(), num_steps=12, duration=0.9, actuators="rail")
    problem = problem.add("torque", "least_squares", scale=0.1).add("velocity", "least_squares", scale=0.2)
    problem = problem.add("configuration", "equality", steps=-1, target=[0.5, 0.2], name="there")
    return problem.add(lambda w: w.v("rail") - 0.65, "inequality", name="slow")


@case(1e-4)
def motions_by_forward_dynamics(_: Any) -> Any:
    problem, start = _swing(), [0.2, -0.3]
    ilqr = problem.solve(start, velocity=[0.1, 0.2], solver="ilqr", control_limits=(-17.0, 19.0))
    shooting = problem.solve(start, velocity=[0.1, 0.2], solver="shooting", integrator="runge_kutta_4")
    inverse = problem.solve(start, velocity=[0.1, 0.2], solver="ilqr", dynamics="inverse")
    augmented = problem.solve(start, velocity=[0.1, 0.2], tolerance=1e-8, step_tolerance=1e-8)
    result = {}
    for name, x in {"ilqr": ilqr, "shooting": shooting, "inverse": inverse}.items():
        result[name] = {
            **_all(x),
            "controls": x.controls,
            "gains": x.gains,
            "velocities": x.velocities,
            "a": x.accelerations,
        }
    curve = ilqr.trajectory()
    derived = ilqr.derivative("there")
    return {
        **result,
        "augmented": _all(augmented),
        "curve": list(curve(np.linspace(0.0, curve.duration, 5))),
        "derivative": [derived.q, derived.controls, derived.velocities, augmented.derivative("duration").q],
    }


@case(1e-3)
def motions_in_contact(_: Any) -> Any:
    robot = hopper()
    q = robot.neutral()
    q[4:7], q[7] = (0.02, -0.01, 0.36), 0.02
    problem = lw.TrajectoryProblem(robot, num_steps=5, duration=0.3, phases={"stance": (0, 5)}, actuators="slide")
    problem = problem.add_contact(
        "foot", steps="stance", friction=0.7, normal=(0.05, 0.1, 0.99), effort=0.02, surface=(0.3, 0.2)
    )
    problem = problem.add("acceleration", "least_squares", scale=0.2)
    problem = problem.add(lw.ik.PositionTask("trunk"), "least_squares", scale=3.0, steps=-1, name="rise")
    result = problem.solve(q, targets={"rise": q[4:7] + np.array([0.002, 0.001, 0.04])}, step_tolerance=1e-6)
    return {
        **_all(result),
        "forces": {name: _plain(x) for name, x in result.variables.items()},
        "problem": repr(problem),
    }
