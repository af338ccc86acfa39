"""`linkwork distances`: distances between a robot's collision shapes, and to a scene.

Configurations are drawn at random within limits, or the options select one or the rows of a table. A pair that
"always" or "never" touches does so in these configurations; other configurations are not examined.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork import Robot, Scene, __version__
from linkwork._util.progress import ProgressBar
from linkwork.cli.arguments import BAD_MODEL, CommandError, add_json, add_meshes, add_robot, robot_of, with_meshes
from linkwork.cli.files import (
    DATA,
    add_files,
    add_scene,
    check_files,
    data_writers,
    scene_setup,
    write_files,
    written_lines,
)
from linkwork.cli.output import Terminal, escaped, label, quantity, table
from linkwork.cli.states import add_configuration, configuration_data, configurations_of
from linkwork.cli.values import from_zero, positive

__all__ = ["add_arguments", "run"]

_CHUNK = 1000  # configurations between two updates of progress
_QUANTILES = (0.0, 0.01, 0.5, 1.0)
_NAMES = ("min", "p1", "p50", "max")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_robot(parser)
    add_meshes(parser)
    add_scene(parser)
    add_configuration(parser)
    parser.add_argument(
        "--samples", metavar="N", type=positive, default=10_000, help="number of samples (default: 10000)"
    )
    parser.add_argument("--seed", metavar="N", type=from_zero, default=0, help="seed of random numbers (default: 0)")
    add_files(parser, "write the distances: a row for each configuration of --q, or each pair (.csv, .json, .npz)")
    add_json(parser)


@dataclass(frozen=True, slots=True)
class Clearances:
    """Statistics of the distances of each pair of shapes over all configurations [m], with timings."""

    pairs: tuple[tuple[str, str], ...]
    quantiles: np.ndarray  # (pairs, 4)
    touching: np.ndarray  # share of configurations
    free: float  # share of configurations in which nothing touches
    first: float  # [s] first calls, of one configuration and of a batch, with compilation
    each: float  # [s] for a configuration after that


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    check_files(arguments, DATA)
    robot = with_meshes(robot_of(arguments, terminal), arguments)
    setup, scene = scene_setup(arguments, robot, terminal), None
    if setup is not None:
        robot, scene = setup.robot, setup.scene
    try:
        if arguments.q is not None or arguments.configuration is not None:
            return _at_configurations(robot, scene, arguments, terminal)
        result = _clearances(robot, scene, arguments, terminal)
    except (TypeError, ValueError) as error:  # no shapes, or shapes without distances
        raise CommandError(BAD_MODEL, escaped(str(error))) from error
    data = _data(robot, result, arguments)
    rows = [[*pair.values()] for pair in data["pairs"]]
    columns = ("a", "b", *_NAMES, "touching")
    arrays = {name: [row[k] for row in rows] for k, name in enumerate(columns)}
    write_files(arguments, data_writers(data, columns, rows, arrays))
    if arguments.json:
        terminal.out.json(data | {"output": arguments.output})
    else:
        terminal.out.lines([*_text(robot, result, arguments), *written_lines(arguments)])
    return 0


def _at_configurations(robot: Robot, scene: Scene | None, arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Print the distance of each pair at one configuration, in increasing order, or the nearest pair of each row."""
    q = configurations_of(robot, arguments, terminal)
    result = robot.distances(q, scene)
    d = np.atleast_2d(result.distance)
    order = np.argsort(d.min(axis=0), kind="stable")
    stated = d[0].tolist() if q.ndim == 1 else d.T.tolist()
    listed = [{"a": result.pairs[k][0], "b": result.pairs[k][1], "distance": stated[k]} for k in order]
    data = configuration_data(robot, q, scene=arguments.scene, pairs=listed)
    names = [f"{a}:{b}" for a, b in result.pairs]
    arrays = {"q": q, "q_names": [*robot.q_names], "pairs": [*result.pairs], "distance": result.distance}
    write_files(arguments, data_writers(data, names, d.tolist(), arrays))
    if arguments.json:
        terminal.out.json(data | {"output": arguments.output})
        return 0
    count = quantity(len(names), "pair")
    if q.ndim == 1:
        title = f"{label(robot.name)}: {count} at one configuration"
        head, rows = [], [[*map(escaped, result.pairs[k]), f"{1e3 * d[0, k]:.1f}"] for k in order]
    else:
        title = f"{label(robot.name)}: the nearest of {count} at {quantity(len(d), 'configuration')}"
        nearest = enumerate(d.argmin(axis=1).tolist())
        head, rows = ["row"], [[str(k), *map(escaped, result.pairs[j]), f"{1e3 * d[k, j]:.1f}"] for k, j in nearest]
    left = (len(head), len(head) + 1)
    lines = [title, "", *table([*head, "a", "b", "distance [mm]"], rows, left=left)]
    terminal.out.lines([*lines, *written_lines(arguments)])
    return 0


def _configurations(robot: Robot, arguments: argparse.Namespace) -> np.ndarray:
    """Return random configurations (samples, nq); assembled configurations for a robot with constraints.

    There may be fewer than requested. Raises CommandError if there are none.
    """
    q = robot.random_configuration(np.random.default_rng(arguments.seed), size=arguments.samples)
    if any(constraint.holonomic for constraint in robot.tree.constraints):
        result = robot.assemble(q, check=False)
        q = result.q[np.asarray(result.success)]
        if not len(q):
            raise CommandError(BAD_MODEL, f"{label(robot.name)}: cannot be assembled within its joint limits")
    return q


def _clearances(robot: Robot, scene: Scene | None, arguments: argparse.Namespace, terminal: Terminal) -> Clearances:
    q = _configurations(robot, arguments)
    start = time.perf_counter()
    pairs = robot.distances(q[0], scene).pairs
    robot.distances(q[:2], scene)  # compile the code of batches
    first = time.perf_counter() - start
    d = np.empty((len(q), len(pairs)))
    start = time.perf_counter()
    with ProgressBar(terminal.progress, "configurations", len(q)) as progress:
        for k in range(0, len(q), _CHUNK):
            d[k : k + _CHUNK] = robot.distances(q[k : k + _CHUNK], scene).distance
            progress.advance(min(_CHUNK, len(q) - k))
    return Clearances(
        pairs,
        np.quantile(d, _QUANTILES, axis=0).T,
        np.mean(d <= 0.0, axis=0),
        float(np.mean((d > 0.0).all(axis=1))),
        first,
        (time.perf_counter() - start) / len(q),
    )


def _text(robot: Robot, result: Clearances, arguments: argparse.Namespace) -> list[str]:
    order = np.lexsort((result.quantiles[:, 2], result.quantiles[:, 0]))
    rows = [
        [
            *(escaped(name) for name in result.pairs[k]),
            *(f"{1e3 * x:.1f}" for x in result.quantiles[k]),
            f"{100 * result.touching[k]:.2f}",
        ]
        for k in order
    ]
    always, never = _touching(result, 1.0), _touching(result, 0.0)
    lines = [
        f"{label(robot.name)}: {quantity(len(result.pairs), 'pair')}, {quantity(arguments.samples, 'configuration')}",
        "",
        *table(["a", "b", *(f"{name} [mm]" for name in _NAMES), "touching [%]"], rows, left=(0, 1)),
        "",
        f"nothing touches in {100 * result.free:.2f} % of configurations",
        f"touching in all of them: {_listed(always)}",
        f"touching in none of them: {len(never)} of {quantity(len(result.pairs), 'pair')}",
        "",
        f"{1e6 * result.each:.3g} µs a configuration; compilation took {result.first:.2f} s",
        f"linkwork {__version__}; float64; seed {arguments.seed}",
    ]
    return lines


def _listed(pairs: list[tuple[str, str]]) -> str:
    return "; ".join(f"{escaped(a)} and {escaped(b)}" for a, b in pairs) or "none"


def _touching(result: Clearances, share: float) -> list[tuple[str, str]]:
    """Return the pairs that touch in exactly the fraction ``share`` of the configurations."""
    return [pair for pair, pair_share in zip(result.pairs, result.touching, strict=True) if pair_share == share]


def _data(robot: Robot, result: Clearances, arguments: argparse.Namespace) -> dict[str, Any]:
    return {
        "linkwork": __version__,
        "robot": robot.name,
        "scene": arguments.scene,
        "samples": arguments.samples,
        "seed": arguments.seed,
        "pairs": [
            {"a": a, "b": b, **dict(zip(_NAMES, map(float, row), strict=True)), "touching": float(share)}
            for (a, b), row, share in zip(result.pairs, result.quantiles, result.touching, strict=True)
        ],
        "always": [list(pair) for pair in _touching(result, 1.0)],
        "never": [list(pair) for pair in _touching(result, 0.0)],
        "free": result.free,
        "first_call_seconds": result.first,
        "seconds_per_configuration": result.each,
    }
