"""Roadmap for repeated queries of a robot in a scene, with storage in files.

A roadmap is identified by a digest of all that it depends on, equal in every process for equal robots and scenes.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, Self, Unpack

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.checked_arguments import public
from linkwork._util.file_search import Folders
from linkwork._util.npz_archive import npz_path, open_archive, write_archive
from linkwork._util.pictures import Output, Shown, show
from linkwork._util.progress import Progress
from linkwork._util.validation import integer
from linkwork.collision.fingerprints import fingerprint
from linkwork.errors import Status
from linkwork.geometry.scene import Scene
from linkwork.planning.path_constraints import ConstrainedSpace
from linkwork.planning.plan_path import PlanQuery, QueryBegin, read_space
from linkwork.planning.result import PlanResult
from linkwork.planning.roadmap_graph import RoadmapGraph
from linkwork.planning.search.neighbor_graph import BLOCKED, FREE, UNKNOWN
from linkwork.planning.search.path_smoothing import shorten_path
from linkwork.planning.search.rrt_connect_batch import SearchOptions

__all__ = ["Roadmap"]


_FORMAT = "linkwork roadmap 2"
_ARRAYS = ("q", "edges", "lengths", "state")
_STATES = sorted((BLOCKED, FREE, UNKNOWN))


@public
class Roadmap(Shown):
    """Probabilistic roadmap of a robot in a scene: collision-free configurations and edges, for many queries.

    ``num_nodes`` nodes cover the limits, each connected to its ``num_neighbors`` nearest nodes.  The default is k = e
    (1 + 1/d) log n for n nodes in d dimensions, for which paths converge to the shortest path as n grows.  Edges are
    checked at construction, or, if ``lazy``, when a path would use them.  ``collision_check``, ``resolution``,
    ``margin``, ``pairs``, ``weights``, ``position_limits``, ``path_constraints``, ``constraint_tolerance`` and the
    result of `plan` are as in `Robot.plan`.  The same ``seed`` gives the same roadmap.  ``progress`` shows a bar on
    standard error, by default on a terminal, or is a function of a `linkwork.Progress`, in edges.

    A roadmap is a value: `extended` returns a larger one, it can be pickled and used by several threads, and `save`
    writes it to a file.  (A lazy roadmap stores the results of its edge checks.)

    >>> import numpy as np
    >>> import linkwork as lw
    >>> robot = lw.load("arm7")
    >>> scene = lw.Scene().with_box("wall", (0.3, 0.05, 0.6), (0.5, 0.0, 0.3))
    >>> roadmap = lw.planning.Roadmap(robot, scene, num_nodes=100, lazy=True)
    >>> found = roadmap.plan([-1.0, 0.8, 0.0, -1.2, 0.0, 1.0, 0.0], [1.0, 0.8, 0.0, -1.2, 0.0, 1.0, 0.0])
    >>> found.status
    <Status.SOLVED: 'solved'>

    Raises ValueError and TypeError as `Robot.plan`, and ValueError if hardly any configuration is collision-free.
    """

    def __init__(
        self,
        robot: Any,
        scene: Scene | None = None,
        *,
        num_nodes: int = 500,
        num_neighbors: int | None = None,
        lazy: bool = False,
        seed: int = 0,
        collision_check: Literal["certified", "sampled"] = "certified",
        resolution: float = 0.05,
        margin: float | Mapping[Any, float] = 0.0,
        pairs: Any = None,
        weights: ArrayLike | None = None,
        position_limits: Any = None,
        path_constraints: Any = (),
        constraint_tolerance: float = 1e-3,
        progress: bool | Callable[[Progress], Any] | None = None,
    ) -> None:
        count = _read_integer("num_nodes", num_nodes, 1)
        self._options: dict[str, Any] = {
            "collision_check": collision_check,
            "resolution": resolution,
            "margin": margin,
            "pairs": pairs,
            "weights": weights,
            "position_limits": position_limits,
            "path_constraints": path_constraints,
            "constraint_tolerance": constraint_tolerance,
        }
        space = read_space(robot, scene, **self._options)
        neighbours = None if num_neighbors is None else _read_integer("num_neighbors", num_neighbors, 1)
        self._graph = RoadmapGraph(space, seed=_read_integer("seed", seed, 0), neighbours=neighbours, lazy=bool(lazy))
        self._graph = self._graph.grown(count, progress)

    # -- properties

    @property
    def robot(self) -> Any:
        """Robot of the roadmap."""
        return self._graph.space.robot

    @property
    def scene(self) -> Scene | None:
        """Scene of the roadmap."""
        scene: Scene | None = self._graph.space.scene
        return scene

    @property
    def nodes(self) -> np.ndarray:
        """Collision-free configurations (n, nq)."""
        return self._graph.q

    @property
    def edges(self) -> np.ndarray:
        """Pairs (m, 2) of connected nodes; for a lazy roadmap, pairs whose edge is not known to be blocked."""
        return self._graph.joined

    @property
    def components(self) -> np.ndarray:
        """Connected component of each node (n,): the smallest index of a node that is connected with it."""
        return self._graph.components

    def __len__(self) -> int:
        return len(self._graph.q)

    # -- queries

    def plan(
        self, start: Any, goal: Any, *, frame: str | None = None, simplify: bool = True, max_goal_solutions: int = 8
    ) -> PlanResult:
        """Return a path from a configuration to a goal, as `Robot.plan` does, along the roadmap.

        ``frame`` and ``max_goal_solutions`` are those of `Robot.plan`. With ``simplify`` the path is shortened. The
        status is "disconnected" if the roadmap has no path; the message says whether start or goal has no neighbours.
        """
        graph, space = self._graph, self._graph.space
        max_goal_solutions = integer("Roadmap.plan", "max_goal_solutions", max_goal_solutions, least=1)
        query = PlanQuery(space, start, goal, frame, graph.seed, QueryBegin.now())
        starts, goals, refused = query.end_configurations(max_goal_solutions)
        if refused is not None:
            return refused
        answer = graph.shortest_path(starts, goals.q)
        if answer.path is None:
            return query.refused(Status.DISCONNECTED, answer.message)._replaced(motions_checked=answer.edges)
        path = answer.path
        if simplify:
            path = shorten_path(space, path, seed=graph.seed, spacing=SearchOptions().spacing)
        return query.solved(path, goals)._replaced(motions_checked=answer.edges, nodes=len(graph.q))

    # -- pictures

    def show(
        self,
        *,
        frame: str | None = None,
        robots: int = 1,
        meshes: Folders | None = None,
        title: str | None = None,
        **output: Unpack[Output],
    ) -> Any:
        """Show the nodes as points and the edges as lines, at the positions of a frame's origin, with the obstacles.

        Nodes of one component have one colour.  The default ``frame`` is the last frame that moves, and ``robots`` is
        the number of nodes at which the robot is shown.  ``meshes`` are folders of mesh files, and ``title`` is the
        title of the page.  Returns the `linkwork.viewer.View` of a live page, or the path of a file; see `Robot.show`
        for the other arguments and the errors.
        """
        return show(self, output, frame=frame, robots=robots, meshes=meshes, title=title)

    # -- extension

    def extended(self, nodes: int, *, progress: bool | Callable[[Progress], Any] | None = None) -> Self:
        """Return the roadmap with ``nodes`` more nodes, and edges from them to their neighbours, old and new.

        ``progress`` shows a bar on standard error, or is a function of a `linkwork.Progress`.
        """
        return self._with_graph(self._graph.grown(_read_integer("nodes", nodes, 1), progress))

    def _with_graph(self, graph: RoadmapGraph) -> Self:
        roadmap = object.__new__(type(self))
        roadmap._options, roadmap._graph = self._options, graph
        return roadmap

    # -- files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the roadmap to the .npz file ``path``, with a fingerprint of its robot, scene and options."""
        file, graph = npz_path("Roadmap.save", path), self._graph
        metadata = {
            "format": _FORMAT,
            "of": self._fingerprint(),
            "robot": self.robot.name,
            "seed": graph.seed,
            "neighbours": graph.neighbours,
            "lazy": graph.lazy,
            "batches": graph.batches,
        }
        write_archive(file, metadata, {name: getattr(graph, name) for name in _ARRAYS})

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        robot: Any,
        scene: Scene | None = None,
        *,
        trusted: bool = True,
        **options: Any,
    ) -> Self:
        """Return the roadmap of the file ``path``, for the robot, the scene and the options with which it was built.

        ``trusted`` makes no difference: the file is read without other libraries, with all checks.
        Raises TypeError for an unknown option, and ValueError for a file that is not a roadmap, and for another robot,
        scene or options, for which its edges need not be free.
        """
        file = npz_path("Roadmap.load", path)
        known = _defaults()
        for name in options:
            if name not in known:
                raise TypeError(f"Roadmap.load: expected options {', '.join(sorted(known))}, got {name!r}")
        metadata, arrays = _read(file)
        result = object.__new__(cls)
        result._options = {**known, **options}
        space = read_space(robot, scene, **result._options)
        graph = RoadmapGraph(space, seed=metadata["seed"], neighbours=metadata["neighbours"], lazy=metadata["lazy"])
        result._graph = graph
        if result._fingerprint() != metadata["of"]:
            raise ValueError(
                f"{file}: expected the robot, scene and options of the roadmap (robot {metadata['robot']!r}), "
                f"got others, for which its edges may collide; create a new Roadmap"
            )
        graph.restored(arrays, metadata["batches"])
        return result

    def _fingerprint(self) -> str:
        """Return a digest of all data that determine nodes and edges, including users' code and masses of tasks."""
        space = self._graph.space
        tasks = space.constraint_tasks.problem.tasks if isinstance(space, ConstrainedSpace) else ()
        checks = [space.method, space.resolution, space.margins, space.pairs, self._options["constraint_tolerance"]]
        limits = space.weights, space.lower, space.upper
        return fingerprint(self.robot, self.scene, checks, *limits, tasks, masses=bool(tasks))

    def __repr__(self) -> str:
        graph = self._graph
        parts = len(np.unique(graph.components))
        return (
            f"<Roadmap of {self.robot.name!r}: {len(graph.q)} nodes, {len(self.edges)} edges, "
            f"{parts} part{'' if parts == 1 else 's'}>"
        )


def _defaults() -> dict[str, Any]:
    """Return the default values of those options that determine the planning space of a roadmap."""
    space_options = inspect.signature(read_space).parameters
    parameters = inspect.signature(Roadmap).parameters.values()
    return {
        parameter.name: parameter.default
        for parameter in parameters
        if parameter.kind is parameter.KEYWORD_ONLY and parameter.name in space_options
    }


def _read(file: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the metadata and the arrays of a roadmap's file.  Raises ValueError for another file."""
    with open_archive(file, _FORMAT, "Roadmap.save") as reader:
        neighbours = None if reader.said["neighbours"] is None else reader.integer("neighbours", 1)
        metadata = {
            "of": reader.text("of"),
            "robot": reader.text("robot"),
            "seed": reader.integer("seed", 0, 2**128),
            "neighbours": neighbours,
            "lazy": reader.boolean("lazy"),
            "batches": reader.integer("batches", 0),
        }
        q = reader.array("q", ("nodes", None))
        last = reader.sizes["nodes"] - 1
        arrays = {
            "q": q,
            "edges": reader.array("edges", ("edges", 2), kind="integer", least=0, most=last),
            "lengths": reader.array("lengths", ("edges",), least=0.0),
            "state": reader.array("state", ("edges",), kind="integer", least=_STATES[0], most=_STATES[-1]),
        }
        return metadata, arrays


def _read_integer(argument: str, x: Any, least: int) -> int:
    return integer("Roadmap", argument, x, least=least, most=None, description="an integer")
