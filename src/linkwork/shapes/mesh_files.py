"""Loading of mesh files: search inside allowed folders, limits on size, checks of the surface.

trimesh (the `mesh` extra) parses bytes only; it does not open the textures and materials that a file names.
"""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.file_access import MESH, Budget, NotRegularError, opened_regular
from linkwork._util.file_search import FileSearch, FileSearchError, Folders, read_folders
from linkwork.shapes.bounding_shapes import convex_hull
from linkwork.shapes.glb_files import CheckImage, checked_glb
from linkwork.shapes.mass_properties import of_triangles
from linkwork.shapes.mesh import Mesh
from linkwork.shapes.mesh_parsing import checked_dae, extra, parsed_triangles
from linkwork.shapes.polytope import Polytope
from linkwork.spatial.arguments import checked_array, checked_string

__all__ = ["LoadedMesh", "load_mesh"]

KINDS = (".stl", ".obj", ".dae", ".ply", ".glb")
MAX_BYTES, MAX_VERTICES = MESH.max_bytes, MESH.max_vertices
_ZIPPED = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
_STL_HEAD, _STL_TRIANGLE = 84, 50  # bytes of a binary STL file: header, and each triangle


class EmptyMeshError(ValueError):
    """A mesh file that is complete and has no triangles."""


@dataclass(frozen=True, eq=False, repr=False)
class LoadedMesh:
    """Triangle mesh of a file: distinct ``vertices`` (n, 3) [m] and ``triangles`` (m, 3) as indices of vertices.

    ``issues`` describes defects in words, such as an open surface or inward orientation.

    ``unit`` is the length unit of the file [m].
    """

    file: Path
    vertices: np.ndarray
    triangles: np.ndarray
    unit: float  # [m] length unit of the file
    issues: tuple[str, ...] = field(default=())

    def __repr__(self) -> str:
        issues = f", {'; '.join(self.issues)}" if self.issues else ""
        return f"<LoadedMesh {self.file.name!r}: {len(self.vertices)} vertices{issues}>"

    def convex_hull(self, max_vertices: int | None = None) -> Polytope:
        """Return the convex hull, or an outer hull of at most ``max_vertices`` vertices; see `convex_hull`.

        Raises ValueError, with the file's name, for a flat mesh.
        """
        try:
            return convex_hull(self.vertices, max_vertices)
        except ValueError as error:
            raise ValueError(f"{self.file}: {error}") from None

    def convex_decomposition(self, max_vertices: int | None = None, *, concavity: float = 0.05) -> tuple[Polytope, ...]:
        """Decompose the mesh approximately into convex components by CoACD (the `decompose` extra).

        Hollows deeper than ``concavity`` are preserved; it is a fraction of the mesh's size from 0.01 to 1.  With
        ``max_vertices``, each component is an outer hull of at most so many vertices.  The components follow the mesh
        to within the concavity, but are not guaranteed to contain all of it.

        Raises ImportError if CoACD is not installed, ValueError for an invalid concavity.

        Source: Wei, Liu, Ling and Su, Approximate convex decomposition for 3D meshes with collision-aware concavity and
        tree search, 2022.
        """
        if not isinstance(concavity, (int, float)) or not 0.01 <= concavity <= 1.0:
            raise ValueError(f"convex_decomposition: concavity: expected a number from 0.01 to 1, got {concavity!r}")
        coacd = extra("coacd", "decompose", "convex_decomposition")
        coacd.set_log_level("error")
        result = coacd.run_coacd(coacd.Mesh(self.vertices, self.triangles), threshold=float(concavity), seed=0)
        components = []
        for points, _ in result:
            try:
                components.append(convex_hull(np.asarray(points, dtype=float), max_vertices))
            except ValueError:  # without volume
                continue
        return tuple(components) or (self.convex_hull(max_vertices),)


def load_mesh(
    uri: str | Mesh,
    folders: Folders,
    *,
    scale: ArrayLike = 1.0,
    unit: float | None = None,
    max_bytes: int = MAX_BYTES,
    max_vertices: int = MAX_VERTICES,
    trusted: bool = True,
    budget: Budget | None = None,
) -> LoadedMesh:
    """Load a mesh file: STL, OBJ, DAE, PLY or GLB.

    Args:
        uri: a name as in a robot's file, ``package://arm/meshes/hand.stl``, ``model://...``, ``file:///...`` or a path;
            or a `Mesh`, whose scale applies in addition.
        folders: where to search, or the folder of each package by its name, as ``package_dirs`` of `linkwork.load`.
            The file must be inside one of them after symbolic links are resolved.  A package is a subfolder of that
            name, or a folder of that name itself.
        scale: a factor, or one for each axis.
        unit: length unit of the file [m]; by default metres, for DAE the unit that the file states.
        max_bytes, max_vertices: limits on the file's size and on the number of distinct vertices.
        trusted: False for a file from a stranger, which trimesh parses in another process, with limits of memory and
            time and without files and network.
        budget: a `linkwork.formats.Budget` with these limits.

    The y axis of a GLB file, which points up in glTF, becomes the z axis, as in RViz, Drake and Blender.
    `LoadedMesh.issues` reports an open or inside-out surface; hulls are valid in spite of such defects.

    Raises FileNotFoundError that lists all paths searched; ValueError for a path outside the folders, an unsupported
    or too large file, a file without triangles and a scale of zero; ImportError without trimesh.
    """
    if isinstance(uri, Mesh):
        mesh, factor = uri, checked_array(scale, "load_mesh: scale: expected a number or three", (), (3,))
        uri, scale = mesh.uri, np.array(mesh.scale) * factor
    name = checked_string(uri, "load_mesh: uri", "the name of a file")
    expected = "load_mesh: scale: expected a non-zero number, or three"
    factors = np.broadcast_to(checked_array(scale, expected, (), (3,)), (3,))
    if not factors.all():
        raise ValueError(f"{expected}, got {scale!r}")
    if unit is not None and not checked_array(unit, "load_mesh: unit: expected a length [m]", ()) > 0.0:
        raise ValueError(f"load_mesh: unit: expected a positive length [m], got {unit!r}")
    trusted = trusted and getattr(folders, "trusted", True)  # of a search for the files of a robot
    source = read_mesh_file(name, folders, max_bytes)
    file, kind = source.file, source.kind
    points, triangles = parsed_triangles(file, kind, source.data, budget or MESH, trusted)
    points = source.with_z_up(points)
    if len(triangles) == 0:
        raise EmptyMeshError(f"{file}: expected triangles, got none")
    if len(points) > 6 * max_vertices:  # STL repeats each about six times
        raise ValueError(f"{file}: too many vertices: the limit is max_vertices={max_vertices}")
    if not np.isfinite(points).all():
        raise ValueError(f"{file}: expected finite coordinates")
    source.check_triangles(triangles, len(points))
    if unit is None:
        unit = source.unit
    unique, index = np.unique(points + 0.0, axis=0, return_inverse=True)
    if len(unique) > max_vertices:
        raise ValueError(f"{file}: {len(unique)} vertices exceed the limit max_vertices={max_vertices}")
    triangles = index.reshape(-1)[triangles]
    a, b, c = triangles.T
    triangles = triangles[(a != b) & (b != c) & (c != a)]
    if len(triangles) == 0:
        raise ValueError(f"{file}: all triangles are degenerate (points and lines)")
    if np.prod(factors) < 0.0:  # mirrored
        triangles = triangles[:, ::-1]
    scaled = unique * factors * float(unit)
    return LoadedMesh(file, scaled, triangles, float(unit), _issues(scaled, triangles))


@dataclass(frozen=True, eq=False, repr=False)
class MeshFile:
    """Bytes of a mesh file that trimesh may parse, and the file's unit of length [m], 1 if not stated."""

    file: Path
    kind: str  # one of KINDS
    data: bytes
    unit: float

    def with_z_up(self, points: np.ndarray) -> np.ndarray:
        """Return points (n, 3) of the file with the z axis up: points of glTF files are rotated by 90° about x."""
        return points[:, [0, 2, 1]] * (1.0, -1.0, 1.0) if self.kind == ".glb" else points

    def check_triangles(self, triangles: np.ndarray, num_vertices: int) -> None:
        """Raise ValueError if a triangle refers to a vertex that does not exist."""
        if not 0 <= triangles.min() <= triangles.max() < num_vertices:
            raise ValueError(f"{self.file}: a triangle refers to a vertex that does not exist")


def read_mesh_file(
    name: str, folders: Folders | FileSearch, max_bytes: int = MAX_BYTES, check_image: CheckImage | None = None
) -> MeshFile:
    """Read the bytes of a mesh file inside one of the folders, with all checks that need no parser of meshes.

    ``check_image`` returns the images in a GLB file to retain; by default none.

    Raises the errors of `load_mesh` for files that are missing, too large, of another type or cut off.
    """
    file = _find(name, folders)
    kind = file.suffix.lower()
    if kind not in KINDS:
        remedy = "; save it as one GLB file" if kind == ".gltf" else ""
        got = repr(file.suffix or "no suffix")
        raise ValueError(f"{file}: expected a mesh of type {', '.join(KINDS)}, got {got}{remedy}")
    data = _read(file, max_bytes)
    if data[:4] in _ZIPPED or zipfile.is_zipfile(io.BytesIO(data)):  # pycollada would unpack it, however large
        raise ValueError(f"{file}: expected the type {kind[1:].upper()}, got a zip archive; unpack it")
    stated = 1.0
    if kind == ".dae":
        stated = checked_dae(file, data)
        extra("collada", "mesh", "load_mesh: DAE files")
    elif kind == ".glb":
        data = checked_glb(file, data, 6 * MAX_VERTICES, check_image)
    else:
        data = _plain_head(kind, data)
    if kind == ".stl" and data.lstrip()[:5].lower() != b"solid":
        if len(data) < _STL_HEAD:
            raise ValueError(f"{file}: expected an STL file, got {len(data)} bytes")
        count = int.from_bytes(data[_STL_HEAD - 4 : _STL_HEAD], "little")
        if len(data) < _STL_HEAD + _STL_TRIANGLE * count:
            raise ValueError(f"{file}: expected {count} triangles, got {(len(data) - _STL_HEAD) // _STL_TRIANGLE}")
    return MeshFile(file, kind, data, stated)


def _issues(points: np.ndarray, triangles: np.ndarray) -> tuple[str, ...]:
    """Return texts that describe the defects of a surface."""
    edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    forward, count = np.unique(edges[:, 0] * len(points) + edges[:, 1], return_counts=True)
    reverse = np.unique(edges[:, 1] * len(points) + edges[:, 0])
    if len(forward) != len(reverse) or (forward != reverse).any():
        missing = len(np.setxor1d(forward, reverse))
        return (f"the surface is open or its triangles' orientations are inconsistent: {missing} unpaired edges",)
    if (count > 1).any():
        return (f"{int((count > 1).sum())} edges belong to more than two triangles",)
    return ("the surface is inside out",) if of_triangles(points, triangles).volume < 0.0 else ()


def _plain_head(kind: str, data: bytes) -> bytes:
    """Replace non-ASCII bytes of a file's text, which occur in unused names and comments, by question marks.

    trimesh would need another package to guess the encoding.  Numbers and binary sections are unchanged.
    """
    end = len(data)
    if kind == ".ply":
        end = data.find(b"end_header") + 1 or end
    elif kind == ".stl" and not _is_text(data):
        return data
    return data[:end].translate(_ASCII) + data[end:]


def _is_text(data: bytes) -> bool:
    """Return True for a text STL file; binary files may begin with "solid", too."""
    count = int.from_bytes(data[_STL_HEAD - 4 : _STL_HEAD], "little")
    return data.lstrip()[:5].lower() == b"solid" and len(data) != _STL_HEAD + _STL_TRIANGLE * count


_ASCII = bytes([*range(128), *(b"?" * 128)])


# -- files


def _find(name: str, folders: Any) -> Path:
    """Return the path of a file inside one of the folders."""
    search = read_folders("load_mesh: folders", folders)
    if not (search.folders or search.packages) or "\0" in name:
        raise ValueError(f"load_mesh: expected a name and folders to search, got {name!r} and {folders!r}")
    try:
        return Path(search.find(name))
    except FileSearchError as error:
        missing = error.code in ("FILE_MISSING", "PACKAGE_UNKNOWN")
        raise (FileNotFoundError if missing else ValueError)(f"mesh {error}") from None


def _read(file: Path, max_bytes: int) -> bytes:
    """Return the bytes of a regular file within the limit."""
    try:
        with opened_regular(file) as (opened, size):
            data = opened.read(min(max_bytes, size) + 1)
    except NotRegularError as error:
        raise ValueError(f"{file}: {error}") from None
    if len(data) > max_bytes:
        raise ValueError(f"{file}: too large: the limit is max_bytes={max_bytes}")
    return data
