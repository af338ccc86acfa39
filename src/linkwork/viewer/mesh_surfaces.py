"""Surfaces of mesh files, with the colours and textures that the files state; large meshes are decimated.

trimesh parses the bytes of the file.  Further files that a mesh names (materials and textures) are read only inside the
folders of the mesh's search, within limits.
"""

from __future__ import annotations

import io
import os
import re
import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from linkwork._util.color_spaces import LinearColors, srgb_from_linear
from linkwork._util.file_access import MESH
from linkwork._util.file_search import FileSearch, FileSearchError
from linkwork._util.lazy_imports import optional_module
from linkwork._util.reader_process import ReaderEnded, ReaderError, read_isolated
from linkwork._util.thread_safety import BoundedCache
from linkwork.formats.description import MeshFile, read_mesh_file
from linkwork.shapes import Mesh
from linkwork.viewer.document import Color, Surface
from linkwork.viewer.textures import MAX_BYTES as MAX_TEXTURE_BYTES
from linkwork.viewer.textures import check_decodes, encoded_texture
from linkwork.viewer.triangles import decimated, smooth_surface

__all__ = ["MeshSurfaces", "mesh_surfaces"]

MAX_TRIANGLES = 30_000  # of a mesh as drawn
_MAX_MATERIAL_BYTES = 1_000_000  # of an MTL file
_MAX_FILES = 64  # that one mesh may name
_MAX_CACHED_BYTES = 200_000_000
_IMAGES = (".png", ".jpg", ".jpeg")


@dataclass(frozen=True)
class MeshSurfaces:
    """Surfaces of a mesh file in the file's frame, each with the colour that the file states, or None."""

    surfaces: tuple[tuple[Surface, Color | None], ...]
    notes: tuple[str, ...] = ()

    @property
    def num_bytes(self) -> int:
        """Memory of all arrays and textures [bytes]."""
        arrays = [a for s, _ in self.surfaces for a in (s.vertices, s.triangles, s.normals, s.colors, s.uv)]
        textures = [len(s.texture) for s, _ in self.surfaces if s.texture is not None]
        return sum(a.nbytes for a in arrays if a is not None) + sum(textures)


_CACHE: BoundedCache[tuple[Any, ...], MeshSurfaces] = BoundedCache(_MAX_CACHED_BYTES, lambda mesh: mesh.num_bytes)


def mesh_surfaces(mesh: Mesh, search: FileSearch) -> MeshSurfaces:
    """Return the surfaces of a mesh file, with its scale applied.

    Results are cached by the file's path, time and size.  Raises the errors of `linkwork.shapes.load_mesh`.
    """
    path = _path(mesh, search)
    status = os.stat(path)
    key = (path, status.st_mtime_ns, status.st_size, mesh.scale, search.allowed)
    result = _CACHE.get(key)
    if result is None:
        result = _CACHE.keep(key, _loaded(mesh, search) if search.trusted else _isolated(mesh, search))
    return result


def _path(mesh: Mesh, search: FileSearch) -> str:
    try:
        return search.find(mesh.uri)
    except FileSearchError as error:
        raise (FileNotFoundError if error.code in ("FILE_MISSING", "PACKAGE_UNKNOWN") else ValueError)(
            f"mesh {error}"
        ) from None


def _isolated(mesh: Mesh, search: FileSearch) -> MeshSurfaces:
    """Return the surfaces of an untrusted mesh file, which another process reads."""
    request = {"uri": mesh.uri, "scale": [*mesh.scale], "folders": search.folders, "packages": search.packages}
    task = f"{__name__}:surfaces_of_request"
    try:
        answer = read_isolated(("trimesh", "PIL.Image", __name__), task, request, budget=MESH, folders=search.allowed)
    except ReaderEnded as error:
        raise ValueError(f"mesh {mesh.uri!r}: the process that reads the file failed: {error}") from None
    except ReaderError as error:
        raise error.of(FileNotFoundError, ImportError) from None
    surfaces: list[tuple[Surface, Color | None]] = []
    for k, color in enumerate(answer.data["colors"]):
        attributes = {name: answer.arrays.get(f"{k}.{name}") for name in ("normals", "colors", "uv")}
        texture = answer.arrays.get(f"{k}.texture")
        vertices, triangles = answer.arrays[f"{k}.vertices"], answer.arrays[f"{k}.triangles"]
        if vertices.shape[1:] != (3,) or triangles.shape[1:] != (3,) or triangles.max(initial=0) >= len(vertices):
            raise ValueError(f"mesh {mesh.uri!r}: the process that reads the file returned invalid triangles")
        image = None if texture is None else texture.tobytes()
        surface = Surface(vertices, triangles, texture=image, **attributes)
        rgba: Any = None if color is None else tuple(map(float, color))
        surfaces.append((surface, rgba))
    return MeshSurfaces(tuple(surfaces), tuple(map(str, answer.data["notes"])))


def surfaces_of_request(request: dict[str, Any], data: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read the mesh file in ``data``; return colours and notes of its surfaces, and arrays by name."""
    packages = tuple((name, folder) for name, folder in request["packages"])
    mesh = Mesh(request["uri"], request["scale"])
    result = _loaded(mesh, FileSearch(tuple(request["folders"]), packages))
    arrays: dict[str, np.ndarray] = {}
    for k, (surface, _) in enumerate(result.surfaces):
        attributes = {name: getattr(surface, name) for name in ("vertices", "triangles", "normals", "colors", "uv")}
        if surface.texture is not None:
            attributes["texture"] = np.frombuffer(surface.texture, np.uint8)
        arrays |= {f"{k}.{name}": array for name, array in attributes.items() if array is not None}
    return {"colors": [color for _, color in result.surfaces], "notes": result.notes}, arrays


def _loaded(mesh: Mesh, search: FileSearch) -> MeshSurfaces:
    notes: list[str] = []

    def may_decode(image: bytes, name: str) -> int:
        try:
            return check_decodes(image, name)
        except ValueError as error:
            notes.append(f"{Path(mesh.uri).name}: {error}")
            return 0

    source = read_mesh_file(mesh.uri, search, check_image=may_decode)
    trimesh = optional_module("trimesh", "mesh files need trimesh", "viewer")
    if source.kind == ".obj" and len(_PARTS.findall(source.data)) > _MAX_PARTS:
        notes.append(f"{source.file.name}: drawn without its more than {_MAX_PARTS} groups and materials")
        source = replace(source, data=_PARTS.sub(b"", source.data))
    files = _NamedFiles(source.file, search, notes)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of parsers, about details of a file
            meshes = _read(trimesh, source.data, source.kind, files)
            if not meshes and source.kind == ".dae":  # pycollada leaves out meshes whose materials it cannot read
                meshes = _read(trimesh, _BINDING.sub(b"", source.data), source.kind, files)
                if meshes:
                    files.notes.append(
                        f"{source.file.name}: drawn without its materials, which refer to missing elements"
                    )
            is_gltf = source.kind == ".glb"
            submeshes = [_Submesh.of(loaded, files.notes, is_gltf) for loaded in meshes]
            if is_gltf:
                for submesh in submeshes:
                    submesh.from_linear_colors()
    except Exception as error:  # readers may raise anything
        raise ValueError(f"{source.file}: not a readable {source.kind[1:].upper()} file: {error}") from error
    return _as_surfaces(submeshes, np.asarray(mesh.scale) * source.unit, source, files.notes)


def _read(trimesh: Any, data: bytes, kind: str, files: _NamedFiles) -> list[Any]:
    """Return the meshes with triangles in a file, placed as in the file's scene."""
    scene = trimesh.load_scene(io.BytesIO(data), file_type=kind[1:], process=False, resolver=files, allow_remote=False)
    return [mesh for mesh in scene.dump() if len(getattr(mesh, "faces", ()))]


@dataclass
class _NamedFiles:
    """Files that a mesh file refers to, for trimesh: materials and images in permitted folders only."""

    mesh: Path
    search: FileSearch
    notes: list[str] = field(default_factory=list)
    count: int = 0
    pixels: int = 0

    def get(self, name: str) -> bytes:
        """Return the bytes of a material or image file.  Raises ValueError for any other file."""
        suffix = Path(str(name)).suffix.lower()
        try:
            self.count += 1
            if self.count > _MAX_FILES:
                raise ValueError(f"it refers to more than {_MAX_FILES} material and texture files")
            if suffix not in (".mtl", *_IMAGES):
                raise ValueError(f"{name}: expected a texture of type PNG or JPEG")
            path = Path(self.search.find(str(name).replace("\\", "/"), (str(self.mesh.parent),)))
            limit = _MAX_MATERIAL_BYTES if suffix == ".mtl" else MAX_TEXTURE_BYTES
            if not path.is_file() or path.stat().st_size > limit:
                raise ValueError(f"{name}: expected a file of at most {limit} bytes")
            data = path.read_bytes()
            if suffix != ".mtl":
                self.pixels += check_decodes(data, str(name))
                if self.pixels > MESH.max_pixels:
                    raise ValueError(f"{name}: more than {MESH.max_pixels} pixels in all textures")
        except (ValueError, OSError, FileSearchError) as error:
            text = error.message if isinstance(error, FileSearchError) else str(error)
            self.notes.append(f"{self.mesh.name}: {text}")
            raise ValueError(text) from None
        return data

    def keys(self) -> list[str]:
        return []

    def namespaced(self, namespace: str) -> _NamedFiles:
        return self

    def __getitem__(self, name: str) -> bytes:
        return self.get(name)


@dataclass
class _Submesh:
    """Triangles of a mesh file with one material."""

    points: np.ndarray
    triangles: np.ndarray
    colors: np.ndarray | None = None  # (n, 4) of vertices
    color: tuple[int, int, int, int] | None = None
    uv: np.ndarray | None = None
    texture: bytes | None = None

    @staticmethod
    def of(mesh: Any, notes: list[str], has_checked_images: bool) -> _Submesh:
        points = np.asarray(mesh.vertices, dtype=float)
        triangles = np.asarray(mesh.faces, dtype=np.int64)
        result = _Submesh(points, triangles)
        visual = mesh.visual
        if visual.kind == "vertex":
            result.colors = np.asarray(visual.vertex_colors, dtype=np.uint8)
        elif visual.kind == "face":
            result.points = points[triangles].reshape(-1, 3)
            result.triangles = np.arange(3 * len(triangles)).reshape(-1, 3)
            result.colors = np.repeat(np.asarray(visual.face_colors, dtype=np.uint8), 3, axis=0)
        elif visual.kind == "texture":
            result._read_material(visual, notes, has_checked_images)
        return result

    def from_linear_colors(self) -> None:
        """Convert the colours of a glTF file, which are linear in light; its textures are in sRGB."""
        if self.color is not None:
            red, green, blue, alpha = _srgb(np.array(self.color)).tolist()
            self.color = red, green, blue, alpha
        if self.colors is not None:
            self.colors = _srgb(self.colors)

    def _read_material(self, visual: Any, notes: list[str], has_checked_images: bool) -> None:
        material = visual.material
        image = getattr(material, "image", None) or getattr(material, "baseColorTexture", None)
        uv = visual.uv
        self.color = _rgba(material)
        if (
            image is None
            or (image.format is None and not has_checked_images)
            or uv is None
            or len(uv) != len(self.points)
            or not np.isfinite(uv).all()
        ):
            return
        try:
            self.texture = encoded_texture(image, has_checked_images)
        except ValueError as error:
            notes.append(str(error))
            return
        self.uv = np.asarray(uv, dtype=float)


def _srgb(linear: np.ndarray) -> np.ndarray:
    """Convert colours (..., 4) uint8 to sRGB; their first three channels are linear in light."""
    colors = srgb_from_linear(LinearColors(np.asarray(linear) / 255.0))
    return np.asarray(np.round(255.0 * colors), dtype=np.uint8)


def _rgba(material: Any) -> tuple[int, int, int, int] | None:
    """Return the colour of a material (red, green, blue, alpha in 0 ... 255), or None for trimesh's default."""
    color = getattr(material, "diffuse", None)
    if color is None:
        color = getattr(material, "baseColorFactor", None)
    if color is None:
        return None
    values = np.asarray(color)
    if values.dtype.kind == "f":
        values = np.round(255.0 * np.clip(np.nan_to_num(values), 0.0, 1.0))
    values = np.append(values, 255)[:4].astype(int)
    if values[3] < 8:  # files that state transparency the other way round
        values[3] = 255
    red, green, blue, alpha = values.tolist()
    return red, green, blue, alpha


def _as_surfaces(submeshes: list[_Submesh], scale: np.ndarray, source: MeshFile, notes: list[str]) -> MeshSurfaces:
    """Merge submeshes into one surface for all without texture, and one for each submesh with a texture."""
    file = source.file
    total = sum(len(submesh.triangles) for submesh in submeshes)
    if total == 0:
        raise ValueError(f"{file}: expected triangles, got none")
    if sum(len(submesh.points) for submesh in submeshes) > 6 * MESH.max_vertices:
        raise ValueError(f"{file}: too many vertices: the limit is {MESH.max_vertices}")
    for submesh in submeshes:
        submesh.points = source.with_z_up(submesh.points) * scale
        if not np.isfinite(submesh.points).all():
            raise ValueError(f"{file}: expected finite coordinates")
        source.check_triangles(submesh.triangles, len(submesh.points))
        if np.prod(scale) < 0.0:  # mirrored
            submesh.triangles = submesh.triangles[:, ::-1]
    if total > MAX_TRIANGLES:
        notes.append(f"{file.name}: drawn with about {MAX_TRIANGLES} of {total} triangles")
    result: list[tuple[Surface, Color | None]] = []
    plain = [submesh for submesh in submeshes if submesh.texture is None]
    for group in ([plain] if plain else []) + [[submesh] for submesh in submeshes if submesh.texture is not None]:
        result.append(_surface(group, total))
    return MeshSurfaces(tuple(result), tuple(dict.fromkeys(notes)))


def _surface(group: list[_Submesh], total: int) -> tuple[Surface, Color | None]:
    starts = np.cumsum([0, *(len(submesh.points) for submesh in group[:-1])])
    points = np.concatenate([submesh.points for submesh in group])
    triangles = np.concatenate([submesh.triangles + k for submesh, k in zip(group, starts, strict=True)])
    single = {submesh.color for submesh in group} if all(submesh.colors is None for submesh in group) else set()
    color = next(iter(single)) if len(single) == 1 else None
    colors = None if len(single) == 1 else np.concatenate([_vertex_colors(submesh) for submesh in group])
    uv = group[0].uv
    limit = max(MAX_TRIANGLES * len(triangles) // total, 12)
    if total > MAX_TRIANGLES:
        labels = None if colors is None else np.unique(colors, axis=0, return_inverse=True)[1].reshape(-1)
        points, triangles, source = decimated(points, triangles, limit, labels)
        colors = None if colors is None else colors[source]
        uv = None if uv is None else uv[source]
    surface = smooth_surface(points, triangles, colors=colors, uv=uv, texture=group[0].texture)
    if color is None:
        return surface, None
    red, green, blue, alpha = (float(x) / 255.0 for x in color)
    return surface, (red, green, blue, alpha)


_PARTS = re.compile(rb"^[ \t]*(?:usemtl|mtllib|o|g|s)(?:[ \t][^\n]*)?$", re.MULTILINE)
_MAX_PARTS = 1000  # groups and changes of material of an OBJ file, each of which trimesh reads by itself
_BINDING = re.compile(rb"<bind_material\b.*?</bind_material\s*>", re.DOTALL)
_DEFAULT = (190, 194, 200, 255)


def _vertex_colors(submesh: _Submesh) -> np.ndarray:
    if submesh.colors is not None:
        return submesh.colors
    return np.tile(np.array(submesh.color or _DEFAULT, np.uint8), (len(submesh.points), 1))
