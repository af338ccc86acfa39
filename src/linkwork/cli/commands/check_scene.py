"""`linkwork check-scene`: check a scene file, alone and around a robot.

Exit codes: 1 if the robot touches an obstacle or an object on its frames at the configuration, and with ``--strict``
for warnings and overlaps of bodies that do not move; others as for all commands.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from linkwork import Robot, Scene, __version__, signed_distance
from linkwork.cli.arguments import (
    BAD_MODEL,
    FAILED,
    USAGE,
    CommandError,
    add_json,
    add_meshes,
    add_robot,
    robot_of,
    with_meshes,
)
from linkwork.cli.files import setup_of
from linkwork.cli.output import Terminal, escaped, issue_data, label, number, quantity, table
from linkwork.cli.states import add_configuration, required_q
from linkwork.collision import Obstacle, SceneSetup
from linkwork.shapes import Shape

__all__ = ["add_arguments", "run"]

_CONTACT = 1e-4  # [m] obstacles that overlap by less, such as a table on the floor, are in contact
_SMALL, _LARGE = 1e-3, 100.0  # [m] radius of a bounding sphere: others may be in a wrong unit
_MAX_PAIRS = 200_000  # of obstacles that are examined


class _Overlap(NamedTuple):
    a: str
    b: str
    depth: float  # [m]


class _Fixed(NamedTuple):
    """A collision shape of a link that is fixed to the world."""

    name: str
    shape: Shape
    pose: np.ndarray  # (4, 4)


_Placed = Obstacle | _Fixed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "scene", metavar="SCENE", help="a file of obstacles: YAML, JSON, or MoveIt's text format (.scene)"
    )
    add_robot(parser, nargs="?")
    add_meshes(parser)
    add_configuration(parser)
    add_json(parser)


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    robot = None
    if arguments.file is not None:
        robot = robot_of(arguments, terminal)
        setup_of(arguments.scene, robot, arguments, BAD_MODEL)  # errors of the scene before those of mesh files
        robot = with_meshes(robot, arguments)
    elif arguments.q is not None or arguments.configuration is not None:
        raise CommandError(USAGE, "--q and --configuration need a robot: linkwork check-scene SCENE ROBOT")
    setup = setup_of(arguments.scene, robot, arguments, BAD_MODEL)
    overlaps, skipped = _overlaps(_pairs_of_obstacles(setup.scene))
    fixed = [] if robot is None else _fixed_overlaps(setup)
    warnings = [*_unusual_sizes(setup.scene), *(str(issue) for issue in setup.scene.issues if not issue.is_note)]
    notes = [str(issue) for issue in setup.scene.issues if issue.is_note]
    contacts, clearance = ([], None) if robot is None else _contacts(setup, arguments, terminal)
    if arguments.json:
        terminal.out.json(
            {
                "linkwork": __version__,
                "scene": arguments.scene,
                "robot": None if robot is None else robot.name,
                "obstacles": [_described(obstacle) for obstacle in setup.scene.obstacles],
                "attached": [{"name": item.name, "frame": item.frame} for item in setup.attached],
                "overlaps": [pair._asdict() for pair in overlaps],
                "not_examined": skipped,
                "warnings": warnings,
                "issues": [issue_data(issue) for issue in setup.scene.issues],
                "fixed_overlaps": [pair._asdict() for pair in fixed],
                "contacts": [pair._asdict() for pair in contacts],
                "clearance": clearance,
            }
        )
    else:
        rows = [[*map(escaped, _row(obstacle))] for obstacle in setup.scene.obstacles]
        lines = [f"{escaped(arguments.scene)}: {quantity(len(setup.scene), 'obstacle')}", ""]
        lines += [*table(["obstacle", "shape", "radius [m]", "center [m]"], rows, left=(0, 1)), ""] if rows else []
        lines += [f"attached to {label(item.frame)}: {label(item.name)}" for item in setup.attached]
        lines += _overlap_lines("obstacles overlap", overlaps) or ["no obstacles overlap"]
        lines += [f"not examined: {quantity(skipped, 'pair')} of obstacles"] if skipped else []
        lines += [f"warning: {escaped(text)}" for text in warnings] + [f"note: {escaped(text)}" for text in notes]
        if robot is not None:
            lines += ["", *_robot_lines(robot, contacts, clearance)]
            title = "links that are fixed to the world overlap obstacles, which plans do not check"
            lines += _overlap_lines(title, fixed)
        terminal.out.lines(lines)
    return FAILED if contacts or (arguments.strict and (warnings or overlaps or fixed)) else 0


def _overlaps(pairs: Iterable[tuple[_Placed, _Placed]]) -> tuple[list[_Overlap], int]:
    """Return the pairs of shapes that overlap, deepest first, and the number of pairs that were not examined."""
    result, skipped, count = [], 0, 0
    for first, second in pairs:
        a, b = _sphere(first), _sphere(second)
        if a is not None and b is not None and float(np.linalg.norm(a[0] - b[0])) >= a[1] + b[1]:
            continue
        count += 1
        try:
            if count > _MAX_PAIRS:
                raise ValueError("too many pairs")
            distance = float(signed_distance(first.shape, _matrix(first), second.shape, _matrix(second)).distance)
        except (TypeError, ValueError):  # two half-spaces, or two fields
            skipped += 1
            continue
        if distance < -_CONTACT:
            result.append(_Overlap(first.name, second.name, -distance))
    return sorted(result, key=lambda pair: -pair.depth), skipped


def _pairs_of_obstacles(scene: Scene) -> Iterator[tuple[Obstacle, Obstacle]]:
    obstacles = scene.obstacles
    return ((second, first) for k, first in enumerate(obstacles) for second in obstacles[:k])


def _fixed_overlaps(setup: SceneSetup) -> list[_Overlap]:
    """Return the overlaps of obstacles and shapes of links that are fixed to the world, such as a base.

    Distances and plans leave these pairs out, since neither moves.
    """
    robot, placed = setup.robot, []
    for link in robot.links if robot is not None else ():
        if not link.collisions or robot.moving_joints(link.name):
            continue
        X = np.asarray(robot.pose(robot.neutral(), link.name))
        placed += [_Fixed(link.name, geometry.shape, X @ geometry.origin.matrix()) for geometry in link.collisions]
    pairs = ((shape, obstacle) for shape in placed for obstacle in setup.scene.obstacles)
    overlaps, _ = _overlaps(pairs)
    return [pair for pair in overlaps if not _is_allowed(setup, pair.a, pair.b)]


def _is_allowed(setup: SceneSetup, a: str, b: str) -> bool:
    """Return True if the scene file allows shapes or links called a and b to touch."""
    allowed = {frozenset(pair) for pair in setup.touching}
    return bool({frozenset((x, y)) for x in (a, a.partition("/")[0]) for y in (b, b.partition("/")[0])} & allowed)


def _contacts(
    setup: SceneSetup, arguments: argparse.Namespace, terminal: Terminal
) -> tuple[list[_Overlap], float | None]:
    """Return the pairs of shapes that touch, deepest first, and the smallest distance [m], at one configuration.

    Pairs that the scene file allows to touch are left out.
    """
    try:
        result = setup.robot.distances(required_q(setup.robot, arguments, terminal), setup.scene)
    except (TypeError, ValueError) as error:  # no shapes, or shapes without distances
        raise CommandError(BAD_MODEL, escaped(str(error))) from error
    pairs = [
        _Overlap(a, b, -float(d))
        for d, (a, b) in zip(result.distance, result.pairs, strict=True)
        if not _is_allowed(setup, a, b)
    ]
    clearance = min((-pair.depth for pair in pairs), default=None)
    return sorted((pair for pair in pairs if pair.depth >= 0.0), key=lambda pair: -pair.depth), clearance


def _robot_lines(robot: Robot, contacts: list[_Overlap], clearance: float | None) -> list[str]:
    if contacts:
        title = f"{label(robot.name)} is in collision at this configuration; --q selects another"
        return [title, *_overlap_lines("touching", contacts)]
    least = "" if clearance is None else f"; the smallest distance is {number(clearance)} m"
    return [f"{label(robot.name)} is free of collisions at this configuration{least}"]


def _overlap_lines(title: str, overlaps: list[_Overlap]) -> list[str]:
    rows = [[escaped(pair.a), escaped(pair.b), f"{1e3 * pair.depth:.1f}"] for pair in overlaps]
    return [f"{title}:", *table(["a", "b", "depth [mm]"], rows, left=(0, 1))] if rows else []


def _unusual_sizes(scene: Scene) -> list[str]:
    result = []
    for obstacle in scene.obstacles:
        sphere = _sphere(obstacle)
        if sphere is not None and not _SMALL <= sphere[1] <= _LARGE:
            result.append(
                f"{obstacle.name!r} has a radius of {number(sphere[1])} m; the unit of the file is a key of it: units"
            )
    return result


def _sphere(obstacle: _Placed) -> tuple[np.ndarray, float] | None:
    """Return centre and radius [m] of a sphere around an obstacle in the world; None if it is unbounded."""
    sphere = obstacle.shape.bounding_sphere
    if sphere is None:
        return None
    X = _matrix(obstacle)
    return X[:3, :3] @ np.array([*sphere[0]]) + X[:3, 3], float(sphere[1])


def _matrix(obstacle: _Placed) -> np.ndarray:
    pose = obstacle.pose
    return pose if isinstance(pose, np.ndarray) else np.array([float(x) for x in pose.elements()]).reshape(4, 4)


def _row(obstacle: Obstacle) -> list[str]:
    sphere = _sphere(obstacle)
    center = _matrix(obstacle)[:3, 3] if sphere is None else sphere[0]
    radius = "-" if sphere is None else number(sphere[1])
    return [
        obstacle.name,
        type(obstacle.shape).__name__,
        radius,
        " ".join(number(round(float(x), 6) + 0.0) for x in center),
    ]


def _described(obstacle: Obstacle) -> dict[str, Any]:
    sphere = _sphere(obstacle)
    return {
        "name": obstacle.name,
        "shape": type(obstacle.shape).__name__,
        "pose": _matrix(obstacle).tolist(),
        "radius": None if sphere is None else sphere[1],
        "center": None if sphere is None else sphere[0].tolist(),
    }
