"""Samples of a workspace map by block: random configurations, their measures, and counts by voxel.

Block k of a map has the counter-based random stream Philox(key=seed, counter=k · 2^128), so each block can be computed
in any process, in any order.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from linkwork import Kernel
from linkwork.expr import fabs, floor, fmax, fmin, linalg
from linkwork.kernels import LazyCache, compile
from linkwork.workspace.map_job import AXES, CALLER, JACOBIAN_ROWS, MapJob
from linkwork.workspace.voxel_counts import (
    MAX_CELLS,
    BoxTooLargeError,
    ReusedArrays,
    SparseCounts,
    VoxelCounts,
    direction_bin,
    sum_bits,
)

__all__ = ["BlockEvaluator", "compute_chunk", "named_box", "packed", "with_unit"]


class Measures(NamedTuple):
    """Measures of n samples: index of the voxel, index of the direction's region, and quality."""

    cell_x: Any
    cell_y: Any
    cell_z: Any
    direction: Any
    manipulability: Any
    inverse_condition: Any
    limit_margin: Any
    scale: Any
    """Upper bound of the manipulability at this configuration, from the norm of the Jacobian."""


@contextmanager
def named_box(job: MapJob) -> Iterator[None]:
    """Raise ValueError, with the smallest possible voxel size, if samples extend over too many voxels."""
    try:
        yield
    except BoxTooLargeError as error:
        larger = job.voxel_size * 1.3 * math.cbrt(error.cells / MAX_CELLS)
        raise ValueError(
            f"{CALLER}: voxel_size: expected at least some {larger:.2g} m, with which the reached box has fewer than "
            f"{MAX_CELLS} voxels, got {job.voxel_size:g}"
        ) from None


class BlockEvaluator:
    """Evaluator of the samples of a map's blocks, in this process."""

    def __init__(self, job: MapJob) -> None:
        self.job = job
        self._configuration = np.array(job.configuration)
        self._draws = _draws(job)
        self._limits = _limits(job)
        self._kernel = _measure_kernel(job)

    def configurations(self, block: int, memory: ReusedArrays | None = None) -> np.ndarray:
        """Return the random configurations (n, nq) of a block; ``memory`` provides the array."""
        job, memory = self.job, memory or ReusedArrays()
        rng = np.random.Generator(np.random.Philox(key=job.seed, counter=block << 128))
        count = job.samples_in(block, block + 1)
        q = memory("q", (count, len(self._configuration)))
        q[:] = self._configuration
        for columns, draw in self._draws:
            q[:, columns] = draw(rng, count, memory)
        return q

    def measures(self, q: np.ndarray, memory: ReusedArrays | None = None) -> Measures:
        """Return the measures (n,) of configurations (n, nq); ``memory`` provides the arrays."""
        memory = memory or ReusedArrays()
        result = Measures(*(memory(name, len(q)) for name in Measures._fields))
        self._kernel(q, 1.0 / self.job.voxel_size, *self._limits, out=result)
        return result

    def collision_free(self, q: np.ndarray) -> np.ndarray | None:
        """Return a mask (n,) of the collision-free configurations (n, nq), or None without collision checks."""
        job = self.job
        return ~job.robot.in_collision(q, job.scene, margin=job.margin) if job.collision else None

    def counts(self, begin: int, end: int) -> SparseCounts:
        """Return the counts of the blocks from ``begin`` to ``end``, without ``end``."""
        counts, memory = VoxelCounts(), ReusedArrays()
        for block in range(begin, end):
            q = self.configurations(block, memory)
            free = self.collision_free(q)
            for k in range(0, len(q), _SLICE):
                part = slice(k, k + _SLICE)
                self._add(counts, memory, self.measures(q[part], memory), None if free is None else free[part])
        return counts.sparse()

    def _add(self, counts: VoxelCounts, memory: ReusedArrays, m: Measures, free: np.ndarray | None) -> None:
        job, count = self.job, len(m.manipulability)
        bits = sum_bits(job.samples)
        if m.manipulability.max() / job.manipulability_unit >= 2.0 ** (bits + _HEADROOM_BITS):
            raise OverflowError(f"{CALLER}: a manipulability of {m.manipulability.max():g} is too large to be summed")

        def rounded(name: str, values: np.ndarray, unit: float) -> np.ndarray:
            number = np.divide(values, unit, out=memory("number", count))
            result = memory(name, count, np.int64)
            np.copyto(result, np.rint(number, out=number), casting="unsafe")
            return result

        bit = memory("direction_bits", count, np.uint64)
        np.copyto(bit, m.direction, casting="unsafe")
        values = {
            "manipulability_sum": rounded("manipulability_sum", m.manipulability, job.manipulability_unit),
            "manipulability_max": m.manipulability,
            "inverse_condition_sum": rounded("inverse_condition_sum", m.inverse_condition, 2.0**-bits),
            "inverse_condition_max": m.inverse_condition,
            "limit_margin_max": m.limit_margin,
            "direction_bits": np.left_shift(np.uint64(1), bit, out=bit),
        }
        cells = memory("cells", (3, count), np.int64)
        with named_box(job):
            for row, x in zip(cells, (m.cell_x, m.cell_y, m.cell_z), strict=True):
                if max(x.max(), -x.min()) > _MAX_INDEX:
                    raise BoxTooLargeError(_MAX_INDEX**3)
                np.copyto(row, x, casting="unsafe")
            counts.add(cells, values, free, memory)


_SLICE = 1 << 12  # samples whose arrays stay in the processor's cache
_HEADROOM_BITS = 4  # of a sum, for manipulabilities above the bound in the first block
_MAX_INDEX = 1 << 30


def with_unit(job: MapJob) -> MapJob:
    """Return the job with the unit in which manipulabilities are summed as integers.

    It is a fraction of the maximum over the thousands of samples of the first block. All manipulabilities of a robot
    are assumed to be below 16 times this maximum.
    """
    evaluator = BlockEvaluator(job)
    bound = float(evaluator.measures(evaluator.configurations(0)).scale.max())
    return replace(
        job, manipulability_unit=2.0 ** (math.frexp(bound)[1] - sum_bits(job.samples)) if bound > 0.0 else 1.0
    )


# -- random configurations

Draw = Callable[[np.random.Generator, int, ReusedArrays], np.ndarray]


def _draws(job: MapJob) -> list[tuple[slice | list[int], Draw]]:
    """Return functions that draw random coordinates, each with the columns of q that it draws.

    Joints with one coordinate are drawn together, uniformly within limits; an angle without limits from [-π, π]. Each
    other joint is drawn by its type.
    """
    tree = job.robot.tree
    slices = dict.fromkeys((s.start, s.stop) for s in (tree.q_slices[i] for i in job.moving_bodies))
    bodies = {(tree.q_slices[i].start, tree.q_slices[i].stop): body for i, body in tree.stacked()}
    single = [begin for begin, end in slices if end - begin == 1]
    result: list[tuple[slice | list[int], Draw]] = []
    if single:
        lower, upper = np.array(job.lower)[single], np.array(job.upper)[single]
        lower = np.where(np.isinf(lower), np.where(np.isinf(upper), -math.pi, upper - 2.0 * math.pi), lower)
        upper = np.where(np.isinf(upper), lower + 2.0 * math.pi, upper)
        result.append((_columns(single), _uniform(lower, upper)))
    for begin, end in slices:
        if end - begin > 1:
            body = bodies[begin, end]
            lower, upper = np.array(job.lower[begin:end]), np.array(job.upper[begin:end])
            result.append((slice(begin, end), _drawn_by(body, lower, upper)))
    return result


def _columns(indices: list[int]) -> slice | list[int]:
    """Return indices as a slice if they are consecutive."""
    first, count = indices[0], len(indices)
    return slice(first, first + count) if indices == [*range(first, first + count)] else indices


def _uniform(lower: np.ndarray, upper: np.ndarray) -> Draw:
    span = upper - lower

    def draw(rng: np.random.Generator, count: int, memory: ReusedArrays) -> np.ndarray:
        q = rng.random(out=memory("uniform", (count, len(span))))
        for column, low, high, width in zip(q.T, lower, upper, span, strict=True):  # rows of few numbers are slow
            column *= width
            column += low
            np.clip(column, low, high, out=column)
        return q

    return draw


def _drawn_by(body: Any, lower: np.ndarray, upper: np.ndarray) -> Draw:
    return lambda rng, count, _: body.call_joint("random", rng, lower, upper, (count,))


# -- measures

_KERNELS: LazyCache[Kernel] = LazyCache(32)


def _limits(job: MapJob) -> tuple[np.ndarray, np.ndarray]:
    """Return centre and inverse half width of the limits of q, (nq,) each; 0 for coordinates without two limits."""
    lower, upper = np.array(job.lower), np.array(job.upper)
    sampled = np.zeros(len(lower), dtype=bool)
    for i in job.moving_bodies:
        sampled[job.robot.tree.q_slices[i]] = True
    limited = sampled & np.isfinite(lower) & np.isfinite(upper) & (upper > lower)
    center, inverse = np.zeros(len(lower)), np.zeros(len(lower))
    center[limited] = 0.5 * (lower[limited] + upper[limited])
    inverse[limited] = 2.0 / (upper[limited] - lower[limited])
    return center, inverse


def _measure_kernel(job: MapJob) -> Kernel:
    """Return the kernel of `Measures`; inputs are q, inverse voxel size, centre and inverse half width of limits."""
    robot, tree = job.robot, job.robot.tree
    velocities = sorted({k for i in job.moving_bodies for k in range(tree.nv)[tree.v_slices[i]]})
    coordinates = sorted({k for i in job.moving_bodies for k in range(tree.nq)[tree.q_slices[i]]})
    axis = "xyz".index(job.approach_axis[-1])
    sign = AXES[job.approach_axis][axis]

    def traced(q: Any, inverse_size: Any, center: Any, inverse_width: Any) -> Any:
        X = robot.pose(q, job.frame, relative_to=job.relative_to)
        J = robot.jacobian(q, job.frame, relative_to=job.relative_to)[JACOBIAN_ROWS[job.part]][:, velocities]
        values = [*linalg.svdvals(J)]
        product: Any = 1.0
        squares: Any = 0.0
        for value in values:
            product = product * value
            squares = squares + value * value
        distance: Any = 0.0  # from the centre of limits, relative to half their width
        for k in coordinates:
            distance = fmax(distance, fabs(q[k] - center[k]) * inverse_width[k])
        condition = values[-1] / fmax(values[0], _TINY)
        bound = (squares / len(values)) ** (0.5 * len(values))  # by the inequality of the means
        x, y, z = (floor(X[k, 3] * inverse_size) for k in range(3))
        direction = direction_bin([sign * X[k, axis] for k in range(3)])
        margin = fmax(1.0 - distance, 0.0)
        return Measures(x, y, z, direction, fabs(product), fmin(fabs(condition), 1.0), margin, bound)

    key = (robot, job.frame, job.relative_to, job.approach_axis, job.part)
    nq = robot.nq
    make = lambda: compile(  # noqa: E731
        traced, name="workspace_measures", q=robot.configuration_space, inverse_size=(), center=nq, inverse_width=nq
    )
    return _KERNELS.get(key, make)


_TINY = 1e-300


# -- chunks in any process

_EVALUATORS: LazyCache[BlockEvaluator] = LazyCache(2)


def packed(job: MapJob) -> bytes:
    """Return the pickled job.  Raises ValueError if the robot or the scene cannot be pickled."""
    try:
        return pickle.dumps(job, protocol=5)
    except Exception as error:
        raise ValueError(
            f"{CALLER}: the robot or the scene cannot be sent to other processes ({error}); pass workers=1"
        ) from error


def compute_chunk(job: bytes, begin: int, end: int) -> SparseCounts:
    """Return the counts of the blocks from ``begin`` to ``end``, without ``end``; ``job`` is a result of `packed`."""
    return _EVALUATORS.get(job, lambda: BlockEvaluator(pickle.loads(job))).counts(begin, end)
