"""SDF reader: the Simulation Description Format of Gazebo, versions 1.4 to 1.12.

Source: http://sdformat.org/spec and its pages on the semantics of poses and frames.  Lengths are in m, angles in rad.
A file is read strictly: anything that cannot be read is an error or a listed warning.  Models that it includes are read
from the allowed folders only; meshes are stored by their names, and are not opened.

A robot has all models of the file, or one of them.  Its world is the file's.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace

from linkwork._util.file_access import Budget
from linkwork._util.file_search import FileSearch, Folders
from linkwork._util.messages import quoted
from linkwork.constraints import Coupling, Gear
from linkwork.errors import Location, UnknownNameError
from linkwork.formats.description import (
    LARGEST,
    ConstraintDescription,
    Description,
    Findings,
    Following,
    FrameDescription,
    JointDescription,
    LinkDescription,
    NamedState,
    NamedStateDescription,
)
from linkwork.formats.file_reading import path_text, read_regular, require_path, require_text
from linkwork.formats.resource_paths import resource_paths
from linkwork.formats.sdf.sdf_documents import Document, Documents
from linkwork.formats.sdf.sdf_elements import SdfReader
from linkwork.formats.sdf.sdf_frames import SEPARATOR, Frames, Node
from linkwork.formats.sdf.sdf_joints import Axis, SdfJoint, read_joint, values_of
from linkwork.formats.sdf.sdf_links import LinkReader
from linkwork.formats.sdf.sdf_models import Models, read_models
from linkwork.formats.sdf.sdf_tree import WORLD, ModelNames, SpanningTree
from linkwork.formats.xml_document import Element
from linkwork.spatial import Inertia, Vec3

__all__ = ["parse_sdf", "read_sdf"]

INITIAL = "initial_position"
"""Name of the named configuration of joints that state their initial position."""

_GRAVITY = Vec3(0.0, 0.0, -9.8)  # of a world that states none [m/s²]


def read_sdf(
    path: str | os.PathLike[str],
    *,
    strict: bool = False,
    budget: Budget | None = None,
    continuous: str = "angle",
    inertia: str = "given",
    floating_base: bool | None = None,
    package_dirs: Folders | None = None,
    model: str | None = None,
) -> Description:
    """Return the description of the robots in an SDF file.

    ``strict`` turns repairs into errors; ``budget`` limits the size of the file and of those that it includes;
    ``continuous`` selects if the configuration of a continuous joint is an ``"angle"`` or its ``"sincos"``; ``inertia``
    selects the ``"given"`` inertias, the ``"nearest"`` physically consistent ones, or none (``"ignore"``).

    ``floating_base`` decides how the base moves: as the file says (None), freely (True), or not at all (False).
    ``package_dirs`` are folders in which included models are searched.  ``model`` names the one model to read; by
    default all models of the file are read.

    Raises ModelError with all errors; UnknownNameError for a model that the file does not have; or the operating
    system's error (FileNotFoundError, PermissionError ...) if the file cannot be read.
    """
    budget = budget or Budget()
    require_path(path)
    data, source = read_regular(path, budget), path_text(path)
    search = resource_paths(path, package_dirs)
    return _read(data, source, search, True, strict, budget, continuous, inertia, floating_base, model)


def parse_sdf(
    text: str | bytes,
    *,
    source: str | None = None,
    strict: bool = False,
    budget: Budget | None = None,
    continuous: str = "angle",
    inertia: str = "given",
    floating_base: bool | None = None,
    package_dirs: Folders | None = None,
    model: str | None = None,
) -> Description:
    """Return the description of the robots in the text of an SDF file.

    ``source`` is its name in messages.  Models that it includes are searched in ``package_dirs`` and in the folders of
    the environment only.  The other arguments are those of `read_sdf`.  Raises ModelError and UnknownNameError.
    """
    require_text(text, source, "an SDF file")
    search = resource_paths(None, package_dirs)
    return _read(text, source, search, False, strict, budget or Budget(), continuous, inertia, floating_base, model)


def _read(
    data: str | bytes,
    source: str | None,
    search: FileSearch,
    is_file: bool,
    strict: bool,
    budget: Budget,
    continuous: str,
    inertia: str,
    floating_base: bool | None,
    model: str | None,
) -> Description:
    if continuous not in ("angle", "sincos"):
        raise ValueError(f"continuous: expected 'angle' or 'sincos', got {continuous!r}")
    if inertia not in ("given", "nearest", "ignore"):
        raise ValueError(f"inertia: expected 'given', 'nearest' or 'ignore', got {inertia!r}")
    findings = Findings(strict=strict)
    documents = Documents(findings, search, budget)
    document = documents.open(data, source)
    if not is_file:
        document = replace(document, path=None)
    world = _world(document)
    models = read_models(documents, document, world)
    chosen = _chosen(models, model)
    name = _name(document, world, chosen)
    names = ModelNames(chosen[0].name + SEPARATOR if len(chosen) == 1 else "", models.frames.nodes)
    links, joints, marks = (_of(models, nodes, chosen, model) for nodes in (models.links, models.joints, models.marks))
    if not links:
        findings.raise_errors()
        message = "the file has no links" if model is None else f"model {quoted(model)} has no links"
        document.reader.error(world, "NO_LINKS", message, "a robot needs a <model> with a <link>")
        findings.raise_errors()
    reader = LinkReader(models.frames, inertia, _MeshNames(document))
    described = [reader.read(node, names(node)) for node in links]
    reader.report()
    if inertia == "ignore":
        message = "all inertias are ignored, as requested"
        document.reader.note(world, "INERTIA_IGNORED", message)
    read = [joint for node in joints if (joint := read_joint(models.frames, node, continuous)) is not None]
    findings.raise_errors()
    tree = SpanningTree(models.frames, links, names, floating_base)
    tree.build(read)
    followers = _Followers(models.frames, tree, names)
    described_joints = tuple(followers.with_mimics())
    frames, initial = tuple(_frames(models.frames, marks, names)), _initial(tree, described_joints, names)
    gravity = _gravity(document.reader, world)
    findings.raise_errors()
    return Description(
        name=name,
        links=(LinkDescription(WORLD, Inertia.zero(), where=document.reader.where(world)), *described),
        joints=described_joints,
        warnings=tuple(dict.fromkeys(findings.warnings)),
        source=source,
        frames=(*frames, *tree.marks),
        where=document.reader.where(world),
        inertias_ignored=inertia == "ignore",
        constraints=(*tree.constraints, *followers.constraints),
        named_configurations=initial,
        gravity=gravity,
        base_is_stated=True,
    )


# -- models


def _world(document: Document) -> Element:
    """Return the `<world>` of a document, or its root if it has none.  Raises ModelError for several."""
    root, reader = document.root, document.reader
    worlds, models = [*root.all("world")], [*root.all("model")]
    if len(worlds) > 1:
        reader.error(worlds[1], "DUPLICATE_ELEMENT", f"expected one <world>, got {len(worlds)}", "make a file of each")
    elif worlds and models:
        message = "expected a <world> or a <model>, got both"
        reader.error(models[0], "DUPLICATE_ELEMENT", message, "put the model into the world")
    elif len(models) > 1 and reader.release >= (1, 8):
        message = f"expected one <model> outside of a <world>, got {len(models)}"
        reader.error(models[1], "DUPLICATE_ELEMENT", message, "put the models into a <world>")
    elif not worlds and not models:
        reader.error(root, "NO_LINKS", "expected a <model> or a <world> in <sdf>, got none")
    reader.findings.raise_errors()
    return worlds[0] if worlds else root


def _chosen(models: Models, model: str | None) -> Sequence[Node]:
    """Return the outermost models to read: all, or that called ``model``. Raises UnknownNameError."""
    if model is None:
        return models.outermost
    matches = [node for node in models.outermost if node.name == model]
    if not matches:
        raise UnknownNameError("model", model, [node.name for node in models.outermost], where="load: model")
    return matches


def _of(models: Models, nodes: Iterable[Node], chosen: Sequence[Node], model: str | None) -> list[Node]:
    """Return those nodes (links, joints or frames) that are in the chosen models; all nodes if ``model`` is None."""
    if model is None:
        return list(nodes)
    return [node for node in nodes if models.model_of(node) in chosen]


def _name(document: Document, world: Element, chosen: Sequence[Node]) -> str:
    """Return the robot's name: that of the model if one is chosen, else that of the world."""
    if len(chosen) == 1 or (chosen and world.tag != "world"):
        return chosen[0].name
    return document.reader.name(world) or WORLD


def _gravity(reader: SdfReader, world: Element) -> Vec3 | None:
    """Return the gravity of a world; None without a world.

    Up to SDF 1.5 it is stated in the world's first `<physics>`.
    """
    if world.tag != "world":
        return None
    element = world.first("gravity")
    if element is None and reader.release < (1, 6):
        element = next(
            (gravity for physics in world.all("physics") if (gravity := physics.first("gravity")) is not None), None
        )
    return _GRAVITY if element is None else Vec3.of(reader.values(element, 3, _GRAVITY))


def _frames(frames: Frames, marks: Iterable[Node], names: ModelNames) -> Iterable[FrameDescription]:
    """Yield each `<frame>` element as a frame with a pose on the link that it moves with, or on the world."""
    for mark in marks:
        body = frames.body_of(mark)
        where = mark.reader.where(mark.element)
        yield FrameDescription(names(mark), names(body), frames.relative(body, mark), where)


class _MeshNames:
    """Names of mesh files.

    A name in an included file becomes relative to the robot's own file.
    """

    def __init__(self, document: Document) -> None:
        self.main = document.reader
        self.home = None if document.path is None else os.path.dirname(os.path.abspath(document.path))

    def __call__(self, uri: str, reader: SdfReader) -> str:
        path = uri.removeprefix("file://")
        if reader is self.main or reader.file is None or "://" in path or os.path.isabs(path) or path.startswith("/"):
            return uri
        full = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(reader.file)), path))
        inside = self.home is not None and full.startswith(os.path.join(self.home, ""))
        return (os.path.relpath(full, self.home) if inside else full).replace(os.sep, "/")


# -- joints that follow others, initial positions


class _Followers:
    """Mimic relations of a tree's joints, and couplings that replace them while all joints stay independent."""

    def __init__(self, frames: Frames, tree: SpanningTree, names: ModelNames) -> None:
        self.frames, self.tree, self.names = frames, tree, names
        self.constraints: list[ConstraintDescription] = []

    def with_mimics(self) -> Iterable[JointDescription]:
        """Yield the joints of the tree, each with the mimic relation that the file states for it."""
        known = {joint.node: joint for joint in self.tree.tree}
        by_name = {self.names(joint.node): joint for joint in self.tree.tree}
        for described in self.tree.joints:
            joint = by_name.get(described.name)
            for axis in () if joint is None else joint.axes:
                if joint is not None and axis.mimic is not None:
                    described = self._follower(described, joint, axis, known)
            yield described

    def _follower(
        self, described: JointDescription, joint: SdfJoint, axis: Axis, known: dict[Node, SdfJoint]
    ) -> JointDescription:
        reader, element, scope = joint.reader, axis.mimic, joint.node.scope
        assert element is not None and scope is not None
        name = reader.name(element, "joint")
        if name is None:
            return described
        leader = scope.find(name)
        if leader is not None and leader.kind != "joint":
            leader = None
        master = None if leader is None else known.get(leader)
        several = len(joint.axes) > 1 or (master is not None and len(master.axes) > 1)
        several = several or element.attributes.get("axis", "axis") != "axis"
        if several or (leader is not None and master is None):
            message = f"<mimic> of joint {quoted(described.name)} is not supported yet and is ignored"
            reason = "both joints need one axis each" if several else f"joint {quoted(name)} closes a loop"
            reader.warn(element, "UNSUPPORTED", f"{message}: {reason}")
            return described
        ratio, offset = reader.value(element, "multiplier", 1.0), reader.value(element, "offset", 0.0)
        offset -= ratio * reader.value(element, "reference", 0.0)
        if abs(offset) > LARGEST:
            message = f"its offset, less multiplier times reference, is beyond {LARGEST:.0e}"
            reader.error(element, "MAGNITUDE", f"<mimic> of joint {quoted(described.name)}: {message}")
            return described
        follows = name if leader is None else self.names(leader)
        if master is not None and master is not joint and master.axes and ratio != 0.0:
            self._hold(joint, master, ratio, offset, reader.where(element))
        return replace(described, mimic=Following(follows, ratio, offset))

    def _hold(self, joint: SdfJoint, master: SdfJoint, ratio: float, offset: float, where: Location) -> None:
        follower, leader = self.names(joint.node), self.names(master.node)
        name = f"{follower}_mimic"
        unit = "m" if joint.kind == "prismatic" else "rad"
        coupling: Gear | Coupling = Coupling({follower: 1.0, leader: -ratio}, offset=offset, unit=unit, name=name)
        if "prismatic" not in (joint.kind, master.kind):
            coupling = Gear(follower, leader, ratio, offset=offset, name=name)
        self.constraints.append(ConstraintDescription(coupling, where, mimic_of=follower))


def _initial(
    tree: SpanningTree, described: Iterable[JointDescription], names: ModelNames
) -> tuple[NamedStateDescription, ...]:
    """Return the named configuration of the joints that state an initial position; none if no joint does."""
    types = {joint.name: joint.joint for joint in described}
    states: list[tuple[str, tuple[float, ...]]] = []
    where = Location()
    for joint in tree.tree:
        values, name = values_of(joint.axes, "initial"), names(joint.node)
        if not any(values):
            continue
        where = where if states else joint.reader.where(joint.element)
        states.append((name, tuple(types[name].integrate(types[name].zero(), values))))
    return (NamedStateDescription(NamedState(INITIAL, tuple(states)), where),) if states else ()
