"""Optimal motion: features, limits and solvers."""

from __future__ import annotations

import numpy as np

from linkwork import optimal
from matrix.cell import close, holds, verb
from matrix.kinds import Kind


def _has_joints(kind: Kind) -> bool:
    return bool(kind.robot.nv)


def _problem(kind: Kind, goal: np.ndarray) -> optimal.TrajectoryProblem:
    """Return a problem that ends at the goal, or near it if constraints of velocities leave a coarse motion no way."""
    problem = optimal.TrajectoryProblem(kind.robot, num_steps=6, duration=1.0)
    if not kind.timed:
        mode = "equality" if all(constraint.holonomic for constraint in kind.robot.constraints) else "least_squares"
        problem = problem.add(optimal.ConfigurationFeature(), mode, steps=-1, target=goal)
    return problem.add(optimal.AccelerationFeature(), "least_squares", scale=0.1)


@verb("optimal.TrajectoryProblem", "optimal.ConfigurationFeature", "optimal.AccelerationFeature", needs=_has_joints)
def optimal_motion(kind: Kind) -> None:
    """An optimal motion to a nearby configuration ends at it and satisfies the constraints."""
    goal = kind.moved(0.05)
    solution = _problem(kind, goal).solve(kind.q)
    assert solution.success, str(solution.status)
    end = solution.trajectory()(1.0).q
    holds(kind, end, 1e-6, time=1.0)
    if all(constraint.holonomic for constraint in kind.robot.constraints) and not kind.timed:
        close(kind.robot.difference(goal, end), np.zeros(kind.robot.nv), 1e-4, "end")


@verb("optimal.TrajectoryProblem.add_limits", "optimal.TorqueLimits", needs=_has_joints)
def optimal_motion_with_limits(kind: Kind) -> None:
    """A motion with limits of positions, velocities and torques is solved, unless rest needs larger torques."""
    problem = _problem(kind, kind.moved(0.05))
    solution = problem.add_limits(torques=True).solve(kind.q)
    zero = np.zeros(kind.robot.nv)
    if not kind.timed and kind.is_actuated:
        tau = kind.robot.constrained_inverse_dynamics(kind.q, zero, zero, passive=True).tau
        if np.any(np.abs(tau) > kind.robot.effort_limits):
            assert not solution.success, "torques within limits cannot hold the robot"
            return
    assert solution.success, str(solution.status)


@verb("optimal.TorqueFeature", "optimal.EnergyFeature", needs=_has_joints)
def optimal_torques(kind: Kind) -> None:
    """A motion with least torques is solved."""
    problem = _problem(kind, kind.moved(0.05))
    torque = max(kind.robot.mass, 1e-9) * 10.0 * kind.size
    problem = problem.add(optimal.TorqueFeature(), "least_squares", scale=1.0 / torque)
    solution = problem.solve(kind.q)
    assert solution.success, str(solution.status)


for _solver in ("ilqr", "shooting"):

    def _check(kind: Kind, solver: str = _solver) -> None:
        """A motion by forward dynamics has a finite cost, or its status reports that the time steps are too long."""
        problem = optimal.TrajectoryProblem(kind.robot, num_steps=10, duration=0.1)
        problem = problem.add(optimal.ConfigurationFeature(), "least_squares", target=kind.q)
        problem = problem.add(optimal.TorqueFeature(), "least_squares", scale=1e-3)
        solution = problem.solve(kind.q, solver=solver, max_iterations=50)
        assert np.isfinite(np.asarray(solution.cost)).all() or str(solution.status).startswith("not_finite")

    verb("optimal.TrajectoryProblem.solve", needs=_has_joints, name=f"optimal motion by {_solver}")(_check)
