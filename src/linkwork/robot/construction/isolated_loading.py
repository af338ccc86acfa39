"""Loading of a robot from an untrusted file: another process reads it, and hands back a robot file of linkwork."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from linkwork._util.file_access import MODEL, Budget
from linkwork._util.file_search import read_folders
from linkwork._util.reader_process import Answer, ReaderEnded, ReaderError, read_isolated, start_reader
from linkwork.errors import Issue, Location, ModelError
from linkwork.formats import registry
from linkwork.formats.file_reading import path_text, process_failed
from linkwork.formats.resource_paths import resource_paths
from linkwork.model.joined_trees import with_shapes
from linkwork.model.tree import Report, Tree
from linkwork.shapes import Mesh, Polytope, Shape

__all__ = ["POLYTOPE", "read_in_process"]

_TASKS = "linkwork.robot.construction.isolated_task"


def read_in_process(path: str | os.PathLike[str], options: Any, name: str) -> Tree:
    """Return the tree of a robot that another process reads from a file of the format ``name``.

    ``options`` are `linkwork.robot.construction.robot_loading.Options`.
    Raises the errors of `linkwork.load`, and ModelError (UNTRUSTED_FILE) if the process crashes or exceeds its limits.
    """
    file, budget = path_text(path), options.budget or MODEL
    values = {field.name: getattr(options, field.name) for field in fields(options)}
    values |= {"base": None, "trusted": True}
    values |= {"gravity": None if options.gravity is None else [*map(float, options.gravity)]}
    values["package_dirs"] = _plain_folders(options.package_dirs)
    values["loops"] = None if options.loops is None else path_text(options.loops)
    values["budget"] = None if options.budget is None else {f.name: getattr(budget, f.name) for f in fields(budget)}
    real = os.path.realpath(file)
    folders = [folder for x in (file, real) for folder in resource_paths(x, options.package_dirs).allowed]
    files = [real] if options.loops is None else [real, os.path.realpath(values["loops"])]
    chosen, where = registry.format_named(name), Location(file)
    modules = (_TASKS, chosen.module, *([chosen.package] if chosen.package else ()))
    request = {"path": file, "options": values, "format": name}
    start_reader(modules)
    from linkwork.formats.linkwork_json.robot_reader import parse_robot

    try:
        answer = read_isolated(
            modules, f"{_TASKS}:tree_of_request", request, budget=budget, folders=[*dict.fromkeys((*files, *folders))]
        )
        warned = [_issue(entry) for entry in answer.data["issues"]]
        tree = _with_polytopes(parse_robot(answer.arrays["text"].tobytes()), answer)
    except ReaderEnded as ended:
        raise process_failed(ended, where) from None
    except ReaderError as error:
        if error.kind == "ModelError":
            issues = [_with_remedy(_issue(entry), budget) for entry in error.issues]
            raise ModelError(issues, [_issue(entry) for entry in error.warnings]) from None
        raise error.of(
            FileNotFoundError, PermissionError, NotADirectoryError, OSError, TypeError, ImportError
        ) from None
    return replace(tree, source=file, report=Report(tuple(warned)))


def _with_polytopes(tree: Tree, answer: Answer) -> Tree:
    """Return the tree with the polytopes of another process's answer in place of the meshes that stand for them."""
    excesses = [float(x) for x in answer.data["overestimates"]]
    polytopes = {f"{POLYTOPE}{k}": excess for k, excess in enumerate(excesses)}
    known: dict[str, Polytope] = {}

    def replaced(shape: Shape) -> Shape:
        if not isinstance(shape, Mesh) or shape.uri not in polytopes:
            return shape
        if shape.uri not in known:
            known[shape.uri] = Polytope(answer.arrays[shape.uri], polytopes[shape.uri])  # type: ignore[arg-type]
        return known[shape.uri]

    return with_shapes(tree, replaced) if polytopes else tree


POLYTOPE = "linkwork-polytope-"


def _issue(entry: Any) -> Issue:
    code, message, file, line, column, element, hint = entry
    where = Location(_text(file), _number(line), _number(column), _text(element))
    return Issue(str(code), str(message), where, _text(hint))


def _with_remedy(issue: Issue, budget: Budget) -> Issue:
    """Add to an issue the option that permits more memory, if a parser reports that it has run out of memory."""
    if issue.hint is None and ("allocate" in issue.message or "unknown exception" in issue.message):
        return replace(issue, hint=budget.remedy("max_memory", "for more memory"))
    return issue


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _number(value: Any) -> int | None:
    return None if value is None else int(value)


def _plain_folders(folders: Any) -> Any:
    if folders is None:
        return None
    search = read_folders("load: package_dirs", folders)
    if isinstance(folders, Mapping):
        return {name: os.path.abspath(folder) for name, folder in search.packages}
    return [os.path.abspath(folder) for folder in search.folders]
