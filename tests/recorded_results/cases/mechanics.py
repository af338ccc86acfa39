"""Kinematics, dynamics and derivatives of an arm with force elements, resistance and a payload."""

from __future__ import annotations

from typing import Any

import numpy as np

import linkwork as lw
from recorded_results.case import case
from recorded_results.machines import armed, states
from recorded_results.robots import arm, hopper

FRAMES: dict[str, Any] = {"relative_to": "elbow", "expressed_in": "column", "point": "load"}
FORCES: dict[str, Any] = {
    "wrenches": {"tool": [0.3, -0.5, 0.7, 1.9, -2.3, 3.1], "elbow": [0.2, 0.1, 0.3, 1.0, 2.0, 0.5]},
    "expressed_in": "column",
    "gravity": [0.7, -0.9, -9.3],
}


@case()
def kinematics_relative_to_moving_frames(_: Any) -> Any:
    robot = armed()
    q, v, a, _ = states(robot)
    plain = {"relative_to": "elbow", "expressed_in": "column"}
    calls: dict[str, tuple[Any, ...]] = {
        "twist": (q, v, "tool"),
        "acceleration": (q, v, a, "tool"),
        "jacobian": (q, "tool"),
        "configuration_jacobian": (q, "tool"),
        "jacobian_derivative": (q, v, "tool"),
        "position_jacobian": (q, "tool"),
        "bias_acceleration": (q, v, "tool"),
        "jacobian_hessian": (q, "tool"),
        "jacobians": (q,),
        "twist_derivatives": (q, v, "tool"),
        "acceleration_derivatives": (q, v, a, "tool"),
    }
    result: dict[str, Any] = {}
    for name, arguments in calls.items():
        options = {**FRAMES, "point": "elbow"} if name == "jacobians" else FRAMES
        result[name] = getattr(robot, name)(*arguments, **options)
    positions = np.random.default_rng(9).normal(size=(3, 2, 3))
    result |= {
        "angular": robot.angular_jacobian(q, "tool", **plain),
        "pose": robot.pose(q, "tool", relative_to="elbow"),
        "bodies": robot.forward_kinematics(q),
        "pose derivatives": robot.pose_derivatives(q, "tool", relative_to="column"),
        "points": robot.point_position(q, ["tool", "elbow"], positions=positions, **plain),
        "point velocity": robot.point_velocity(q, v, ["knob", "tool"], **plain),
        "point acceleration": robot.point_acceleration(q, v, a, ["knob", "nail"], **plain),
        "point jacobian": robot.point_jacobian(q, ["knob", "tool"], **plain),
        "direction": robot.direction_vector(q, ["beam"], expressed_in="column"),
        "direction velocity": robot.direction_velocity(q, v, ["beam"], **plain),
        "direction acceleration": robot.direction_acceleration(q, v, a, ["beam"], **plain),
        "direction jacobian": robot.direction_jacobian(q, ["beam"], **plain),
        "manipulability": robot.manipulability(q, "tool", relative_to="ground", part="position"),
        "manipulability gradient": robot.manipulability_gradient(q, "tool", part="position"),
    }
    return result


@case()
def dynamics_with_wrenches_springs_and_friction(_: Any) -> Any:
    robot = armed()
    q, v, a, tau = states(robot)
    full: dict[str, Any] = {**FORCES, "passive": True, "friction": "smooth"}
    load = {key: full[key] for key in ("wrenches", "expressed_in")}
    return {
        "inverse": robot.inverse_dynamics(q, v, a, **full),
        "forward": robot.forward_dynamics(q, v, tau, **full),
        "forward by mass matrix": robot.forward_dynamics(q, v, tau, passive=True, method="mass_matrix"),
        "bias": robot.bias_force(q, v, **full),
        "gravity": robot.gravity_force(q, passive=True, **FORCES),
        "hybrid": robot.hybrid_dynamics(q, v, a, tau, ["lift"], **full),
        "terms": robot.newton_euler_terms(q, v, gravity=FORCES["gravity"]),
        "impact": robot.impact(q, v, impulses=FORCES["wrenches"], expressed_in="column", passive=True),
        "mass": robot.mass_matrix(q, passive=True),
        "inverse mass": robot.mass_matrix_inverse(q, passive=True),
        "solve": robot.mass_matrix_solve(q, tau, passive=True),
        "coriolis": robot.coriolis_matrix(q, v),
        "passive": [robot.passive_force(q, v, friction=x) for x in ("smooth", "coulomb", "stribeck")],
        "elements": robot.force_element_wrenches(q, v),
        "wrenches": robot.joint_wrenches(
            q,
            v,
            a,
            on="parent",
            expressed_in="elbow",
            wrenches_expressed_in="world",
            wrenches=FORCES["wrenches"],
            gravity=FORCES["gravity"],
        ),
        "components": robot.joint_wrench_components(q, v, a, on="child", expressed_in="world"),
        "static": robot.static_torque(q, **load),
        "wrench": robot.wrench_from_torque(q, tau, "tool", expressed_in="tool"),
        "power": robot.power(q, v, tau, **load, passive=True),
        "energies": [
            robot.kinetic_energy(q, v, passive=True),
            robot.potential_energy(q, passive=True),
            robot.lagrangian(q, v, passive=True, gravity=FORCES["gravity"]),
        ],
    }


@case()
def momentum_and_centre_of_mass(_: Any) -> Any:
    robot = hopper()
    q, v, a, _ = states(robot)
    part = {"subtree": "shin", "relative_to": "trunk", "expressed_in": "foot"}
    return {
        "com": [
            robot.center_of_mass(q, **part),
            robot.center_of_mass_velocity(q, v, **part),
            robot.center_of_mass_acceleration(q, v, a, **part),
            robot.center_of_mass_jacobian(q, **part),
        ],
        "com derivatives": [
            robot.center_of_mass_velocity_derivatives(q, v, **part),
            robot.center_of_mass_acceleration_derivatives(q, v, a, **part),
        ],
        "momentum": [robot.momentum(q, v), robot.centroidal_momentum(q, v), robot.centroidal_momentum_rate(q, v, a)],
        "matrices": [
            robot.centroidal_momentum_matrix(q),
            robot.centroidal_momentum_matrix_rate(q, v),
            robot.locked_inertia(q),
        ],
        "zmp": robot.zero_moment_point(q, v, a, gravity=[0.3, 0.7, -9.1]),
        "derivatives": [
            robot.centroidal_momentum_derivatives(q, v),
            robot.centroidal_momentum_rate_derivatives(q, v, a),
        ],
        "difference": [robot.difference(q, q[::-1]), robot.integrate(q, v), robot.integrate_derivatives(q, v)],
        "rates": [
            robot.velocity_to_configuration_derivative(q, v),
            robot.configuration_derivative_to_velocity(q, q[::-1]),
        ],
        "normalized": robot.normalize(1.3 * q),
    }


@case()
def derivatives_of_dynamics(_: Any) -> Any:
    robot, plain = armed(), arm().with_frame("load", "tool")
    q, v, a, tau = (x[:1] for x in states(robot))
    full: dict[str, Any] = {**FORCES, "passive": True}
    weights = [0.7, -1.3, 0.4]
    return {
        "inverse": robot.inverse_dynamics_derivatives(q, v, a, **full),
        "forward": robot.forward_dynamics_derivatives(q, v, tau, **full),
        "inverse hessian": plain.inverse_dynamics_hessian(q, v, a, weights, **full),
        "energies": [
            robot.kinetic_energy_derivatives(q, v, passive=True),
            robot.potential_energy_derivatives(q, passive=True),
        ],
        "linearized": robot.linearize(q, v, tau, dt=0.013, wrenches=FORCES["wrenches"]),
        "continuous": robot.linearize(q, v, tau, passive=True),
    }


@case()
def regressors_and_base_parameters(_: Any) -> Any:
    robot = armed().without_force_elements("coil", "bush")
    q, v, a, _ = states(robot)
    base = robot.base_parameters(passive=True, seed=3)
    floating = hopper().base_parameters(samples=40)
    pi = robot.inertial_parameters(passive=True)
    Y = robot.inverse_dynamics_regressor(q, v, a, gravity=FORCES["gravity"], passive=True)
    return {
        "names": robot.parameter_names(passive=True),
        "parameters": pi,
        "regressor": Y,
        "energies": [
            robot.kinetic_energy_regressor(q, v, passive=True),
            robot.potential_energy_regressor(q, passive=True),
        ],
        "momentum": robot.momentum_regressor(q, v),
        "base": [
            base.names,
            base.expressions(),
            str(base),
            base.values(pi),
            base.rank,
            base.dependent,
            base.unidentifiable,
        ],
        "floating": [floating.expressions(), floating.rank, str(floating.unidentifiable)],
        "consistency": np.array(robot.physical_consistency(tolerance=1e-4), dtype=object).astype(str),
        "null space": robot.mass_matrix_null_space(q[0], passive=True),
        "theta": lw.parameters.log_cholesky(pi[:10]),
        "pseudo": lw.parameters.pseudo_inertia(pi[:10]),
        "explain": [
            lw.parameters.explain([1.0, 0.1, 0.2, 0.3, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06]),
            lw.parameters.explain(-pi[:10]),
        ],
    }
