"""Class `Joint`: a joint of a robot or a separate one, with its functions on arrays, limits and placements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from inspect import signature
from typing import Any, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.checked_arguments import public_methods
from linkwork._util.foreign_names import WithForeignNames, add_foreign_names
from linkwork._util.lazy_imports import published_in
from linkwork.expr.arrays.symbol_array import is_traced, map_samples
from linkwork.joints import JointType
from linkwork.joints.base.checks import call_joint
from linkwork.joints.base.generic_rank import check_joint_type
from linkwork.joints.base.plain_coordinates import is_plain
from linkwork.kernels.array_arguments import ArgumentReader
from linkwork.kernels.compiled_method import named_after
from linkwork.kernels.compiler_api import Port
from linkwork.kernels.robot_arguments import Size, generator_of, leading_of
from linkwork.model.body import FRICTION_VELOCITY, WORLD, Body, Drive, Following, Limits
from linkwork.model.coupled_joints import read_mimic
from linkwork.model.tree import Tree
from linkwork.model.tree_drawing import joint_row
from linkwork.robot.joint.joint_editing import ResistanceEditing, check_links, check_order, pose_of
from linkwork.robot.joint.link_methods import LinkMethods
from linkwork.robot.joint.passive_parameters import (
    DRIVE,
    dof_values,
    drive_arrays,
    read_drive,
    resistance,
    stored_drive,
)
from linkwork.spatial import Pose
from linkwork.spatial.arguments import checked_string, fixed_array

__all__ = ["Bounds", "Joint", "body_with", "drive_of", "joint_of", "limits_of"]


@published_in("linkwork.parts")
class Bounds(NamedTuple):
    """Lower and upper bounds; −inf and inf mean that there is no bound."""

    lower: np.ndarray
    upper: np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class Joint(LinkMethods, ResistanceEditing, metaclass=WithForeignNames):
    """Joint with its links: an immutable value, equal and hashable by content, that can be pickled.

    X_parent_child = placement · X_FM(q) · rotor.  F, the stator frame, is fixed to the parent; M, the rotor frame, is
    fixed to the child.  URDF has the identity as the rotor's placement.  `transform`, `twist`, `torque` and the like
    are functions of the joint type, between F and M.  The functions of links (`link_transform`, ...) include the
    placements and work in both directions.

    All accept arrays with any leading batch dimensions, which broadcast as in NumPy, and are compiled at the first
    call.  They compute in float64, or in float32 if all arguments are float32.  They raise ValueError, with the joint's
    name, for an array of the wrong shape or type, values that are not finite, and a configuration more than 1e-3 off
    its manifold (a quaternion that is not unit); nearer configurations are normalised with a
    `linkwork.errors.ConfigurationWarning`.

    `Joint.of` explains ``lower``, ``upper``, ``velocity``, ``effort``, ``acceleration``, ``jerk``, ``damping``,
    ``friction``, ``static_friction``, ``friction_velocity``, ``armature``, ``gear_ratio``, ``stiffness``, ``rest`` and
    ``mimic``. ``q_slice`` and ``v_slice`` are its entries in q and v.  ``position_limits_enabled`` is False where
    position limits are ignored. ``dynamics`` is "none" where damping and friction do not act, else "urdf".
    ``coupling`` is the joint that it follows, whose coordinates it shares. ``welded`` are links that are fixed to its
    two links.

    >>> import linkwork as lw
    >>> hinge = lw.Joint.of(lw.joints.Revolute((0, 0, 1)), name="hinge")
    >>> hinge.twist([0.3], [2.0])
    array([0., 0., 2., 0., 0., 0.])
    """

    name: str
    type: JointType  # the type with its parameters, e.g. Revolute(axis)
    parent: str  # parent body; "world" for a root
    child: str  # child body
    q_slice: slice  # its coordinates in a configuration
    v_slice: slice  # its coordinates in a velocity, acceleration or force
    lower: np.ndarray  # (nq,) lower position limits [rad, m], −inf for no limit
    upper: np.ndarray  # (nq,) upper position limits [rad, m], inf for no limit
    velocity: np.ndarray  # (nv,) speed limits [rad/s, m/s], inf for no limit
    effort: np.ndarray  # (nv,) force limits [N·m, N], inf for no limit
    acceleration: np.ndarray  # (nv,) acceleration limits [rad/s², m/s²], inf for no limit
    jerk: np.ndarray  # (nv,) jerk limits [rad/s³, m/s³], inf for no limit
    damping: np.ndarray  # (nv,) viscous damping [N·m·s/rad, N·s/m]
    friction: np.ndarray  # (nv,) kinetic dry friction [N·m, N]
    armature: np.ndarray  # (nv,) reflected inertia of rotors [kg·m², kg]
    gear_ratio: np.ndarray  # (nv,) rotor revolutions per joint revolution
    stiffness: np.ndarray  # (nv,) spring stiffness [N·m/rad, N/m]
    rest: np.ndarray  # (nq,) rest configuration of the springs [rad, m]
    static_friction: np.ndarray  # (nv,) static dry friction [N·m, N]
    friction_velocity: np.ndarray  # (nv,) speed v_s of the smooth friction law f tanh(v / v_s) [rad/s, m/s]
    mimic: Following | None  # the joint that it follows according to the file
    placement: Pose = Pose.identity()  # X_parent_stator
    rotor: Pose = Pose.identity()  # X_rotor_child
    position_limits_enabled: bool = True  # False: position limits are ignored
    dynamics: Literal["none", "urdf"] = "urdf"  # "none": damping and friction do not act, see `passive_torque`
    coupling: Following | None = None  # the joint that it follows, whose coordinates in q and v it shares
    welded: tuple[tuple[str, str, Pose], ...] = ()  # links fixed to its two links: name, body, pose; not compared
    _calls: dict[Any, Callable[..., Any]] = field(init=False, repr=False, default_factory=dict)

    @classmethod
    def of(
        cls,
        type: JointType,
        *,
        name: str = "joint",
        parent: str = "parent",
        child: str = "child",
        placement: ArrayLike | Pose | None = None,
        rotor: ArrayLike | Pose | None = None,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        velocity: ArrayLike | None = None,
        effort: ArrayLike | None = None,
        acceleration: ArrayLike | None = None,
        jerk: ArrayLike | None = None,
        damping: ArrayLike = 0.0,
        friction: ArrayLike = 0.0,
        static_friction: ArrayLike | None = None,
        friction_velocity: ArrayLike = FRICTION_VELOCITY,
        armature: ArrayLike = 0.0,
        gear_ratio: ArrayLike = 1.0,
        rotor_inertia: ArrayLike | None = None,
        stiffness: ArrayLike = 0.0,
        rest: ArrayLike | None = None,
        mimic: str | tuple[str, float] | tuple[str, float, float] | Following | None = None,
    ) -> Joint:
        """Create a separate joint, or one for `Robot.build`, of a type such as ``linkwork.joints.Revolute(axis)``.

        Args:
            type: joint type with its parameters, built-in or user-defined.
            name, parent, child: names of the joint and its links.
            placement, rotor: X_parent_stator and X_rotor_child, poses (4, 4) or positions (3,) [1, m]; the identity by
                default.
            lower, upper, velocity, effort, acceleration, jerk: limits, a number or an array (nq,) or (nv,); none by
                default.
            damping, friction, static_friction, friction_velocity, armature, gear_ratio, stiffness, rest: numbers or
                arrays, in the units of the fields of these names.  By default static friction is equal to the
                friction, and ``rest`` is the joint's zero configuration.  The armature is the inertia at the joint;
                the gear ratio does not change it.
            rotor_inertia: inertia of a rotor about its own axis [kg·m², kg], instead of ``armature``, which becomes
                N² · rotor_inertia with the gear ratio N.
            mimic: the joint that it follows, or (joint, ratio, offset): q = ratio · q_joint + offset, with ratio 1 and
                offset 0 by default.

        Raises ValueError for wrong sizes, invalid names, lower bounds above upper bounds, negative values that must
        not be negative, and poses that are not rigid (within 1e-6); TypeError for an invalid joint type or mimic, and
        for an armature beside a rotor inertia.
        """
        if not isinstance(type, JointType):
            raise TypeError(
                f"joint {name!r}: type: expected a joint type with its parameters, such as "
                f"linkwork.joints.Revolute((0, 0, 1)), got {type!r}"
            )
        checked_string(name, "joint")
        check_links(name, parent, child)
        check_joint_type(type, name)
        inf, nq, nv = float("inf"), type.nq, type.nv
        low = dof_values(name, "lower", -inf if lower is None else lower, nq)
        high = dof_values(name, "upper", inf if upper is None else upper, nq)
        check_order(name, low, high)
        dry = dof_values(name, "friction", friction, nv, least=0.0, infinite=False)
        default = rotor_inertia is not None and not np.any(armature)
        drive = {
            "armature": None if default else armature,
            "rotor_inertia": rotor_inertia,
            "gear_ratio": gear_ratio,
            "stiffness": stiffness,
            "rest": rest,
        }
        drive |= {"static_friction": static_friction, "friction_velocity": friction_velocity}
        return cls(
            name,
            type,
            parent,
            child,
            slice(0, nq),
            slice(0, nv),
            lower=low,
            upper=high,
            velocity=dof_values(name, "velocity", inf if velocity is None else velocity, nv, least=0.0),
            effort=dof_values(name, "effort", inf if effort is None else effort, nv, least=0.0),
            acceleration=dof_values(name, "acceleration", inf if acceleration is None else acceleration, nv, least=0.0),
            jerk=dof_values(name, "jerk", inf if jerk is None else jerk, nv, least=0.0),
            damping=dof_values(name, "damping", damping, nv, least=0.0, infinite=False),
            friction=dry,
            **read_drive(name, type, dry, drive),
            mimic=None if mimic is None else read_mimic(name, mimic),
            placement=pose_of(name, "placement", placement),
            rotor=pose_of(name, "rotor", rotor),
        )

    # -- type and placements

    @property
    def nq(self) -> int:
        """Number of position coordinates."""
        return self.type.nq

    @property
    def nv(self) -> int:
        """Number of degrees of freedom."""
        return self.type.nv

    @property
    def velocity_is_rate(self) -> bool:
        """True if v is the time derivative of q, so that configurations may be added, as angles are."""
        return is_plain(self.type)

    @property
    def type_name(self) -> str:
        """Name of the joint type, e.g. "revolute"."""
        return self.type.type_name()

    @property
    def stator_placement(self) -> np.ndarray:
        """Pose X_parent_F (4, 4) of the stator frame F in the parent link [1, m]."""
        return self.placement.matrix()

    @property
    def rotor_placement(self) -> np.ndarray:
        """Pose X_M_child (4, 4) of the child link in the rotor frame M [1, m]."""
        return self.rotor.matrix()

    def regularity(self, q: ArrayLike) -> np.ndarray:
        """Return the distance (...) in [0, 1] of q (..., nq) from a singularity of the joint's coordinates.

        0 is a singularity, such as gimbal lock of Euler angles, where forward dynamics has no solution; 1 is far from
        any.  Raises ValueError for an invalid configuration.
        """
        if is_traced(q):
            arrays = ArgumentReader(self._subject(), "regularity", (Port("q", (self.nq,)),), ()).prepared_scalars([q])
            return map_samples(  # type: ignore[no-any-return]
                lambda values: [[call_joint(self.name, self.type, "regularity", values)]], arrays, [1], [()]
            )[0]
        values = self.type.checked(q, self.name)
        result = call_joint(self.name, self.type, "regularity", [values[..., k] for k in range(self.nq)])
        return np.broadcast_to(np.asarray(result, dtype=float), values.shape[:-1])

    # -- limits

    @property
    def has_position_limits(self) -> bool:
        """True if a coordinate of the configuration has a limit and the limits are enabled."""
        return self.position_limits_enabled and bool(np.isfinite([*self.lower, *self.upper]).any())

    @property
    def position_bounds(self) -> Bounds:
        """Enabled position limits (nq,) [rad, m]; −inf and inf if they are disabled."""
        if self.position_limits_enabled:
            return Bounds(self.lower, self.upper)
        return Bounds(fixed_array([-np.inf] * self.nq), fixed_array([np.inf] * self.nq))

    @property
    def velocity_bounds(self) -> Bounds:
        """Velocity limits (nv,) [rad/s, m/s]."""
        return Bounds(fixed_array(-self.velocity), self.velocity)

    @property
    def effort_bounds(self) -> Bounds:
        """Joint force limits (nv,) [N·m, N]."""
        return Bounds(fixed_array(-self.effort), self.effort)

    def random_configuration(
        self, rng: np.random.Generator | None = None, *, size: Size = None, seed: int | None = None
    ) -> np.ndarray:
        """Draw configurations within the enabled limits, of shape (nq,) or (*size, nq).

        Without limits, angles are from [-π, π], lengths from [-1, 1] m and rotations uniform on SO(3).  ``rng`` is a
        NumPy generator, ``seed`` the seed of a new one; by default the generator is unseeded.  A positional integer
        raises TypeError, since it could be a seed or a size.
        """
        lower, upper = self.position_bounds
        drawn: np.ndarray = call_joint(
            self.name, self.type, "random", generator_of(rng, seed), lower.tolist(), upper.tolist(), leading_of(size)
        )
        return drawn

    # -- damping and friction

    def passive_torque(self, v: ArrayLike) -> np.ndarray:
        """Compute the force of damping and dry friction (URDF's dynamics), τ = −damping · v − friction · sign(v).

        It is zero if ``dynamics`` is "none"; sign(0) is 0.  The robot's dynamics include these forces, springs and
        armature only with ``passive=True``: see `Robot.passive_force`.  v (..., nv) -> (..., nv) [N·m, N].
        """
        acts = 0.0 if self.dynamics == "none" else 1.0
        return resistance(self._subject(), v, acts * self.damping, acts * self.friction)

    # -- reversal

    def reversed(self) -> Joint:
        """Return the joint from its child to its parent: the same physics with the same signs of q, v and τ.

        Its transform is the inverse; parent and child, and the placements on both sides, are swapped.
        """
        return replace(
            self,
            type=self.type.reversed(),
            parent=self.child,
            child=self.parent,
            placement=self.rotor.inv().formed(),
            rotor=self.placement.inv().formed(),
        )

    # -- equality

    def _content(self) -> tuple[object, ...]:
        slices = (self.q_slice.start, self.q_slice.stop, self.v_slice.start, self.v_slice.stop)
        limits = (self.lower, self.upper, self.velocity, self.effort, self.acceleration, self.jerk)
        arrays = (*limits, self.damping, self.friction)
        bounds = tuple(tuple(array.tolist()) for array in arrays), drive_of(self)
        options = self.mimic, self.coupling, self.position_limits_enabled, self.dynamics
        return self.name, self.type, self.parent, self.child, slices, bounds, options, self.placement, self.rotor

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Joint) and self._content() == other._content()

    def __hash__(self) -> int:
        return hash(self._content())

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, tuple(getattr(self, f.name) for f in fields(self) if f.init)

    def _html_row(self) -> dict[str, str]:
        return joint_row(self)

    def __repr__(self) -> str:
        return f"<Joint {self.name!r}: {self.type_name}, {self.parent!r} -> {self.child!r}>"


add_foreign_names(Joint, "Joint")


def _unpickled(*values: Any) -> Joint:
    fixed: list[Any] = [fixed_array(x) if isinstance(x, np.ndarray) else x for x in values]
    return Joint(*fixed)


def joint_of(tree: Tree, index: int) -> Joint:
    """Return the joint that moves the body with this index, as a `Joint`."""
    body = tree.bodies[index]
    return Joint(
        body.joint_name,
        body.joint,
        "world" if body.parent == WORLD else tree.bodies[body.parent].name,
        body.name,
        tree.q_slices[index],
        tree.v_slices[index],
        lower=fixed_array(body.limits.lower),
        upper=fixed_array(body.limits.upper),
        velocity=fixed_array(body.limits.velocity),
        effort=fixed_array(body.limits.effort),
        acceleration=fixed_array(body.limits.acceleration or [np.inf] * body.joint.nv),
        jerk=fixed_array(body.limits.jerk or [np.inf] * body.joint.nv),
        damping=fixed_array(body.damping),
        friction=fixed_array(body.friction),
        **drive_arrays(body),
        mimic=body.mimic,
        placement=body.placement,
        rotor=body.rotor,
        position_limits_enabled=body.limits.enabled,
        dynamics=cast(Any, body.dynamics),
        coupling=body.coupling,
        welded=(*_welded(tree, body.parent), *_welded(tree, index)),
    )


def _welded(tree: Tree, body: int) -> list[tuple[str, str, Pose]]:
    """Return the links that are welded to a body, without the body's own link.

    Each is a tuple of the link's name, the body's name, and the link's pose in the body.
    """
    name = "world" if body == WORLD else tree.bodies[body].name
    return [(frame.name, name, frame.placement) for frame in tree.frames_on(body) if frame.name != name]


named_after(Joint)
public_methods(Joint, leave=lambda method: "out" in signature(method).parameters)  # kernels check their arguments


def limits_of(joint: Joint) -> Limits:
    """Return the joint's limits in the form that a kinematic tree stores."""
    lower, upper, velocity, effort = (
        tuple(bound.tolist()) for bound in (joint.lower, joint.upper, joint.velocity, joint.effort)
    )
    acceleration, jerk = (
        tuple(bound.tolist()) if np.isfinite(bound).any() else () for bound in (joint.acceleration, joint.jerk)
    )
    return Limits(lower, upper, velocity, effort, joint.position_limits_enabled, acceleration, jerk)


def drive_of(joint: Joint) -> Drive:
    """Return the joint's armature, gear ratio, springs and friction in the form that a kinematic tree stores."""
    return stored_drive(joint.name, joint.type, joint.friction, {key: getattr(joint, key) for key in DRIVE})


def body_with(joint: Joint, body: Body) -> Body:
    """Return ``body`` with the type, placements, limits and passive parameters of ``joint``."""
    return replace(
        body,
        joint=joint.type,
        placement=joint.placement,
        rotor=joint.rotor,
        limits=limits_of(joint),
        damping=tuple(joint.damping.tolist()),
        friction=tuple(joint.friction.tolist()),
        dynamics=joint.dynamics,
        drive=drive_of(joint),
    )
