"""Checks of COLLADA files (DAE) before pycollada parses them: size, depth, document type, and repeated nodes."""

from __future__ import annotations

import xml.parsers.expat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import numpy as np

from linkwork._util.file_budget import MESH

__all__ = ["checked_dae"]

_MAX_INSTANCES = 10_000


@dataclass(slots=True)
class _Instances:
    """Nodes of a document by their identifiers, with the identifiers of the elements that they instantiate."""

    parts: dict[str, list[str]] = field(default_factory=lambda: {"": []})
    open: list[str] = field(default_factory=lambda: [""])  # the outer nodes; "" is the document

    def begin(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Count an element that begins."""
        inside = self.parts[self.open[-1]]
        if tag in ("node", "visual_scene"):
            name = attributes.get("id") or f"#{len(self.parts)}"
            inside.append(name)
            self.open.append(name)
            self.parts.setdefault(name, [])
        elif tag.startswith("instance_"):
            inside.append(attributes.get("url", "").rpartition("#")[2])

    def end(self, tag: str) -> None:
        """Leave a node that ends."""
        if tag in ("node", "visual_scene"):
            self.open.pop()

    def total(self) -> float:
        """Return the number of instances that the document makes; a cycle counts as one instance."""
        counts: dict[str, float] = {}
        begun = set[str]()
        stack = [("", False)]
        while stack:
            name, is_done = stack.pop()
            if is_done:
                counts[name] = min(1.0 + sum(counts.get(part, 1.0) for part in self.parts[name]), 1e30)
            elif name not in begun and name in self.parts:
                begun.add(name)
                stack += [(name, True), *((part, False) for part in self.parts[name])]
        return counts[""]


def checked_dae(file: Path, data: bytes) -> float:
    """Return the length unit [m] that a DAE file states; 1 by default.

    Raises ValueError for invalid XML, a DOCTYPE in any encoding, XML with too many or too deeply nested elements, and
    nodes that repeat each other too often.  A DOCTYPE could expand the document without bound.
    """
    parser = xml.parsers.expat.ParserCreate()
    depth = count = 0
    units: list[str] = []
    instances = _Instances()

    def refuse(*_: object) -> NoReturn:
        raise ValueError(f"{file}: DAE files with a DOCTYPE are refused: it could expand without bound")

    def begin(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth, count
        depth, count = depth + 1, count + 1
        name = tag.rpartition(":")[2]
        if name == "unit" and "meter" in attributes:
            units.append(attributes["meter"])
        instances.begin(name, attributes)
        if depth > MESH.max_depth or count > MESH.max_elements:
            limits = f"{MESH.max_elements} elements, or elements more than {MESH.max_depth} deep"
            raise ValueError(f"{file}: more than {limits}")

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        instances.end(tag.rpartition(":")[2])

    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler, parser.EndElementHandler = begin, end
    try:
        parser.Parse(data, True)
    except (xml.parsers.expat.ExpatError, LookupError, UnicodeError) as error:
        raise ValueError(f"{file}: not a readable DAE file: {error}") from None
    if instances.total() > _MAX_INSTANCES:
        raise ValueError(f"{file}: its nodes make more than {_MAX_INSTANCES} instances of each other and of meshes")
    try:
        unit = float(units[0]) if units else 1.0
    except ValueError:
        return 1.0
    return unit if 0.0 < unit < np.inf else 1.0
