"""Trees placed in the world, mounted on frames of other trees, and joined: one operation, with names by a prefix.

A tree becomes a part of another one: links that were fixed to the part's world are fixed to a frame of the whole, at a
pose.  The bodies and joints of the part follow those of the whole, so q is (q of the whole, q of the part).  A link
that no joint carried gets a fixed joint named "{link}_mount".

A placed tree is a part of an empty one; its root is welded to a link "world", as a URDF file with such a link has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import is_dataclass, replace
from typing import Any

from linkwork._util.file_search import joined_searches
from linkwork._util.messages import quoted
from linkwork.constraints import Constraint, LoopJoint
from linkwork.model.body import WORLD, Body, DisabledPair, Following, Frame
from linkwork.model.composite_body import compose, frames_with_inertias, with_summed_inertias
from linkwork.model.description import NamedState
from linkwork.model.tree import Report, Tree
from linkwork.model.tree_edits import free_name, is_plain_world, is_tied, names_in_space, off_the_world, unused
from linkwork.shapes import Geometry, Shape
from linkwork.spatial import Inertia, Pose, Vec3

__all__ = ["added", "empty_world", "joined", "mounted", "placed", "prefixed", "with_shapes"]

_IDENTITY = Pose.identity()
_WORLD_LINK = Frame("world", WORLD, _IDENTITY)


def placed(tree: Tree, X: Pose, caller: str = "with_base") -> Tree:
    """Return the tree with its root link at the pose X in the world, and all that is fixed to the world moved with it.

    Bodies that float freely in the world stay.  Raises ValueError if nothing is fixed to the world.
    """
    floating = [i for i, body in enumerate(tree.bodies) if _floats(tree, i, body)]
    roots = [f for f in tree.frames if f.body == WORLD and f.name != "world"]
    if floating and not roots and len(floating) == sum(body.parent == WORLD for body in tree.bodies):
        joint = tree.bodies[floating[0]].joint_name
        raise ValueError(
            f"{caller}: robot {tree.name!r} has no fixed base: its pose is the configuration of joint {joint!r}; "
            f"pass it as a part of q, {{{joint!r}: ...}}"
        )
    whole = replace(_without_content(tree), frames=(_WORLD_LINK,))
    part, ground = _grounded(tree)
    moved = _as_part(whole, part, _WORLD_LINK, ground, X)
    bodies = list(moved.bodies)
    for i in floating:
        bodies[i] = tree.bodies[i]
    return replace(moved, bodies=tuple(bodies))


def mounted(tree: Tree, part: Tree, at: str, X: Pose, prefix: str) -> Tree:
    """Return the tree with ``part`` on it: the root link of the part has the pose X in the frame ``at``.

    ``prefix`` precedes the names of the part.  Raises UnknownNameError for an unknown frame, ValueError for equal names
    and another gravity, for a part with a floating base, and for one with a constraint of its centre of mass.
    """
    caller = "with_mounted"
    carrier = tree.frame(at)
    for i, body in enumerate(part.bodies):
        if _floats(part, i, body):
            raise ValueError(
                f"{caller}: robot {part.name!r}: joint {body.joint_name!r} floats in its world: expected a robot whose "
                "base is fixed; load it with floating_base=False, or lock the joint with with_locked_joints"
            )
    _check_part(caller, tree, part)
    if at == "world" and not any(f.name == at for f in tree.frames):
        tree = _as_part(replace(_without_content(tree), frames=(_WORLD_LINK,)), tree, carrier, carrier, _IDENTITY)
    named_world = next((f for f in part.frames if f.name == "world" and not is_plain_world(f)), None)
    if named_world is not None and not prefix:
        raise ValueError(
            f"{caller}: robot {part.name!r} has a link 'world' with mass or shapes; pass prefix={_example(part)!r}"
        )
    part = prefixed(part, prefix, world="world" if named_world is None else f"{prefix}world")
    part, ground = _grounded(part)
    _check_names(caller, tree, part, prefix)
    return _as_part(tree, part, carrier, ground, compose(carrier.placement, X))


def joined(name: str, parts: Mapping[str, Tree]) -> Tree:
    """Return one tree of several trees on a shared world; names of each get its key and "_" as prefix.

    Raises ValueError for different gravities, and for a part with a constraint of its centre of mass.
    """
    first, *_ = parts.values()
    result = empty_world(name, first.gravity)
    for key, tree in parts.items():
        result = added(result, tree, f"{key}_", "join_robots")
    return result


def empty_world(name: str, gravity: Vec3) -> Tree:
    """Return a tree whose only link is "world"."""
    return Tree(name, (), (_WORLD_LINK,), gravity)


def added(tree: Tree, part: Tree, prefix: str, caller: str) -> Tree:
    """Join two trees on the shared link "world"; ``prefix`` precedes the names of ``part``.

    Raises ValueError as `joined` does.
    """
    _check_part(caller, tree, part)
    part = prefixed(part, prefix)
    _check_names(caller, tree, part, prefix)
    world = tree.frame("world")
    return _as_part(tree, part, world, world, _IDENTITY)


# -- one tree as a part of another


def _as_part(whole: Tree, part: Tree, carrier: Frame, ground: Frame, X: Pose) -> Tree:
    """Return the tree ``whole`` with ``part`` added.

    The frame ``ground`` of the part gets the pose X on the body of the frame ``carrier``.
    """
    count, T = len(whole.bodies), _between(ground.placement, X)
    taken = {*_names(whole)["joint"], *_names(part)["joint"]}

    def body_of(body: Body) -> Body:
        if body.parent != WORLD:
            return replace(body, parent=body.parent + count)
        body = replace(body, parent=carrier.body, placement=compose(T, body.placement))
        return _on_link(body, carrier.name)

    def frame_of(frame: Frame) -> Frame:
        if frame.body != WORLD:
            return replace(frame, body=frame.body + count)
        joint, on = frame.fixed_joint, frame.welded_to
        if on is None:
            joint = unused(f"{frame.name}_mount", taken)
            taken.add(joint)
        on = carrier.name if on in (None, "world") else on
        placement = X if frame.name == ground.name else compose(T, frame.placement)
        return replace(frame, body=carrier.body, placement=placement, fixed_joint=joint, welded_to=on)

    before = frames_with_inertias(whole.bodies, whole.frames)
    added = frames_with_inertias(part.bodies, part.frames)
    is_visible = [any(f.visuals for f in frames) for frames in (before, added)]
    if any(is_visible):  # a robot without visual shapes is drawn by its collision shapes: here too
        before, added = (
            frames if visible else tuple([replace(f, visuals=f.collisions) for f in frames])
            for frames, visible in zip((before, added), is_visible, strict=True)
        )
    world = [f for f in added if f.name == "world"]
    frames = [
        *(_with_contents(f, world) if f.name == "world" else f for f in before),
        *(frame_of(f) for f in added if f.name != "world"),
    ]
    sources = [x for x in (*whole.files, *part.files) if x != whole.source]
    bodies = [*whole.bodies, *map(body_of, part.bodies)]
    if carrier.body != WORLD:
        bodies[carrier.body] = with_summed_inertias(bodies, frames)[carrier.body]
    return replace(
        whole,
        bodies=tuple(bodies),
        frames=tuple(frames),
        stacking=(*whole.order, *(i + count for i in part.order)),
        points=(*whole.points, *part.points),
        directions=(*whole.directions, *part.directions),
        inertias_ignored=whole.inertias_ignored or part.inertias_ignored,
        constraints=(*whole.constraints, *part.constraints),
        disabled_collisions=(*whole.disabled_collisions, *part.disabled_collisions),
        enabled_collisions=(*whole.enabled_collisions, *part.enabled_collisions),
        force_elements=(*whole.force_elements, *part.force_elements),
        actuators=(*whole.actuators, *part.actuators),
        named_configurations=(*whole.named_configurations, *part.named_configurations),
        report=Report((*whole.report.warnings, *part.report.warnings)),
        trusted=whole.trusted and part.trusted,
        part_sources=tuple(dict.fromkeys(sources)),
        package_dirs=joined_searches(whole.package_dirs, part.package_dirs),
    )


def _between(X: Pose, Y: Pose) -> Pose:
    """Return the transform Y X⁻¹ from pose X to pose Y, without rounding if X is the identity or equals Y."""
    if X == _IDENTITY:
        return Y
    return _IDENTITY if X == Y else Y @ X.inv()


def _with_contents(world: Frame, frames: Iterable[Frame]) -> Frame:
    """Return the link ``world`` with the mass and shapes of ``frames`` added."""
    for frame in frames:
        inertia = frame.inertia if world.inertia == Inertia.zero() else world.inertia + frame.inertia
        visuals, collisions = (*world.visuals, *frame.visuals), (*world.collisions, *frame.collisions)
        world = replace(world, inertia=inertia, visuals=visuals, collisions=collisions)
    return world


def _without_content(tree: Tree) -> Tree:
    """Return an empty tree with the name, the gravity and the source of ``tree``."""
    return Tree(tree.name, (), (), tree.gravity, tree.source, trusted=tree.trusted, part_sources=tree.part_sources)


def _grounded(tree: Tree) -> tuple[Tree, Frame]:
    """Return the tree with "world" replaced by the root link in all references, and the root link.

    If no link is fixed to the world, a link "base" without mass is added as the root.
    """
    fixed = [f for f in tree.frames if f.body == WORLD and f.is_link and f.name != "world"]
    if fixed:
        ground = min(fixed, key=lambda f: 0 if f.welded_to is None else 1 if f.welded_to == "world" else 2)
    else:
        ground = Frame(free_name(tree, "base"), WORLD, _IDENTITY)
        tree = replace(tree, frames=(ground, *tree.frames))
    tree = off_the_world(tree, ground)
    on = ground.name

    bodies = tuple(body if body.joint.is_floating else _on_link(body, on) for body in tree.bodies)
    frames = [replace(f, welded_to=on) if f.welded_to == "world" and not f.is_link else f for f in tree.frames]
    return replace(tree, bodies=bodies, frames=tuple(frames)), ground


def _on_link(body: Body, link: str) -> Body:
    """Return a body whose joint has the parent link ``link`` instead of "world"."""
    return replace(body, links=(link, body.links[1])) if body.links and body.links[0] == "world" else body


def _floats(tree: Tree, index: int, body: Body) -> bool:
    """Return True for a body that floats freely in the world."""
    return body.parent == WORLD and body.joint.is_floating and not is_tied(tree, index)


# -- shapes


def with_shapes(tree: Tree, replaced: Callable[[Shape], Shape]) -> Tree:
    """Return the tree with each shape on its links replaced by ``replaced(shape)``."""

    def changed(geometries: tuple[Geometry, ...]) -> tuple[Geometry, ...]:
        return tuple(replace(x, shape=replaced(x.shape)) for x in geometries)

    frames = [
        replace(frame, visuals=changed(frame.visuals), collisions=changed(frame.collisions))
        if frame.visuals or frame.collisions
        else frame
        for frame in tree.frames
    ]
    return replace(tree, frames=tuple(frames))


# -- names


def prefixed(tree: Tree, prefix: str, world: str = "world") -> Tree:
    """Return the tree with a prefix before all of its names, except the frame "world", whose new name is ``world``."""
    if not prefix:
        return tree

    def new(name: str) -> str:
        return world if name == "world" else prefix + name

    def following(coupling: Following | None) -> Following | None:
        return None if coupling is None else replace(coupling, joint=prefix + coupling.joint)

    def body_of(body: Body) -> Body:
        return replace(
            body,
            name=new(body.name),
            joint_name=prefix + body.joint_name,
            mimic=following(body.mimic),
            coupling=following(body.coupling),
            links=body.links and (new(body.links[0]), new(body.links[1])),
        )

    def frame_of(frame: Frame) -> Frame:
        joint, on = frame.fixed_joint, frame.welded_to
        joint, on = joint and prefix + joint, on and new(on)
        return replace(frame, name=new(frame.name), fixed_joint=joint, welded_to=on)

    def state_of(state: NamedState) -> NamedState:
        q, v = ([(prefix + joint, x) for joint, x in pairs or ()] for pairs in (state.q, state.v))
        controls = state.controls and tuple((prefix + actuator, x) for actuator, x in state.controls)
        return NamedState(prefix + state.name, tuple(q), None if state.v is None else tuple(v), controls)

    names = {name: new(name) for name in ("world", *_names(tree)["frame"])}
    joints = {name: prefix + name for name in _names(tree)["joint"]}
    return replace(
        tree,
        bodies=tuple(map(body_of, tree.bodies)),
        frames=tuple(map(frame_of, tree.frames)),
        points=tuple(replace(x, name=new(x.name), frame=new(x.frame)) for x in tree.points),
        directions=tuple(replace(x, name=new(x.name), frame=new(x.frame)) for x in tree.directions),
        constraints=tuple(_titled(_renamed(x, names, joints), prefix) for x in tree.constraints),
        disabled_collisions=tuple(DisabledPair(new(x.a), new(x.b), x.reason) for x in tree.disabled_collisions),
        enabled_collisions=tuple((new(a), new(b)) for a, b in tree.enabled_collisions),
        force_elements=tuple(_titled(x.with_names(names), prefix) for x in tree.force_elements),
        actuators=tuple(replace(x.with_names(names, joints), name=prefix + x.name) for x in tree.actuators),
        named_configurations=tuple(map(state_of, tree.named_configurations)),
    )


def _renamed(constraint: Constraint, names: Mapping[str, str], joints: Mapping[str, str]) -> Constraint:
    """Return a constraint that refers to frames and joints by new names.

    A user-defined class may have frames renamed only if it refers to no joints.
    """
    return constraint.with_names(names, joints) if constraint.references.joints else constraint.with_names(names)


def _titled(item: Any, prefix: str) -> Any:
    """Return a constraint or a force element with ``prefix`` before its name. Raises TypeError."""
    if not is_dataclass(item):
        kind = type(item).__name__
        raise TypeError(f"prefix: expected classes that are dataclasses, got {item.name!r} of the class {kind}")
    return replace(item, name=prefix + item.name)  # type: ignore[type-var, union-attr]


def _names(tree: Tree) -> dict[str, list[str]]:
    """Return the names of a tree by kind, such as links or joints; a name occurs once within a kind."""
    loops = [x.name for x in tree.constraints if isinstance(x, LoopJoint)]
    return {
        "frame": [x for x in names_in_space(tree) if x != "world"],
        "joint": [*tree.carried, *loops],
        "constraint": [x.name for x in tree.constraints],
        "force element": [x.name for x in tree.force_elements],
        "actuator": [x.name for x in tree.actuators],
        "named configuration": [x.name for x in tree.named_configurations],
    }


# -- checks


def _check_part(caller: str, whole: Tree, part: Tree) -> None:
    """Raise ValueError for another gravity, and for a constraint of the centre of mass of the part alone."""
    if whole.gravity != part.gravity:
        raise ValueError(
            f"{caller}: robot {part.name!r}: expected the gravity of {whole.name!r}, {(*whole.gravity,)} m/s², got "
            f"{(*part.gravity,)}; with_gravity changes it"
        )
    for constraint in part.constraints:
        if constraint.uses_inertia:
            raise ValueError(
                f"{caller}: robot {part.name!r}: constraint {constraint.name!r} is on its centre of mass, which is not "
                f"that of the whole: remove it first, robot.without_constraints({constraint.name!r})"
            )


def _check_names(caller: str, whole: Tree, part: Tree, prefix: str) -> None:
    """Raise ValueError for a name that both trees have."""
    for kind, name in _equal_names(whole, part):
        remedy = f"pass another prefix, such as prefix={_example(part, prefix)!r}"
        if caller == "join_robots":
            remedy = f"pass another key than {prefix[:-1]!r}"
        raise ValueError(f"{caller}: both robots have a {kind} {quoted(name)}: {remedy}")


def _equal_names(whole: Tree, part: Tree) -> Iterator[tuple[str, str]]:
    known = _names(whole)
    for kind, names in _names(part).items():
        taken = {*known[kind]}
        yield from ((kind, name) for name in names if name in taken)


def _example(part: Tree, prefix: str = "") -> str:
    """Return a suggestion for a prefix other than ``prefix``, for an error message."""
    wish = f"{part.name}_"
    return wish if wish != prefix else f"{part.name}_2_"
