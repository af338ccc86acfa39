"""Space of a planner: a robot's configurations in a scene, and checks of configurations and edges."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from itertools import pairwise
from typing import Any, Literal, cast

import numpy as np

from linkwork.collision.clearance_margins import Margins, PairBlock, pair_blocks, read_margins
from linkwork.collision.kernels import EACH
from linkwork.collision.motion_validity import METHODS, check_depths, check_edges, edge_kernel
from linkwork.kernels.compiler_api import batch_call
from linkwork.planning.configuration_geometry import MAX_CONFIGURATIONS, ConfigurationGeometry
from linkwork.planning.search.halton_samples import Samples

__all__ = ["TOLERANCE", "EdgeMethod", "OutOfTimeError", "PlanningSpace"]

EdgeMethod = Literal["certified", "sampled"]

_READY = "planning"  # of the names of checks that are compiled for batches of any size
_CHECKS = ("edges", "configurations")  # that are compiled before a search
_MIN_BATCH = 16  # minimum batch of configurations for which kernels are compiled
_SAMPLES_PER_PART = 1024  # samples per part of a long edge
_EDGES_PER_BATCH = 256  # edges that are proved between two checks of the time limit; sampled ones by their samples
TOLERANCE = 1e-6  # [m] distances above the margin by less count as collisions


class OutOfTimeError(Exception):
    """Error of edge checks when the time limit expires; the remaining edges stay unknown."""


class PlanningSpace(ConfigurationGeometry):
    """Planning space of a robot in a scene: its configurations, samples, and collision checks of edges.

    Planners use only the methods of this class, so a class with the same methods can replace it.
    """

    has_time: Callable[[], bool] = staticmethod(lambda: True)  # returns True while a search has time left

    def __init__(
        self,
        robot: Any,
        scene: Any = None,
        *,
        margin: float | Margins = 0.0,
        pairs: Any = None,
        collision_check: EdgeMethod = "certified",
        resolution: float = 0.05,
        weights: np.ndarray | None = None,
        position_limits: tuple[np.ndarray, np.ndarray] | None = None,
        counted: frozenset[str] = frozenset(),
    ) -> None:
        """Create the space; the angles of the joints named in ``counted`` are not periodic.

        Raise ValueError for an unbounded length, and the exceptions of `Robot.is_motion_free`.
        """
        self.scene, self.margins, self.pairs = scene, read_margins(margin), pairs
        self.method, self.resolution = collision_check, resolution
        super().__init__(robot, weights, position_limits, counted)
        self.checked = 0  # number of edges checked
        self.blocks = self._pair_blocks()
        if (
            self.blocks
            and collision_check == METHODS[0]
            and self._edge_name(self.blocks[0]) not in self.blocks[0].selection.kernels
        ):
            check_edges(self.blocks[0].selection.spec)
        if collision_check == METHODS[0]:
            for block in self.blocks:
                if block.is_deep:
                    check_depths("plan", block.selection, self.margins.of(robot, block.selection, strict=False))
        self._edge: dict[str, Any] | None = None  # kernel calls by name

    # -- collision checks

    def _pair_blocks(self) -> tuple[PairBlock, ...]:
        """Return the pairs to check; none if the robot's shapes have no pairs and there are no obstacles.

        Raises ValueError for a robot without collision shapes or without joints, and for unknown names.
        """
        robot = self.robot
        has_choice = self.pairs is not None or not self.margins.is_uniform or bool(self.scene)
        if not has_choice and robot.nq and robot.collision_shapes and not robot.collision_pairs:
            return ()
        return pair_blocks(robot, self.scene, self.pairs, self.margins)

    def free(self, q: np.ndarray) -> np.ndarray:
        """Return a mask (n,) of the configurations (n, nq) that are collision-free."""
        result = np.ones(len(q), dtype=bool)
        for kernel, more in self._kernel_calls("in_collision"):
            result &= np.asarray(kernel(q, *more) < 0.5)
        return result

    def free_ends(self, q: np.ndarray) -> np.ndarray:
        """Return a mask (n,) of the configurations (n, nq) at which edges may begin and end: those without collision.

        Certified edges need a small distance in addition to the margin to be distinguished from a collision. A check of
        edges of length 0 shows that most configurations are free. Only the remaining ones need the check of
        configurations, whose code many plans never use.
        """
        result = self._check_batch(q, q, np.zeros(len(q)))
        if result.all():
            return result
        left = np.flatnonzero(~result)
        free = np.ones(len(left), dtype=bool)
        for kernel, (margin, *more) in self._kernel_calls("in_collision"):
            free &= kernel(q[left], margin + (TOLERANCE if self.method == METHODS[0] else 0.0), *more) < 0.5
        result[left] = free
        return result

    def keeps(self, q: np.ndarray) -> np.ndarray:
        """Return a mask (...) of the configurations (..., nq) that satisfy the path constraints."""
        return np.ones(q.shape[:-1], dtype=bool)

    def edges_are_free(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """Return a mask (n,) of the straight edges (n, nq) that are collision-free."""
        result = np.ones(len(q0), dtype=bool)
        edge, q0, q1 = self.straight_parts(q0, q1)
        result[edge[~self._check_edges(q0, q1, np.zeros(len(q0)))]] = False
        return result

    def edges_are_clear(self, q0: np.ndarray, q1: np.ndarray, more: np.ndarray) -> np.ndarray:
        """Return a mask (n,) of the straight edges (n, nq) that are collision-free with an additional margin.

        ``more`` (n,) is the additional margin [m]. Differences of angles include full revolutions, as along a
        continuous path.
        """
        return self._check_edges(q0, q1, more)

    def _check_edges(self, q0: np.ndarray, q1: np.ndarray, more: np.ndarray) -> np.ndarray:
        """Return a mask (n,) of the edges that are free with an additional margin ``more`` (n,) [m].

        Long sampled edges are checked in parts, and many edges in batches, to check the time limit in between.  Raises
        OutOfTimeError.
        """
        self.checked += len(q0)
        if self.method == METHODS[0]:
            return self._check_in_batches(q0, q1, more, np.full(len(q0), 1.0 / _EDGES_PER_BATCH))
        phi = self.straight.difference(q0, q1)
        samples = np.maximum(np.ceil(np.linalg.norm(phi, axis=-1) / self.resolution), 1.0)
        if samples.max(initial=1.0) <= _SAMPLES_PER_PART:
            return self._check_in_batches(q0, q1, more, samples / MAX_CONFIGURATIONS)
        result = np.empty(len(q0), dtype=bool)
        for k, count in enumerate(np.ceil(samples / _SAMPLES_PER_PART).astype(np.int64).tolist()):
            result[k] = self._check_long_edge(q0[k], phi[k], more[k], count, first=k == 0)
        return result

    def _check_long_edge(self, q0: np.ndarray, phi: np.ndarray, more: float, count: int, *, first: bool) -> bool:
        """Return True if a long edge is free, checked in ``count`` parts until one is not.

        Raises OutOfTimeError.
        """
        repeated = MAX_CONFIGURATIONS // _SAMPLES_PER_PART
        for begin in range(0, count, repeated):
            self._check_time(begin > 0 or not first)
            t = np.arange(begin, min(begin + repeated, count) + 1)[:, None] / count
            q = self.straight.integrate(q0, t * phi)
            if not self._check_batch(q[:-1], q[1:], np.full(len(q) - 1, more)).all():
                return False
        return True

    def _check_in_batches(self, q0: np.ndarray, q1: np.ndarray, more: np.ndarray, work: np.ndarray) -> np.ndarray:
        """Return a mask (n,) of the edges that are free, checked in batches.

        ``work`` (n,) is the effort of each edge, as a fraction of a batch.
        """
        result = np.empty(len(q0), dtype=bool)
        ends = np.flatnonzero(np.diff(np.floor(np.cumsum(work) * (1.0 - 1e-9)))) + 1
        for k, (first, last) in enumerate(pairwise([0, *ends.tolist(), len(q0)])):
            self._check_time(k > 0)
            batch = slice(first, last)
            result[batch] = self._check_batch(q0[batch], q1[batch], more[batch])
        return result

    def _check_time(self, enabled: bool) -> None:
        if enabled and not self.has_time():
            raise OutOfTimeError

    def _check_batch(self, q0: np.ndarray, q1: np.ndarray, more: np.ndarray) -> np.ndarray:
        """Return a mask (n,) of the edges that are free, by one call of each kernel."""
        if not self.blocks:
            return np.ones(len(q0), dtype=bool)
        (kernel, (margin, *arguments)), *further_calls = self._kernel_calls(f"is_motion_free {self.method}")
        result: np.ndarray = np.asarray(kernel(q0, q1, margin + more, *arguments))[:, 0] == 0.0
        for kernel, (margin, *arguments) in further_calls:
            remaining = np.flatnonzero(result)
            result[remaining] = (
                np.asarray(kernel(q0[remaining], q1[remaining], margin + more[remaining], *arguments))[:, 0] == 0.0
            )
        return result

    def _kernel_calls(self, function: str) -> list[tuple[Any, tuple[np.ndarray, ...]]]:
        """Return, for each block of shape pairs, a kernel and its arguments after the configurations.

        ``function`` is the name of the collision check that the kernel computes.
        """
        if self._edge is None:
            self._edge = {}
        result: list[tuple[Any, tuple[np.ndarray, ...]]] | None = self._edge.get(function)
        if result is None:
            result = self._edge[function] = [self._kernel_call(function, block) for block in self.blocks]
        return result

    def _edge_name(self, block: PairBlock) -> str:
        """Return the name of the kernel that checks edges for a block of shape pairs.

        If pairs may not overlap, the kernel needs no penetration depths; such kernels are separate from those of
        `Robot.is_motion_free`.
        """
        name = f"is_motion_free {self.method}" if block.is_deep else f"is_motion_free {self.method} without depths"
        return name if block.each is None else f"{name} {EACH}"

    def _kernel_call(self, function: str, block: PairBlock) -> tuple[Any, tuple[np.ndarray, ...]]:
        selection, arguments = block.selection, [np.array(block.margin)]
        kernels, each = selection.kernels, block.each is not None
        if function.startswith("is_motion_free"):
            function = self._edge_name(block)
            arguments.append(np.array(float(TOLERANCE if self.method == METHODS[0] else self.resolution)))
            if function not in kernels:
                space = self.robot.configuration_space
                kernels[function] = edge_kernel(self.method, selection.spec, space, each=each, depths=block.is_deep)
        else:
            function = " ".join([function, *[EACH] * each, *["deeper"] * block.is_deep])
        if function not in kernels:
            selection.kernel(function, self.robot.configuration_space)
        call = batch_call(kernels[function])
        return call, (*arguments, *(block.each or ()), *selection.inputs(selection.scene.rows_by_distance))

    def make_ready(self, q: np.ndarray, *, edges_only: bool = False) -> None:
        """Compile the checks of edges, and of configurations unless ``edges_only``, for batches of any size.

        ``q`` (nq,) is any configuration.
        """
        for check in _CHECKS[: 1 if edges_only else 2]:
            if self._is_ready(check):
                continue
            repeated, checked = np.repeat(q[None], _MIN_BATCH, axis=0), self.checked
            if check == _CHECKS[0]:
                self.edges_are_free(repeated, repeated)
                self.checked = checked
            else:
                self.free(repeated)
            for block in self.blocks:
                block.selection.calls[self._ready_name(check, block)] = PlanningSpace.free

    def _is_ready(self, check: str) -> bool:
        return all(self._ready_name(check, block) in block.selection.calls for block in self.blocks)

    def _ready_name(self, check: str, block: PairBlock) -> str:
        return f"{_READY} {check} {self.method} {block.is_deep} {block.each is not None}"

    def loop(self, function: str, kernel: Any) -> tuple[Any, list[np.ndarray]]:
        """Return the kernel of a search loop, and the arrays of margins and obstacles to pass to it.

        ``function`` is the loop's name. ``kernel`` builds the kernel for the blocks of collision pairs; it is called
        once for equal blocks and unbounded angles. The arrays are, for each block, the margins of individual pairs (if
        any), then the scene's obstacles.
        """
        blocks = self.blocks
        cached, key = self._loops(function)
        if key not in cached:
            specs = tuple([block.selection.spec for block in blocks])
            cached[key] = kernel(specs, self._deep, tuple(self.turning.tolist()), each=blocks[0].each is not None)
        result = []
        for block in blocks:
            result += [*(block.each or ()), *block.selection.inputs(block.selection.scene.rows_by_distance)]
        return cached[key], result

    def has_loop(self, function: str) -> bool:
        """Return True if the kernel of the search loop with this name was built for the space."""
        cached, key = self._loops(function)
        return key in cached

    def _loops(self, function: str) -> tuple[dict[Any, Any], Any]:
        """Return the cache with the kernels of search loops of this space, and the key of the one with this name."""
        blocks = self.blocks
        key: Any = (function, self._deep, blocks[0].each is not None, tuple(self.turning.tolist()))
        if len(blocks) == 1:
            return cast(Any, blocks[0].selection.kernels), key
        return self.robot._calls, (*key, *(block.selection.spec for block in blocks))

    @property
    def _deep(self) -> tuple[bool, ...]:
        return tuple([block.is_deep for block in self.blocks])

    # -- samples

    def with_locked(self, columns: np.ndarray, q: np.ndarray) -> PlanningSpace:
        """Return the space of all configurations whose coordinates with indices ``columns`` equal those of q (nq,)."""
        result = copy(self)
        result.lower, result.upper = self.lower.copy(), self.upper.copy()
        result.lower[columns] = result.upper[columns] = q[columns]
        result.limited, result.has_time = True, self.has_time
        return result

    def samples(self, seed: int) -> Samples:
        """Return a sequence of configurations that covers the space within limits; reproducible by seed."""
        return Samples(self.straight.tree, self.lower, self.upper, seed)

    @property
    def tasks(self) -> tuple[Any, ...]:
        """Path constraints as IK tasks; none here."""
        return ()

    def violation(self, q: np.ndarray) -> str | None:
        """Return a description of a violated path constraint at q (nq,), or None."""
        return None

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without machine code, which is rebuilt on demand, and without the clock."""
        return {key: x for key, x in self.__dict__.items() if key not in ("blocks", "_edge", "has_time")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.blocks, self._edge = self._pair_blocks(), None
