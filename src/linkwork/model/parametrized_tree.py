"""A tree in which numbers of any scalar stand in the place of its own: symbols, so that algorithms take parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from linkwork.model.body import WORLD, Frame
from linkwork.model.composite_body import told
from linkwork.model.kernel_parameters import Parameter
from linkwork.model.tree import Tree
from linkwork.spatial import Inertia, Pose, Quaternion, Vec3
from linkwork.spatial.inertia_vector import inertia_of

__all__ = ["Numbers", "offset", "parametrised", "with_numbers"]

Scalars = Sequence[Any]
Numbers = Mapping[Parameter, Scalars]

_OF_BODIES = ("damping", "friction")  # numbers of joints that bodies have; drives have the others


def parametrised(tree: Tree, numbers: Numbers, weighed: bool = True) -> Tree:
    """The tree with these numbers, row by row, for its own.  None of them is looked at.

    Inertias are left out unless they are to be ``weighed``.
    """
    return tree.made_of(**_Changed(tree, numbers).parts(weighed))


def with_numbers(tree: Tree, numbers: Numbers) -> Tree:
    """The tree of these numbers, all of them floats: a robot's like any other.

    Where bodies are given as a whole, their own links have what the others on them do not.
    """
    changed = _Changed(tree, numbers)
    parts = changed.parts()
    frames = list(parts["frames"])
    for i, whole in changed.wholes.items():
        name = tree.bodies[i].name
        others = [f.placement @ f.inertia for f in frames if f.body == i and f.name != name]
        if all(f.name != name for f in frames):
            frames.append(Frame(name, i, Pose.identity()))
        own = next(k for k, f in enumerate(frames) if f.name == name)
        rest = whole - sum(others, Inertia.zero())
        frames[own] = replace(frames[own], inertia=frames[own].placement.inv() @ rest)
    return replace(tree, **{**parts, "frames": tuple(frames)})


def offset(numbers: Scalars) -> Pose:
    """The pose of an offset (φ; d): turned by the rotation vector φ [rad], its origin at d [m]."""
    return Pose(Quaternion.exp(Vec3.of(numbers[:3])).rotation(), Vec3.of(numbers[3:]))


class _Changed:
    """The parts of a tree, some of them with other numbers."""

    def __init__(self, tree: Tree, numbers: Numbers) -> None:
        self.before = tree
        self.bodies = list(tree.bodies)
        self.frames = list(tree.frames)
        self.points = {point.name: point for point in tree.points}
        self.directions = {direction.name: direction for direction in tree.directions}
        self.gravity = tree.gravity
        self.inertias: dict[str, Inertia] = {}  # of links, by name
        self.wholes: dict[int, Inertia] = {}  # of bodies, by index
        self.offsets: dict[str, Pose] = {}  # of frames, by name
        self.placed: dict[int, Pose] = {}  # offsets of joints, by body
        for parameter, values in numbers.items():
            self.put(parameter, values)

    def put(self, parameter: Parameter, values: Scalars) -> None:
        tree, kind, name = self.before, parameter.kind, parameter.name
        match kind, name:
            case "gravity", _:
                self.gravity = Vec3.of(values)
            case "inertia", "":
                for i in range(len(self.bodies)):
                    self.wholes[i] = inertia_of(values[10 * i : 10 * i + 10])
            case "inertia", link:
                self.inertias[link] = inertia_of(values)
            case "point", _:
                self.points[name] = replace(self.points[name], position=Vec3.of(values))
            case "direction", _:
                self.directions[name] = replace(self.directions[name], vector=Vec3.of(values))
            case "frame", _:
                self.offsets[name] = offset(values)
            case "placement", _ if name in tree.fixed_joints:
                self.offsets[tree.fixed_joints[name]] = offset(values)
            case "placement", "":
                self.placed |= {i: offset(values[6 * i : 6 * i + 6]) for i in range(len(self.bodies))}
            case "placement", _:
                self.placed[tree.joint_index(name)] = offset(values)
            case _, "":
                for i, _ in tree.stacked():
                    self.drive(i, kind, values[(tree.q_slices if kind == "rest" else tree.v_slices)[i]])
            case _:
                self.drive(tree.joint_index(name), kind, values)

    def drive(self, i: int, kind: str, values: Scalars) -> None:
        """Other numbers of what is in a joint."""
        body = self.bodies[i]
        own: dict[str, Any] = {kind: tuple(values)}
        self.bodies[i] = replace(body, **own) if kind in _OF_BODIES else replace(body, drive=replace(body.drive, **own))

    def parts(self, weighed: bool = True) -> dict[str, Any]:
        """What the tree is made of now."""
        weighed = weighed and bool(self.inertias or self.wholes or self.offsets)
        if weighed:
            self.frames = list(told(self.before.bodies, self.before.frames))
        self.move()
        if weighed:
            self.weigh()
        self.place()
        return {
            "bodies": tuple(self.bodies),
            "frames": tuple(self.frames),
            "points": tuple(self.points.values()),
            "directions": tuple(self.directions.values()),
            "gravity": self.gravity,
        }

    def move(self) -> None:
        """Frames with offsets, what is welded to them, and the joints that sit on any of these.

        A body's own link moves on its joint, with all else that is on the body.
        """
        if not self.offsets:
            return
        before = {frame.name: frame for frame in self.frames}
        moved: dict[str, Pose] = {}
        for frame in self.frames:
            for link in reversed(self._unmoved(frame, before, moved)):
                moved[link.name] = self._moved(link, before, moved)
        for i, body in enumerate(self.bodies):
            carrier, carried = body.links or (self._name(body.parent), body.name)
            if carrier in before and moved[carrier] is not before[carrier].placement:
                seen = before[carrier].placement.inv() @ body.placement
                self.bodies[i] = replace(self.bodies[i], placement=moved[carrier] @ seen)
            if carried in before and moved[carried] is not before[carried].placement:
                held = body.rotor @ before[carried].placement
                self.bodies[i] = replace(self.bodies[i], rotor=held @ moved[carried].inv())
            if body.name in self.offsets:
                X, E = before[body.name].placement, self.offsets[body.name]
                E = E if X.is_identity else X @ E @ X.inv()
                self.bodies[i] = replace(self.bodies[i], rotor=self.bodies[i].rotor @ E)
        self.frames = [replace(f, placement=moved[f.name]) for f in self.frames]

    def _unmoved(self, frame: Frame, before: Mapping[str, Frame], moved: Mapping[str, Pose]) -> list[Frame]:
        """A frame and those that it is welded to, one to the next, as far as they are not in place."""
        chain: list[Frame] = []
        link: Frame | None = frame
        while link is not None and link.name not in moved:
            chain.append(link)
            link = self._carrier(link, before)
        return chain

    def _moved(self, frame: Frame, before: Mapping[str, Frame], moved: Mapping[str, Pose]) -> Pose:
        """Where a frame is on its body, once what it is welded to is in place; the very same where it stays."""
        carrier, X = self._carrier(frame, before), frame.placement
        if carrier is not None and moved[carrier.name] is not carrier.placement:
            X = moved[carrier.name] @ (carrier.placement.inv() @ X)
        if frame.name in self.offsets and frame.name != self._name(frame.body):
            X = X @ self.offsets[frame.name]
        return X

    def _carrier(self, frame: Frame, before: Mapping[str, Frame]) -> Frame | None:
        """What a frame is welded to; nothing for a body's own link."""
        if frame.welded_to is None or frame.name == self._name(frame.body):
            return None
        return before.get(frame.welded_to)

    def _name(self, body: int) -> str:
        return "world" if body == WORLD else self.bodies[body].name

    def place(self) -> None:
        """Joints with offsets, which are on top of where their links are."""
        for i, X in self.placed.items():
            self.bodies[i] = replace(self.bodies[i], placement=self.bodies[i].placement @ X)

    def weigh(self) -> None:
        """Links with other inertias, and bodies that weigh the sum of theirs: of those that are as they were first."""
        before = {f.name: f.placement for f in told(self.before.bodies, self.before.frames)}
        kept: dict[int, list[Inertia]] = {}
        other: dict[int, list[Inertia]] = {}
        for k, frame in enumerate(self.frames):
            same = frame.name not in self.inertias and frame.placement is before[frame.name]
            if not same:
                self.frames[k] = frame = replace(frame, inertia=self.inertias.get(frame.name, frame.inertia))
            if frame.body != WORLD and not (same and frame.inertia.is_nothing):
                own = frame.inertia if frame.placement.is_identity else frame.placement @ frame.inertia
                (kept if same else other).setdefault(frame.body, []).append(own)
        for i, changed in other.items():
            first, *rest = [*kept.get(i, []), *changed]
            self.bodies[i] = replace(self.bodies[i], inertia=sum(rest, first))
        for i, whole in self.wholes.items():
            self.bodies[i] = replace(self.bodies[i], inertia=whole)
