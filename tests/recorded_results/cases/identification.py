"""Identification of inertias and placements, exciting motions, filters."""

from __future__ import annotations

from typing import Any

import numpy as np

import linkwork as lw
from linkwork import identify
from recorded_results.case import case
from recorded_results.robots import arm, crane, inside


def _data(robot: lw.Robot, count: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(3)
    q, v, a = rng.uniform(-1.0, 1.0, (3, count, robot.nv)) * [[[1.3]], [[2.0]], [[5.0]]]
    truth = robot.with_payload("bag", "hook", 0.31, (0.02, -0.01, 0.03))
    tau = truth.inverse_dynamics(q, v, a, passive=True) + rng.normal(size=q.shape) * [0.05, 0.02]
    return q, v, a, tau


@case(1e-6)
def exciting_motion_and_filters(_: Any) -> Any:
    robot = crane()
    motion = identify.exciting_trajectory(
        robot,
        period=4.0,
        num_harmonics=3,
        acceleration=7.0,
        velocity=[1.9, 3.1],
        num_trials=5,
        seed=2,
        passive=["damping"],
        lower=[-1.2, -2.0],
    )
    t, q, v, a = motion.sampled(40)
    excited = motion.excitation
    signals = identify.differentiate(robot, t, q, cutoff=2.3, order=3)
    return {
        "motion": [motion.center, motion.sines, motion.cosines, [*motion.at([0.3, 1.9])]],
        "excited": [
            excited.condition,
            excited.names,
            excited.order,
            excited.independence,
            excited.singular_values,
            str(excited),
        ],
        "weak": str(identify.excitation(robot, 0.0 * q, v, a, weights=[1.0, 2.0])),
        "signals": [signals.q, signals.v, signals.a, identify.low_pass(t, v, cutoff=1.1, order=2)],
    }


@case(1e-5)
def base_parameters_and_inertias(_: Any) -> Any:
    robot = crane()
    data = _data(robot, 80)
    base = identify.base_parameters(robot, *data, passive=["damping", "armature"], held_out=0.3)
    weighed = identify.base_parameters(robot, *data, passive=[], weights={"rail": 2.0, "hinge": 0.7}, bodies=["load"])
    fit = identify.inertias(robot, *data, spread=0.4, passive=True, held_out=np.arange(5, 20))
    return {
        "base": [
            base.values,
            base.covariance,
            base.condition,
            base.singular_values,
            base.sigma,
            base.residual,
            base.r_squared,
        ],
        "table": [
            str(base),
            base.names,
            base.essential,
            base.held_out.error,
            base.held_out.nominal_error,
            base.nominal,
        ],
        "weighed": [
            weighed.values,
            weighed.standard_deviations,
            str(weighed),
            weighed.joint_forces(*(x[:2] for x in data[:3])),
        ],
        "fit": [
            fit.values,
            fit.standard_deviations,
            fit.sigma,
            fit.residual,
            fit.r_squared,
            fit.inertia_divergence,
            str(fit),
        ],
        "names": [list(fit.names), list(fit.unchanged), fit.identifiable, str(fit.at_bound)],
    }


@case(1e-5)
def placements_of_joints_and_frames(_: Any) -> Any:
    robot = arm()
    truth = robot.with_parameters(
        {"placement:bend": [0.01, 0, 0.02, 0.001, 0.002, 0], "frame:tool": [0, 0.01, 0, 0.003, 0, 0.002]}
    )
    q = inside(robot, 30, 61)
    poses = truth.pose(q, "tool")
    poses[:, :3, 3] += 1e-3 * np.random.default_rng(2).normal(size=(30, 3))
    fit = identify.placements(
        robot,
        q,
        poses,
        "tool",
        parameters=["base", "zero:*", "placement:bend", "frame:tool"],
        weights=[2.0, 1.0, 1.0, 30.0, 40.0, 50.0],
        held_out=0.2,
    )
    points = identify.placements(robot, q, poses[:, :3, 3], "tool", parameters=["zero:*", "frame:tool"])
    return {
        "fit": [
            fit.values,
            fit.standard_deviations,
            fit.sigma,
            fit.residual,
            fit.initial_residual,
            fit.condition,
            fit.base,
        ],
        "names": [
            list(fit.names),
            list(fit.unchanged),
            fit.identifiable.expressions(),
            str(fit),
            fit.zeros,
            fit.configuration(q[0]),
        ],
        "held out": [fit.held_out.error, fit.held_out.nominal_error, fit.held_out.samples],
        "points": [points.values, points.sigma, str(points)],
    }
