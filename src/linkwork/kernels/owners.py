"""Owners of functions: a robot's tree or a placed joint, with the table of its functions and their sizes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, fields, is_dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from linkwork._util.cached_properties import cached_property
from linkwork._util.lazy_dataclass import dataclass
from linkwork._util.lazy_imports import LazyModule
from linkwork._util.own_code import is_own
from linkwork.joints import JointType
from linkwork.joints.base.checks import has_manifold
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.model.body import WORLD, Direction, PlacedJoint, Point
from linkwork.model.coordinate_names import index_of, names_in
from linkwork.model.coupled_joints import bounds
from linkwork.model.function_spec import QUANTITIES, FunctionSpec, Option, Quantity, Shape, quantity_of
from linkwork.model.tree import Tree
from linkwork.spatial import Pose

if TYPE_CHECKING:
    from linkwork import constraints as constraint_types
    from linkwork.constraints import Constraint
    from linkwork.model import parametrized_tree, simplify
    from linkwork.model.kernel_parameters import Parameter
    from linkwork.model.parametrized_tree import ParameterValues
else:
    constraint_types = LazyModule("linkwork.constraints")
    parametrized_tree = LazyModule("linkwork.model.parametrized_tree")
    simplify = LazyModule("linkwork.model.simplify")

__all__ = [
    "JointOwner",
    "KernelOwner",
    "Part",
    "RobotOwner",
    "configurations",
    "has_symbols",
    "is_own_joint",
    "placement_of",
    "shape_of",
]


@dataclass(frozen=True, slots=True)
class Part:
    """A joint, and the slice of its elements in an array that has elements for each joint, such as q or v."""

    joint: str
    type: JointType
    indices: slice


NONE: ParameterValues = MappingProxyType({})


class KernelOwner(Protocol):
    """Protocol of a robot or a joint, whose functions kernels compute."""

    kind: str  # "robot" or "joint"

    @property
    def message_prefix(self) -> str:
        """The text with which messages about the owner begin."""

    @property
    def label(self) -> str:
        """Name of the owner in lists of the compilation cache's entries."""

    @property
    def rows(self) -> Mapping[str, FunctionSpec]:
        """Specifications of the owner's functions, by function name."""

    @property
    def sizes(self) -> Mapping[str, int]:
        """Sizes such as nq and nv, by the names that shapes of arrays use."""

    def parts(self, quantity: Quantity) -> Sequence[Part]:
        """Return the joints that have elements in an array of this quantity, each with its slice.

        The result is empty for arrays that are not divided by joint.
        """

    @property
    def checked_joints(self) -> Sequence[Part]:
        """The joints whose configuration can be invalid, such as a quaternion off the unit sphere."""

    def algorithm_input(self, row: FunctionSpec, parameter_values: ParameterValues = NONE) -> Any:
        """Return the model that the function's algorithm has as its first argument: a `Tree` or a `PlacedJoint`.

        ``row`` is the specification of the function. ``parameter_values`` replace a robot's values of its own kernel
        parameters; a single joint ignores them.
        """

    def check_row(self, row: FunctionSpec) -> None:
        """Raise ValueError if the function depends on data that the owner does not have."""

    def check(self, option: Option, value: Any, optional_inputs: Sequence[str] = ()) -> None:
        """Raise UnknownNameError if an option's value is not the name of a frame, joint, point or direction.

        Names of points and directions are not checked if ``optional_inputs`` pass positions or vectors in their stead.
        Raises ValueError for a name that the option does not accept, such as a fixed frame where a moving one is
        needed.
        """

    def content(
        self, rows: Iterable[FunctionSpec], options: Iterable[Any], parameters: Sequence[Parameter] = ()
    ) -> tuple[str, ...] | None:
        """Return everything that programs of these functions depend on, as texts.

        The result is None if the programs depend on code that is not linkwork's.
        """


def shape_of(
    subject: KernelOwner, shape: Shape, more: Mapping[str, int | str | None] = MappingProxyType({})
) -> tuple[int, ...]:
    """Return a shape with sizes resolved by ``more`` and then by the owner; a size that is None is left out."""
    named = [more[n] if isinstance(n, str) and n in more else n for n in shape]
    return tuple(subject.sizes[n] if isinstance(n, str) else n for n in named if n is not None)


def has_symbols(subject: KernelOwner) -> bool:
    """Return True for a robot with symbols among its parameters, which has no kernels."""
    return isinstance(subject, RobotOwner) and bool(subject.parameter_values)


def configurations(subject: KernelOwner, inputs: Iterable[str]) -> list[tuple[str, Part]]:
    """Return the joints with configurations in the inputs, each with the input's name.

    ``inputs`` are the names of the inputs.
    """
    result = [quantity for quantity in map(quantity_of, inputs) if quantity.configuration]
    return [(quantity.name, part) for quantity in result for part in subject.parts(quantity)]


def _checked_joints(subject: KernelOwner) -> list[Part]:
    """Return the joints whose configuration can be invalid, such as a quaternion off the unit sphere."""
    return [part for part in subject.parts(QUANTITIES["q"]) if has_manifold(part.type, part.joint)]


@dataclass(frozen=True)
class RobotOwner:
    """Functions of a robot; ``parameter_values`` replace parameters of the tree by any scalars."""

    tree: Tree
    rows: Mapping[str, FunctionSpec] = field(repr=False, compare=False)
    parameter_values: ParameterValues = field(default_factory=dict)
    kind = "robot"
    message_prefix = ""

    @property
    def label(self) -> str:
        return self.tree.name

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        nb, nj = len(self.tree.bodies), sum(body.joint.nv for body in self.tree.bodies)
        of_parameters = {"npi": 10 * nb, "npi_passive": 10 * nb + 4 * nj}
        rows = [(len(c.component_names), c.holonomic) for c in self.tree.constraints]
        of_constraints = {"nc": sum(n for n, _ in rows), "ne": sum(n for n, has_error in rows if has_error)}
        sizes = {"nq": self.tree.nq, "nv": self.tree.nv, "2nv": 2 * self.tree.nv, "nb": nb}
        joints = [loop.joint for loop in self.tree.constraints if isinstance(loop, constraint_types.LoopJoint)]
        of_loops = {
            "nl": sum(j.nv for j in joints),
            "nlq": sum(j.nq for j in joints),
            "nloops": len(joints),
            "nfe": len(self.tree.force_elements),
        }
        return sizes | of_parameters | of_constraints | of_loops

    def parts(self, quantity: Quantity) -> Sequence[Part]:
        if not quantity.stacked:
            return ()
        slices = self.tree.q_slices if quantity.shape == ("nq",) else self.tree.v_slices
        return [Part(body.joint_name, body.joint, slices[i]) for i, body in self.tree.stacked()]

    @cached_property
    def checked_joints(self) -> Sequence[Part]:
        return _checked_joints(self)

    @cached_property
    def joint_space_tree(self) -> Tree:
        """Tree on which joint-space functions are traced: the simplified one, unless constraints depend on inertias."""
        return self.tree if self.constraints_use_inertia else simplify.simplify_tree(self.tree)

    @property
    def constraints_use_inertia(self) -> bool:
        """True if constraints depend on mass distribution, which a simplified tree does not preserve."""
        return any(constraint.uses_inertia for constraint in self.tree.constraints)

    @cached_property
    def singular_joints(self) -> LazyCache[tuple[str, ...]]:
        """Cache of the names of joints that move no inertia.

        A key is a pair: whether armature counts as inertia, and which bodies are fixed.
        """
        return LazyCache()

    def algorithm_input(self, row: FunctionSpec, parameter_values: ParameterValues = NONE) -> Tree:
        if not (parameter_values or self.parameter_values):
            return self.joint_space_tree if row.joint_space else self.tree
        parameter_values = {**self.parameter_values, **parameter_values}
        light = row.joint_space and not self.constraints_use_inertia
        of_values = simplify.simplify_parametrized if light else parametrized_tree.parametrized
        return of_values(self.tree, parameter_values)

    def check_row(self, row: FunctionSpec) -> None:
        if row.needs_inertias:
            self.tree.require_inertias(row.name)

    def check(self, option: Option, value: Any, optional_inputs: Sequence[str] = ()) -> None:
        if option.choices or value is None:
            return
        if option.names == "joint":
            self.tree.joint_index(value)
        elif option.names == "velocity":
            self._check_velocity(option, value)
        elif option.names == "point" and "positions" not in optional_inputs:
            self.tree.point(value)
        elif option.names == "direction" and "vectors" not in optional_inputs:
            self.tree.direction(value)
        elif self.tree.frame(value).body == WORLD and option.names == "moving frame":
            raise ValueError(
                f"{option.name}: frame {value!r} is fixed to the world, so a wrench on it has no effect: name a frame "
                f"of a moving body"
            )

    def _check_velocity(self, option: Option, name: Any) -> None:
        """Raise an error unless the name is that of one coordinate of v.

        The error is UnknownNameError for an unknown name, and ValueError for a joint that has several coordinates of v.
        """
        if len(index_of(self.tree, "v", (name,))) != 1:
            body = self.tree.bodies[self.tree.joint_index(name)]
            several = ", ".join(map(repr, names_in(body, "v")))
            raise ValueError(f"{option.name}: joint {name!r} has {body.joint.nv} velocities: name one of {several}")

    def content(
        self, rows: Iterable[FunctionSpec], options: Iterable[Any], parameters: Sequence[Parameter] = ()
    ) -> tuple[str, ...] | None:
        tree = self.tree
        if not all(is_own_joint(body.joint) for body in tree.bodies) or not all(map(_is_ours, tree.constraints)):
            return None
        if not all(is_own(type(element), "linkwork.force_elements") for element in tree.force_elements):
            return None
        bodies = [
            (
                b.parent,
                type(b.joint).__qualname__,
                b.joint,
                _elements(b.placement),
                _elements(b.rotor),
                b.inertia,
                b.coupling,
            )
            for b in tree.bodies
        ]
        used = {name for option in options for name in _texts(option)}
        marks: list[Point | Direction] = [*tree.points, *tree.directions]
        points = [mark for mark in marks if mark.name in used]
        used |= {point.frame for point in points}
        used |= {name[:-2] for name in used}  # the frame of "hand.z"
        used |= {name.rpartition(".")[0] for name in used}  # the joint of "base.wx"
        named = [frame for frame in tree.frames if frame.name in used]
        frames = [(frame.name, frame.body, _elements(frame.placement)) for frame in named]
        joints = [(i, body.joint_name) for i, body in enumerate(tree.bodies) if body.joint_name in used]
        by_default = any(option.name == "passive" and option.default for row in rows for option in row.options)
        passive = by_default or "passive" in used or any(row.needs_passive_forces for row in rows)
        resisting = [(b.damping, b.friction, b.dynamics, b.drive) for b in tree.bodies] if passive else []
        has_subtrees = bool(named) and any(option.name == "subtree" for row in rows for option in row.options)
        return (
            repr((tree.gravity, bodies, tree.q_slices, tree.v_slices)),
            repr((frames, points, joints, resisting, tree.fixed_inertia)),
            *_constrained(tree),
            *([repr(bounds(tree))] if any(row.needs_joint_limits for row in rows) else []),
            *(_all_of(tree) if parameters or has_subtrees else ()),
        )


@dataclass(frozen=True)
class JointOwner:
    """A joint as the owner of its functions; functions between its own frames do not depend on its placement."""

    name: str
    site: PlacedJoint
    rows: Mapping[str, FunctionSpec] = field(repr=False, compare=False)
    kind = "joint"

    @property
    def message_prefix(self) -> str:
        return f"joint {self.name!r}: "

    @property
    def label(self) -> str:
        return self.site.type.type_name()

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        joint = self.site.type
        return {"nq": joint.nq, "nv": joint.nv, "nc": 6 - joint.nv}

    def parts(self, quantity: Quantity) -> Sequence[Part]:
        return [Part(self.name, self.site.type, slice(None))] if quantity.stacked else ()

    @cached_property
    def checked_joints(self) -> Sequence[Part]:
        return _checked_joints(self)

    def algorithm_input(self, row: FunctionSpec, parameter_values: ParameterValues = NONE) -> PlacedJoint:
        return self.site if row.needs_placement else PlacedJoint(self.site.type)

    def check_row(self, row: FunctionSpec) -> None:
        pass

    def check(self, option: Option, value: Any, optional_inputs: Sequence[str] = ()) -> None:
        if not option.choices:
            raise ValueError(f"{option.name}: a single joint has no frames, got {value!r}")

    def content(
        self, rows: Iterable[FunctionSpec], options: Iterable[Any], parameters: Sequence[Parameter] = ()
    ) -> tuple[str, ...] | None:
        joint = self.site.type
        if not is_own_joint(joint):
            return None
        return type(joint).__qualname__, repr(joint), *(str(placement_of(self.algorithm_input(row))) for row in rows)


def placement_of(site: PlacedJoint) -> tuple[Any, ...]:
    """Return the elements of the placements of a joint and of its rotor, and whether its two frames are swapped."""
    return _elements(site.placement), _elements(site.rotor), site.swapped


def is_own_joint(joint: JointType) -> bool:
    """Return True if a joint's code, and that of the joints it consists of, is linkwork's own."""
    return is_own(type(joint), "linkwork.joints") and all(map(is_own_joint, joint.parts))


def _is_ours(constraint: Constraint) -> bool:
    """Return True if a constraint's code, and that of joints and functions in it, is linkwork's own."""
    if constraint.functions or not is_own(type(constraint), "linkwork.constraints"):
        return False
    values: list[Any] = (
        [getattr(constraint, field.name) for field in fields(constraint)] if is_dataclass(constraint) else []
    )
    return not any(
        (callable(x) and not is_own(type(x), "linkwork.constraints"))
        or (isinstance(x, JointType) and not is_own_joint(x))
        for x in values
    )


def _constrained(tree: Tree) -> tuple[str, ...]:
    """Return a text of all data of a tree on which its constraints and force elements depend; () if there are none."""
    if not (tree.constraints or tree.force_elements):
        return ()
    frames = [(f.name, f.body, _elements(f.placement)) for f in tree.frames]
    joints = [(i, body.joint_name) for i, body in enumerate(tree.bodies)]
    return (repr((tree.constraints, tree.force_elements, frames, tree.points, tree.directions, joints)),)


def _all_of(tree: Tree) -> tuple[str, str]:
    """Return two texts: of frames, points and directions, and of the joints with their links, friction and drives.

    The first text has the values of a tree that kernel parameters may replace.
    """
    frames = [(f.name, f.body, _elements(f.placement), f.inertia, f.fixed_joint, f.welded_to) for f in tree.frames]
    joints = [(b.name, b.joint_name, b.links, b.damping, b.friction, b.dynamics, b.drive) for b in tree.bodies]
    return repr((frames, tree.points, tree.directions)), repr(joints)


def _texts(option: Any) -> Iterator[str]:
    """Yield all strings in the value of an option, which is a string or a nested tuple."""
    if isinstance(option, str):
        yield option
    elif isinstance(option, tuple):
        for part in option:
            yield from _texts(part)


def _elements(pose: Pose) -> tuple[float, ...]:
    return tuple(pose.elements())
