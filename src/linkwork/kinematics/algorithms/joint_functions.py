"""Functions of one joint: between its two frames and, in either direction, between its two links.

F is the frame before the joint (the stator), M the frame after it (the rotor).  The functions compute the motion of M
relative to F, the wrenches across the joint and their components along its motion, the manifold of its configurations,
and the rates of configuration and velocity.

P is the link of inputs named ``parent_...`` and B its child.  Where they are swapped, P is the link after the joint,
and everything is as for a joint in the opposite direction, with the signs of q, v and τ unchanged.
"""

from __future__ import annotations

from typing import Any

from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.joints.base.from_transform import Span
from linkwork.model.body import PlacedJoint, Scalars
from linkwork.model.function_spec import FunctionSpec, Output, table
from linkwork.spatial import Force, Motion, Pose, by_rows, cross

__all__ = ["TABLE"]


def transform(site: PlacedJoint, q: Scalars) -> Any:
    return site.type.X(q)


def twist(site: PlacedJoint, q: Scalars, v: Scalars) -> Any:
    return site.type.twist(q, v)


def spatial_acceleration(site: PlacedJoint, q: Scalars, v: Scalars, a: Scalars) -> Any:
    return site.type.acceleration(q, v, a)


def bias_acceleration(site: PlacedJoint, q: Scalars, v: Scalars) -> Any:
    return site.type.bias(q, v)


def motion_subspace(site: PlacedJoint, q: Scalars) -> Any:
    return by_rows(site.type.S(q).columns)


def configuration_of(site: PlacedJoint, pose: Scalars) -> Any:
    return site.type.configuration_from_pose(Pose.of_elements(pose))


def velocity_of(site: PlacedJoint, q: Scalars, motion: Scalars) -> Any:
    return site.type.velocity_from_twist(q, Motion.of(motion))


def pose_residual(site: PlacedJoint, pose: Scalars) -> Any:
    return site.type.pose_residual(Pose.of_elements(pose))


_ACCELERATION = Output((6,), "rad/s², m/s²")


def constraint_wrench_subspace(site: PlacedJoint, q: Scalars) -> Any:
    return by_rows(site.type.constraint_wrench_subspace(q))


def torque(site: PlacedJoint, q: Scalars, wrench: Scalars) -> Any:
    return site.type.torque(q, Force.of(wrench))


def split_wrench(site: PlacedJoint, q: Scalars, wrench: Scalars, world_pose: Scalars | None = None) -> Any:
    w = Force.of(wrench)
    joint = Force.of(Span.of([column.elements() for column in site.type.S(q).columns]).projected(w.elements()))
    parts = joint, w - joint
    return parts if world_pose is None else tuple(Pose.of_elements(world_pose) @ part for part in parts)


def reaction(site: PlacedJoint, q: Scalars, wrench: Scalars) -> Any:
    return -(site.type.X(q) @ Force.of(wrench))


_WRENCH = "N·m, N"


def local_coordinates(site: PlacedJoint, q0: Scalars, q: Scalars, v: Scalars) -> Any:
    return site.type.difference(q0, q), site.type.difference_rate(q0, q, v)


def global_coordinates(site: PlacedJoint, q0: Scalars, phi: Scalars) -> Any:
    return site.type.integrate(q0, phi)


def normalize_configuration(site: PlacedJoint, q: Scalars) -> Any:
    return site.type.normalize(q)


def principal_value(site: PlacedJoint, q: Scalars) -> Any:
    return site.type.canonical(q)


def velocity_to_configuration_derivative(site: PlacedJoint, q: Scalars, v: Scalars) -> Any:
    return site.type.q_dot(q, v)


def velocity_to_configuration_derivative_jacobian(site: PlacedJoint, q: Scalars) -> Any:
    return site.type.q_dot_jacobian(q)


def configuration_derivative_to_velocity(site: PlacedJoint, q: Scalars, q_dot: Scalars) -> Any:
    return site.type.velocity_from_rate(q, q_dot)


def configuration_derivative_to_velocity_jacobian(site: PlacedJoint, q: Scalars) -> Any:
    return site.type.velocity_from_rate_jacobian(q)


def configuration_derivative_to_velocity_adjoint(site: PlacedJoint, q: Scalars, f_v: Scalars) -> Any:
    return site.type.velocity_from_rate_adjoint(q, f_v)


def link_transform(site: PlacedJoint, q: Scalars) -> Any:
    return site.X(q)


def link_transform_derivative(site: PlacedJoint, q: Scalars) -> Any:
    matrices = []
    for k in range(site.type.nq):
        moving = seeded(q, [1.0 if i == k else 0.0 for i in range(site.type.nq)])
        matrices.append([parts(x, moving[0].level)[1] for x in site.X(moving).elements()])
    return matrices


def link_motion_subspace(site: PlacedJoint, q: Scalars) -> Any:
    return by_rows(site.S(q).columns)


def link_pose(site: PlacedJoint, q: Scalars, parent_pose: Scalars) -> Any:
    return Pose.of_elements(parent_pose) @ site.X(q)


def link_velocity(site: PlacedJoint, q: Scalars, v: Scalars, parent_twist: Scalars) -> Any:
    return site.X(q).inv() @ Motion.of(parent_twist) + site.S(q) @ v


def link_acceleration(
    site: PlacedJoint, q: Scalars, v: Scalars, a: Scalars, parent_twist: Scalars, parent_acceleration: Scalars
) -> Any:
    X_BP, S = site.X(q).inv(), site.S(q)
    V_J = S @ v
    V_B = X_BP @ Motion.of(parent_twist) + V_J
    return X_BP @ Motion.of(parent_acceleration) + S @ a + site.bias(q, v) + cross(V_B, V_J)


def link_velocity_acceleration(
    site: PlacedJoint, q: Scalars, v: Scalars, a: Scalars, parent_twist: Scalars, parent_acceleration: Scalars
) -> Any:
    A_B = link_acceleration(site, q, v, a, parent_twist, parent_acceleration)
    return link_velocity(site, q, v, parent_twist), A_B


def link_motion(
    site: PlacedJoint,
    q: Scalars,
    v: Scalars,
    a: Scalars,
    parent_pose: Scalars,
    parent_twist: Scalars,
    parent_acceleration: Scalars,
) -> Any:
    V_B, A_B = link_velocity_acceleration(site, q, v, a, parent_twist, parent_acceleration)
    return link_pose(site, q, parent_pose), V_B, A_B


def link_bias_acceleration(
    site: PlacedJoint, q: Scalars, v: Scalars, parent_twist: Scalars, parent_acceleration: Scalars
) -> Any:
    return link_acceleration(site, q, v, [0.0] * site.type.nv, parent_twist, parent_acceleration)


def link_torque(site: PlacedJoint, q: Scalars, wrench: Scalars) -> Any:
    return site.S(q).T @ Force.of(wrench)


_POSE, _TWIST, _LINK_ACCELERATION = ((4, 4), "1, m"), ((6,), "rad/s, m/s"), ((6,), "rad/s², m/s²")
_FROM_PARENT = "q v a parent_twist parent_acceleration"


TABLE = table(
    (
        FunctionSpec.of(
            transform, "q", Output((4, 4), "1, m"), "Pose X_FM of the frame after the joint in the frame before it."
        ),
        FunctionSpec.of(twist, "q v", Output((6,), "rad/s, m/s"), "Twist S v of M relative to F, in M's coordinates."),
        FunctionSpec.of(
            spatial_acceleration, "q v a", _ACCELERATION, "Spatial acceleration S a + Ṡ v of M relative to F, in M's."
        ),
        FunctionSpec.of(bias_acceleration, "q v", _ACCELERATION, "Spatial acceleration Ṡ v while v̇ = 0."),
        FunctionSpec.of(
            configuration_of, "pose", Output(("nq",), configuration=True), "Configuration with the nearest transform."
        ),
        FunctionSpec.of(velocity_of, "q motion", Output(("nv",), "rad/s, m/s"), "Velocity with the nearest twist."),
        FunctionSpec.of(
            pose_residual, "pose", Output((6,), "rad, m"), "Residual of a pose from the nearest configuration."
        ),
        FunctionSpec.of(motion_subspace, "q", Output((6, "nv"), "1, m"), "S, which maps velocities to twists."),
        FunctionSpec.of(
            constraint_wrench_subspace,
            "q",
            Output((6, "nc")),
            "Basis of the wrenches without power: Tᵀ S = 0.",
        ),
        FunctionSpec.of(
            torque, "q wrench", Output(("nv",), _WRENCH), "Joint forces Sᵀ F of a wrench across the joint."
        ),
        FunctionSpec.of(
            split_wrench,
            "q wrench",
            (Output((6,), _WRENCH, "joint_force"), Output((6,), _WRENCH, "internal_force")),
            "Joint force, w projected onto S's span, and internal force, in M, or in the world with M's pose.",
            optional=("world_pose",),
        ),
        FunctionSpec.of(
            reaction, "q wrench", Output((6,), _WRENCH), "Wrench −X_FM w on the link before the joint, in F."
        ),
        FunctionSpec.of(
            local_coordinates,
            "q0 q v",
            (Output(("nv",), "", "phi"), Output(("nv",), "", "phi_dot")),
            "φ of q around q0, and φ̇.",
        ),
        FunctionSpec.of(
            global_coordinates,
            "q0 phi",
            Output(("nq",), configuration=True),
            "Configuration with local coordinates φ around q0.",
        ),
        FunctionSpec.of(
            normalize_configuration,
            "q",
            Output(("nq",), configuration=True),
            "Nearest configuration on the manifold.",
            any_configuration=True,
        ),
        FunctionSpec.of(
            principal_value,
            "q",
            Output(("nq",), configuration=True),
            "Principal configuration of the same transform.",
        ),
        FunctionSpec.of(velocity_to_configuration_derivative, "q v", Output(("nq",)), "q̇ from v."),
        FunctionSpec.of(
            velocity_to_configuration_derivative_jacobian, "q", Output(("nq", "nv")), "Matrix J with q̇ = J v."
        ),
        FunctionSpec.of(configuration_derivative_to_velocity, "q q_dot", Output(("nv",)), "v from q̇."),
        FunctionSpec.of(
            configuration_derivative_to_velocity_jacobian, "q", Output(("nv", "nq")), "Matrix J with v = J q̇."
        ),
        FunctionSpec.of(
            configuration_derivative_to_velocity_adjoint,
            "q f_v",
            Output(("nq",)),
            "f_q = Jᵀ f_v: ⟨f_q, q̇⟩ = ⟨f_v, v⟩.",
        ),
        FunctionSpec.of(
            link_transform, "q", Output(*_POSE), "Pose X_PB of the child in the parent.", needs_placement=True
        ),
        FunctionSpec.of(
            link_transform_derivative,
            "q",
            Output(("nq", 4, 4)),
            "∂X_PB/∂q_k for every position coordinate.",
            needs_placement=True,
        ),
        FunctionSpec.of(
            link_motion_subspace,
            "q",
            Output((6, "nv"), "1, m"),
            "Motion subspace of the child relative to the parent.",
            needs_placement=True,
        ),
        FunctionSpec.of(
            link_pose, "q parent_pose", Output(*_POSE), "Pose of the child from the parent's.", needs_placement=True
        ),
        FunctionSpec.of(
            link_velocity,
            "q v parent_twist",
            Output(*_TWIST),
            "Twist of the child from the parent's.",
            needs_placement=True,
        ),
        FunctionSpec.of(
            link_acceleration,
            _FROM_PARENT,
            Output(*_LINK_ACCELERATION),
            "Spatial acceleration of the child from the parent's.",
            needs_placement=True,
        ),
        FunctionSpec.of(
            link_velocity_acceleration,
            _FROM_PARENT,
            (Output(*_TWIST, "twist"), Output(*_LINK_ACCELERATION, "acceleration")),
            "Twist and spatial acceleration of the child from the parent's.",
            needs_placement=True,
        ),
        FunctionSpec.of(
            link_motion,
            "q v a parent_pose parent_twist parent_acceleration",
            (Output(*_POSE, "pose"), Output(*_TWIST, "twist"), Output(*_LINK_ACCELERATION, "acceleration")),
            "Pose, twist and spatial acceleration of the child from the parent's.",
            needs_placement=True,
        ),
        FunctionSpec.of(
            link_bias_acceleration,
            "q v parent_twist parent_acceleration",
            Output(*_LINK_ACCELERATION),
            "Spatial acceleration of the child while v̇ = 0, from the parent's.",
            needs_placement=True,
        ),
        FunctionSpec.of(
            link_torque,
            "q wrench",
            Output(("nv",), "N·m, N"),
            "Joint forces of the wrench that one link applies on the other.",
            needs_placement=True,
        ),
    )
)
