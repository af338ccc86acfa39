"""Search for the files that a robot's file names, within permitted folders.

The folders are, in this order: that of the file itself, the package that contains it, the folders of the option
``package_dirs``, and those of the environment variables of ROS and Gazebo.  If the path of a trusted file has symbolic
links, the folder and the package of the file that they lead to follow.  A path outside of these folders, also by a
symbolic link, is an error, and so is a URI that is to be fetched.

The package is the nearest folder above the file with a mark of a package of ROS or Gazebo, and the nearest one with any
mark of a package or a repository.  Without a mark, folders of assets beside the file's folder count as packages:
"../meshes/hand.stl" is then inside.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from linkwork._util.file_search import FileSearch, FileSearchError, Folders, joined_searches, read_folders
from linkwork.errors import Issue, Location
from linkwork.formats.file_reading import path_text
from linkwork.model.body import Frame
from linkwork.model.tree import Report, Tree
from linkwork.shapes import Geometry, Mesh

__all__ = [
    "ENVIRONMENT",
    "FileSearch",
    "FileSearchError",
    "packages_around",
    "path_of",
    "resource_paths",
    "search_issue",
    "tree_paths",
    "with_missing_meshes",
    "with_names_beside",
]

ENVIRONMENT = {
    "ROS_PACKAGE_PATH": "",
    "AMENT_PREFIX_PATH": "share",
    "GZ_SIM_RESOURCE_PATH": "",
    "IGN_GAZEBO_RESOURCE_PATH": "",
    "SDF_PATH": "",
    "GAZEBO_MODEL_PATH": "",
}
"""Environment variables with lists of folders, and the folder inside each that contains the packages or models."""

_MOST_PATHS = 20  # in a message
_MOST_MESHES = 2000  # that are searched
_ROS_MARKS = ("package.xml", "model.config")  # files of a package's own folder
_MARKS = (*_ROS_MARKS, "pyproject.toml", "setup.py", "setup.cfg", "__init__.py", ".git")
_BESIDE = ("meshes", "mesh", "assets", "textures", "materials", "media", "visual", "collision", "stl", "obj", "dae")


def resource_paths(
    file: str | os.PathLike[str] | tuple[str, ...] | None,
    package_dirs: Folders | FileSearch | None = None,
    environment: Mapping[str, str] = os.environ,
    *,
    trusted: bool = True,
) -> FileSearch:
    """Return a search for the files that ``file`` names; without a file, it covers the given folders only.

    ``file`` may be several files, such as the `Tree.files` of robots that were joined.
    ``package_dirs`` are folders that contain packages, or the folder of each package by its name.  ``trusted`` is False
    for the files of a robot that was loaded as untrusted.

    Raises ValueError for ``package_dirs`` that are not folders.
    """
    files = file if isinstance(file, tuple) else () if file is None else (file,)
    paths = [path_text(document) for document in files]
    resolvers: list[Callable[[str], str]] = (
        [os.path.abspath, os.path.realpath] if trusted else [os.path.abspath]
    )  # of links in paths
    home = [*dict.fromkeys(os.path.dirname(resolve(path)) for path in paths for resolve in resolvers)]
    stated = FileSearch(()) if package_dirs is None else read_folders("load: package_dirs", package_dirs)
    enclosing = tuple((os.path.basename(folder), folder) for start in home for folder in packages_around(start))
    folders = (*home, *stated.folders, *_folders_of(environment))
    return FileSearch(tuple(dict.fromkeys(folders)), (*stated.packages, *enclosing), trusted and stated.trusted)


def tree_paths(tree: Tree, folders: FileSearch | None = None) -> FileSearch:
    """Return a search for the files that a robot's links name, in ``folders`` and the folders of `resource_paths`."""
    return resource_paths(tree.files, joined_searches(folders, tree.package_dirs), trusted=tree.trusted)


def path_of(search: FileSearch, name: str) -> str | None:
    """Return the path of a file by its name or URI, or None if it is not found."""
    try:
        return search.find(name)
    except FileSearchError:
        return None


def search_issue(error: FileSearchError, where: Location, code: str | None = None, hint: str | None = None) -> Issue:
    """Convert an error of a file search to an issue; its code is FILE_MISSING, or ``code`` if given."""
    remedy = error.hint or hint
    of_folders = error.code in ("FILE_MISSING", "PACKAGE_UNKNOWN", "PATH_ESCAPE")
    if of_folders and (remedy is None or remedy.startswith("there are ")):  # a list of whatever the folders contain
        remedy = "name the folders that contain packages: load(path, package_dirs=[...])"
    paths = ", ".join(error.searched[:_MOST_PATHS]) + (", ..." if len(error.searched) > _MOST_PATHS else "")
    message = f"{error.message}; paths searched: {paths}" if paths else error.message
    return Issue(code if code and error.code == "FILE_MISSING" else error.code, message, where, remedy)


def with_missing_meshes(tree: Tree) -> Tree:
    """Return the tree with a note MESH_MISSING in its report if mesh files are not found; no file is opened."""
    names: dict[str, str] = {}  # links by the names of their meshes
    for frame in tree.frames:
        for geometry in _geometries(frame, Mesh):
            names.setdefault(geometry.shape.uri, frame.name)
    if not names:
        return tree
    search, unknown = tree_paths(tree), set[str]()
    missing, first, outside = 0, None, dict[str, None]()
    for uri, link in islice(names.items(), _MOST_MESHES):
        package = "/".join(uri.split("/")[:3]) if uri.startswith(("package://", "model://")) else ""
        if package in unknown:
            missing += 1
            continue
        try:
            search.find(uri)
        except FileSearchError as error:
            unknown |= {package} if error.code == "PACKAGE_UNKNOWN" else set()
            where = Location(tree.source, None, None, f"robot[{tree.name}]/link[{link}]")
            first, missing = first or search_issue(error, where), missing + 1
            if error.code == "PATH_ESCAPE" and tree.trusted and tree.source and "://" not in uri:
                path = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(tree.source)), uri))
                if os.path.isfile(path):
                    outside.setdefault(os.path.dirname(path))
    if first is None:
        return tree
    message = f"{missing} of {len(names)} mesh files are not found, such as {first.message}"
    hint = "no mesh is needed for kinematics and dynamics; load(path, package_dirs=[...]) names more folders"
    if outside:
        folders = ", ".join(map(repr, islice(outside, _MOST_PATHS)))
        hint = f"files outside of the robot's folders are read by show(meshes=[{folders}]) and with_collision_hulls"
    note = Issue("MESH_MISSING", message, first.where, hint)
    return replace(tree, report=Report((*tree.report.warnings, note)))


def with_names_beside(tree: Tree, path: str | os.PathLike[str]) -> Tree:
    """Return the tree with file names of meshes and textures changed for a robot file that is written to ``path``.

    A file that is found gets a name relative to the folder of ``path``, or its absolute path if there is no relative
    one, as on another drive of Windows. Relative names that lead to the same file from that folder are unchanged. So
    are names of missing files, and URIs that lead to the same file.
    """
    uris = {geometry.shape.uri for frame in tree.frames for geometry in _geometries(frame, Mesh)}
    uris |= {x.material.texture for frame in tree.frames for x in frame.visuals if x.material and x.material.texture}
    if not uris or not tree.files:
        return tree
    search, after = tree_paths(tree), resource_paths(path)
    folder = os.path.realpath(os.path.dirname(os.path.abspath(path_text(path))))
    new: dict[str | None, str] = {}
    for name in uris:
        file, later = path_of(search, name), path_of(after, name)
        moves = later is None or os.path.isabs(name) or (file is not None and not os.path.samefile(file, later))
        if file is not None and moves and (later is not None or "://" not in name):
            new[name] = _relative(file, folder)
    if not new:
        return tree

    def renamed(geometry: Geometry) -> Geometry:
        shape, material = geometry.shape, geometry.material
        if isinstance(shape, Mesh) and shape.uri in new:
            geometry = replace(geometry, shape=replace(shape, uri=new[shape.uri]))
        if material is not None and material.texture in new:
            geometry = replace(geometry, material=replace(material, texture=new[material.texture]))
        return geometry

    frames = [
        replace(frame, visuals=tuple(map(renamed, frame.visuals)), collisions=tuple(map(renamed, frame.collisions)))
        for frame in tree.frames
    ]
    return replace(tree, frames=tuple(frames))


def _relative(file: str, folder: str) -> str:
    """Return the path of a file relative to a folder, with slashes; its absolute path if it is on another drive."""
    real = os.path.join(os.path.realpath(os.path.dirname(file)), os.path.basename(file))
    try:
        return os.path.relpath(real, folder).replace(os.sep, "/")
    except ValueError:  # another drive of Windows
        return real


def _geometries(frame: Frame, kind: type) -> Iterator[Any]:
    """Yield the visual and collision shapes of a frame that are instances of ``kind``, with their poses."""
    return (x for x in (*frame.visuals, *frame.collisions) if isinstance(x.shape, kind))


def _folders_of(environment: Mapping[str, str]) -> Iterator[str]:
    """Yield the existing folders that the environment variables name."""
    for variable, inside in ENVIRONMENT.items():
        for entry in environment.get(variable, "").split(os.pathsep):
            path = os.path.join(entry, inside) if inside else entry
            if os.path.isabs(entry) and os.path.isdir(path):
                yield path


def packages_around(folder: str) -> list[str]:
    """Return the folders of the packages that contain a folder; without packages, the asset folders beside it.

    A home directory and the root of the file system are never packages, and their asset folders are not returned. A
    symbolic link, which can lead anywhere, does not count as a folder of assets.
    """
    above = [folder]
    while (parent := os.path.dirname(above[-1])) != above[-1]:
        above.append(parent)
    never = {above.pop(), os.path.realpath(os.path.expanduser("~"))}
    inside = [path for path in above if os.path.realpath(path) not in never]

    def nearest_with(marks: Sequence[str]) -> list[str]:
        marked = (path for path in inside if any(os.path.exists(os.path.join(path, mark)) for mark in marks))
        return [*islice(marked, 1)]

    packages = [*nearest_with(_ROS_MARKS), *nearest_with(_MARKS)]
    while packages and (package := os.path.dirname(packages[-1])) in inside and _is_python_package(package):
        packages[-1] = package
    parent = os.path.dirname(folder)
    beside = [os.path.join(parent, name) for name in _BESIDE] if parent in inside else []
    return [*dict.fromkeys(packages or (path for path in beside if os.path.isdir(path) and not os.path.islink(path)))]


def _is_python_package(folder: str) -> bool:
    return os.path.isfile(os.path.join(folder, "__init__.py"))
