"""Constraints of all kinds, force elements, curves and joint types."""

from __future__ import annotations

from typing import Any

import numpy as np

import linkwork as lw
from linkwork import constraints, joints
from linkwork.spatial import Pose, Rotation, Vec3
from recorded_results.case import case
from recorded_results.contents import content
from recorded_results.machines import armed, linkage, states
from recorded_results.robots import hopper


def _rod(k: Any) -> Any:
    apart = k.point("knob") - k.point("nail")
    return [apart.dot(apart) - 0.3 - 0.1 * lw.expr.sin(k.time), k.q("bend") * k.q("lift") - 0.2]


def _slip(k: Any) -> Any:
    return [k.twist("tool")[3] * 1.3 - k.v("turn") * k.q("lift") + lw.expr.cos(k.time)]


def _saddle(r: Any) -> Any:
    return r[0] * r[1] + 0.3 * r[2] - 0.2


def _ring(r: Any) -> Any:
    return [r[0] * r[0] + 2.0 * r[1] * r[1] - 0.3, r[2] - 0.4 * r[0]]


@case()
def constraints_of_every_kind(_: Any) -> Any:
    robot = armed().with_direction("up", "world", (0.3, 0.2, 0.9)).with_direction("along", "upper", (0.7, -0.2, 0.4))
    curve = constraints.Curve((-4.0, -1.0, 0.7, 5.0), (0.2, 0.5, 0.3, 0.9))
    robot = robot.with_constraints(
        constraints.LoopJoint("socket", joints.Universal((1.0, 0.2, 0.1), (-0.2, 1.0, 0.0)), "ground", "tool"),
        constraints.Holonomic("rod", _rod, time_dependent=True),
        constraints.Pfaffian("slip", _slip, time_dependent=True),
        constraints.NoSlip("knob", ("beam", "along"), relative_to="ground"),
        constraints.KnifeEdge("tool", across=(0.2, 0.9, 0.1), on="ground"),
        constraints.Distance("nail", "tool", 0.41),
        constraints.PointOnLine("knob", "up", line_point=(0.1, 0.2, 0.3)),
        constraints.PointOnPlane("knob", "up", offset=0.37),
        constraints.PointOnCurve("knob", _ring, frame="ground"),
        constraints.PointOnSurface("knob", _saddle, frame="ground"),
        constraints.Parallel("beam", "along"),
        constraints.Angle("beam", "up", 0.81),
        constraints.Weld("tool", "ground", pose=lw.pose((0.1, 0.2, 0.3), rpy=(0.3, 0.2, 0.1))),
        constraints.Ball("tool", "ground", point=(0.1, 0.02, 0.3)),
        constraints.Gear("turn", "bend", 1.7, offset=0.3),
        constraints.Belt("turn", "lift", 0.13, 0.31, crossed=True, offset=0.02),
        constraints.Coupling({"turn": 1.2, "lift": -0.3, "bend": 0.7}, offset=0.1),
        constraints.Coupling(("turn", "bend"), lambda x, y: x * y, offset=0.1, name="product"),
        constraints.PolynomialCoupling("lift", "bend", (0.1, 0.2, 0.3, -0.4), a_reference=0.1, b_reference=0.2),
        constraints.CurveCoupling("turn", "lift", curve),
        constraints.Prescribed("turn", lambda t: 0.3 * lw.expr.sin(2.0 * t)),
        constraints.Prescribed(
            point="tool", motion=lambda t: [0.3 * t, 0.2 + t * t], axes="xz", relative_to="ground", name="moved"
        ),
        constraints.CenterOfMass(x=0.3, z=0.2, relative_to="ground"),
        constraints.Rolling("tool", radius=0.13, axis=(0.2, 0.9, 0.3)),
        constraints.RollingContact("elbow", radius=0.11, axis=(0.1, 0.7, 0.3)),
        constraints.BallRolling("load", radius=0.07),
    )
    q, v, _a, _tau = states(robot, 2)
    return {
        "error": robot.constraint_error(q, time=0.7),
        "jacobian": robot.constraint_jacobian(q, time=0.7),
        "bias": robot.constraint_bias(q, v, time=0.7),
        "drift": robot.constraint_drift(q, time=0.7),
        "rows": [[x.name, x.component_names, x.row_units, str(x)[:50]] for x in robot.constraints],
    }


@case()
def wheels_of_a_floating_base(_: Any) -> Any:
    robot = hopper().with_constraints(
        constraints.Rolling("foot", radius=0.21, axis=(0.1, 0.9, 0.2)),
        constraints.KnifeEdge("shin", across=(0.3, 0.8, 0.1)),
    )
    q, v, _a, _tau = states(robot, 2)
    return {
        "error": robot.constraint_error(q),
        "jacobian": robot.constraint_jacobian(q),
        "bias": robot.constraint_bias(q, v),
        "rows": [[x.name, x.component_names, x.row_units] for x in robot.constraints],
    }


@case()
def curves_of_couplings(_: Any) -> Any:
    x, y = (0.1, 1.3, 2.9, 6.0), (0.3, 0.7, 0.2, 0.9)
    curves = {
        "spline": constraints.Curve(x, y),
        "periodic": constraints.Curve(x, (*y[:-1], y[0]), periodic=True),
        "quintic": constraints.Curve(x, y, slopes=(0.1, -0.3, 0.2, 0.5), curvatures=(0.2, 0.1, -0.3, 0.4)),
        **{motion: constraints.Curve(x, y, motion) for motion in ("345", "4567", "cycloidal", "harmonic")},
        "geneva": constraints.Curve.geneva(5),
        "inner geneva": constraints.Curve.geneva(4, internal=True),
        "sampled": constraints.Curve.sampled(lambda t: lw.expr.sin(t) + 0.1 * t, 0.2, 3.1, tolerance=1e-6),
    }
    at = (0.2, 0.9, 2.3, 4.7)
    return {name: [[curve(t), *curve.derivatives(t)] for t in at] for name, curve in curves.items()}


TYPES: dict[str, Any] = {
    "revolute": joints.Revolute((0.1, 0.7, -0.3)),
    "prismatic": joints.Prismatic((0.1, 0.7, -0.3)),
    "unbounded": joints.UnboundedRevolute((0.1, 0.7, -0.3)),
    "helical": joints.Helical((0.1, 0.7, -0.3), 0.23),
    "cylindrical": joints.Cylindrical((0.1, 0.7, -0.3)),
    "planar": joints.Planar.across((0.1, 0.7, -0.3)),
    "universal": joints.Universal((0.9, 0.2, 0.1), (0.1, -0.5, 0.1)),
    "spherical": joints.Spherical(scalar_last=True),
    "skew universal": joints.Universal((0.9, 0.2, 0.1), (0.1, 0.5, 0.1), right_angle=False),
    "euler": joints.SphericalEuler("zxz"),
    "xyz": joints.SphericalEuler("xyz"),
    "mrp": joints.SphericalMRP(),
    "floating": joints.Floating(),
    "floating euler": joints.FloatingEuler("yzx"),
    "floating mrp": joints.FloatingMRP(),
    "translational": joints.Translational(),
    "ellipsoid": joints.Ellipsoid(0.3, 0.5, 0.7),
    "reversed": joints.Reversed(joints.Helical((0.1, 0.7, -0.3), 0.23)),
    "composite": joints.Composite(
        (joints.Revolute((0.2, 0.1, 0.9)), joints.Planar.across((0.1, 0.7, -0.3))),
        (Pose(Rotation.from_rpy(0.3, 0.2, 0.1), Vec3(0.1, 0.2, 0.3)),) * 2,
    ),
}


def _arrays(value: Any) -> Any:
    """Return numbers of poses, motions and symmetric matrices as arrays."""
    if hasattr(value, "elements"):
        return np.array([float(x) for x in value.elements()])
    if isinstance(value, str | int | float | np.ndarray | type(None)):
        return value
    if hasattr(value, "__iter__"):
        return [_arrays(x) for x in value]
    return str(value)


@case()
def functions_of_joint_types(_: Any) -> Any:
    result: dict[str, Any] = {}
    for name, kind in TYPES.items():
        rng = np.random.default_rng(3)
        low, up = (-1.3,) * kind.nq, (0.9,) * kind.nq
        q, p = ([float(x) for x in kind.random(rng, low, up, ())] for _ in range(2))
        v, a = rng.normal(size=(2, kind.nv)).tolist()
        X = kind.X(q)
        values = {
            "q": q,
            "X": X,
            "S": kind.S(q),
            "bias": kind.bias(q, v),
            "zero": kind.zero(),
            "integrate": kind.integrate(q, v),
            "difference": kind.difference(q, p),
            "deflection": kind.deflection(p, q),
            "normal": kind.normalize([1.2 * x for x in q]),
            "rate": kind.q_dot(q, v),
            "velocity": kind.velocity_from_rate(q, kind.q_dot(q, v)),
            "canonical": kind.canonical([x + 7.0 for x in q]) if kind.nq == kind.nv else None,
            "regularity": kind.regularity(q),
            "distance": kind.distance(q),
            "acceleration": kind.acceleration(q, v, a),
            "constraints": kind.constraint_wrench_subspace(q),
            "rate jacobian": kind.q_dot_jacobian(q),
            "deflection rate": kind.deflection_rate(p, q, v),
            "difference rate": kind.difference_rate(q, p, v),
            "names": [*kind.q_names, *kind.v_names, *kind.q_units, *kind.v_units],
            "text": str(kind)[:60],
        }
        result[name] = {key: _arrays(value) for key, value in values.items()}
        try:
            q_of_pose = kind.configuration_from_pose(X)
            result[name]["found"], result[name]["residual"] = _arrays(q_of_pose), _arrays(kind.pose_residual(kind.X(p)))
        except (NotImplementedError, ValueError) as error:
            result[name]["found"] = str(error)
    return result


@case()
def methods_of_a_joint(_: Any) -> Any:
    robot = linkage()
    joint = robot.joint("knee")
    rng = np.random.default_rng(2)
    q, v, a = rng.normal(size=(3, 2))
    wrench, twist, acceleration = rng.normal(size=(3, 6))
    pose = lw.pose((0.3, 0.2, 0.1), rpy=(0.1, 0.2, 0.3))
    return {
        "kinematics": [
            joint.transform(q),
            joint.twist(q, v),
            joint.spatial_acceleration(q, v, a),
            joint.motion_subspace(q),
            joint.bias_acceleration(q, v),
            joint.constraint_wrench_subspace(q),
        ],
        "links": [
            joint.link_transform(q),
            joint.link_pose(q, pose),
            joint.link_velocity(q, v, twist),
            joint.link_motion_subspace(q),
            joint.link_acceleration(q, v, a, twist, acceleration),
            joint.link_bias_acceleration(q, v, twist, acceleration),
            joint.link_transform_derivative(q),
            joint.rest_transform(),
            *joint.link_motion(q, v, a, pose, twist, acceleration),
        ],
        "forces": [
            joint.torque(q, wrench),
            joint.reaction(q, wrench),
            joint.link_torque(q, wrench),
            joint.passive_torque(v),
            *joint.split_wrench(q, wrench),
        ],
        "coordinates": [
            *joint.local_coordinates(q, q + 0.1, v),
            joint.global_coordinates(q, v),
            joint.principal_value(q + 9.0),
            joint.configuration_of(joint.transform(q)),
            joint.velocity_of(q, twist),
            joint.pose_residual(pose),
        ],
        "axes": [_arrays(x) for x in joint.axes(q)],
        "random": joint.random_configuration(seed=4, size=2),
        "text": [str(joint), repr(joint), str(robot.loops[0])],
        "bounds": [str(joint.position_bounds), str(joint.velocity_bounds), str(joint.effort_bounds)],
    }


@case()
def edits_of_joints_and_robots(_: Any) -> Any:
    robot = armed()
    joint = robot.joint("lift")
    joint = (
        joint.with_armature(0.3).with_damping(0.4).with_friction(0.2).with_stiffness(3.0, 0.3).with_velocity_limit(2.2)
    )
    joint = joint.with_effort_limit(4.4).with_acceleration_limit(5.5).with_jerk_limit(66.0).with_gear_ratio(1.9)
    joint = joint.with_static_friction(0.5).with_friction_velocity(0.03).with_position_limits(-0.7, 0.9)
    joint = joint.with_rest_transform(lw.pose((0.3, 0.2, 0.1), rpy=(0.1, 0.2, 0.3)))
    edited = robot.with_joint(joint).with_inertia("fore", mass=2.2, com=(0.1, 0.2, 0.3)).with_base((0.4, 0.5, 0.6))
    locked = edited.with_locked_joints({"turn": 0.4})
    coupled = edited.with_couplings({"bend": ("lift", 0.7, 0.2)})
    parametric = robot.parameters(["inertia:fore", "damping:lift", "placement:bend", "gravity", "point:knob"])
    rooted = hopper().with_root("shin")
    return {
        "edited": content(edited),
        "locked": content(locked),
        "coupled": content(coupled),
        "rooted": content(rooted),
        "parameters": parametric,
        "attached": content(
            robot.with_attached("cup", "tool", lw.shapes.Box((0.1, 0.2, 0.3)), (0.1, 0.02, 0.03), touching=["fore"])
        ),
        "dynamics": content(robot.with_joint_dynamics(damping={"turn": 0.3}, rotor_inertia=0.02, gear_ratio=2.0)),
    }
