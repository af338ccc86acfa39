"""The table of every function of a joint, over any scalar.

`linkwork.bridge.joint_kernels`, the methods of `linkwork.Joint`, the documentation and the tests read this table.  To
add a function, write it below and add a row and a method.

F is the frame before the joint (the stator), M the frame after it (the rotor).  P is the link that a row's ``parent``
means and B its ``child``; where they are swapped, P is the link after the joint, and everything is as if the joint led
the other way, with the signs of q, v and τ kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..expr.dual import parts, seeded
from ..expr.functions import sqrt
from ..joints import JointType
from ..joints.derived import Span
from ..spatial import Force, Motion, Pose, Subspace, cross

__all__ = ["CONFIGURATIONS", "INPUTS", "TABLE", "JointFunction", "Site"]

Scalars = Sequence[Any]


@dataclass(frozen=True, slots=True)
class Site:
    """A joint type between two links: X_PB = placement · X_FM(q) · rotor, asked about in one of both directions."""

    type: JointType
    placement: Pose = Pose.identity()  # X_parent_stator
    rotor: Pose = Pose.identity()  # X_rotor_child
    swapped: bool = False  # the link before the joint is the child

    def X(self, q: Scalars) -> Pose:
        """X_PB: the pose of the child in the parent."""
        X: Pose = self.placement @ self.type.X(q) @ self.rotor
        return X.inv().formed() if self.swapped else X

    def across(self, q: Scalars, V: Motion) -> Motion:
        """A motion of M relative to F, in M's coordinates, as one of B relative to P, in B's."""
        if self.swapped:
            return -(self.placement @ (self.type.X(q) @ V))
        moved: Motion = self.rotor.inv() @ V
        return moved

    def S(self, q: Scalars) -> Subspace:
        """The motion subspace of B relative to P, in B's coordinates."""
        return Subspace(tuple(self.across(q, column) for column in self.type.S(q).columns))

    def bias(self, q: Scalars, v: Scalars) -> Motion:
        """The spatial acceleration of B relative to P, in B's coordinates, while v̇ = 0.

        Swapped it is −X_PB A too: what the turning of the coordinates adds is V × V = 0.
        """
        return self.across(q, self.type.bias(q, v))


# -- over any scalar


def _transform(site: Site, q: Scalars) -> Any:
    return site.type.X(q)


def _twist(site: Site, q: Scalars, v: Scalars) -> Any:
    return site.type.twist(q, v)


def _spatial_acceleration(site: Site, q: Scalars, v: Scalars, a: Scalars) -> Any:
    return site.type.acceleration(q, v, a)


def _bias_acceleration(site: Site, q: Scalars, v: Scalars) -> Any:
    return site.type.bias(q, v)


def _motion_subspace(site: Site, q: Scalars) -> Any:
    return _columns(site.type.S(q).columns)


def _constraint_wrench_subspace(site: Site, q: Scalars) -> Any:
    return _columns(site.type.constraint_wrench_subspace(q))


def _torque(site: Site, q: Scalars, wrench: Scalars) -> Any:
    return site.type.torque(q, Force.of(wrench))


def _velocity_to_configuration_derivative(site: Site, q: Scalars, v: Scalars) -> Any:
    return site.type.q_dot(q, v)


def _velocity_to_configuration_derivative_jacobian(site: Site, q: Scalars) -> Any:
    return site.type.q_dot_jacobian(q)


def _configuration_derivative_to_velocity(site: Site, q: Scalars, q_dot: Scalars) -> Any:
    return site.type.v_of(q, q_dot)


def _configuration_derivative_to_velocity_jacobian(site: Site, q: Scalars) -> Any:
    return site.type.v_of_jacobian(q)


def _configuration_derivative_to_velocity_adjoint(site: Site, q: Scalars, f_v: Scalars) -> Any:
    return site.type.v_of_adjoint(q, f_v)


def _local_coordinates(site: Site, q0: Scalars, q: Scalars, v: Scalars) -> Any:
    return site.type.local(q0, q), site.type.local_rate(q0, q, v)


def _global_coordinates(site: Site, q0: Scalars, phi: Scalars) -> Any:
    return site.type.retract(q0, phi)


def _normalize_configuration(site: Site, q: Scalars) -> Any:
    return site.type.normalize(q)


def _principal_value(site: Site, q: Scalars) -> Any:
    return site.type.principal(q)


def _off_manifold(site: Site, q: Scalars) -> Any:
    squares = ((a - b) * (a - b) for a, b in zip(site.type.normalize(q), q, strict=True))
    return sqrt(sum(squares, 0.0))


def _split_wrench(site: Site, q: Scalars, wrench: Scalars) -> Any:
    w = Force.of(wrench)
    joint = Force.of(Span.of([column.elements() for column in site.type.S(q).columns]).projected(w.elements()))
    return joint, w - joint


def _split_wrench_in_world(site: Site, q: Scalars, wrench: Scalars, pose: Scalars) -> Any:
    X_WM = Pose.of([pose[4 * k : 4 * k + 4] for k in range(4)])
    return tuple(X_WM @ part for part in _split_wrench(site, q, wrench))


def _reaction(site: Site, q: Scalars, wrench: Scalars) -> Any:
    return -(site.type.X(q) @ Force.of(wrench))


def _link_transform(site: Site, q: Scalars) -> Any:
    return site.X(q)


def _link_transform_derivative(site: Site, q: Scalars) -> Any:
    matrices = []
    for k in range(site.type.nq):
        moving = seeded(q, [1.0 if i == k else 0.0 for i in range(site.type.nq)])
        matrices.append([parts(x, moving[0].level)[1] for x in site.X(moving).elements()])
    return matrices


def _link_motion_subspace(site: Site, q: Scalars) -> Any:
    return _columns(site.S(q).columns)


def _link_pose(site: Site, q: Scalars, parent_pose: Scalars) -> Any:
    return Pose.of([parent_pose[4 * k : 4 * k + 4] for k in range(4)]) @ site.X(q)


def _link_velocity(site: Site, q: Scalars, v: Scalars, parent_twist: Scalars) -> Any:
    return site.X(q).inv() @ Motion.of(parent_twist) + site.S(q) @ v


def _link_acceleration(
    site: Site, q: Scalars, v: Scalars, a: Scalars, parent_twist: Scalars, parent_acceleration: Scalars
) -> Any:
    X_BP, S = site.X(q).inv(), site.S(q)
    V_J = S @ v
    V_B = X_BP @ Motion.of(parent_twist) + V_J
    return X_BP @ Motion.of(parent_acceleration) + S @ a + site.bias(q, v) + cross(V_B, V_J)


def _link_velocity_acceleration(
    site: Site, q: Scalars, v: Scalars, a: Scalars, parent_twist: Scalars, parent_acceleration: Scalars
) -> Any:
    A_B = _link_acceleration(site, q, v, a, parent_twist, parent_acceleration)
    return _link_velocity(site, q, v, parent_twist), A_B


def _link_motion(
    site: Site,
    q: Scalars,
    v: Scalars,
    a: Scalars,
    parent_pose: Scalars,
    parent_twist: Scalars,
    parent_acceleration: Scalars,
) -> Any:
    V_B, A_B = _link_velocity_acceleration(site, q, v, a, parent_twist, parent_acceleration)
    return _link_pose(site, q, parent_pose), V_B, A_B


def _link_bias_acceleration(
    site: Site, q: Scalars, v: Scalars, parent_twist: Scalars, parent_acceleration: Scalars
) -> Any:
    return _link_acceleration(site, q, v, [0.0] * site.type.nv, parent_twist, parent_acceleration)


def _link_torque(site: Site, q: Scalars, wrench: Scalars) -> Any:
    return site.S(q).T @ Force.of(wrench)


def _columns(columns: Sequence[Any]) -> list[list[Any]]:
    """The 6 × n matrix of these columns, by rows."""
    listed = [column.elements() for column in columns]
    return [[column[i] for column in listed] for i in range(6)]


# -- the table


INPUTS: dict[str, tuple[tuple[int | str, ...], str]] = {
    "q": (("nq",), "configuration"),
    "q0": (("nq",), "configuration at the centre of the local coordinates"),
    "v": (("nv",), "velocity"),
    "a": (("nv",), "acceleration v̇"),
    "q_dot": (("nq",), "rate of the configuration"),
    "f_v": (("nv",), "force on the velocity"),
    "phi": (("nv",), "local coordinates"),
    "wrench": ((6,), "wrench (moment [N·m]; force [N])"),
    "pose": ((4, 4), "pose X_WM of the frame after the joint in the world"),
    "parent_pose": ((4, 4), "pose of the parent"),
    "parent_twist": ((6,), "twist (ω [rad/s]; v [m/s]) of the parent, in its own coordinates"),
    "parent_acceleration": ((6,), "spatial acceleration (rad/s²; m/s²) of the parent, in its own coordinates"),
}


CONFIGURATIONS = ("q", "q0")  # inputs that lie on the joint's manifold


@dataclass(frozen=True, slots=True)
class JointFunction:
    """A row: a function of a joint, what goes in and what comes out."""

    name: str
    compute: Callable[..., Any]
    inputs: tuple[str, ...]
    outputs: tuple[tuple[str, tuple[int | str, ...]], ...]  # name and shape: sizes, or "nq", "nv", "nc" (constraints)
    doc: str
    of_links: bool = False  # depends on where the joint sits on its links, and on the direction


def _row(compute: Callable[..., Any], inputs: str, shape: Any, doc: str) -> JointFunction:
    name = compute.__name__.lstrip("_")
    outputs = tuple(shape.items()) if isinstance(shape, dict) else ((name, shape),)
    of_links = name.startswith("link_")
    return JointFunction(name, compute, tuple(inputs.split()), outputs, doc, of_links)


_SPLIT = {"joint_force": (6,), "internal_force": (6,)}
_VELOCITY_ACCELERATION = {"twist": (6,), "acceleration": (6,)}

TABLE: dict[str, JointFunction] = {
    row.name: row
    for row in (
        _row(_transform, "q", (4, 4), "Pose X_FM of the frame after the joint in the frame before it."),
        _row(_twist, "q v", (6,), "Twist S v of M relative to F, in M's coordinates."),
        _row(_spatial_acceleration, "q v a", (6,), "Spatial acceleration S a + Ṡ v of M relative to F, in M's."),
        _row(_bias_acceleration, "q v", (6,), "Spatial acceleration Ṡ v while v̇ = 0."),
        _row(_motion_subspace, "q", (6, "nv"), "S, which maps velocities to twists."),
        _row(_constraint_wrench_subspace, "q", (6, "nc"), "Basis of the wrenches that do no work: Tᵀ S = 0."),
        _row(_torque, "q wrench", ("nv",), "Joint forces Sᵀ F of a wrench across the joint."),
        _row(_velocity_to_configuration_derivative, "q v", ("nq",), "q̇ from v."),
        _row(_velocity_to_configuration_derivative_jacobian, "q", ("nq", "nv"), "The matrix J with q̇ = J v."),
        _row(_configuration_derivative_to_velocity, "q q_dot", ("nv",), "v from q̇."),
        _row(_configuration_derivative_to_velocity_jacobian, "q", ("nv", "nq"), "The matrix J with v = J q̇."),
        _row(_configuration_derivative_to_velocity_adjoint, "q f_v", ("nq",), "f_q = Jᵀ f_v: ⟨f_q, q̇⟩ = ⟨f_v, v⟩."),
        _row(_local_coordinates, "q0 q v", {"phi": ("nv",), "phi_dot": ("nv",)}, "φ of q around q0, and φ̇."),
        _row(_global_coordinates, "q0 phi", ("nq",), "The configuration whose local coordinates around q0 are φ."),
        _row(_normalize_configuration, "q", ("nq",), "The nearest configuration on the manifold."),
        _row(_principal_value, "q", ("nq",), "The preferred configuration of the same transform."),
        _row(_off_manifold, "q", (), "How far the configuration is from the nearest one on the manifold."),
        _row(_split_wrench, "q wrench", _SPLIT, "Joint force, w projected onto S's span, and internal force, in M."),
        _row(_split_wrench_in_world, "q wrench pose", _SPLIT, "The same, in the world's coordinates."),
        _row(_reaction, "q wrench", (6,), "Wrench −X_FM w on the link before the joint, in F."),
        _row(_link_transform, "q", (4, 4), "Pose X_PB of the child in the parent."),
        _row(_link_transform_derivative, "q", ("nq", 4, 4), "∂X_PB/∂q_k for every position coordinate."),
        _row(_link_motion_subspace, "q", (6, "nv"), "Motion subspace of the child relative to the parent."),
        _row(_link_pose, "q parent_pose", (4, 4), "Pose of the child from the parent's."),
        _row(_link_velocity, "q v parent_twist", (6,), "Twist of the child from the parent's."),
        _row(
            _link_acceleration,
            "q v a parent_twist parent_acceleration",
            (6,),
            "Spatial acceleration of the child from the parent's.",
        ),
        _row(
            _link_velocity_acceleration,
            "q v a parent_twist parent_acceleration",
            _VELOCITY_ACCELERATION,
            "Twist and spatial acceleration of the child from the parent's.",
        ),
        _row(
            _link_motion,
            "q v a parent_pose parent_twist parent_acceleration",
            {"pose": (4, 4), **_VELOCITY_ACCELERATION},
            "Pose, twist and spatial acceleration of the child from the parent's.",
        ),
        _row(
            _link_bias_acceleration,
            "q v parent_twist parent_acceleration",
            (6,),
            "Spatial acceleration of the child while v̇ = 0, from the parent's.",
        ),
        _row(_link_torque, "q wrench", ("nv",), "Joint forces of the wrench that one link applies on the other."),
    )
}
