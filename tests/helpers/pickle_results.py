"""Results of an object as arrays, to compare the object with its pickle: one function for each public class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import linkwork as lw
from linkwork import control, environments, identify, ik, motion, optimal, planning, shapes, simulation

__all__ = ["RESULTS", "results_of"]

Q, HAND = np.array([0.1, 0.2]), np.array([0.5, 0.1, 0.0])
ARM = lw.load("arm7")


def _stepped(x: Any) -> Any:
    x.step(np.array([0.1, -0.2]))
    return x.state.q, x.state.v, x.time


def _environment(x: Any) -> Any:
    observations, rewards, *_ = x.step(np.zeros(x.action_space.shape))
    return observations, rewards, *x.reset(seed=4)[:1]


RESULTS: dict[type, Callable[[Any], Any]] = {
    lw.Robot: lambda x: (x.mass_matrix(Q), x.pose(Q, "hand")),
    lw.Joint: lambda x: (x.lower, x.upper, x.transform([0.3])),
    lw.Link: lambda x: repr(x),
    lw.Kernel: lambda x: (x([0.1, 0.2], 0.3), x.jacobian()([0.1, 0.2], 0.3)),
    lw.Scene: lambda x: ARM.minimum_distance(np.full(7, 0.3), x),
    lw.TrajectoryProblem: lambda x: x.solve().q,
    lw.Simulator: _stepped,
    motion.Trajectory: lambda x: x([0.1, 0.5]),
    motion.CartesianPath: lambda x: x([0.0, 0.3]),
    motion.TrackedPath: lambda x: (x.q, x.s),
    motion.ProfileFunction: lambda x: x(Q, -Q),
    planning.PlanResult: lambda x: (x.path, x.cost),
    planning.PoseRegion: lambda x: (x.X, x.lower, x.upper),
    planning.Roadmap: lambda x: (x.nodes, x.edges, x.plan(Q, -Q).path),
    motion.TimedPath: lambda x: (x.t, x.trajectory(0.1)),
    simulation.Simulation: lambda x: (x.t, x.q, x.v),
    optimal.OptimalResult: lambda x: (x.q, x.cost, x.multipliers),
    control.PD: lambda x: x(0.0, Q, 0.5 * Q, target_q=-Q),
    control.LQRController: lambda x: (x.K, x(0.0, Q, 0.0 * Q)),
    control.StateSpace: lambda x: (x.A, x.poles(), x.output_names),
    control.TVLQRController: lambda x: (x.gains(0.05), x(0.05, Q, 0.0 * Q)),
    control.WholeBody: lambda x: x(0.0, Q, 0.0 * Q, hand=HAND),
    control.ModelPredictiveController: lambda x: x.step((Q, 0.0 * Q)).torque,
    environments.VectorEnvironment: _environment,
    environments.SingleEnvironment: _environment,
    ik.IKProblem: lambda x: x.solve(q_init=Q).q,
    ik.DifferentialIK: lambda x: x.step(Q, HAND),
    ik.IKResult: lambda x: (x.q, x.cost),
    ik.ClosedForm: lambda x: x.branches(ARM.pose(np.full(7, 0.3), "hand"), locked=0.3).q,
    identify.ExcitingTrajectory: lambda x: x.at([0.1, 0.2]),
    identify.BaseParameterFit: lambda x: (x.values, x.covariance),
    shapes.Box: lambda x: repr(x),
    simulation.ContactMaterial: lambda x: repr(x),
}


def results_of(x: Any) -> list[Any]:
    """Return the results of an object as lists and texts that compare to the bit."""
    return _plain(RESULTS[type(x)](x))


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, str) or value is None:
        return value
    array = np.asarray(value)
    return repr(value) if array.dtype == object else [array.dtype.str, array.shape, array.tobytes()]
