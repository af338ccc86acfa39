"""Errors of MuJoCo's compiler: the element and line of each, and errors after the first.

The compiler ends at its first error.  To find further ones, the element that it names is changed in memory until the
compiler accepts it or names another element: a class or type gets the nearest known name, an attribute is left out, its
numbers are set to 1, or the element is left out.  Elements that others refer to by name stay.  The search ends where no
such change helps, so it may list too few errors.  Left out as consequences are further errors of an element that is
listed, of an element around it, and of elements that took a class of defaults or a kind of shape from it.
"""

from __future__ import annotations

import os
import re
import struct
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from typing import Any

from linkwork._util.messages import quoted
from linkwork.errors import Issue, Location
from linkwork.formats.description import Findings
from linkwork.formats.mjcf.model_files import ModelFiles, every_element
from linkwork.formats.xml_document import Element

__all__ = ["Compiler", "compiler_issue", "further_issues"]

Compiler = Callable[[Mapping[str, bytes]], "tuple[Any, str]"]
"""Compiler of a model with other content of some files: returns the model, or None and MuJoCo's message."""

_MOST_COMPILATIONS = 100  # for further errors: bounds their time
_MOST_SECONDS = 5.0  # after which no further compilation begins
_MOST_BYTES = 1 << 21  # of documents and assets that are compiled again for further errors
_LINE = re.compile(r"\bline (\d+)")
_ELEMENT = re.compile(r"Element (?:name )?'([^']*)'")
_KINDS = re.compile(r"\b(body|joint|geom|site|camera|light|mesh|material|texture|hfield|tendon|actuator|key(?=frame))")
_TAG = re.compile(r"""<(?:[^"'<>]+|"[^"]*"|'[^']*')*>""")
_NUMERIC_TEXT = re.compile(r"[\s\deE.+-]*\d[\s\deE.+-]*|[\s\w.+-]*\b(?:inf|nan)\b[\s\w.+-]*", re.IGNORECASE)
_INHERITED = {"childclass", "class", "mesh", "type"}  # attributes on which errors of other elements depend
_TYPES = ("hinge", "slide", "ball", "free", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh", "plane")
_CORNERS = ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
_FACES = ((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3))
_MESHES = {  # a tetrahedron, by the ending of a file
    ".obj": "".join(
        [f"v {x} {y} {z}\n" for x, y, z in _CORNERS] + [f"f {i + 1} {j + 1} {k + 1}\n" for i, j, k in _FACES]
    ).encode(),
    ".stl": struct.pack("<80xI", len(_FACES))
    + b"".join(struct.pack("<12f2x", 0.0, 0.0, 0.0, *_CORNERS[i], *_CORNERS[j], *_CORNERS[k]) for i, j, k in _FACES),
}
_INERTIAL = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'


def compiler_issue(text: str, file: str | None, files: ModelFiles | None) -> Issue:
    """Convert an error message of MuJoCo to an issue, with the element and the line that the message names."""
    message = " ".join(text.split())
    for name, where in ({} if files is None else files.missing).items():
        if os.path.basename(name.replace("\\", "/")) in message:
            message_text = f"the file {quoted(name)} is not found: MuJoCo needs it ({message})"
            hint = "place it in the folder of the model, or in those of its meshdir, texturedir or assetdir"
            return Issue("FILE_MISSING", message_text, where, hint)
    line_match, named = _LINE.search(message), _ELEMENT.search(message)
    line = int(line_match[1]) if line_match and files is not None and files.documents == 1 else None
    where = Location(file, line, None, named[1] if named else None)
    if named and files is not None and line is None:
        locations = {(x.file, x.line): x for (_, name), x in files.lines.items() if name == named[1]}
        if len(locations) == 1:
            where = next(iter(locations.values()))
    return Issue("COMPILER", f"MuJoCo cannot compile the model: {message}", where)


def further_issues(text: str, files: ModelFiles, compiler: Compiler, findings: Findings) -> Any:
    """Record MuJoCo's errors after its first message ``text``; return a model without them.

    The model is None if the search ends before one compiles. Elements that `ModelFiles.faults` lists are changed, too.
    """
    return _Search(files, compiler).run(text, findings)


@dataclass(slots=True)
class _Changes:
    """Changes of elements: values of attributes (None: left out), elements left out, elements added inside."""

    values: dict[Element, dict[str, str | None]] = field(default_factory=dict)
    left_out: set[Element] = field(default_factory=set)
    added: dict[Element, str] = field(default_factory=dict)

    def with_changes(self, further: _Changes) -> _Changes:
        values = {element: dict(changes) for element, changes in self.values.items()}
        for element, changes in further.values.items():
            values.setdefault(element, {}).update(changes)
        return _Changes(values, self.left_out | further.left_out, self.added | further.added)

    def elements(self) -> list[Element]:
        return [*dict.fromkeys((*self.values, *self.left_out, *self.added))]


class _Search:
    """Search for the errors of a model after the first."""

    def __init__(self, files: ModelFiles, compiler: Compiler) -> None:
        self.files, self.compiler = files, compiler
        self.left, self.end = _MOST_COMPILATIONS, time.monotonic() + _MOST_SECONDS
        self.changes = _Changes()
        self.blamed: set[Element] = set()
        self.supplied: dict[str, bytes] = {}  # meshes in the place of missing files

    def run(self, text: str, findings: Findings) -> Any:
        model: Any = None
        element: Element | None
        is_first = not self.files.faults
        if sum(map(len, self.files.texts.values())) + self.files.asset_bytes > _MOST_BYTES:
            return None
        for element, key in self.files.faults:
            self.blamed.add(element)
            self.changes = self.changes.with_changes(_Changes({element: {key: None}}))
        if self.files.faults:
            model, text = self.compiled(self.changes)
        while text and self.may_continue:
            element = self.named(text)
            if not is_first and element not in self.blamed:
                findings.error(compiler_issue(text, self.main, self.files))
            is_first = False
            if element is None:
                if not self.supply(text):
                    break
                model, text = self.compiled(self.changes)
                continue
            self.blamed.add(element)
            repair = self.repair(element, text)
            if repair is None:
                break
            self.changes, model, text = repair
            self.blamed |= {*self.dependent(element)}
        return model

    def dependent(self, element: Element) -> Iterator[Element]:
        """Yield elements that use ``element`` as a class of defaults or a kind of shape.

        A change of ``element`` may cause errors in them.
        """
        changes = self.changes.values.get(element, {})
        changed = {key for key in _INHERITED if changes.get(key, "") is None}
        if "childclass" in changed:
            yield from (x for x in every_element(element) if "class" not in x.attributes)
        if changed and any(x.tag == "default" for x in _with_ancestors(element)):
            yield from (x for x in self.every if element.tag in ("default", x.tag))

    def supply(self, text: str) -> bool:
        """Add a small mesh in place of the missing file that ``text`` names; return False if it names none."""
        for name in self.files.missing:
            base = os.path.basename(name.replace("\\", "/"))
            content = _MESHES.get(os.path.splitext(base)[1].lower())
            if base in text and content is not None and name not in self.supplied:
                self.supplied |= {name: content, base: content}
                return True
        return False

    @property
    def may_continue(self) -> bool:
        return self.left > 0 and time.monotonic() < self.end

    @property
    def main(self) -> str:
        return next(iter(self.files.texts))

    @cached_property
    def every(self) -> dict[Element, str]:
        """All elements of the documents, with the file of each."""
        return {element: file for file, root in self.files.roots.items() for element in every_element(root)}

    @cached_property
    def values(self) -> dict[str, int]:
        """Number of occurrences in the documents of each attribute value, and of each word of a value."""
        counts: dict[str, int] = {}
        for element in self.every:
            for value in element.attributes.values():
                for word in {value, *value.split()}:
                    counts[word] = counts.get(word, 0) + 1
        return counts

    def known(self, key: str) -> list[str]:
        """Return the known names for the attribute ``key``: of classes of defaults, or of types."""
        if key in ("class", "childclass"):
            classes = (x.attributes.get("class", "") for x in self.every if x.tag == "default")
            return [*dict.fromkeys(filter(None, classes))]
        return [*_TYPES] if key == "type" else []

    def compiled(self, changes: _Changes) -> tuple[Any, str]:
        self.left -= 1
        written = self.written(changes)
        return self.compiler({**self.supplied, **written}) if written is not None else (None, "")

    def named(self, text: str) -> Element | None:
        """Return the element that a message names by its line, or by a name that only one element has."""
        message = " ".join(text.split())
        line_match, named = _LINE.search(message), _ELEMENT.search(message)
        if line_match and len(self.files.texts) == 1:
            at_line = [x for x in self.every if x.line == int(line_match[1])]
            inner = [x for x in at_line if not any(child in at_line for child in x.children)]
            kinds = {named[1] if named else "", *_KINDS.findall(message)}
            by_name = [x for x in at_line if named and named[1] and x.attributes.get("name") == named[1]]
            for chosen in (by_name, inner, [x for x in at_line if x.tag in kinds]):
                if len(chosen) == 1:
                    return chosen[0]
            return None
        by_name = [x for x in self.every if named and named[1] and x.attributes.get("name") == named[1]]
        kind = _KINDS.search(message)
        if len(by_name) > 1 and kind:
            by_name = [x for x in by_name if x.tag == kind[1]]
        return by_name[0] if len(by_name) == 1 else None

    def repair(self, element: Element, text: str) -> tuple[_Changes, Any, str] | None:
        """Return changes after which MuJoCo no longer reports the error ``text`` of ``element``.

        With them come the compiled model, or None, and MuJoCo's next message.
        """
        around = {*_with_ancestors(element)}
        for candidate in self.candidates(element, text):
            if not self.may_continue:
                return None
            changes = self.changes.with_changes(candidate)
            model, message = self.compiled(changes)
            if model is not None:
                return changes, model, ""
            following = self.named(message)
            if message and message != text and following not in around:
                return changes, None, message
        return None

    def candidates(self, element: Element, text: str) -> Iterator[_Changes]:
        """Yield changes that may remove the error ``text`` of an element.

        Changes of attributes that ``text`` names come first.
        """
        words = {*re.findall(r"\w+", text), *re.findall(r"'([^']*)'", text)}
        for key, value in sorted(element.attributes.items(), key=lambda item: words.isdisjoint((item[0], item[1]))):
            if key == "name" and self.values[value] < 2:
                continue
            for near in get_close_matches(value, self.known(key), cutoff=0.5):
                yield _Changes({element: {key: near}})
            yield _Changes({element: {key: None}})
            if _NUMERIC_TEXT.fullmatch(value):
                yield _Changes({element: {key: _ones(value)}})
        inner = [child for child in element.children if child.tag != "body"]
        for child in inner:
            numeric = {key: _ones(value) for key, value in child.attributes.items() if _NUMERIC_TEXT.fullmatch(value)}
            if numeric:
                yield _Changes({child: {**numeric}})
            for key, value in numeric.items():
                yield _Changes({child: {key: value}})
        if element.tag == "body" and element.first("inertial") is None:
            yield _Changes(added={element: _INERTIAL})
        for candidate in (*inner, element):
            name = candidate.attributes.get("name")
            if not candidate.children and candidate.parent is not None and (not name or self.values[name] < 2):
                yield _Changes(left_out={candidate})

    def written(self, changes: _Changes) -> dict[str, bytes] | None:
        """Return the changed documents by file; None if a tag is not found. Lines of all elements are unchanged."""
        edits: dict[str, list[tuple[int, int, str]]] = {}
        for element in changes.elements():
            file = self.every[element]
            text, start = self.text(file), self.start(element, file)
            tag = _TAG.match(text, start)
            if tag is None or not tag[0].startswith("<" + element.tag):
                return None
            end, breaks = tag.end(), "\n" * tag[0].count("\n")
            if element in changes.left_out:
                if not tag[0].endswith("/>"):
                    closing = re.compile(rf"\s*</{re.escape(element.tag)}\s*>").match(text, end)
                    if closing is None:
                        return None
                    end, breaks = closing.end(), breaks + "\n" * closing[0].count("\n")
                edits.setdefault(file, []).append((start, end, breaks))
                continue
            stated = {**element.attributes, **changes.values.get(element, {})}
            values = "".join(f' {key}="{_escaped(value)}"' for key, value in stated.items() if value is not None)
            added = changes.added.get(element, "")
            if tag[0].endswith("/>"):
                closed = f">{added}</{element.tag}>" if added else "/>"
            else:
                closed = f">{added}"
            edits.setdefault(file, []).append((start, end, f"<{element.tag}{values}{breaks}{closed}"))
        result = {}
        for file, replaced in edits.items():
            text, at, content = self.text(file), 0, ""
            for start, end, new in sorted(replaced):
                if start < at:
                    return None
                content, at = content + text[at:start] + new, end
            result[os.path.abspath(file)] = (content + text[at:]).encode()
        return result

    def text(self, file: str) -> str:
        return self.files.texts[file].decode("utf-8", "replace").removeprefix("\ufeff")

    def start(self, element: Element, file: str) -> int:
        """Return the position in its document's text at which the tag of ``element`` begins."""
        text, at = self.text(file), 0
        for _ in range((element.line or 1) - 1):
            at = text.find("\n", at) + 1
        return at + (element.column or 1) - 1


def _with_ancestors(element: Element | None) -> Iterator[Element]:
    while element is not None:
        yield element
        element = element.parent


def _ones(value: str) -> str:
    return " ".join("1" for _ in value.split())


def _escaped(value: str) -> str:
    return value.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
