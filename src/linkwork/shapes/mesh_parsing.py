"""Triangles of mesh files from their bytes: binary STL is read here, other formats by trimesh (the `mesh` extra).

trimesh reads the bytes of an untrusted file in another process.
"""

from __future__ import annotations

import importlib
import io
import xml.parsers.expat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from linkwork._util.file_access import MESH, Budget
from linkwork._util.reader_process import ReaderEnded, ReaderError, read_isolated

__all__ = ["checked_dae", "extra", "parsed_triangles", "triangles_of_request"]

_STL_HEAD = 84  # bytes of a binary STL file before its triangles
_STL_TRIANGLE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
_WITHOUT_SHAPE = (b"usemtl", b"mtllib", b"o", b"g", b"s", b"vn", b"vt")  # lines of OBJ; trimesh is slow with many
_MAX_INSTANCES = 10_000


def parsed_triangles(
    file: Path, kind: str, data: bytes, budget: Budget, trusted: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return the points (n, 3) and the triangles (m, 3) of a mesh file of a kind, such as ".obj", from its bytes.

    Raises ValueError for a file that cannot be read, ImportError without trimesh.
    """
    if (
        kind == ".stl"
        and len(data) >= _STL_HEAD
        and len(data) == _STL_HEAD + 50 * int.from_bytes(data[80:84], "little")
    ):
        corners = np.frombuffer(data, _STL_TRIANGLE, offset=_STL_HEAD)["corners"]
        return corners.reshape(-1, 3).astype(float), np.arange(3 * len(corners)).reshape(-1, 3)
    request = {"kind": kind}
    try:
        if trusted:
            _, arrays = triangles_of_request(request, data)
        else:
            arrays = read_isolated(
                ("trimesh", __name__), f"{__name__}:triangles_of_request", request, budget=budget, data=data
            ).arrays
        points, triangles = arrays["points"], arrays["triangles"]
        if points.shape[1:] != (3,) or triangles.shape[1:] != (3,):
            raise ValueError(f"expected points and triangles, got shapes {points.shape} and {triangles.shape}")
    except ReaderError as error:
        raise ValueError(f"{file}: not a readable {kind[1:].upper()} file: {error}") from None
    except ReaderEnded as error:
        raise ValueError(f"{file}: the process that reads the file failed: {error}") from None
    except ImportError:
        raise
    except Exception as error:  # readers may raise anything
        raise ValueError(f"{file}: not a readable {kind[1:].upper()} file: {error}") from error
    return points, triangles


def triangles_of_request(request: dict[str, Any], data: bytes) -> tuple[None, dict[str, np.ndarray]]:
    """Read the mesh file in ``data``, of the kind in the request; return None, and points and triangles by name."""
    trimesh = extra("trimesh", "mesh", "load_mesh")
    if request["kind"] == ".obj":
        lines = data.replace(b"\\\n", b" ").splitlines()
        data = b"\n".join(line for line in lines if line.lstrip().split(maxsplit=1)[:1] not in _NO_SHAPE)
    loaded = trimesh.load_mesh(io.BytesIO(data), file_type=request["kind"][1:], process=False)
    points = np.ascontiguousarray(loaded.vertices, dtype=float)
    return None, {"points": points, "triangles": np.ascontiguousarray(loaded.faces, dtype=np.int64)}


_NO_SHAPE = [[word] for word in _WITHOUT_SHAPE]


def extra(module: str, extra: str, caller: str) -> Any:
    """Return a package outside of linkwork.  Raises ImportError, with the command that installs it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        remedy = f'pip install "linkwork[{extra}]"'
        raise ImportError(f"{caller} requires {module}, which is not installed: {remedy}") from error


@dataclass(slots=True)
class _Instances:
    """Nodes of a DAE document by identifier, with the identifiers of the nodes that they instantiate."""

    parts: dict[str, list[str]] = field(default_factory=lambda: {"": []})
    open: list[str] = field(default_factory=lambda: [""])  # the outer nodes; "" is the document

    def begin(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Record the start of an XML element with its attributes."""
        inside = self.parts[self.open[-1]]
        if tag in ("node", "visual_scene"):
            name = attributes.get("id") or f"#{len(self.parts)}"
            inside.append(name)
            self.open.append(name)
            self.parts.setdefault(name, [])
        elif tag.startswith("instance_"):
            inside.append(attributes.get("url", "").rpartition("#")[2])

    def end(self, tag: str) -> None:
        """Record the end of an XML element."""
        if tag in ("node", "visual_scene"):
            self.open.pop()

    def total(self) -> float:
        """Return the total number of node instances in the document; a cycle counts as one instance."""
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
