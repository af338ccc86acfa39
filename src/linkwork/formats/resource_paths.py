"""Files that a robot's file names: where they are searched, and what is never opened.

The folders are, in this order: that of the file itself, the package that contains it, the folders of the option
``package_dirs``, and those of the environment variables of ROS and Gazebo.  A path outside of them, also by a symbolic
link, is an error, and so is a URI that is to be fetched.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from linkwork._util.file_search import FileSearch, FileSearchError, Folders, read_folders
from linkwork.errors import Issue, Location
from linkwork.formats.file_reading import path_text
from linkwork.model.tree import Report, Tree
from linkwork.shapes import Mesh

__all__ = ["ENVIRONMENT", "FileSearch", "FileSearchError", "resource_paths", "search_issue", "with_missing_meshes"]

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
_MARKS = ("package.xml", "model.config")  # files of a package's own folder


def resource_paths(
    file: str | os.PathLike[str] | None,
    package_dirs: Folders | FileSearch | None = None,
    environment: Mapping[str, str] = os.environ,
) -> FileSearch:
    """Return the search of the files that ``file`` names; without a file, only in the given folders.

    ``package_dirs`` are folders that contain packages, or the folder of each package by its name.  The package that
    contains the file is the nearest folder above it with a package.xml or model.config.

    Raises ValueError for ``package_dirs`` that are not folders.
    """
    home = () if file is None else (os.path.dirname(os.path.abspath(path_text(file))),)
    given = FileSearch(()) if package_dirs is None else read_folders("load: package_dirs", package_dirs)
    enclosing = tuple((os.path.basename(folder), folder) for folder in _packages_around(home))
    folders = (*home, *given.folders, *_folders_of(environment))
    return FileSearch(tuple(dict.fromkeys(folders)), (*given.packages, *enclosing))


def search_issue(error: FileSearchError, where: Location, code: str | None = None, hint: str | None = None) -> Issue:
    """Return an error of a search as an issue.  ``code`` replaces FILE_MISSING."""
    found = error.hint or hint
    of_folders = error.code in ("FILE_MISSING", "PACKAGE_UNKNOWN", "PATH_ESCAPE")
    if of_folders and (found is None or found.startswith("there are ")):  # a list of whatever the folders contain
        found = "name the folders that contain packages: load(path, package_dirs=[...])"
    paths = ", ".join(error.searched[:_MOST_PATHS]) + (", ..." if len(error.searched) > _MOST_PATHS else "")
    message = f"{error.message}; paths searched: {paths}" if paths else error.message
    return Issue(code if code and error.code == "FILE_MISSING" else error.code, message, where, found)


def with_missing_meshes(tree: Tree, package_dirs: Folders | None) -> Tree:
    """Return the tree with a note (MESH_MISSING) about mesh files that are not found; none is opened."""
    names: dict[str, str] = {}  # links by the names of their meshes
    for frame in tree.frames:
        for geometry in (*frame.visuals, *frame.collisions):
            if isinstance(geometry.shape, Mesh):
                names.setdefault(geometry.shape.uri, frame.name)
    if not names:
        return tree
    search, unknown = resource_paths(tree.source, package_dirs), set[str]()
    missing, first = 0, None
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
    if first is None:
        return tree
    message = f"{missing} of {len(names)} mesh files are not found, such as {first.message}"
    hint = "no mesh is needed for kinematics and dynamics; shapes.load_mesh(name, folders) reads one"
    note = Issue("MESH_MISSING", message, first.where, hint)
    return replace(tree, report=Report((*tree.report.warnings, note)))


def _folders_of(environment: Mapping[str, str]) -> Iterator[str]:
    """Yield the existing folders that the environment variables name."""
    for variable, inside in ENVIRONMENT.items():
        for entry in environment.get(variable, "").split(os.pathsep):
            path = os.path.join(entry, inside) if inside else entry
            if os.path.isabs(entry) and os.path.isdir(path):
                yield path


def _packages_around(home: Sequence[str]) -> Iterator[str]:
    """Yield the folder of the package that contains a folder, if there is one."""
    for start in home:
        folder = start
        while True:
            if any(os.path.isfile(os.path.join(folder, mark)) for mark in _MARKS):
                yield folder
                break
            above = os.path.dirname(folder)
            if above == folder:
                break
            folder = above
