"""The joint that people hold: a robot's or one alone, with its functions on arrays, its bounds and its place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from inspect import signature
from typing import Any, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.checked_arguments import public_methods
from linkwork.expr.arrays.symbol_array import is_traced, over_samples
from linkwork.joints import JointType
from linkwork.joints.base.error_context import call_joint
from linkwork.joints.base.generic_rank import check_joint_type
from linkwork.kernels.array_arguments import ArgumentReader, Size, generator_of, leading_of
from linkwork.kernels.compiled_method import named_after
from linkwork.kernels.compiler_api import Port
from linkwork.model.body import FRICTION_VELOCITY, WORLD, Body, Drive, Following, Limits
from linkwork.model.coupled_joints import read_mimic
from linkwork.model.tree import Tree
from linkwork.parts.joint.joint_editing import ResistanceEditing, check_links, check_order, pose_of
from linkwork.parts.joint.link_methods import LinkMethods
from linkwork.parts.joint.passive_parameters import (
    DRIVE,
    dof_values,
    drive_arrays,
    given_drive,
    resistance,
    stated_drive,
)
from linkwork.spatial import Pose
from linkwork.spatial.arguments import fixed_array, given_text, matrix_of

__all__ = ["Bounds", "Joint", "body_with", "drive_of", "joint_of", "limits_of"]


class Bounds(NamedTuple):
    """Lower and upper bounds, −inf and inf where there are none."""

    lower: np.ndarray
    upper: np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class Joint(LinkMethods, ResistanceEditing):
    """A joint with its links: an immutable value, equal and hashable by content, that pickles.

    X_parent_child = placement · X_FM(q) · rotor, where F, the stator's frame, is fixed to the parent and M, the
    rotor's, to the child; in URDF the rotor's placement is the identity, which is only a convention.  `transform`,
    `twist`, `torque` and the like are functions of the joint type, between F and M; functions of links
    (`link_transform`, ...) include the placements and can be asked in either direction.

    All take arrays with any leading dimensions, a batch, which broadcast as NumPy's do, and are compiled when first
    called.  They compute in float64, or in float32 where all arguments are.  They raise ValueError, with the joint's
    name, for an array of the wrong shape or type, with a number in it that is not finite, or for a configuration
    further than 1e-3 off its manifold (a quaternion that is not unit); nearer ones are normalised with a
    `linkwork.errors.ConfigurationWarning`.

    >>> import linkwork as lw
    >>> hinge = lw.Joint.of(lw.joints.Revolute((0, 0, 1)), name="hinge")
    >>> hinge.twist([0.3], [2.0])
    array([0., 0., 2., 0., 0., 0.])
    """

    name: str
    type: JointType  # the type with its parameters, e.g. Revolute(axis)
    parent: str  # the body before it; "world" where there is none
    child: str  # the body it carries
    q_slice: slice  # its numbers in a configuration
    v_slice: slice  # its numbers in a velocity, acceleration or force
    lower: np.ndarray  # (nq,) bounds of the configuration [rad, m], −inf where there is none
    upper: np.ndarray  # (nq,)
    velocity: np.ndarray  # (nv,) bounds of the speed [rad/s, m/s], inf where there is none
    effort: np.ndarray  # (nv,) bounds of the force [N·m, N], inf where there is none
    damping: np.ndarray  # (nv,) viscous damping [N·m·s/rad, N·s/m]
    friction: np.ndarray  # (nv,) dry friction of motion [N·m, N]
    armature: np.ndarray  # (nv,) inertia of what turns with the joint alone [kg·m², kg]
    gear_ratio: np.ndarray  # (nv,) turns of the rotor for one of the joint
    stiffness: np.ndarray  # (nv,) of springs [N·m/rad, N/m]
    rest: np.ndarray  # (nq,) where springs exert nothing [rad, m]
    static_friction: np.ndarray  # (nv,) dry friction that holds at rest [N·m, N]
    friction_velocity: np.ndarray  # (nv,) speed v_s of the smooth law of friction, f tanh(v / v_s) [rad/s, m/s]
    mimic: Following | None  # the joint it is meant to follow, as the file says
    placement: Pose = Pose.identity()  # X_parent_stator
    rotor: Pose = Pose.identity()  # X_rotor_child
    position_limits_enabled: bool = True  # whether the bounds of the configuration hold
    dynamics: Literal["none", "urdf"] = "urdf"  # whether damping and friction act: see `passive_torque`
    coupling: Following | None = None  # the joint that it follows, whose places in q and v it then has
    welded: tuple[tuple[str, str, Pose], ...] = ()  # links fixed to its two: name, to which, and where; no part of it
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
        damping: ArrayLike = 0.0,
        friction: ArrayLike = 0.0,
        static_friction: ArrayLike | None = None,
        friction_velocity: ArrayLike = FRICTION_VELOCITY,
        armature: ArrayLike = 0.0,
        gear_ratio: ArrayLike = 1.0,
        stiffness: ArrayLike = 0.0,
        rest: ArrayLike | None = None,
        mimic: str | tuple[str, float] | tuple[str, float, float] | Following | None = None,
    ) -> Joint:
        """A joint alone or for `Robot.build`, of a type such as ``linkwork.joints.Revolute(axis)`` or one of your own.

        ``placement`` and ``rotor`` are X_parent_stator and X_rotor_child, poses (4, 4) as `linkwork.pose` gives them or
        places (3,) [1, m]; the identity by default.  Bounds are numbers or one for each number of q (lower, upper) or v
        (the others); none by default.  So are ``damping`` and what follows it, in the units of the fields of their
        names; static friction is the friction if left out, and ``rest`` the joint's zero.  ``mimic`` is the joint that
        it follows, or (joint, ratio, offset): q = ratio · q_joint + offset, with the ratio 1 and the offset 0 if left
        out.  Raises ValueError for sizes that do not fit, names that are none, bounds in the wrong order, numbers that
        are negative where they cannot be and poses that are not rigid (within 1e-6), TypeError for what is no joint
        type or mimic.
        """
        if not isinstance(type, JointType):
            raise TypeError(
                f"joint {name!r}: expected a joint type with its parameters, such as "
                f"linkwork.joints.Revolute((0, 0, 1)), got {type!r}"
            )
        given_text(name, "joint")
        check_links(name, parent, child)
        check_joint_type(type, name)
        inf, nq, nv = float("inf"), type.nq, type.nv
        low = dof_values(name, "lower", -inf if lower is None else lower, nq)
        high = dof_values(name, "upper", inf if upper is None else upper, nq)
        check_order(name, low, high)
        dry = dof_values(name, "friction", friction, nv, least=0.0, infinite=False)
        drive = {"armature": armature, "gear_ratio": gear_ratio, "stiffness": stiffness, "rest": rest}
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
            damping=dof_values(name, "damping", damping, nv, least=0.0, infinite=False),
            friction=dry,
            **given_drive(name, type, dry, drive),
            mimic=None if mimic is None else read_mimic(name, mimic),
            placement=pose_of(name, "placement", placement),
            rotor=pose_of(name, "rotor", rotor),
        )

    # -- what it is

    @property
    def nq(self) -> int:
        """How many numbers its configuration has."""
        return self.type.nq

    @property
    def nv(self) -> int:
        """Its degrees of freedom."""
        return self.type.nv

    @property
    def type_name(self) -> str:
        """The type's name, e.g. "revolute"."""
        return self.type.type_name()

    @property
    def stator_placement(self) -> np.ndarray:
        """X_parent_F (4, 4): where the frame before the joint sits in the parent link [1, m]."""
        return matrix_of(self.placement)

    @property
    def rotor_placement(self) -> np.ndarray:
        """X_M_child (4, 4): where the child link's frame sits in the frame after the joint [1, m]."""
        return matrix_of(self.rotor)

    def regularity(self, q: ArrayLike) -> np.ndarray:
        """How far the configuration (..., nq) is from a singularity of the joint's coordinates, (...).

        1 is far from any, 0 is one: gimbal lock of Euler angles, where forward dynamics has no solution.  Raises
        ValueError for a configuration that is none.
        """
        if is_traced(q):
            given = ArgumentReader(self._subject(), "regularity", (Port("q", (self.nq,)),), ()).prepared_scalars([q])
            return over_samples(  # type: ignore[no-any-return]
                lambda numbers: [[call_joint(self.name, self.type, "regularity", numbers)]], given, [1], [()]
            )[0]
        numbers = self.type.checked(q, self.name)
        result = call_joint(self.name, self.type, "regularity", [numbers[..., k] for k in range(self.nq)])
        return np.broadcast_to(np.asarray(result, dtype=float), numbers.shape[:-1])

    # -- bounds

    @property
    def has_position_limits(self) -> bool:
        """Whether some number of the configuration is bounded, and the bounds are enabled."""
        return self.position_limits_enabled and bool(np.isfinite([*self.lower, *self.upper]).any())

    @property
    def position_bounds(self) -> Bounds:
        """The bounds (nq,) of the configuration that hold [rad, m]: none where they are not enabled."""
        if self.position_limits_enabled:
            return Bounds(self.lower, self.upper)
        return Bounds(fixed_array([-np.inf] * self.nq), fixed_array([np.inf] * self.nq))

    @property
    def velocity_bounds(self) -> Bounds:
        """The bounds (nv,) of the velocity [rad/s, m/s]."""
        return Bounds(fixed_array(-self.velocity), self.velocity)

    @property
    def effort_bounds(self) -> Bounds:
        """The bounds (nv,) of the joint force [N·m, N]."""
        return Bounds(fixed_array(-self.effort), self.effort)

    def random_configuration(
        self, rng: np.random.Generator | None = None, *, size: Size = None, seed: int | None = None
    ) -> np.ndarray:
        """Configurations drawn between the bounds that hold, of shape (nq,) or (*size, nq).

        Without bounds: angles from [-π, π], lengths from [-1, 1] m, rotations evenly from SO(3).  ``rng`` is a NumPy
        generator and ``seed`` a number to make one from; without either it is a fresh one.  A bare number is refused
        (TypeError): it could be a seed as well as a size.
        """
        lower, upper = self.position_bounds
        drawn: np.ndarray = call_joint(
            self.name, self.type, "random", generator_of(rng, seed), lower.tolist(), upper.tolist(), leading_of(size)
        )
        return drawn

    # -- damping and friction

    def passive_torque(self, v: ArrayLike) -> np.ndarray:
        """τ = −damping · v − friction · sign(v), what damping and dry friction exert at velocity v: URDF's dynamics.

        Zero where ``dynamics`` is "none"; sign(0) is 0.  The robot's dynamics include it with ``passive=True`` alone,
        springs and armature too: see `Robot.passive_force`.
        v (..., nv) -> (..., nv) [N·m, N].
        """
        acts = 0.0 if self.dynamics == "none" else 1.0
        return resistance(self._subject(), v, acts * self.damping, acts * self.friction)

    # -- the other direction

    def reversed(self) -> Joint:
        """The joint from its child to its parent: the same physics, with the signs of q, v and τ kept.

        Its transform is the inverse; parent and child, and the placements on either side, change roles.
        """
        return replace(
            self,
            type=self.type.reversed(),
            parent=self.child,
            child=self.parent,
            placement=self.rotor.inv().formed(),
            rotor=self.placement.inv().formed(),
        )

    # -- a value

    def _content(self) -> tuple[object, ...]:
        places = (self.q_slice.start, self.q_slice.stop, self.v_slice.start, self.v_slice.stop)
        arrays = (self.lower, self.upper, self.velocity, self.effort, self.damping, self.friction)
        bounds = tuple(tuple(array.tolist()) for array in arrays), drive_of(self)
        meaning = self.mimic, self.coupling, self.position_limits_enabled, self.dynamics
        return self.name, self.type, self.parent, self.child, places, bounds, meaning, self.placement, self.rotor

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Joint) and self._content() == other._content()

    def __hash__(self) -> int:
        return hash(self._content())

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, tuple(getattr(self, f.name) for f in fields(self) if f.init)

    def __repr__(self) -> str:
        return f"<Joint {self.name!r}: {self.type_name}, {self.parent!r} -> {self.child!r}>"


def _again(*values: Any) -> Joint:
    parts: list[Any] = [fixed_array(x) if isinstance(x, np.ndarray) else x for x in values]
    return Joint(*parts)


def joint_of(tree: Tree, index: int) -> Joint:
    """The joint that carries the tree's body of this index."""
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
    """The links fixed to a body, but for its own: their names, the body's, and where they sit."""
    name = "world" if body == WORLD else tree.bodies[body].name
    return [(frame.name, name, frame.placement) for frame in tree.frames_on(body) if frame.name != name]


named_after(Joint)
public_methods(Joint, leave=lambda method: "out" in signature(method).parameters)  # looked at by their kernels


def limits_of(joint: Joint) -> Limits:
    """The joint's bounds as a tree has them."""
    lower, upper, velocity, effort = (
        tuple(bound.tolist()) for bound in (joint.lower, joint.upper, joint.velocity, joint.effort)
    )
    return Limits(lower, upper, velocity, effort, joint.position_limits_enabled)


def drive_of(joint: Joint) -> Drive:
    """What is in the joint as a tree has it."""
    return stated_drive(joint.name, joint.type, joint.friction, {key: getattr(joint, key) for key in DRIVE})


def body_with(joint: Joint, body: Body) -> Body:
    """The body as the joint would carry it."""
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
