"""A roadmap as people hold it: made once for a robot and a scene, asked often, kept in files.

A name for all that a roadmap depends on: a digest that is the same in every process, for equal robots and scenes.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import pickle
import struct
import time
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.checked_arguments import public
from linkwork._util.npz_archive import npz_path, open_archive, write_archive
from linkwork._util.progress import Progress
from linkwork._util.validation import integer
from linkwork.errors import Status
from linkwork.geometry.scene import Scene
from linkwork.model.collision_pairs import collision_pairs, link_shapes
from linkwork.planning.plan_path import PlanQuery, read_space
from linkwork.planning.result import PlanResult
from linkwork.planning.roadmap_graph import WayGraph
from linkwork.planning.search.neighbor_graph import BLOCKED, FREE, UNKNOWN
from linkwork.planning.search.path_smoothing import shortened
from linkwork.planning.search.rrt_connect_batch import SearchOptions

__all__ = ["Roadmap"]


_FORMAT = "linkwork roadmap 1"
_ARRAYS = ("q", "edges", "lengths", "state")
_STATES = sorted((BLOCKED, FREE, UNKNOWN))


@public
class Roadmap:
    """Free configurations of a robot in a scene, and free ways between them: for many queries in one scene.

    So many ``num_nodes`` are spread over the limits, each joined to its k nearest: ``num_neighbors`` of them, or
    k = e (1 + 1/d) log n, with which ways tend to the shortest as nodes become many.  Edges are looked at when the
    roadmap is made, or, where it is ``lazy``, when a way would use them.  ``collision_check``, ``resolution``,
    ``margin``, ``pairs``, ``weights``, ``position_limits``, ``path_constraints`` and ``constraint_tolerance`` are those
    of `Robot.plan`, and so is what `plan` gives.  The same ``seed`` gives the same roadmap.  ``progress`` shows a bar
    on standard error, by default if that is a terminal, or is a function of a `linkwork.Progress`, in edges.

    It is a value: `extended` gives a larger one, it pickles, several threads may ask it, and `save` keeps it in a file.
    (What a lazy one has learned of its edges stays with it.)

    >>> import numpy as np
    >>> import linkwork as lw
    >>> robot = lw.load("arm7")
    >>> scene = lw.Scene().with_box("wall", (0.3, 0.05, 0.6), (0.5, 0.0, 0.3))
    >>> roadmap = lw.planning.Roadmap(robot, scene, num_nodes=100, lazy=True)
    >>> found = roadmap.plan([-1.0, 0.8, 0.0, -1.2, 0.0, 1.0, 0.0], [1.0, 0.8, 0.0, -1.2, 0.0, 1.0, 0.0])
    >>> found.status
    <Status.SOLVED: 'solved'>

    Raises ValueError and TypeError as `Robot.plan` does, and ValueError where hardly any configuration is free.
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
        count = _whole("num_nodes", num_nodes, 1)
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
        joined = None if num_neighbors is None else _whole("num_neighbors", num_neighbors, 1)
        self._graph = WayGraph(space, seed=_whole("seed", seed, 0), neighbours=joined, lazy=bool(lazy))
        self._graph = self._graph.grown(count, progress)

    # -- what is in it

    @property
    def robot(self) -> Any:
        """The robot that it is of."""
        return self._graph.space.robot

    @property
    def scene(self) -> Scene | None:
        """The scene that it is of."""
        scene: Scene | None = self._graph.space.scene
        return scene

    @property
    def nodes(self) -> np.ndarray:
        """Free configurations (n, nq)."""
        return self._graph.q

    @property
    def edges(self) -> np.ndarray:
        """Pairs (m, 2) of nodes that are joined; of a lazy one, those that are not known to be blocked."""
        return self._graph.joined

    @property
    def components(self) -> np.ndarray:
        """By node (n,), the least number of a node that edges join it with: equal where there is a way."""
        return self._graph.components

    def __len__(self) -> int:
        return len(self._graph.q)

    # -- asking

    def plan(
        self, start: Any, goal: Any, *, frame: str | None = None, simplify: bool = True, max_goal_solutions: int = 8
    ) -> PlanResult:
        """A path from a configuration to a goal, both as of `Robot.plan`: along the roadmap, made shorter.

        Its status is "disconnected" where the roadmap has no path; the message says whether start or goal is alone.
        """
        graph, space = self._graph, self._graph.space
        query = PlanQuery(space, start, goal, frame, graph.seed, time.perf_counter())
        starts, goals, refused = query.ends(max_goal_solutions)
        if refused is not None:
            return refused
        way = graph.way(starts, goals.q)
        if way.path is None:
            return query.refused(Status.DISCONNECTED, way.message)._replaced(motions_checked=way.edges)
        path = way.path
        if simplify:
            path = shortened(space, path, seed=graph.seed, spacing=SearchOptions().spacing)
        return query.solved(path, goals)._replaced(motions_checked=way.edges, nodes=len(graph.q))

    # -- others made of it

    def extended(self, nodes: int, *, progress: bool | Callable[[Progress], Any] | None = None) -> Self:
        """The roadmap with so many nodes more, and edges from them to their neighbours, old and new."""
        return self._of(self._graph.grown(_whole("nodes", nodes, 1), progress))

    def _of(self, graph: WayGraph) -> Self:
        other = object.__new__(type(self))
        other._options, other._graph = self._options, graph
        return other

    # -- files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file named .npz, with a name for the robot and the scene that it is of."""
        where, graph = npz_path("Roadmap.save", path), self._graph
        said = {
            "format": _FORMAT,
            "of": self._fingerprint(),
            "robot": self.robot.name,
            "seed": graph.seed,
            "neighbours": graph.neighbours,
            "lazy": graph.lazy,
            "batches": graph.batches,
        }
        write_archive(where, said, {name: getattr(graph, name) for name in _ARRAYS})

    @classmethod
    def load(cls, path: str | os.PathLike[str], robot: Any, scene: Scene | None = None, **options: Any) -> Self:
        """Read it, for the robot, the scene and the options that it was made with.

        Raises ValueError for a file that is no roadmap, and for another robot, scene or options: nothing of it need be
        free there.
        """
        where = npz_path("Roadmap.load", path)
        known = _defaults()
        for name in options:
            if name not in known:
                raise TypeError(f"Roadmap.load: expected options {', '.join(sorted(known))}, got {name!r}")
        said, arrays = _read(where)
        result = object.__new__(cls)
        result._options = {**known, **options}
        space = read_space(robot, scene, **result._options)
        graph = WayGraph(space, seed=said["seed"], neighbours=said["neighbours"], lazy=said["lazy"])
        result._graph = graph
        if result._fingerprint() != said["of"]:
            raise ValueError(
                f"{where}: a roadmap of robot {said['robot']!r}: this robot, this scene or these options are others, "
                f"and nothing of it need be free with them"
            )
        graph.filled(arrays, said["batches"])
        return result

    def _fingerprint(self) -> str:
        space = self._graph.space
        options = [
            self._options["collision_check"],
            float(self._options["resolution"]),
            *([space.margins.own] if space.margins.is_one else [space.margins]),
            float(self._options["constraint_tolerance"]),
        ]
        tasks = (
            [*self._options["path_constraints"]]
            if isinstance(self._options["path_constraints"], (list, tuple))
            else self._options["path_constraints"]
        )
        if space.straight is not space.robot:
            options.append("straight")  # edges of files that were written before this were along screws
        if space.pairs is not None:
            options.append(space.pairs)
        return fingerprint(self.robot, self.scene, options, space.weights, space.lower, space.upper, tasks)

    def __repr__(self) -> str:
        graph = self._graph
        parts = len(np.unique(graph.components))
        return (
            f"<Roadmap of {self.robot.name!r}: {len(graph.q)} nodes, {len(self.edges)} edges, "
            f"{parts} part{'' if parts == 1 else 's'}>"
        )


def _defaults() -> dict[str, Any]:
    """The options that say what space a roadmap is in."""
    of_space = inspect.signature(read_space).parameters
    own = inspect.signature(Roadmap).parameters.values()
    return {one.name: one.default for one in own if one.kind is one.KEYWORD_ONLY and one.name in of_space}


def _read(where: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What a file says of its roadmap, and its arrays.  Raises ValueError."""
    with open_archive(where, _FORMAT, "Roadmap.save") as reader:
        neighbours = None if reader.said["neighbours"] is None else reader.integer("neighbours", 1)
        said = {
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
        return said, arrays


def _whole(what: str, x: Any, least: int) -> int:
    return integer("Roadmap", what, x, least=least, most=None, what="an integer")


def fingerprint(robot: Any, scene: Any, *more: Any) -> str:
    """Of a robot's joints, limits, shapes, pairs and constraints, and of a scene's obstacles."""
    tree = robot.tree
    bodies = [(b.parent, b.joint_name, b.joint, b.placement, b.rotor, b.coupling, b.limits) for b in tree.bodies]
    frames = [(frame.name, frame.body, frame.placement) for frame in tree.frames]
    marks = [*tree.points, *tree.directions]
    own = [bodies, frames, marks, tree.constraints, robot.lower, robot.upper]
    seen = [] if scene is None else [(one.name, one.shape, one.pose) for one in scene.obstacles]
    told = _encoded((own, link_shapes(tree), collision_pairs(tree), seen, more))
    return hashlib.sha256(told).hexdigest()


def _encoded(value: Any) -> bytes:
    """Bytes that are the same for equal values; functions, whose code nobody compares, go by their names."""
    if value is None or isinstance(value, (bool, str)):
        parts = [repr(value).encode()]
    elif isinstance(value, Integral):
        parts = [str(int(value)).encode()]
    elif isinstance(value, Real):
        parts = [struct.pack("<d", float(value) + 0.0)]
    elif isinstance(value, np.ndarray):
        parts = [str(value.shape).encode(), np.ascontiguousarray(value).tobytes()]
    elif is_dataclass(value):
        parts = [_encoded(getattr(value, field.name)) for field in fields(value) if field.compare]
    elif isinstance(value, Mapping):
        parts = [_encoded(pair) for pair in value.items()]
    elif isinstance(value, (tuple, list)):
        parts = [_encoded(part) for part in value]
    elif isinstance(value, (set, frozenset)):
        parts = sorted(_encoded(part) for part in value)
    elif hasattr(value, "elements"):
        parts = [_encoded([*value.elements()])]
    elif not callable(value):
        parts = [pickle.dumps(value, 4)]
    else:
        parts = [f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', '')}".encode()]
    kind = type(value).__name__ if is_dataclass(value) else ""
    return b"".join([f"{kind}{len(parts)}:".encode(), *(b"%d:%b" % (len(part), part) for part in parts)])
