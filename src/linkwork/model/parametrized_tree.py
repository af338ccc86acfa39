"""Trees with values of any scalar type, for algorithms with symbolic parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from linkwork.model.body import WORLD, Frame
from linkwork.model.composite_body import frames_with_inertias, of_whole_body
from linkwork.model.kernel_parameters import Parameter
from linkwork.model.loop_joints import loops_of, with_loop_values
from linkwork.model.tree import Tree
from linkwork.spatial import Inertia, Pose, Quaternion, Vec3

__all__ = ["ParameterValues", "inertia_factor", "offset", "parametrized", "with_parameter_values"]

Scalars = Sequence[Any]
ParameterValues = Mapping[Parameter, Scalars]

_SAME = 1e-12  # relative difference of equal inertial parameters
_OF_BODIES = ("damping", "friction")  # fields of `Body`; the others are fields of `Drive`


def parametrized(tree: Tree, values: ParameterValues, with_inertias: bool = True) -> Tree:
    """Return the tree with new values of kernel parameters, of any scalar type, unchecked.

    Each value is a list of elements, row by row. Inertias of bodies are updated only if ``with_inertias``. After the
    total inertia of a body is set, its links have an `UndividedInertia` if several of them have an inertia.
    """
    changed = _ChangedTree(tree, values)
    parts = changed.parts(with_inertias)
    if with_inertias:
        for i, whole in changed.wholes.items():
            parts["frames"] = tuple(of_whole_body(parts["frames"], i, tree.bodies[i].name, whole))
    return tree.with_unchecked(**parts)


def with_parameter_values(tree: Tree, values: ParameterValues) -> Tree:
    """Return the tree with new values of kernel parameters, all of them floats, as a tree of an ordinary robot.

    If the total inertia of a body is set, the link with the body's name gets it minus the inertias of its other links.
    A multiple of the body's inertia scales all its links instead, unless a frame on the body also moves.
    """
    changed = _ChangedTree(tree, values)
    parts = changed.parts()
    frames = list(parts["frames"])
    for i, whole in changed.wholes.items():
        name = tree.bodies[i].name
        factor = inertia_factor(whole.parameters(), tree.bodies[i].inertia.parameters())
        if factor is not None and not changed.moves_links(i):
            frames = [_scaled(f, factor) if f.body == i else f for f in frames]
            continue
        inertias = [f.placement @ f.inertia for f in frames if f.body == i and f.name != name]
        if all(f.name != name for f in frames):
            frames.append(Frame(name, i, Pose.identity()))
        index = next(k for k, f in enumerate(frames) if f.name == name)
        inertia = whole - sum(inertias, Inertia.zero())
        frames[index] = replace(frames[index], inertia=frames[index].placement.inv() @ inertia)
    return replace(tree, **{**parts, "frames": tuple(frames)})


def _scaled(frame: Frame, factor: float) -> Frame:
    if factor == 1.0 or frame.inertia.is_zero:
        return frame
    return replace(frame, inertia=Inertia.of_parameters([factor * x for x in frame.inertia.parameters()]))


def inertia_factor(parameters: Sequence[float], known: Sequence[float]) -> float | None:
    """Return the factor f > 0 with ``parameters`` (10,) = f · ``known`` (10,); None if there is none."""
    factor = parameters[0] / known[0] if known[0] > 0.0 else 1.0
    same = all(abs(x - factor * y) <= _SAME * abs(x) for x, y in zip(parameters, known, strict=True))
    return float(factor) if same and factor > 0.0 else None


def offset(values: Scalars) -> Pose:
    """Return the pose of an offset (φ; d) with the rotation vector φ [rad] and the translation d [m]."""
    return Pose(Quaternion.exp(Vec3.of(values[:3])).rotation(), Vec3.of(values[3:]))


class _ChangedTree:
    """Builder of a tree with new values of kernel parameters."""

    def __init__(self, tree: Tree, values: ParameterValues) -> None:
        self.before = tree
        self.bodies = list(tree.bodies)
        self.frames = list(tree.frames)
        self.points = {point.name: point for point in tree.points}
        self.directions = {direction.name: direction for direction in tree.directions}
        self.gravity = tree.gravity
        self.constraints = list(tree.constraints)
        self.inertias: dict[str, Inertia] = {}  # of links, by name
        self.wholes: dict[int, Inertia] = {}  # of bodies, by index
        self.offsets: dict[str, Pose] = {}  # of frames, by name
        self.placed: dict[int, Pose] = {}  # offsets of joints, by body
        for parameter, value in values.items():
            self.set(parameter, value)

    def moves_links(self, i: int) -> bool:
        """Return True if the placement of a frame on body i changes."""
        return any(f.body == i and f.name in self.offsets for f in self.before.frames)

    def set(self, parameter: Parameter, values: Scalars) -> None:
        tree, kind, name = self.before, parameter.kind, parameter.name
        match kind, name:
            case "gravity", _:
                self.gravity = Vec3.of(values)
            case "inertia", "":
                for i in range(len(self.bodies)):
                    self.wholes[i] = Inertia.of_parameters(values[10 * i : 10 * i + 10])
            case "inertia", link:
                self.inertias[link] = Inertia.of_parameters(values)
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
                    self.set_joint(i, kind, values[(tree.q_slices if kind == "rest" else tree.v_slices)[i]])
            case _ if name in (loop.name for loop in loops_of(tree)):
                k = next(k for k, c in enumerate(self.constraints) if c.name == name)
                self.constraints[k] = with_loop_values(self.constraints[k], kind, values)
            case _:
                self.set_joint(tree.joint_index(name), kind, values)

    def set_joint(self, i: int, kind: str, values: Scalars) -> None:
        """Replace the values of one kind, such as "stiffness", in the joint of body i."""
        body = self.bodies[i]
        new: dict[str, Any] = {kind: tuple(values)}
        self.bodies[i] = replace(body, **new) if kind in _OF_BODIES else replace(body, drive=replace(body.drive, **new))

    def parts(self, with_inertias: bool = True) -> dict[str, Any]:
        """Apply all changes, and return the changed components of the tree by the name of its fields."""
        with_inertias = with_inertias and bool(self.inertias or self.wholes or self.offsets)
        if with_inertias:
            self.frames = list(frames_with_inertias(self.before.bodies, self.before.frames))
        self.move_frames()
        if with_inertias:
            self.update_inertias()
        self.shift_joints()
        return {
            "bodies": tuple(self.bodies),
            "frames": tuple(self.frames),
            "points": tuple(self.points.values()),
            "directions": tuple(self.directions.values()),
            "gravity": self.gravity,
            "constraints": tuple(self.constraints),
        }

    def move_frames(self) -> None:
        """Apply the offsets of frames to their placements.

        Frames welded to these frames move too, and so do the joints that are placed on them.

        An offset of the link with the body's name changes the rotor of the body's joint, and moves everything on the
        body.
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
                from_carrier = before[carrier].placement.inv() @ body.placement
                self.bodies[i] = replace(self.bodies[i], placement=moved[carrier] @ from_carrier)
            if carried in before and moved[carried] is not before[carried].placement:
                from_rotor = body.rotor @ before[carried].placement
                self.bodies[i] = replace(self.bodies[i], rotor=from_rotor @ moved[carried].inv())
            if body.name in self.offsets:
                X, E = before[body.name].placement, self.offsets[body.name]
                E = E if X.is_identity else X @ E @ X.inv()
                self.bodies[i] = replace(self.bodies[i], rotor=self.bodies[i].rotor @ E)
        self.frames = [replace(f, placement=moved[f.name]) for f in self.frames]

    def _unmoved(self, frame: Frame, before: Mapping[str, Frame], moved: Mapping[str, Pose]) -> list[Frame]:
        """Return a chain of frames, each welded to the next, from ``frame`` to a frame with a known new placement.

        ``moved`` are the new placements so far.
        """
        chain: list[Frame] = []
        link: Frame | None = frame
        while link is not None and link.name not in moved:
            chain.append(link)
            link = self._carrier(link, before)
        return chain

    def _moved(self, frame: Frame, before: Mapping[str, Frame], moved: Mapping[str, Pose]) -> Pose:
        """Return the new placement of a frame on its body, after the frame that it is welded to has moved.

        Returns the same object as before if the frame does not move.
        """
        carrier, X = self._carrier(frame, before), frame.placement
        if carrier is not None and moved[carrier.name] is not carrier.placement:
            X = moved[carrier.name] @ (carrier.placement.inv() @ X)
        if frame.name in self.offsets and frame.name != self._name(frame.body):
            X = X @ self.offsets[frame.name]
        return X

    def _carrier(self, frame: Frame, before: Mapping[str, Frame]) -> Frame | None:
        """Return the frame to which a frame is welded; None for the link with the body's name."""
        if frame.welded_to is None or frame.name == self._name(frame.body):
            return None
        return before.get(frame.welded_to)

    def _name(self, body: int) -> str:
        return "world" if body == WORLD else self.bodies[body].name

    def shift_joints(self) -> None:
        """Apply the offsets of joints to their placements, after the links with the joints have been moved."""
        for i, X in self.placed.items():
            self.bodies[i] = replace(self.bodies[i], placement=self.bodies[i].placement @ X)

    def update_inertias(self) -> None:
        """Set the changed inertias of links, and the inertias of bodies to the sums of the inertias of their links.

        Sums add unchanged links first.
        """
        before = {f.name: f.placement for f in frames_with_inertias(self.before.bodies, self.before.frames)}
        unchanged: dict[int, list[Inertia]] = {}
        updated: dict[int, list[Inertia]] = {}
        for k, frame in enumerate(self.frames):
            same = frame.name not in self.inertias and frame.placement is before[frame.name]
            if not same:
                self.frames[k] = frame = replace(frame, inertia=self.inertias.get(frame.name, frame.inertia))
            if frame.body != WORLD and not (same and frame.inertia.is_zero):
                inertia = frame.inertia if frame.placement.is_identity else frame.placement @ frame.inertia
                (unchanged if same else updated).setdefault(frame.body, []).append(inertia)
        for i, changed in updated.items():
            first, *following = [*unchanged.get(i, []), *changed]
            self.bodies[i] = replace(self.bodies[i], inertia=sum(following, first))
        for i, whole in self.wholes.items():
            self.bodies[i] = replace(self.bodies[i], inertia=whole)
