"""SDF documents: a robot's own file, and the files of models that it includes.

An included file is searched by `resource_paths` and only in the folders permitted there. All documents together are
within the budget of one, however often a file is included.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from linkwork._util.file_access import Budget
from linkwork._util.messages import nearest, quoted
from linkwork.errors import Issue, ModelError
from linkwork.formats.description import Findings
from linkwork.formats.file_reading import read_regular
from linkwork.formats.registry import FOREIGN_ROOTS, FORMATS
from linkwork.formats.resource_paths import FileSearch, FileSearchError, search_issue
from linkwork.formats.sdf.sdf_elements import SdfReader
from linkwork.formats.sdf.sdf_schema import check
from linkwork.formats.xml_document import Element, parse

__all__ = ["Document", "Documents"]

_MOST_NESTED = 64  # documents that include each other
_MOST_INCLUDED = 10_000
_MANIFESTS = ("model.config", "manifest.xml")
_LIGHTS = ("model://sun", "model://directional_light", "model://point_light", "model://spot_light")


@dataclass(frozen=True, eq=False)
class Document:
    """One SDF document: its root element, its reader, its path, and the paths of the documents that include it."""

    root: Element
    reader: SdfReader
    path: str | None
    outer: tuple[str, ...] = ()
    count: int = 0  # of its elements


@dataclass(eq=False)
class Documents:
    """Reader of SDF documents; the limits of size apply to all of them together."""

    findings: Findings
    search: FileSearch
    budget: Budget
    elements: int = 0
    included: int = 0
    known: dict[str, Document] = field(default_factory=dict)

    def open(self, data: str | bytes, source: str | None) -> Document:
        """Return the document of the robot's own file.  Raises ModelError for a text that is not SDF."""
        return self._document(data, source, ())

    def _document(self, data: str | bytes, source: str | None, outer: tuple[str, ...]) -> Document:
        root = parse(data, source, budget=self.budget)
        if root.tag != "sdf":
            _refuse_other_format(root, SdfReader(source, Findings(), root))
        reader = SdfReader(source, self.findings, root)
        check(reader, root)
        return Document(root, reader, source, outer, _count(root) if outer else 0)

    def include(self, document: Document, include: Element) -> tuple[Document, Element] | None:
        """Return the SDF document that an `<include>` names, and its `<model>` element.

        The result is None for a document with other content, such as a light, and after an error.
        """
        reader = document.reader
        uri = reader.string(include, "uri")
        if uri is None:
            return None
        try:
            path = self._model_file(self.search.find(uri, _folder(document)), reader, include)
        except FileSearchError as error:
            if uri in _LIGHTS:
                reader.note(include, "IGNORED", f"<include> of {uri}, a light, is ignored")
            elif uri == "model://ground_plane":
                message = (
                    "<include> of model://ground_plane, a floor that was not found, is not supported and is ignored"
                )
                reader.warn(include, "UNSUPPORTED", message, "add a floor to the scene, or name the model's folder")
            else:
                self.findings.error(search_issue(error, reader.where(include)))
            return None
        inner = None if path is None else self._inner(document, include, path)
        return None if inner is None else self._only_model(inner, reader, include)

    def _inner(self, document: Document, include: Element, path: str) -> Document | None:
        reader, real = document.reader, os.path.realpath(path)
        outer = (*document.outer, os.path.realpath(document.path) if document.path else "")
        self.included += 1
        if real in outer:
            names = " -> ".join(map(os.path.basename, (*outer[outer.index(real) :], real)))
            reader.error(include, "CYCLE", f"files include each other: {names}")
            return None
        if len(outer) > _MOST_NESTED or self.included > _MOST_INCLUDED:
            limit = f"{_MOST_NESTED} files nested" if len(outer) > _MOST_NESTED else f"{_MOST_INCLUDED} included files"
            raise ModelError(Issue("TOO_LARGE", f"more than the limit of {limit}", reader.where(include)))
        if real not in self.known:
            try:
                data = read_regular(path, self.budget)
            except OSError as error:
                reader.error(include, "FILE_MISSING", f"the included file cannot be read: {error}")
                return None
            self.known[real] = self._document(data, path, outer)
        known = self.known[real]
        self.elements += known.count
        if self.elements > self.budget.max_elements:
            message = f"more than {self.budget.max_elements} elements in all included files"
            raise ModelError(Issue("TOO_LARGE", message, reader.where(include), self.budget.remedy("max_elements")))
        return Document(known.root, known.reader, known.path, outer, known.count)

    def _model_file(self, path: str, reader: SdfReader, include: Element) -> str | None:
        """Return the path of a model's SDF file: ``path``, or for a folder the file that its model.config names."""
        if not os.path.isdir(path):
            return path
        for name in _MANIFESTS:
            manifest = os.path.join(path, name)
            if self.search.allows(manifest) and os.path.isfile(manifest):
                root = parse(read_regular(manifest, self.budget), manifest, budget=self.budget)
                stated = [
                    (_release(element), element.text.strip()) for element in root.all("sdf") if element.text.strip()
                ]
                if not stated:
                    reader.error(include, "ELEMENT_MISSING", f"{manifest} names no file of the model by an <sdf>")
                    return None
                newest = max(release for release, _ in stated)
                return self._inside(path, next(file for release, file in stated if release == newest))
        return self._inside(path, "model.sdf")

    def _inside(self, folder: str, name: str) -> str:
        path = os.path.join(folder, name)
        if os.path.isabs(name) or not self.search.allows(path):
            raise FileSearchError("PATH_ESCAPE", f"{quoted(name)}: the path leads out of the folder {folder}")
        if not os.path.exists(path):
            raise FileSearchError("FILE_MISSING", f"{quoted(name)} was not found", None, [path])
        return path

    def _only_model(self, inner: Document, reader: SdfReader, include: Element) -> tuple[Document, Element] | None:
        models = [*inner.root.all("model")]
        if len(models) == 1:
            return inner, models[0]
        left_out = [child.tag for child in inner.root.children if child.tag in ("light", "actor")]
        if not models and left_out:
            reader.note(include, "IGNORED", f"<include> of {inner.path}, which has a <{left_out[0]}>, is ignored")
            return None
        message = f"expected one <model> in the included file {inner.path}, got {len(models)}"
        reader.error(include, "ELEMENT_MISSING" if not models else "DUPLICATE_ELEMENT", message)
        return None


def _folder(document: Document) -> tuple[str, ...]:
    return () if document.path is None else (os.path.dirname(os.path.abspath(document.path)),)


def _release(element: Element) -> tuple[int, ...]:
    """Return the version of SDF that an `<sdf>` of a model.config states; the lowest version for invalid text."""
    text = element.attributes.get("version", "").strip()
    return tuple(map(int, text.split("."))) if re.fullmatch(r"[0-9]{1,3}\.[0-9]{1,3}", text) else (0,)


def _count(root: Element) -> int:
    return sum(1 for _ in _all(root))


def _all(root: Element) -> Iterator[Element]:
    stack = [root]
    while stack:
        element = stack.pop()
        yield element
        stack.extend(element.children)


def _refuse_other_format(root: Element, reader: SdfReader) -> None:
    formats = {tag: form.title for form in FORMATS for tag in form.roots}
    description = (FOREIGN_ROOTS | formats | {"robot": "a URDF or SRDF file"}).get(root.tag.lower())
    message, hint = f"expected <sdf> as the root of an SDF file, got {quoted(root.tag)}", None
    if description is not None and root.tag.lower() != "sdf":
        message = f"expected <sdf> as the root of an SDF file, got <{root.tag}>: this looks like {description}"
    elif root.tag in ("model", "world"):
        hint = f'put the <{root.tag}> into <sdf version="1.9">'
    else:
        close = nearest(root.tag, ["sdf", *FOREIGN_ROOTS])
        hint = close if close.startswith("did") else None
    raise ModelError(Issue("WRONG_FORMAT", message, reader.where(root), hint))
