"""Models of an SDF document, including nested and included models: their links, joints and frames by name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from linkwork._util.messages import quoted
from linkwork.errors import Issue, ModelError
from linkwork.formats.sdf.sdf_documents import Document, Documents
from linkwork.formats.sdf.sdf_elements import SdfReader
from linkwork.formats.sdf.sdf_frames import SEPARATOR, Frames, Node, Scope
from linkwork.formats.xml_document import Element

__all__ = ["Models", "read_models"]

_MOST_NESTED = 100  # models inside each other
_OF_VALUES = ("ARITY", "MAGNITUDE", "NUMBER")  # errors that leave names as they are
_RESERVED = re.compile(r"__.*__|world", re.DOTALL)


@dataclass(eq=False)
class Models:
    """Frames of all models of a document, with the outermost models, links, joints and frames in document order."""

    frames: Frames
    scope: Scope  # of the world
    links: list[Node] = field(default_factory=list)
    joints: list[Node] = field(default_factory=list)
    marks: list[Node] = field(default_factory=list)

    @property
    def outermost(self) -> list[Node]:
        return self.scope.models

    def model_of(self, node: Node) -> Node | None:
        """Return the outermost model that contains a link, a joint or a frame; None if it is directly in the world."""
        scope, model = node.scope, None
        while scope is not None and scope.owner.kind != "world":
            model = scope.owner
            scope = scope.outer
        return model


@dataclass(frozen=True)
class _Overrides:
    """Content of an `<include>` that replaces values of the included model, such as its name and pose."""

    include: Element
    reader: SdfReader
    merge: bool


def read_models(documents: Documents, document: Document, world: Element) -> Models:
    """Return the models in a ``<world>``, or in an ``<sdf>`` without a world, with their frames. Raises ModelError."""
    node = Node("world", "world", world, document.reader)
    scope = Scope(node, document.reader)
    node.inner = scope
    models = Models(Frames(node), scope)
    tags = ("model", "include", "frame", "joint") if world.tag == "world" else ("model",)
    _Builder(documents, models).read_content(document, world, scope, "", 0, tags)
    if any(issue.code not in _OF_VALUES for issue in documents.findings.errors):
        documents.findings.raise_errors()  # further errors may follow
    models.frames.resolve()
    return models


class _Builder:
    def __init__(self, documents: Documents, models: Models) -> None:
        self.documents, self.models = documents, models

    def read_content(
        self, document: Document, parent: Element, scope: Scope, prefix: str, level: int, tags: Iterable[str]
    ) -> None:
        """Add the content of a model or a world to a scope, in the order of the document."""
        read = frozenset(tags)
        for child in parent.children:
            if child.tag not in read:
                continue
            match child.tag:
                case "link":
                    scope.links.append(node := self.node(document.reader, child, scope, prefix))
                    self.models.links.append(node)
                case "joint":
                    node = self.node(document.reader, child, scope, prefix)
                    node.carrier_name = document.reader.string(child, "child") or ""
                    self.models.joints.append(node)
                case "frame":
                    node = self.node(document.reader, child, scope, prefix)
                    node.carrier_name = child.attributes.get("attached_to", "").strip()
                    self.models.marks.append(node)
                case "model":
                    self.read_model(document, child, scope, prefix, level)
                case "include":
                    included = self.documents.include(document, child)
                    if included is not None:
                        merge = document.reader.flag_attribute(child, "merge")
                        overrides = _Overrides(child, document.reader, merge)
                        self.read_model(*included, scope, prefix, level, overrides)

    def node(self, reader: SdfReader, element: Element, scope: Scope, prefix: str, name: str | None = None) -> Node:
        """Add a frame for an element to a scope, called ``name`` or by the name that the element states."""
        name = reader.name(element) if name is None else name
        node = Node(prefix + (name or ""), element.tag, element, reader, scope, fixed=scope.owner.fixed)
        node.raw, node.base_name = reader.pose_in(element)
        self.models.frames.add(node)
        if name is None:
            return node
        if _RESERVED.fullmatch(name):
            reader.error(element, "BAD_NAME", f"<{element.tag}>: the name {quoted(name)} is reserved")
        elif SEPARATOR in name and reader.release >= (1, 8):
            message = f"<{element.tag}>: the name {quoted(name)} contains '::', which separates names of nested models"
            reader.error(element, "BAD_NAME", message)
        self.enter(reader, scope, name, node)
        return node

    @staticmethod
    def enter(reader: SdfReader, scope: Scope, name: str, node: Node) -> None:
        """Add a name to a scope, and report a name that is taken.

        Since SDF 1.7 a link, a joint, a model and a frame have distinct names; in earlier versions names are distinct
        within a kind only, and a name of several kinds refers to the link. A repeated name is the error
        DUPLICATE_NAME.
        """
        earlier = scope.names.setdefault(name, node)
        if earlier is node:
            return
        if earlier.kind == node.kind or reader.release >= (1, 7):
            first = f"<{earlier.element.tag}>"
            line = "" if earlier.element.line is None else f" on line {earlier.element.line}"
            message = f"<{node.element.tag}> has the name {quoted(name)} of a {first}{line}"
            reader.error(node.element, "DUPLICATE_NAME", message)
        elif _ORDER.index(node.kind) < _ORDER.index(earlier.kind):
            scope.names[name] = node

    def read_model(
        self,
        document: Document,
        element: Element,
        scope: Scope,
        prefix: str,
        level: int,
        overrides: _Overrides | None = None,
    ) -> None:
        reader = document.reader
        if level >= _MOST_NESTED:
            message = f"more than {_MOST_NESTED} models inside each other"
            raise ModelError(Issue("XML_DEPTH", message, reader.where(element)))
        name = reader.name(element)
        include = None if overrides is None else overrides.include
        if include is not None and (stated := include.first("name")) is not None and stated.text.strip():
            name = stated.text.strip()
        if name is None:
            return
        if overrides is not None and overrides.merge:
            self._merge(document, element, scope, prefix, level, overrides, name)
            return
        node = self.node(reader, element, scope, prefix, name)
        node.kind = "model"
        node.carrier_name = element.attributes.get("canonical_link", "").strip()
        self._override(node, overrides)
        scope.models.append(node)
        inner = Scope(node, reader, outer=scope)
        node.inner = inner
        self.read_content(document, element, inner, f"{node.name}{SEPARATOR}", level + 1, _CONTENT)

    def _override(self, node: Node, overrides: _Overrides | None) -> None:
        """Set the pose of a model, and whether it is static, from its element and the enclosing `<include>`."""
        element, reader = node.element, node.reader
        node.placement_name = element.attributes.get("placement_frame", "").strip()
        node.fixed = node.fixed or reader.flag(element, "static")
        if overrides is None:
            return
        include, reader = overrides.include, overrides.reader
        if include.first("static") is not None and node.scope is not None:
            node.fixed = node.scope.owner.fixed or reader.flag(include, "static")
        if include.first("pose") is not None:
            node.raw, node.base_name = reader.pose_in(include)
        if (placement := include.first("placement_frame")) is not None:
            if include.first("pose") is None:
                reader.error(include, "ELEMENT_MISSING", "<include> with a <placement_frame> needs a <pose>")
            node.placement_name = placement.text.strip()

    def _merge(
        self,
        document: Document,
        element: Element,
        scope: Scope,
        prefix: str,
        level: int,
        overrides: _Overrides,
        name: str,
    ) -> None:
        """Add the content of an included model with the attribute ``merge`` to the model that includes it.

        A frame named "_merged__arm__model__" takes the place of the frame of the merged model "arm".
        """
        proxy = self.node(document.reader, element, scope, prefix, f"_merged__{name}__model__")
        proxy.kind = "frame"
        self._override(proxy, overrides)
        if scope.owner.kind == "world":
            message = "merge: only a <model> can take up the content of a model"
            overrides.reader.error(overrides.include, "UNSUPPORTED", message, "include it without merge")
            return
        if proxy.fixed and not scope.owner.fixed:
            message = "merge: a static model cannot be merged into one that is not static"
            overrides.reader.error(overrides.include, "UNSUPPORTED", message)
            return
        inner = Scope(proxy, document.reader, names=scope.names, outer=scope)
        proxy.inner = inner
        models = len(scope.models)
        self.read_content(document, element, inner, prefix, level + 1, _CONTENT)
        link = element.attributes.get("canonical_link", "").strip()
        first = next((x.name for x in inner.links), "")
        first = first or next((x.name for x in inner.models), "")
        proxy.carrier_name = link or first.removeprefix(prefix)
        proxy.base_name = proxy.base_name or "__model__"
        scope.links += inner.links
        scope.models[models:] = [*scope.models[models:], *inner.models]


_CONTENT = ("link", "joint", "frame", "model", "include")
_ORDER = ("link", "model", "frame", "joint")
