"""Mechanisms: assembly, mobility, constrained dynamics, reactions and equilibria."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import linkwork as lw
from linkwork import constraints
from recorded_results.case import case
from recorded_results.machines import linkage
from recorded_results.robots import crane, hopper

FORCES: dict[str, Any] = {
    "wrenches": {"end": [0.3, -0.5, 0.7, 1.9, -2.3, 3.1]},
    "expressed_in": "rocker",
    "gravity": [0.7, -0.9, -9.3],
}
PASSIVE: dict[str, Any] = {**FORCES, "passive": True}


START = [-0.6, 0.2, 0.3, -0.3]


@cache
def _state() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return a state of the linkage whose loop is closed, with accelerations and forces."""
    robot = linkage()
    q = robot.assemble(START, hold={"crank": -0.9}).q
    v, a, tau = np.random.default_rng(8).normal(size=(3, robot.nv))
    return q, robot.explicit_velocity(q, v, ["crank"]), a, tau


@case(1e-6)
def assembly_of_a_linkage(_: Any) -> Any:
    robot = linkage()
    start = START
    result = robot.assemble(start, hold={"crank": -0.9})
    loose = robot.assemble(start, prefer={"rocker": -0.7}, weights=[1.3, 0.4, 0.7, 2.1])
    branches = robot.branches({"crank": -0.9}, num_starts=24)
    failed = robot.assemble(start, hold={"crank": -0.9, "rocker": 2.1}, max_starts=3, check=False)
    fixed = ["crank"]
    return {
        "q": result.q,
        "loose": loose.q,
        "texts": [str(result.status), str(failed.status), failed.success],
        "branches": [branches.count, np.array(branches.q)[0], branches.sign],
        "projected": robot.project(result.q + 0.01, [0.1, 0.2, 0.3, 0.4]),
        "derivatives": robot.assembly_derivatives(result.q, hold=fixed),
        "configuration": [
            robot.project_configuration(result.q + 0.02),
            robot.project_velocity(result.q, [0.1, 0.2, 0.3, 0.4]),
        ],
        "error": [robot.constraint_error(np.array(start)), failed.residual > 0.1],
    }


@case(1e-6)
def driven_motion_and_reactions(_: Any) -> Any:
    robot = linkage()
    crank = np.linspace(-1.1, -0.8, 4)
    motion = robot.drive_mechanism({"crank": crank}, START, velocity={"crank": 1.3}, acceleration={"crank": -0.7})
    reactions = motion.reactions(wrenches=FORCES["wrenches"], expressed_in="rocker", gravity=FORCES["gravity"])
    slow = robot.drive_mechanism({"crank": crank}, START)
    table = slow.to_pandas(times=[0.0, 0.1, 0.3, 0.4], frames=["end"])
    return {
        "q": motion.q,
        "v": motion.v,
        "a": motion.a,
        "sign": motion.sign,
        "success": motion.success,
        "status": str(motion.status),
        "table": [list(table.columns), table.to_numpy()],
        "tau": reactions.tau,
        "joints": reactions.joint_wrenches,
        "loops": reactions.loop_joint_wrenches,
        "poses": motion.pose("end", relative_to="crank"),
        "text": motion.explain(),
    }


@case(1e-7)
def constrained_dynamics(_: Any) -> Any:
    robot = linkage()
    q, v, a, tau = _state()
    return {
        "forward": robot.constrained_forward_dynamics(q, v, tau, **PASSIVE, stabilization=(3.0, 7.0)),
        "inverse": robot.constrained_inverse_dynamics(q, v, a, **PASSIVE, actuators=["crank"]),
        "weighted": robot.constrained_inverse_dynamics(
            q, v, a, **PASSIVE, actuators=["crank", "rocker"], weights=[1.3, 0.7, 0.9, 0.4]
        ),
        "impact": robot.constrained_impact(
            q, v + 0.3, impulses=FORCES["wrenches"], expressed_in="rocker", passive=True
        ),
        "matrices": [
            robot.constrained_mass_matrix(q, passive=True),
            robot.constrained_mass_matrix_inverse(q),
            robot.delassus_matrix(q, passive=True),
        ],
        "loop": [
            robot.loop_configuration(q),
            robot.loop_velocity(q, v),
            robot.loop_passive_force(q, v),
            robot.loop_wrenches(q),
        ],
        "pins": robot.loop_joint_wrenches(q, v, a, on="parent", expressed_in="rocker"),
        "joints": robot.joint_wrenches(q, v, a, expressed_in="crank", actuators=["crank"]),
        "power": robot.constraint_power(q, v, tau, **PASSIVE),
        "forward derivatives": robot.constrained_forward_dynamics_derivatives(q, v, tau, **PASSIVE),
        "inverse derivatives": robot.constrained_inverse_dynamics_derivatives(
            q, v, a, actuators=["crank"], passive=True
        ),
    }


@case(1e-7)
def reduced_dynamics(_: Any) -> Any:
    robot = linkage()
    q, v, a, tau = _state()
    by = ["crank"]
    return {
        "explicit": [
            robot.explicit_jacobian(q, by),
            robot.explicit_jacobian_derivative(q, v, by),
            robot.explicit_velocity(q, v, by),
            robot.explicit_acceleration(q, v, a, by),
        ],
        "mass": robot.reduced_mass_matrix(q, by, passive=True),
        "bias": robot.reduced_bias_force(q, v, by, **PASSIVE),
        "forward": robot.reduced_forward_dynamics(q, v, tau, by, **PASSIVE),
        "inverse": robot.reduced_inverse_dynamics(q, v, a, by, **PASSIVE),
        "manipulability": [
            robot.manipulability(q, "end", part="position", actuators=["crank"]),
            robot.manipulability_gradient(q, "end", part="position", actuators=["crank"]),
        ],
        "static": robot.static_torque(q, wrenches=FORCES["wrenches"]),
    }


@case(1e-6)
def minimal_coordinates_of_a_linkage(_: Any) -> Any:
    q, _v, _a, tau = _state()
    minimal = linkage().minimal_coordinates(["crank"], q)
    y, u = [-0.93], [0.9]
    return {
        "expand": minimal.expand(y, u, [-0.3], near=q),
        "jacobian": minimal.jacobian(y, near=q),
        "rate": minimal.jacobian_derivative(y, u, near=q),
        "mass": minimal.mass_matrix(y, near=q, passive=True),
        "bias": minimal.bias_force(y, u, near=q, **PASSIVE),
        "forward": minimal.forward_dynamics(y, u, tau, near=q, **PASSIVE),
        "inverse": minimal.inverse_dynamics(y, u, [0.3], near=q, **PASSIVE),
        "forces": minimal.forces(y, tau, near=q),
        "linear": minimal.linearize(y, u, tau, near=q, passive=True),
        "names": [*minimal.independent, *minimal.dependent],
        "margin": minimal.margin,
        "text": str(minimal),
        "of": minimal.coordinates_of(q),
    }


@case(1e-6)
def mobility_and_integrability(_: Any) -> Any:
    q, _v, _a, _tau = _state()
    result = linkage().mobility(q, length=0.37, seed=2)
    generic = linkage().mobility(seed=4)
    skate = hopper().with_constraints(
        constraints.KnifeEdge("foot", across=(0.2, 0.9, 0.1)), constraints.KnifeEdge("trunk")
    )
    state = skate.random_configuration(seed=3)
    integrable = skate.integrability(state)
    rolling = skate.mobility(state)
    return {
        "table": str(result.table),
        "values": {k: x for k, x in result.as_dict().items() if k not in ("gap",) and not isinstance(x, dict)},
        "generic": [generic.dof, generic.rank, generic.mobility, generic.redundant, generic.locked],
        "integrable": [
            str(integrable),
            integrable.growth,
            integrable.configuration_dof,
            integrable.velocity_dof,
            integrable.nonintegrable_rank,
        ],
        "rolling": [rolling.dof, str(rolling.table)],
    }


@case(1e-5)
def equilibria(_: Any) -> Any:
    q, _v, _a, _tau = _state()
    hanging = crane().with_joint_dynamics(stiffness={"rail": 37.0}, rest={"rail": [0.2]})
    balance = hanging.equilibrium([0.1, 0.3], wrenches={"hook": [0.1, 0.2, 0.3, 1.0, 2.0, 0.5]}, tau=[0.7, -0.2])
    closed = linkage().equilibrium(q, gravity=FORCES["gravity"])
    return {
        "free": [balance.q, balance.stiffness, balance.stable, str(balance.status), str(balance.stability)],
        "closed": [closed.q, closed.stable, str(closed.status), closed.constraint_forces, np.array(closed.stiffness)],
    }


@case(1e-6)
def mechanism_with_prescribed_motion(_: Any) -> Any:
    robot = linkage().with_constraints(
        constraints.Prescribed("crank", lambda t: -1.1 + 0.3 * lw.expr.sin(2.0 * t), name="motor")
    )
    result = robot.assemble(START, time=0.3)
    q = result.q
    drift = robot.constraint_drift(q, time=0.3)
    v = robot.project(q, [0.1, 0.2, 0.3, 0.4], time=0.3)[1]
    return {
        "q": q,
        "v": v,
        "drift": drift,
        "forward": robot.constrained_forward_dynamics(q, v, [0.3, 0.2, 0.1, 0.4], time=0.3, passive=True),
        "bias": robot.constraint_bias(q, v, time=0.3),
    }
