"""Owners of functions: a robot's tree or a placed joint, with the table of its functions and their sizes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, Protocol

from linkwork.constraints import Constraint, LoopJoint
from linkwork.joints import JointType
from linkwork.joints.base.checks import has_manifold
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.model.body import WORLD, Direction, PlacedJoint, Point
from linkwork.model.coordinate_names import index_of, names_in
from linkwork.model.coupled_joints import bounds
from linkwork.model.function_spec import QUANTITIES, FunctionSpec, Option, Quantity, Shape, quantity_of
from linkwork.model.kernel_parameters import Parameter
from linkwork.model.parametrized_tree import ParameterValues, parametrized
from linkwork.model.simplify import simplify_parametrized, simplify_tree
from linkwork.model.tree import Tree
from linkwork.spatial import Pose

__all__ = [
    "JointOwner",
    "Part",
    "RobotOwner",
    "Subject",
    "configurations",
    "has_symbols",
    "made_here",
    "place",
    "shape_of",
]


@dataclass(frozen=True, slots=True)
class Part:
    """The numbers of one joint in an array that has some for each."""

    joint: str
    type: JointType
    place: slice


NONE: ParameterValues = MappingProxyType({})


class Subject(Protocol):
    """A robot or a joint, as kernels see it."""

    kind: str  # "robot" or "joint"

    @property
    def says(self) -> str:
        """What messages begin with."""

    @property
    def about(self) -> str:
        """What lists of the cache's entries call it."""

    @property
    def rows(self) -> Mapping[str, FunctionSpec]:
        """Its functions."""

    @property
    def sizes(self) -> Mapping[str, int]:
        """The numbers that shapes name."""

    def parts(self, quantity: Quantity) -> Sequence[Part]:
        """The joints whose numbers stand in an array; none where the array is not made of joints' numbers."""

    @property
    def unfit(self) -> Sequence[Part]:
        """The joints of which some numbers are no configuration."""

    def walked(self, row: FunctionSpec, numbers: ParameterValues = NONE) -> Any:
        """What a row's algorithm takes first, with these numbers of parameters for its own."""

    def check_row(self, row: FunctionSpec) -> None:
        """Raises ValueError for a function of what is not known."""

    def check(self, option: Option, value: Any, given: Sequence[str] = ()) -> None:
        """Raises UnknownNameError for a frame, point ... that is not there, where some optional inputs are given."""

    def content(
        self, rows: Iterable[FunctionSpec], options: Iterable[Any], parameters: Sequence[Parameter] = ()
    ) -> tuple[str, ...] | None:
        """All that programs of these rows depend on; None if that includes code that is not linkwork's."""


def shape_of(
    subject: Subject, shape: Shape, more: Mapping[str, int | str | None] = MappingProxyType({})
) -> tuple[int, ...]:
    """A shape in numbers, with further sizes, which may be names of the subject's: what is None is left out."""
    named = [more[n] if isinstance(n, str) and n in more else n for n in shape]
    return tuple(subject.sizes[n] if isinstance(n, str) else n for n in named if n is not None)


def has_symbols(subject: Subject) -> bool:
    """Whether it is a robot with symbols for some of its numbers, of which there are no kernels."""
    return isinstance(subject, RobotOwner) and bool(subject.numbers)


def configurations(subject: Subject, inputs: Iterable[str]) -> list[tuple[str, Part]]:
    """The joints whose configurations stand in some inputs, each with the input's name."""
    result = [quantity for quantity in map(quantity_of, inputs) if quantity.configuration]
    return [(quantity.name, part) for quantity in result for part in subject.parts(quantity)]


def unfit(subject: Subject) -> list[Part]:
    """The joints of which some numbers are no configuration."""
    return [part for part in subject.parts(QUANTITIES["q"]) if has_manifold(part.type, part.joint)]


@dataclass(frozen=True)
class RobotOwner:
    """Functions of a robot; some of its numbers may be others than the tree's, of any scalars."""

    tree: Tree
    rows: Mapping[str, FunctionSpec] = field(repr=False, compare=False)
    numbers: ParameterValues = field(default_factory=dict)
    kind = "robot"
    says = ""

    @property
    def about(self) -> str:
        return self.tree.name

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        nb, nj = len(self.tree.bodies), sum(body.joint.nv for body in self.tree.bodies)
        of_parameters = {"npi": 10 * nb, "npi_passive": 10 * nb + 4 * nj}
        rows = [(len(c.component_names), c.holonomic) for c in self.tree.constraints]
        of_constraints = {"nc": sum(n for n, _ in rows), "ne": sum(n for n, has_error in rows if has_error)}
        sizes = {"nq": self.tree.nq, "nv": self.tree.nv, "2nv": 2 * self.tree.nv, "nb": nb}
        joints = [loop.joint for loop in self.tree.constraints if isinstance(loop, LoopJoint)]
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
    def unfit(self) -> Sequence[Part]:
        return unfit(self)

    @cached_property
    def felt(self) -> Tree:
        """The tree that joint-space functions are traced on."""
        return self.tree if self.weighed else simplify_tree(self.tree)

    @property
    def weighed(self) -> bool:
        """Whether constraints depend on where masses are, which a lighter tree does not say."""
        return any(constraint.uses_inertia for constraint in self.tree.constraints)

    @cached_property
    def singular_joints(self) -> LazyCache[tuple[str, ...]]:
        """The joints that move no inertia, by whether armature counts and by the bodies that are held."""
        return LazyCache()

    def walked(self, row: FunctionSpec, numbers: ParameterValues = NONE) -> Tree:
        if not (numbers or self.numbers):
            return self.felt if row.joint_space else self.tree
        numbers = {**self.numbers, **numbers}
        light = row.joint_space and not self.weighed
        return simplify_parametrized(self.tree, numbers) if light else parametrized(self.tree, numbers)

    def check_row(self, row: FunctionSpec) -> None:
        if row.needs_inertias:
            self.tree.require_inertias(row.name)

    def check(self, option: Option, value: Any, given: Sequence[str] = ()) -> None:
        if option.choices or value is None:
            return
        if option.names == "joint":
            self.tree.joint_index(value)
        elif option.names == "velocity":
            self._check_velocity(option, value)
        elif option.names == "point" and "positions" not in given:
            self.tree.point(value)
        elif option.names == "direction" and "vectors" not in given:
            self.tree.direction(value)
        elif self.tree.frame(value).body == WORLD and option.names == "moving frame":
            raise ValueError(
                f"{option.name}: frame {value!r} is fixed to the world, which no wrench moves: name one of a body that "
                f"moves"
            )

    def _check_velocity(self, option: Option, name: Any) -> None:
        """Raises UnknownNameError for what names no number of v, ValueError for a joint that has several."""
        if len(index_of(self.tree, "v", (name,))) != 1:
            body = self.tree.bodies[self.tree.joint_index(name)]
            several = ", ".join(map(repr, names_in(body, "v")))
            raise ValueError(f"{option.name}: joint {name!r} has {body.joint.nv} velocities: name them, {several}")

    def content(
        self, rows: Iterable[FunctionSpec], options: Iterable[Any], parameters: Sequence[Parameter] = ()
    ) -> tuple[str, ...] | None:
        tree = self.tree
        if not all(made_here(body.joint) for body in tree.bodies) or not all(map(_is_ours, tree.constraints)):
            return None
        if not all(type(one).__module__.startswith("linkwork.force_elements.") for one in tree.force_elements):
            return None
        bodies = [
            (
                b.parent,
                type(b.joint).__qualname__,
                b.joint,
                _numbers(b.placement),
                _numbers(b.rotor),
                b.inertia,
                b.coupling,
            )
            for b in tree.bodies
        ]
        said = {name for option in options for name in _texts(option)}
        marks: list[Point | Direction] = [*tree.points, *tree.directions]
        points = [mark for mark in marks if mark.name in said]
        said |= {point.frame for point in points}
        said |= {name[:-2] for name in said}  # the frame of "hand.z"
        said |= {name.rpartition(".")[0] for name in said}  # the joint of "base.wx"
        named = [frame for frame in tree.frames if frame.name in said]
        frames = [(frame.name, frame.body, _numbers(frame.placement)) for frame in named]
        joints = [(i, body.joint_name) for i, body in enumerate(tree.bodies) if body.joint_name in said]
        felt = "passive" in said or any(row.needs_passive_forces for row in rows)
        resisting = [(b.damping, b.friction, b.dynamics, b.drive) for b in tree.bodies] if felt else []
        return (
            repr((tree.gravity, bodies, tree.q_slices, tree.v_slices)),
            repr((frames, points, joints, resisting, tree.fixed_inertia)),
            *_constrained(tree),
            *([repr(bounds(tree))] if any(row.needs_joint_limits for row in rows) else []),
            *(_all_of(tree) if parameters else ()),
        )


@dataclass(frozen=True)
class JointOwner:
    """Functions of a joint: those between its frames do not know where it sits."""

    name: str
    site: PlacedJoint
    rows: Mapping[str, FunctionSpec] = field(repr=False, compare=False)
    kind = "joint"

    @property
    def says(self) -> str:
        return f"joint {self.name!r}: "

    @property
    def about(self) -> str:
        return self.site.type.type_name()

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        joint = self.site.type
        return {"nq": joint.nq, "nv": joint.nv, "nc": 6 - joint.nv}

    def parts(self, quantity: Quantity) -> Sequence[Part]:
        return [Part(self.name, self.site.type, slice(None))] if quantity.stacked else ()

    @cached_property
    def unfit(self) -> Sequence[Part]:
        return unfit(self)

    def walked(self, row: FunctionSpec, numbers: ParameterValues = NONE) -> PlacedJoint:
        return self.site if row.needs_placement else PlacedJoint(self.site.type)

    def check_row(self, row: FunctionSpec) -> None:
        pass

    def check(self, option: Option, value: Any, given: Sequence[str] = ()) -> None:
        if not option.choices:
            raise ValueError(f"{option.name}: a joint alone has no frames to name, got {value!r}")

    def content(
        self, rows: Iterable[FunctionSpec], options: Iterable[Any], parameters: Sequence[Parameter] = ()
    ) -> tuple[str, ...] | None:
        joint = self.site.type
        if not made_here(joint):
            return None
        return type(joint).__qualname__, repr(joint), *(str(place(self.walked(row))) for row in rows)


def place(site: PlacedJoint) -> tuple[Any, ...]:
    """Where a joint sits, in numbers."""
    return _numbers(site.placement), _numbers(site.rotor), site.swapped


def made_here(joint: JointType) -> bool:
    """Whether a joint's code, and that of the joints that it is made of, is linkwork's own."""
    return type(joint).__module__.startswith("linkwork.joints.") and all(map(made_here, joint.parts))


def _is_ours(constraint: Constraint) -> bool:
    """Whether a constraint's code, and that of joints and functions in it, is linkwork's own."""
    if constraint.functions or not type(constraint).__module__.startswith("linkwork.constraints."):
        return False
    held: list[Any] = (
        [getattr(constraint, field.name) for field in fields(constraint)] if is_dataclass(constraint) else []
    )
    return not any(callable(x) or (isinstance(x, JointType) and not made_here(x)) for x in held)


def _constrained(tree: Tree) -> tuple[str, ...]:
    """All that constraints and force elements depend on: nothing where there are none."""
    if not (tree.constraints or tree.force_elements):
        return ()
    frames = [(f.name, f.body, _numbers(f.placement)) for f in tree.frames]
    joints = [(i, body.joint_name) for i, body in enumerate(tree.bodies)]
    return (repr((tree.constraints, tree.force_elements, frames, tree.points, tree.directions, joints)),)


def _all_of(tree: Tree) -> tuple[str, str]:
    """What parameters stand for, and what is welded to what."""
    frames = [(f.name, f.body, _numbers(f.placement), f.inertia, f.fixed_joint, f.welded_to) for f in tree.frames]
    joints = [(b.name, b.joint_name, b.links, b.damping, b.friction, b.dynamics, b.drive) for b in tree.bodies]
    return repr((frames, tree.points, tree.directions)), repr(joints)


def _texts(option: Any) -> Iterator[str]:
    """All texts in an option, however deep."""
    if isinstance(option, str):
        yield option
    elif isinstance(option, tuple):
        for part in option:
            yield from _texts(part)


def _numbers(pose: Pose) -> tuple[float, ...]:
    return tuple(pose.elements())
