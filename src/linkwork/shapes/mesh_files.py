"""Mesh files, opened when somebody asks: found inside of given folders, read within limits, looked at.

trimesh reads them (the `mesh` extra), from bytes: it opens no file, and no texture or material that a file names.
"""

from __future__ import annotations

import importlib
import io
import os
import stat
import xml.parsers.expat
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from linkwork.shapes.bounding_shapes import convex_hull
from linkwork.shapes.mass_properties import of_triangles
from linkwork.shapes.mesh import Mesh
from linkwork.shapes.polytope import Polytope
from linkwork.spatial.arguments import given_numbers, given_text

__all__ = ["LoadedMesh", "load_mesh"]

KINDS = (".stl", ".obj", ".dae", ".ply")
MAX_BYTES = 100_000_000
MAX_VERTICES = 1_000_000
MAX_ELEMENTS, MAX_DEPTH = 2_000_000, 256  # of XML
_ZIPPED = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
_STL_HEAD, _STL_TRIANGLE = 84, 50  # bytes of binary files: what is before the triangles, and each of them


@dataclass(frozen=True, eq=False, repr=False)
class LoadedMesh:
    """The triangles of a file [m]: ``vertices`` (n, 3), no two of them the same, and ``triangles`` (m, 3) by their
    indices.  ``issues`` says what is odd about them, in words: an open surface, one that is inside out.
    """

    file: Path
    vertices: np.ndarray
    triangles: np.ndarray
    unit: float  # [m], that of the file's numbers
    issues: tuple[str, ...] = field(default=())

    def __repr__(self) -> str:
        odd = f", {'; '.join(self.issues)}" if self.issues else ""
        return f"<LoadedMesh {self.file.name!r}: {len(self.vertices)} vertices{odd}>"

    def convex_hull(self, max_vertices: int | None = None) -> Polytope:
        """Its convex hull, or an outer hull of so many vertices; see `convex_hull`.

        Raises ValueError, with the file's name, where it is flat.
        """
        try:
            return convex_hull(self.vertices, max_vertices)
        except ValueError as error:
            raise ValueError(f"{self.file}: {error}") from None

    def convex_pieces(self, max_vertices: int | None = None, *, concavity: float = 0.05) -> tuple[Polytope, ...]:
        """Convex pieces that together make up the mesh, nearly: a hollow is kept where it is deeper than ``concavity``,
        a fraction of the mesh's size from 0.01 to 1.  With ``max_vertices``, outer hulls of so many vertices each.

        By CoACD, the `decompose` extra [Wei, Liu, Ling and Su, Approximate convex decomposition for 3D meshes with
        collision-aware concavity and tree search, 2022].  Pieces follow the mesh to within its concavity, and are not
        proved to hold all of it.  Raises ImportError where it is not installed, ValueError.
        """
        if not isinstance(concavity, (int, float)) or not 0.01 <= concavity <= 1.0:
            raise ValueError(f"convex_pieces: concavity: expected a number from 0.01 to 1, got {concavity!r}")
        coacd = _extra("coacd", "decompose", "convex_pieces")
        coacd.set_log_level("error")
        result = coacd.run_coacd(coacd.Mesh(self.vertices, self.triangles), threshold=float(concavity), seed=0)
        pieces = []
        for points, _ in result:
            try:
                pieces.append(convex_hull(np.asarray(points, dtype=float), max_vertices))
            except ValueError:  # a piece without volume
                continue
        return tuple(pieces) or (self.convex_hull(max_vertices),)


def load_mesh(
    uri: str | Mesh,
    folders: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    scale: ArrayLike = 1.0,
    unit: float | None = None,
    max_bytes: int = MAX_BYTES,
    max_vertices: int = MAX_VERTICES,
) -> LoadedMesh:
    """Opens a mesh's file: STL, OBJ, DAE or PLY.

    ``uri`` is a name as a robot's file gives it, ``package://arm/meshes/hand.stl``, ``file:///...`` or a path, or the
    `Mesh` itself with its own scale.  It is looked for in ``folders``, and must lie in one of them when symbolic links
    have been followed; a package is a folder of that name in one of them, or one of them.  ``scale`` multiplies the
    numbers, or each axis; ``unit`` [m] is what they are in: metres, if it is left out, but for DAE what the file says.

    What is odd, a surface that is open or inside out, is told by `LoadedMesh.issues`; hulls are what they are all the
    same.  Raises FileNotFoundError with all places where it was looked for, ValueError for a path out of the folders, a
    file of another type, too large, or without triangles, and for a scale of zero; ImportError without trimesh.
    """
    if isinstance(uri, Mesh):
        mesh, given = uri, given_numbers(scale, "load_mesh: scale: expected a number or three", (), (3,))
        uri, scale = mesh.uri, np.array(mesh.scale) * given
    name = given_text(uri, "load_mesh: uri", "the name of a file")
    expected = "load_mesh: scale: expected a number or three, none of them zero"
    factors = np.broadcast_to(given_numbers(scale, expected, (), (3,)), (3,))
    if not factors.all():
        raise ValueError(f"{expected}, got {scale!r}")
    if unit is not None and not given_numbers(unit, "load_mesh: unit: expected a length [m]", ()) > 0.0:
        raise ValueError(f"load_mesh: unit: expected a positive length [m], got {unit!r}")
    file = _found(name, folders)
    kind = file.suffix.lower()
    if kind not in KINDS:
        raise ValueError(f"{file}: expected a mesh of type {', '.join(KINDS)}, got {file.suffix or 'no suffix'!r}")
    data = _read(file, max_bytes)
    if data[:4] in _ZIPPED or zipfile.is_zipfile(io.BytesIO(data)):  # pycollada would unpack it, however large
        raise ValueError(f"{file}: expected the type {kind[1:].upper()}, this is a zip archive: unpack it")
    trimesh = _extra("trimesh", "mesh", "load_mesh")
    stated = 1.0
    if kind == ".dae":
        stated = _read_unit(file, data)
        _extra("collada", "mesh", "load_mesh: DAE files")
    else:
        data = _plain_head(kind, data)
    if kind == ".stl" and len(data) >= _STL_HEAD and data.lstrip()[:5].lower() != b"solid":
        count = int.from_bytes(data[_STL_HEAD - 4 : _STL_HEAD], "little")
        if len(data) < _STL_HEAD + _STL_TRIANGLE * count:
            raise ValueError(f"{file}: expected {count} triangles, got {(len(data) - _STL_HEAD) // _STL_TRIANGLE}")
    try:
        loaded = trimesh.load_mesh(io.BytesIO(data), file_type=kind[1:], process=False)
        points = np.asarray(loaded.vertices, dtype=float)
        triangles = np.asarray(loaded.faces, dtype=int)
    except Exception as error:  # whatever a reader of files may raise
        raise ValueError(f"{file}: not a {kind[1:].upper()} file that can be read: {error}") from error
    if len(triangles) == 0:
        raise ValueError(f"{file}: there are no triangles in it")
    if len(points) > 6 * max_vertices:  # STL writes each about six times
        raise ValueError(f"{file}: it has more vertices than the limit, max_vertices={max_vertices}")
    if not np.isfinite(points).all():
        raise ValueError(f"{file}: there are coordinates that are not finite")
    if unit is None:
        unit = stated
    unique, index = np.unique(points + 0.0, axis=0, return_inverse=True)
    if len(unique) > max_vertices:
        raise ValueError(f"{file}: {len(unique)} vertices are more than the limit, max_vertices={max_vertices}")
    triangles = index.reshape(-1)[triangles]
    a, b, c = triangles.T
    triangles = triangles[(a != b) & (b != c) & (c != a)]
    if len(triangles) == 0:
        raise ValueError(f"{file}: its triangles are points and lines")
    if np.prod(factors) < 0.0:  # mirrored
        triangles = triangles[:, ::-1]
    scaled = unique * factors * float(unit)
    return LoadedMesh(file, scaled, triangles, float(unit), _issues(scaled, triangles))


def _issues(points: np.ndarray, triangles: np.ndarray) -> tuple[str, ...]:
    """What is odd about a surface."""
    edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    way, count = np.unique(edges[:, 0] * len(points) + edges[:, 1], return_counts=True)
    back = np.unique(edges[:, 1] * len(points) + edges[:, 0])
    if len(way) != len(back) or (way != back).any():
        missing = len(np.setxor1d(way, back))
        return (f"the surface is open, or its triangles turn different ways: {missing} edges have one side",)
    if (count > 1).any():
        return (f"{int((count > 1).sum())} edges are of more than two triangles",)
    return ("the surface is inside out",) if of_triangles(points, triangles).volume < 0.0 else ()


def _read_unit(file: Path, data: bytes) -> float:
    """The unit [m] that a DAE file states, metres if it says none.

    Raises ValueError for what is no XML, has a DOCTYPE, in whatever encoding, or is nested or long beyond bounds.  A
    DOCTYPE could make the document grow without bound.
    """
    parser = xml.parsers.expat.ParserCreate()
    depth = count = 0
    units: list[str] = []

    def refuse(*_: object) -> NoReturn:
        raise ValueError(f"{file}: a DAE file with a DOCTYPE is not read: it could grow without bound")

    def begin(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth, count
        depth, count = depth + 1, count + 1
        if tag.rpartition(":")[2] == "unit" and "meter" in attributes:
            units.append(attributes["meter"])
        if depth > MAX_DEPTH or count > MAX_ELEMENTS:
            raise ValueError(f"{file}: more than {MAX_ELEMENTS} elements, or elements more than {MAX_DEPTH} deep")

    def end(*_: object) -> None:
        nonlocal depth
        depth -= 1

    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler, parser.EndElementHandler = begin, end
    try:
        parser.Parse(data, True)
    except (xml.parsers.expat.ExpatError, LookupError, UnicodeError) as error:
        raise ValueError(f"{file}: not a DAE file that can be read: {error}") from None
    try:
        unit = float(units[0]) if units else 1.0
    except ValueError:
        return 1.0
    return unit if 0.0 < unit < np.inf else 1.0


def _plain_head(kind: str, data: bytes) -> bytes:
    """The file with question marks for all that is not ASCII in its text: names and comments, which are not used.

    trimesh would need another package to guess the encoding.  Numbers, and binary parts, stay as they are.
    """
    end = len(data)
    if kind == ".ply":
        end = data.find(b"end_header") + 1 or end
    elif kind == ".stl" and not _is_text(data):
        return data
    return data[:end].translate(_ASCII) + data[end:]


def _is_text(data: bytes) -> bool:
    """Return True for an STL file of text; a binary one may begin with "solid" as well."""
    count = int.from_bytes(data[_STL_HEAD - 4 : _STL_HEAD], "little")
    return data.lstrip()[:5].lower() == b"solid" and len(data) != _STL_HEAD + _STL_TRIANGLE * count


_ASCII = bytes([*range(128), *(b"?" * 128)])


def _extra(module: str, extra: str, caller: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        remedy = f'pip install "linkwork[{extra}]"'
        raise ImportError(f"{caller} takes {module}, which is not installed: {remedy}") from error


# -- files


def _found(name: str, folders: Any) -> Path:
    """The file of a name, inside one of the folders."""
    given = [folders] if isinstance(folders, (str, os.PathLike)) else folders
    try:
        roots = [Path(folder).expanduser() for folder in given]
    except TypeError:
        raise ValueError(f"load_mesh: folders: expected paths of folders, got {folders!r}") from None
    if not roots or "\0" in name:
        raise ValueError(f"load_mesh: expected a name and folders to look in, got {name!r} and {folders!r}")
    for root in roots:
        if not root.is_dir():
            raise ValueError(f"load_mesh: folders: {str(root)!r} is no folder")
    tried: list[Path] = []
    escaped: list[Path] = []
    for root in roots:
        for place in _places(name, root):
            real = Path(os.path.realpath(place))
            if not real.is_relative_to(os.path.realpath(root)):
                escaped.append(place)
            elif place.exists():
                return place
            tried.append(place)
    if any(place.exists() for place in escaped) or len(escaped) == len(tried):
        raise ValueError(f"mesh {name!r}: the path leads out of the folders {', '.join(map(str, roots))}")
    looked = "".join(f"\n    {place}" for place in tried)
    raise FileNotFoundError(f"mesh {name!r} was not found; it was looked for as{looked}")


def _places(name: str, root: Path) -> list[Path]:
    if name.startswith(("package://", "model://")):
        package, _, rest = name.partition("://")[2].partition("/")
        return [root / package / rest, *([root / rest] if root.resolve().name == package else [])]
    path = name.removeprefix("file://")
    if "://" in path:
        raise ValueError(f"mesh {name!r}: expected package://, file:// or a path")
    return [root / path]


def _read(file: Path, max_bytes: int) -> bytes:
    """The bytes of a regular file, no more than allowed."""
    if not stat.S_ISREG(os.stat(file).st_mode):  # before opening: opening a pipe waits
        raise ValueError(f"{file}: expected a regular file")
    with open(file, "rb") as opened:
        data = opened.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise ValueError(f"{file}: it has more bytes than the limit, max_bytes={max_bytes}")
    return data
