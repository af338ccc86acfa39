"""Tasks of the process that reads an untrusted file of a robot: it loads the robot, and writes it as text."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from linkwork._util.file_access import Budget
from linkwork.formats.linkwork_json.robot_writer import unchecked_robot_text
from linkwork.model.joined_trees import with_shapes
from linkwork.model.tree import Tree
from linkwork.robot.construction.isolated_loading import POLYTOPE
from linkwork.robot.construction.robot_loading import Options, read_robot
from linkwork.shapes import Mesh, Polytope, Shape

__all__ = ["prepare_process", "tree_of_request"]


def prepare_process() -> None:
    """Import the modules that read and write a robot, before a process reads an untrusted file."""
    unchecked_robot_text(read_robot("double_pendulum", Options()))


def tree_of_request(request: dict[str, Any], data: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read the robot that a request names; return the issues, and the bytes of the robot as linkwork's JSON."""
    options = request["options"]
    budget = None if options["budget"] is None else Budget(**options["budget"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = read_robot(request["path"], Options(**{**options, "budget": budget}), request["format"])
    tree, arrays, excesses = _without_polytopes(tree)
    issues = [
        (x.code, x.message, x.where.file, x.where.line, x.where.column, x.where.element, x.hint)
        for x in tree.report.warnings
    ]
    text = np.frombuffer(unchecked_robot_text(tree).encode(), np.uint8)
    return {"issues": issues, "overestimates": excesses}, {"text": text, **arrays}


def _without_polytopes(tree: Tree) -> tuple[Tree, dict[str, np.ndarray], list[float]]:
    """Return the tree with a mesh in place of each polytope, their points by mesh name, and their overestimates.

    Points are sent as arrays, because text would be slow. Text would also need the hulls, which are computed on first
    use.
    """
    arrays: dict[str, np.ndarray] = {}
    meshes: dict[int, Mesh] = {}
    excesses: list[float] = []

    def replaced(shape: Shape) -> Shape:
        if type(shape) is not Polytope:
            return shape
        if id(shape) not in meshes:
            meshes[id(shape)] = Mesh(f"{POLYTOPE}{len(meshes)}")
            arrays[meshes[id(shape)].uri] = np.asarray(shape._all_points, dtype=float)
            excesses.append(shape.overestimate)
        return meshes[id(shape)]

    return with_shapes(tree, replaced), arrays, excesses
