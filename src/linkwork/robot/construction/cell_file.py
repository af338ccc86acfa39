"""Cells: files in JSON or YAML that join robots of other files to one robot.

A cell lists robots, each with its file and its pose in the world, or on a frame of a robot listed earlier.  The page
docs/robot_files.md describes the keys.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import Any

from linkwork import robots
from linkwork._util.file_access import LOOPS, Budget
from linkwork._util.file_search import FileSearchError, Folders
from linkwork._util.messages import did_you_mean
from linkwork.errors import Findings, Issue, ModelError
from linkwork.formats.constructor_reader import PlainReader
from linkwork.formats.data_documents import read_document
from linkwork.formats.data_values import Value
from linkwork.formats.file_reading import path_text
from linkwork.formats.registry import find_format, format_named
from linkwork.formats.resource_paths import resource_paths, search_issue
from linkwork.model.joined_trees import added, empty_world, mounted, placed
from linkwork.model.tree import Tree
from linkwork.robot.construction.robot_loading import Options, read_robot
from linkwork.robot.joining import with_paths
from linkwork.spatial import Pose

__all__ = ["KEYS", "OPTIONS", "ROBOT_KEYS", "read_cell"]

KEYS = ("cell", "name", "robots", "$schema")
OPTIONS = ("format", "loops", "floating_base", "mimic", "continuous", "inertia", "model")  # of `linkwork.load`
ROBOT_KEYS = ("name", "file", "base", "at", "pose", "prefix", *OPTIONS)


def read_cell(
    path: str | os.PathLike[str],
    *,
    strict: bool,
    gravity: Any = None,
    package_dirs: Folders | None = None,
    trusted: bool = True,
    budget: Budget | None = None,
) -> Tree:
    """Return the tree of the robots of a cell's file.

    Raises ModelError with the errors of the file, or of a robot's file, and the operating system's error if the file
    cannot be read.
    """
    findings, file = Findings(strict=strict), path_text(path)
    root = read_document(path, findings, LOOPS, trusted=trusted)
    cell = _Cell(PlainReader(file, findings), package_dirs, trusted)
    cell.check(root)
    shared = {"strict": strict, "gravity": gravity, "package_dirs": package_dirs, "trusted": trusted, "budget": budget}
    return cell.tree(root, shared)


class _Cell:
    """Reader of a cell file, which loads its robots; a `PlainReader` reads the values of the document."""

    def __init__(self, reader: PlainReader, package_dirs: Folders | None, trusted: bool) -> None:
        self.reader, self.trusted = reader, trusted
        self.home = os.path.dirname(os.path.abspath(str(reader.file)))
        self.search = resource_paths(reader.file, package_dirs, trusted=trusted)

    def check(self, root: Value) -> None:
        """Raise ModelError with all errors of the cell file itself, before robots are loaded."""
        reader, content = self.reader, root.content
        if not isinstance(content, dict) or "cell" not in content:
            got = f"the keys {', '.join([*content][:5])}" if isinstance(content, dict) else root.kind
            reader.error(root, "WRONG_FORMAT", f"expected a cell of robots, got {got}", 'it has the key "cell": 1')
            reader.findings.raise_errors()
        reader.known(root, KEYS)
        if (version := content["cell"]).content != 1.0 or isinstance(version.content, bool):
            reader.error(version, "VERSION", f"expected version 1 of a cell, got {version.kind}")
        for key in ("name", "$schema"):
            if key in content:
                reader.text(root, key)
        entries = reader.required(root, "robots")
        if entries is not None and not (isinstance(entries.content, list) and entries.content):
            reader.error(entries, "DATA_TYPE", f"robots: expected a list of robots, got {entries.kind}")
        reader.findings.raise_errors()
        assert entries is not None
        names = set[str]()
        for entry in entries.items:
            if reader.is_object(entry, "robots"):
                self._check_robot(entry)
                name = entry.content["name"].content if "name" in entry.content else None
                if name in names:
                    reader.error(entry, "DUPLICATE_NAME", f"two robots are named {name!r}")
                names |= {name} if isinstance(name, str) else set()
        reader.findings.raise_errors()

    def _check_robot(self, entry: Value) -> None:
        reader, content = self.reader, entry.content
        reader.known(entry, ROBOT_KEYS)
        for key in ("name", "file", *(key for key in ("at", "format", "loops", "model") if key in content)):
            reader.text(entry, key)
        for key in ("base", "pose"):
            if key in content:
                reader.pose(content[key])
        if "prefix" in content and not isinstance(content["prefix"].content, str):
            reader.error(content["prefix"], "BAD_NAME", f"prefix: expected a string, got {content['prefix'].kind}")
        if "base" in content and "at" in content:
            message = "the robot has two poses: base, in the world, and pose, in the frame under at"
            reader.error(content["base"], "DUPLICATE_ELEMENT", message, "leave one of them out")
        if "pose" in content and "at" not in content:
            message = "a pose without at, the frame of another robot"
            reader.error(content["pose"], "KEY_MISSING", message, "base is the pose in the world")

    def tree(self, root: Value, shared: Mapping[str, Any]) -> Tree:
        """Return the tree of all robots.  Raises ModelError."""
        name = (
            root.content["name"].content
            if "name" in root.content
            else os.path.splitext(os.path.basename(str(self.reader.file)))[0]
        )
        loaded = [(entry, self._loaded(entry, shared)) for entry in root.content["robots"].items]
        trees = with_paths(*(tree for _, tree in loaded))
        result = empty_world(name, trees[0].gravity)
        for (entry, _), tree in zip(loaded, trees, strict=True):
            try:
                result = self._joined(result, entry, tree)
            except (TypeError, ValueError, KeyError) as error:
                raise ModelError(Issue("CELL", str(error), self.reader.where(entry))) from error
        return result

    def _joined(self, whole: Tree, entry: Value, tree: Tree) -> Tree:
        content = entry.content
        prefix = content["prefix"].content if "prefix" in content else f"{content['name'].content}_"
        if "at" in content:
            X = self.reader.pose(content["pose"]) if "pose" in content else Pose.identity()
            return mounted(whole, tree, content["at"].content, X, prefix)
        part = placed(tree, self.reader.pose(content["base"]), "base") if "base" in content else tree
        return added(whole, part, prefix, "robots")

    def _loaded(self, entry: Value, shared: Mapping[str, Any]) -> Tree:
        content = entry.content
        options = {key: content[key].content for key in OPTIONS if key in content and key not in ("format", "loops")}
        if "loops" in content:
            options["loops"] = self._file(content["loops"])
        path = self._file(content["file"], robots.names())
        try:
            if "format" in content:
                chosen = format_named(content["format"].content)
            else:
                chosen = find_format(robots.path(path) if path in robots.names() else path)
            if chosen.name == "cell":
                raise ValueError("file: expected the file of one robot, got that of another cell")
            options |= {key: x for key, x in shared.items() if key != "package_dirs" or key in chosen.options}
            return read_robot(path, Options(**options), chosen)
        except ModelError:
            raise
        except (TypeError, ValueError, KeyError) as error:
            raise ModelError(Issue("CELL", str(error), self.reader.where(entry))) from error

    def _file(self, value: Value, built_in: Collection[str] = ()) -> str:
        """Return the path of a robot file that the cell names, or the name of a built-in robot in ``built_in``.

        The file is in the cell's folder or in a package.

        Raises ModelError.
        """
        name = os.path.expanduser(value.content) if self.trusted else value.content
        path = os.path.join(self.home, name)
        if self.trusted and os.path.exists(path):
            return path
        try:
            return self.search.find(name)
        except FileSearchError as error:
            if name in built_in:
                return str(name)
            hint = did_you_mean(name, built_in) if name.isidentifier() else None
            raise ModelError(search_issue(error, self.reader.where(value), hint=hint)) from None
