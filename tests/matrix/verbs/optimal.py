"""Optimal motion: features, limits and solvers."""

from __future__ import annotations

import numpy as np

from linkwork import optimal
from matrix.cell import close, verb
from matrix.kinds import Kind


def _has_joints(kind: Kind) -> bool:
    return bool(kind.robot.nv)


def _problem(kind: Kind, goal: np.ndarray) -> optimal.TrajectoryProblem:
    problem = optimal.TrajectoryProblem(kind.robot, num_steps=6, duration=1.0)
    problem = problem.add(optimal.ConfigurationFeature(), "equality", steps=-1, target=goal)
    return problem.add(optimal.AccelerationFeature(), "least_squares")


@verb("optimal.TrajectoryProblem", "optimal.ConfigurationFeature", "optimal.AccelerationFeature", needs=_has_joints)
def optimal_motion(kind: Kind) -> None:
    """A motion to a configuration nearby ends there and satisfies the constraints."""
    goal = kind.moved(0.05)
    found = _problem(kind, goal).solve(kind.q)
    assert found.success, str(found.status)
    curve = found.trajectory()
    close(kind.robot.difference(goal, curve(curve.end_time).q), np.zeros(kind.robot.nv), 1e-4, "end")


@verb("optimal.TrajectoryProblem.add_limits", "optimal.TorqueLimits", needs=_has_joints)
def optimal_motion_with_limits(kind: Kind) -> None:
    """A motion with limits of positions, velocities and torques keeps them."""
    problem = _problem(kind, kind.moved(0.05))
    found = problem.add_limits(torques=True).solve(kind.q)
    assert found.success, str(found.status)


@verb("optimal.TorqueFeature", "optimal.EnergyFeature", needs=_has_joints)
def optimal_torques(kind: Kind) -> None:
    """A motion with least torques is solved."""
    problem = _problem(kind, kind.moved(0.05))
    problem = problem.add(optimal.TorqueFeature(), "least_squares", scale=1e-3)
    assert problem.solve(kind.q).success


for _solver in ("ilqr", "shooting"):

    def _check(kind: Kind, solver: str = _solver) -> None:
        """A motion by forward dynamics is solved."""
        problem = optimal.TrajectoryProblem(kind.robot, num_steps=10, duration=0.1)
        problem = problem.add(optimal.ConfigurationFeature(), "least_squares", target=kind.q)
        problem = problem.add(optimal.TorqueFeature(), "least_squares", scale=1e-3)
        found = problem.solve(kind.q, solver=solver, max_iterations=50)
        assert np.isfinite(np.asarray(found.cost)).all()

    verb("optimal.TrajectoryProblem.solve", needs=_has_joints, name=f"optimal motion by {_solver}")(_check)
