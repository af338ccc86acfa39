"""Frames of SDF (models, links, joints, <frame>): their scoped names, their poses, and the links that they move with.

Each of them is a frame with a pose relative to another one, its base. The bases of all frames form a tree, whose root
is the world. A frame moves with its carrier: a link carries itself, a joint moves with its child, a model with its
canonical link, and a ``<frame>`` with the frame to which it is attached; the world carries static models.

Names inside a nested model "hand" of a model are written "hand::palm" in the model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from linkwork._util.messages import listed, nearest, quoted
from linkwork.formats.sdf.sdf_elements import SdfReader
from linkwork.formats.xml_document import Element
from linkwork.model import compose
from linkwork.spatial import Pose

__all__ = ["Frames", "Node", "Scope"]

SEPARATOR = "::"


@dataclass(eq=False, slots=True)
class Node:
    """A frame of an SDF document: the world, a model, a link, a joint, or a ``<frame>``."""

    name: str  # with the names of the models around it, from the outermost model
    kind: str  # the element's tag; "world" for the world
    element: Element
    reader: SdfReader
    scope: Scope | None = None  # in which its pose and its carrier are named; None for the world
    raw: Pose = Pose.identity()  # relative to its base
    base_name: str = ""  # "" for the default
    base: Node | None = None
    carrier_name: str = ""  # "" for the default
    carrier: Node | None = None  # the next one on the way to a link or the world
    placement_name: str = ""  # of the frame that a model's pose places, "" for the model's own
    inner: Scope | None = None  # of a model
    fixed: bool = False  # a static model, or part of one
    depth: int = 0  # number of frames up to the world
    X: Pose = Pose.identity()  # in the world

    @property
    def is_body(self) -> bool:
        """True for a link and for the world."""
        return self.kind in ("link", "world")


@dataclass(eq=False, slots=True)
class Scope:
    """Names of frames inside a model or the world, with the frames that they refer to."""

    owner: Node  # "__model__", or the world
    reader: SdfReader
    names: dict[str, Node] = field(default_factory=dict)
    links: list[Node] = field(default_factory=list)
    models: list[Node] = field(default_factory=list)
    outer: Scope | None = None

    def find(self, name: str) -> Node | None:
        """Return the frame with a name, as it is written inside this scope; None if there is none."""
        scope: Scope | None = self
        while scope is not None:
            if name == ("world" if scope.owner.kind == "world" else "__model__"):
                return scope.owner
            if (node := scope.names.get(name)) is not None:
                return node
            head, separator, name = name.partition(SEPARATOR)
            model = scope.names.get(head) if separator else None
            scope = None if model is None else model.inner
        return None

    def known(self) -> Iterator[str]:
        """Return the names in this scope and in nested models."""
        yield from self.names
        for model in self.models:
            if model.inner is not None:
                yield from (f"{model.name.rpartition(SEPARATOR)[2]}{SEPARATOR}{name}" for name in model.inner.names)


class Frames:
    """All frames of an SDF document, and the functions that find their poses."""

    def __init__(self, world: Node) -> None:
        self.world = world
        self.nodes: list[Node] = []
        self.is_resolved = True  # False after errors of names: poses are then unknown

    def add(self, node: Node) -> Node:
        self.nodes.append(node)
        return node

    def resolve(self) -> None:
        """Find each frame's pose, its base (the frame it is relative to) and its carrier (the link it moves with).

        Errors: UNKNOWN_FRAME, UNKNOWN_LINK, NO_LINKS, FRAME_CYCLE. The caller raises errors of names after it has read
        the other content of the document. Raises ModelError for other errors.
        """
        findings = self.world.reader.findings
        for node in self.nodes:
            self._connect(node)
        self.is_resolved, errors = not findings.errors, len(findings.errors)
        self._refuse_cycles("relative_to", [node.base for node in self.nodes])
        self._refuse_cycles("attached_to", [None if node.is_body else node.carrier for node in self.nodes])
        if len(findings.errors) > errors:
            findings.raise_errors()
        if not self.is_resolved:
            return
        for node in reversed(self.nodes):  # inner models before outer ones
            if node.placement_name:
                self._apply_placement(node)
        findings.raise_errors()
        for node in self._from_the_world():
            assert node.base is not None
            node.depth, node.X = node.base.depth + 1, compose(node.base.X, node.raw)

    def relative(self, a: Node, b: Node) -> Pose:
        """Return the pose X_ab of one frame in another.

        A pose that the file states is returned unchanged, since only poses between the two frames are multiplied. For
        frames that are far apart, their poses in the world are used. It is the identity after errors of names.
        """
        if not self.is_resolved:
            return _IDENTITY
        X_a = X_b = Pose.identity()  # poses of a and b in the frames reached
        at_a, at_b = a, b
        for _ in range(_FAR):
            if at_a is at_b:
                return X_b if X_a is _IDENTITY else compose(X_a.inv().formed(), X_b)
            if at_a.depth > at_b.depth:
                X_a, at_a = compose(at_a.raw, X_a), at_a.base or at_a
            else:
                X_b, at_b = compose(at_b.raw, X_b), at_b.base or at_b
        return compose(a.X.inv().formed(), b.X)

    @staticmethod
    def body_of(node: Node) -> Node:
        """Return the link that a frame moves with, or the world."""
        passed = [node]
        while not passed[-1].is_body and (after := passed[-1].carrier) is not None:
            passed.append(after)
        for frame in passed[:-1]:
            frame.carrier = passed[-1]  # a shorter way for the next call
        return passed[-1]

    def lookup(self, scope: Scope, name: str, label: str, reader: SdfReader, element: Element) -> Node | None:
        """Return the frame called ``name`` in a scope; None, with the error UNKNOWN_FRAME, if there is none.

        ``label`` describes the reference in the message.
        """
        node = scope.find(name)
        if node is None:
            message = f"{label}: frame {quoted(name)} does not exist in {_shown(scope.owner)}"
            reader.error(element, "UNKNOWN_FRAME", message, nearest(name, dict.fromkeys(scope.known())))
        return node

    def _connect(self, node: Node) -> None:
        """Find the frame that a frame is relative to, and the link that it moves with, by the names in the file."""
        scope = node.scope
        assert scope is not None
        stated = node.element.first("pose") or node.element
        base: Node | None = scope.owner
        match node.kind:
            case "link":
                node.carrier = node
            case "model":
                node.carrier = self.world if node.fixed else self._canonical(node)
            case "joint":
                base = node.carrier = self._child(scope, node)
            case _:
                if node.carrier_name:
                    base = self.lookup(scope, node.carrier_name, "attached_to", node.reader, node.element)
                node.carrier = base
        if node.base_name:
            base = self.lookup(scope, node.base_name, "relative_to", node.reader, stated)
        node.base = base

    def _canonical(self, model: Node) -> Node | None:
        """Return the canonical link of a model that is not static; None after an error."""
        inner = model.inner
        assert inner is not None
        if name := model.carrier_name:
            link = inner.find(name)
            if link is None or link.kind != "link":
                message = f"canonical_link: link {quoted(name)} does not exist in {_shown(model)}"
                known = dict.fromkeys(
                    name for name in inner.known() if (inner_node := inner.find(name)) and inner_node.kind == "link"
                )
                model.reader.error(model.element, "UNKNOWN_LINK", message, nearest(name, known))
                return None
            return link
        if inner.links:
            return inner.links[0]
        if inner.models:
            return inner.models[0]
        model.reader.error(model.element, "NO_LINKS", f"{_shown(model)} has no links", "a model needs a link")
        return None

    @staticmethod
    def _child(scope: Scope, joint: Node) -> Node | None:
        """Return the frame that a joint names as its child; None after the error UNKNOWN_LINK."""
        child = scope.find(joint.carrier_name)
        if child is None and joint.carrier_name:
            message = f"joint {quoted(joint.name)}: its child {quoted(joint.carrier_name)} does not exist"
            element = joint.element.first("child") or joint.element
            joint.reader.error(
                element, "UNKNOWN_LINK", message, nearest(joint.carrier_name, dict.fromkeys(scope.known()))
            )
        return child

    def _refuse_cycles(self, label: str, after: Iterable[Node | None]) -> None:
        """Record the error FRAME_CYCLE for each cycle of references; ``after`` is the frame each frame refers to."""
        following = dict(zip(self.nodes, after, strict=True))
        passed: dict[Node, int] = {}
        for start, first in enumerate(self.nodes):
            node: Node | None = first
            while node is not None and node not in passed and node in following:
                passed[node] = start
                node = following[node]
            if node is None or passed.get(node) != start or node not in following:
                continue
            cycle, at = [node], following[node]
            while at is not node and at is not None:
                cycle.append(at)
                at = following[at]
            names = listed([frame.name for frame in (*cycle, node)], " -> ")
            message = f"{label}: the frames {names} form a cycle"
            if len(cycle) == 1:
                message = f"{label}: frame {quoted(node.name)} is relative to itself"
            node.reader.error(node.element, "FRAME_CYCLE", message)

    def _apply_placement(self, model: Node) -> None:
        """Convert a model's pose, stated for its placement frame P, to a pose of the model frame M.

        X_RM = X_RP X_MP⁻¹, where R is the frame that the pose is relative to.
        """
        inner = model.inner
        assert inner is not None
        node = self.lookup(inner, model.placement_name, "placement_frame", model.reader, model.element)
        X, at = Pose.identity(), node
        while at is not None and at is not inner.owner:
            X, at = compose(at.raw, X), at.base
        if node is not None and at is None:
            message = f"placement_frame: frame {quoted(node.name)} does not depend on {_shown(model)}"
            model.reader.error(model.element, "UNKNOWN_FRAME", message)
        elif X is not _IDENTITY:
            model.raw = compose(model.raw, X.inv().formed())

    def _from_the_world(self) -> Iterator[Node]:
        """Yield all frames, each after the frame that its pose is relative to."""
        done = {self.world}
        for first in self.nodes:
            chain, node = [], first
            while node not in done:
                chain.append(node)
                assert node.base is not None
                node = node.base
            done.update(chain)
            yield from reversed(chain)


def _shown(node: Node) -> str:
    return "the world" if node.kind == "world" else f"model {quoted(node.name)}"


_IDENTITY = Pose.identity()
_FAR = 64  # steps from frame to frame
