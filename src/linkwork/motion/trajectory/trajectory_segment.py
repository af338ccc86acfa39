"""A section of a trajectory: a curve, its time scaling, and the times between which it runs."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from linkwork.expr.arrays.symbol_array import is_traced
from linkwork.kernels.compiler_api import PiecewiseKernel, batch_call, recycled
from linkwork.motion.algorithms.curves import KINDS, CurveKind, CurveSpace, TimeScaling, curve_motion
from linkwork.motion.algorithms.curves.curve_kinds import FAR
from linkwork.motion.trajectory.piecewise_evaluation import (
    CLOCK,
    array_shapes,
    composed,
    curve_kernel,
    filled,
    polynomial_evaluator,
    reversed_in,
    scaled,
    segment_indices,
    shifted,
    values_of,
)

__all__ = ["Section", "frozen"]

_NEAR = 1e-12  # of the times: knots of coordinates that are nearer to each other count as one
_Part = tuple[slice, list[np.ndarray]]  # some of the times, and the rows of their segments
_MAX_PARALLEL = 64  # coordinates for which kernels evaluate all of a time in parallel
_TIMES_PER_SEGMENT = 4  # fewer times per segment gather only the rows that they need
_MANY_SEGMENTS = 32  # segments whose table costs more than one row for each time
_MANY_TIMES = 4096  # times for which gathering rows always pays off
_TIMES_FOR_CALL = 300  # times of a segment for which a separate call pays off
_ROW_BLOCK = 8192  # rows gathered before they are used: they fit the caches


def frozen(x: Any) -> Any:
    """Return a read-only array; an array of symbols is returned unchanged."""
    if isinstance(x, np.ndarray) and (x.dtype == object or _is_frozen(x)):
        return x
    result = np.array(x, dtype=np.float64, order="C")  # kernels are slower with other orders
    result.setflags(write=False)
    return result


def _is_frozen(x: np.ndarray) -> bool:
    return x.dtype == np.float64 and x.base is None and not x.flags.writeable


class Section:
    """A part of a trajectory: a curve, its time scaling, and the times between which it runs.

    The arrays of a section are floats, or symbols while a function is traced.  ``robot`` is the robot with the objects
    and loads that it carries in this section; None means the trajectory's robot.
    """

    __slots__ = ("_evaluators", "_padded", "_single", "arrays", "clock", "end", "kind", "robot", "space", "start")

    def __init__(
        self,
        space: CurveSpace,
        kind: CurveKind,
        arrays: Mapping[str, Any],
        start: float,
        end: float,
        clock: TimeScaling | None = None,
        robot: Any = None,
    ) -> None:
        self.space, self.kind, self.robot = space, kind, robot
        self.start, self.end = (x if is_traced(x) else float(x) for x in (start, end))
        self.arrays = {name: frozen(arrays[name]) for name, _ in kind.arrays}
        self.clock = None if clock is None else TimeScaling(*map(frozen, _parts_of(clock)))
        self._padded: tuple[dict[str, Any], dict[str, Any]] | None = None
        self._single: Any = None  # evaluator of one time, created on first use
        self._evaluators: dict[int, PiecewiseKernel] = {}  # of many times, by order

    # -- value semantics

    def key(self) -> tuple[Any, ...]:
        """Return the contents of the section as a tuple, for comparison and hashing."""
        arrays = [*self.arrays.values(), *(() if self.clock is None else _parts_of(self.clock))]
        values = tuple((x.shape, x.tobytes()) for x in arrays)
        return (self.space, self.kind.name, self.start, self.end, self.clock is None, self.robot, *values)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.space, self.kind.name, self.arrays, self.start, self.end, self.clock, self.robot)

    @property
    def is_symbolic(self) -> bool:
        """Return True if the section's arrays contain symbols."""
        return any(x.dtype != np.float64 and is_traced(x) for x in self.arrays.values())

    # -- evaluation

    def on_symbols(self, t: Any, order: int) -> list[list[Any]]:
        """Return q and its first ``order`` derivatives at time t, over any scalar.

        Before its start and after its end the section rests.
        """
        arrays, clocks = self.padded()
        clock = TimeScaling(*clocks.values()) if clocks else None
        return curve_motion(self.space, self.kind, arrays, clock, (self.start, self.end), t, order)

    def at_time(self, t: float) -> Any:
        """Return q, v and a at one time within the section, by a kernel for the segment that contains it.

        The result is None if the section has no such kernel.
        """
        if self._single is None:
            self._single = self._single_evaluator()
        if not self._single:
            return None
        kernel, starts, arrays, segments, clocks = self._single
        k = max(bisect_right(starts, t) - 1, 0)
        if not segments:
            return kernel(np.array(t), *(x[k : k + 1] for x in arrays))
        rows = [x[k : k + 1] for x in clocks]
        k = segments[k]
        return kernel(np.array(t), *(x[k : k + 1] for x in arrays), *rows)

    def _single_evaluator(self) -> Any:
        if self.is_symbolic or self.arrays["starts"].ndim > 1:
            return ()
        arrays, clocks = self._rows(np.array(self.start))
        kernel = self._kernel_of(arrays, clocks, 2)
        if self.clock is None:
            return kernel, self.arrays["starts"].tolist(), [*self.arrays.values()], (), ()
        segments = self.clock.segments.astype(int).tolist()
        rows = self.clock.starts, self.clock.coefficients, 0.0 * self.clock.segments
        return kernel, self.clock.starts.tolist(), [*self.arrays.values()], segments, rows

    def at(self, times: np.ndarray, order: int, hold: bool = False, inside: np.ndarray | None = None) -> Any:
        """Return q (..., nq) and its first ``order`` derivatives (..., nv) at times (...) within the section.

        With ``hold`` times outside the section are permitted; the section rests at such times.  ``inside`` (...) are
        times inside the segments to evaluate; at a corner they select a side.
        """
        if hold:
            clipped = np.clip(times, self.start, self.end)
            result = self.at(clipped, order, inside=inside)
            for x in result[1:]:
                x[times != clipped] = 0.0
            return result
        segments = self._segment_count
        few = self.clock is None and times.size * _TIMES_PER_SEGMENT <= segments
        if inside is not None or few:
            arrays, clocks = self._rows(times if inside is None else inside)
        else:
            arrays, clocks = self.padded()
            many = segments > _MANY_SEGMENTS or times.size >= _MANY_TIMES
            if self.clock is None and many and self.arrays["starts"].ndim == 1:
                if self.kind.name == "polynomial" and 0 < self.space.nv <= _MAX_PARALLEL:
                    return self._along(times, order)
                if segments > 1:
                    return self._by_segments(times, order)
        kernel = self._kernel_of(arrays, clocks, order)
        if times.ndim or self._is_padded:  # the single call does not accept `FAR`
            kernel = batch_call(kernel)
        return kernel(times, *arrays.values(), *clocks.values())

    def _kernel_of(self, arrays: Mapping[str, Any], clocks: Mapping[str, Any], order: int) -> Any:
        """Return the kernel that evaluates q and ``order`` derivatives, for arrays of a curve and its time scaling."""
        ranks = 1, 2, self.arrays["starts"].ndim  # axes of the arrays of a time scaling
        shapes = tuple(x.shape[x.ndim - n :] for x, n in zip(clocks.values(), ranks, strict=False))
        return curve_kernel(self.space, self.kind, array_shapes(self.kind, arrays), shapes, order)

    def _along(self, times: np.ndarray, order: int) -> list[np.ndarray]:
        """Return q and derivatives at times, for polynomials of plain coordinates, all coordinates in parallel."""
        if order not in self._evaluators:
            self._evaluators[order] = polynomial_evaluator(self.arrays, order)
        flat = times.reshape(-1)
        result = self._evaluators[order](flat, flat)
        return [x.reshape(*times.shape, self.space.nv) for x in result]

    def _by_segments(self, times: np.ndarray, order: int) -> list[np.ndarray]:
        """Return q and its first ``order`` derivatives at times, by a kernel that gets a single segment's coefficients.

        Many sorted times are evaluated with one call for each segment.
        """
        flat = times.reshape(-1)
        result = [recycled((flat.size, n)) for n in (self.space.nq, *(self.space.nv,) * order)]
        arrays = [x.reshape(len(x), 1, *x.shape[1:]) for x in self.arrays.values()]
        kernel = curve_kernel(self.space, self.kind, tuple(x.shape[1:] for x in arrays), (), order)
        if flat.size >= _TIMES_FOR_CALL * self._segment_count and bool((flat[1:] >= flat[:-1]).all()):
            cuts = [0, *np.searchsorted(flat, self.arrays["starts"][1:], side="left").tolist(), flat.size]
            parts: Iterable[_Part] = (
                (slice(b, e), [x[k] for x in arrays]) for k, (b, e) in enumerate(pairwise(cuts)) if e > b
            )
        else:
            parts = self._gathered(arrays, segment_indices(self.arrays["starts"], flat))
        call: Any = kernel
        for block, rows in parts:
            call(flat[block], *rows, out=tuple([x[block] for x in result]))
            call = kernel.ufunc  # without checks; it exists once the kernel was called
        return [x.reshape(*times.shape, x.shape[1]) for x in result]

    def _gathered(self, arrays: list[np.ndarray], segments: np.ndarray) -> Iterator[_Part]:
        """Yield, for each block of times, its slice and the segments' coefficients for each time in it.

        ``segments`` has the index of the segment for each time. The memory of the coefficients is reused.
        """
        buffers = [np.empty((min(_ROW_BLOCK, len(segments)), *x.shape[1:])) for x in arrays]
        for b in range(0, len(segments), _ROW_BLOCK):
            indices = segments[b : b + _ROW_BLOCK]
            rows = zip(arrays, buffers, strict=True)
            yield (
                slice(b, b + len(indices)),
                [x.take(indices, axis=0, out=y[: len(indices)], mode="clip") for x, y in rows],
            )

    def padded(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the arrays of the curve and its time scaling, padded to 2^k segments, so that few kernels suffice."""
        if self._padded is None:
            arrays = {
                name: filled(self.arrays[name], shape.index("pieces") if "pieces" in shape else None, name)
                for name, shape in self.kind.arrays
            }
            clocks = {}
            if self.clock is not None:
                clocks = {x: filled(y, 0, "starts" if x == CLOCK[0] else x) for x, y in self._clock_arrays()}
            self._padded = arrays, clocks
        return self._padded

    def _clock_arrays(self) -> Iterable[tuple[str, np.ndarray]]:
        return () if self.clock is None else zip(CLOCK, _parts_of(self.clock), strict=True)

    @property
    def _segment_count(self) -> int:
        return int(self.arrays["starts"].shape[-1]) if self.clock is None else len(self.clock.starts)

    @property
    def _is_padded(self) -> bool:
        counts = self.arrays["starts"].shape[-1], self._segment_count
        return any(n & (n - 1) for n in counts)

    def _rows(self, inside: np.ndarray) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the arrays of the curve and of its time scaling for the segments that contain the times ``inside``.

        Each time has a row with the coefficients of one segment.
        """
        t = np.clip(inside, self.start, self.end)
        index, n = self.segments_at(t), t.ndim
        result, clocks = {}, {}
        if self.clock is not None:
            k = segment_indices(self.clock.starts, t)
            clocks = {name: np.expand_dims(x[k], n) for name, x in self._clock_arrays()}
            clocks[CLOCK[2]] = 0.0 * clocks[CLOCK[2]]
        rank = self.arrays["starts"].ndim - 1
        where = (np.arange(self.space.nv), index) if rank else index
        for name, shape in self.kind.arrays:
            x = self.arrays[name]
            result[name] = np.expand_dims(x[where], n + rank) if "pieces" in shape else x
        return result, clocks

    # -- time scaling

    def segments_at(self, t: np.ndarray) -> np.ndarray:
        """Return the indices of the curve's segments at times t (...), with an axis of coordinates if they differ."""
        if self.clock is not None:
            result: np.ndarray = self.clock.segments[segment_indices(self.clock.starts, t)].astype(int)
            return result
        starts = self.arrays["starts"]
        return np.asarray(_segment_indices(starts, t))

    def parameter(self, t: np.ndarray) -> np.ndarray:
        """Return the curve's parameter s at times t."""
        if self.clock is None:
            return t
        segment = segment_indices(self.clock.starts, t)
        return values_of(self.clock.coefficients[segment], t - self.clock.starts[segment])

    def knots(self) -> np.ndarray:
        """Return the times between which the section is smooth, including both ends.

        Knots are the starts of segments of the curve or of its time scaling.  A section of zero duration has two equal
        knots.
        """
        times = np.unique(self.arrays["starts"] if self.clock is None else self.clock.starts)
        times = np.concatenate([[self.start], times[(times > self.start) & (times < self.end)], [self.end]])
        near = _NEAR * max(self.end - self.start, abs(self.start), abs(self.end))
        times = times[np.concatenate([[True], np.diff(times) > near])]
        times[-1] = self.end if len(times) > 1 or self.end == self.start else times[-1]
        return np.repeat(times, 2) if self.end == self.start else np.asarray(times)

    # -- derived sections

    def part(self, start: float, end: float) -> Section:
        """Return the section between two of its times, without the segments after the ``end``."""
        if self.clock is not None:
            return self._of(self.arrays, start, end, TimeScaling(*_clock_between(self.clock, start, end)))
        starts = self.arrays["starts"]
        later = starts >= end
        later[..., 0] = False
        if not later.any() or self.is_symbolic:
            return self._of(self.arrays, start, end)
        if starts.ndim > 1:
            return self._of({**self.arrays, "starts": np.where(later, FAR, starts)}, start, end)
        return self._of({name: x[~later] for name, x in self.arrays.items()}, start, end)

    def _of(self, arrays: Mapping[str, Any], start: float, end: float, clock: TimeScaling | None = None) -> Section:
        return Section(self.space, self.kind, arrays, start, end, clock, self.robot)

    def carried_by(self, robot: Any) -> Section:
        """Return the same section with the robot ``robot``, which may carry other objects.

        None stands for the trajectory's robot. The robot has the same joints as the section's present robot.
        """
        return Section(self.space, self.kind, self.arrays, self.start, self.end, self.clock, robot)

    def starting_at(self, start: float) -> Section:
        """Return the section shifted to start at another time."""
        return self if start == self.start else self.scaled(start, 1.0)

    def scaled(self, start: float, scale: float) -> Section:
        """Return the section with a new ``start`` time, and with its duration multiplied by ``scale``."""

        def moved(t: Any) -> Any:
            return np.where(t < FAR, start + scale * (t - self.start), FAR)

        end = start + scale * (self.end - self.start)
        if self.clock is not None:
            starts, c, segments = _parts_of(self.clock)
            return self._of(self.arrays, start, end, TimeScaling(moved(starts), scaled(c, scale), segments))
        arrays = {**self.arrays, "starts": moved(self.arrays["starts"])}
        if self.kind.powers is None:
            arrays["rates"] = arrays["rates"] / scale
        else:
            arrays[self.kind.powers] = scaled(arrays[self.kind.powers], scale)
        return self._of(arrays, start, end)

    def run_backwards(self) -> Section:
        """Return the section run backwards, from time 0 on."""
        end, name = self.end - self.start, self.kind.powers
        if self.clock is not None or name is None:
            starts, c, segments = self._clock_arrays_inside()
            ends = np.append(starts[1:], self.end)
            c = reversed_in(c, ends - starts)
            clock = TimeScaling((self.end - ends)[::-1], c[::-1], segments[::-1])
            return self._of(self.arrays, 0.0, end, clock)
        starts = self.arrays["starts"]
        ends = np.minimum(np.concatenate([starts[..., 1:], np.full((*starts.shape[:-1], 1), FAR)], axis=-1), self.end)
        index = np.arange(starts.shape[-1])
        first, last = (self.segments_at(np.array(t))[..., None] for t in (self.start, self.end))
        used = (index >= first) & (index <= last) & ((ends > self.start) | (index == last))
        used &= (starts < self.end) | (index == first)
        spans = np.where(used, ends - starts, 0.0)
        new = np.where(used, self.end - ends, FAR)[..., ::-1]
        if starts.ndim > 1:  # unused segments come last
            order = np.argsort(new, axis=-1, kind="stable")
            c = reversed_in(self.arrays[name], spans)[:, ::-1]
            c = np.take_along_axis(c, order[..., None], axis=1)
            return self._of({**self.arrays, "starts": np.take_along_axis(new, order, axis=-1), name: c}, 0.0, end)
        arrays = {key: x[used][::-1] for key, x in self.arrays.items()}
        axes = (1,) * (arrays[name].ndim - 2)
        arrays[name] = reversed_in(arrays[name], spans[used][::-1].reshape(-1, *axes))
        return self._of({**arrays, "starts": new[used[::-1]]}, 0.0, end)

    def _clock_arrays_inside(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return (starts, coefficients, segment indices) of the time scaling s(t) within the section.

        Without a time scaling, they are those of s = t on each segment of the curve.
        """
        if self.clock is not None:
            return _clock_between(self.clock, self.start, self.end)
        knots = self.knots()
        segments = self.segments_at(0.5 * (knots[1:] + knots[:-1]))
        return knots[:-1], np.stack([knots[:-1], np.ones(len(knots) - 1)], axis=-1), segments

    def with_time_scaling(self, clock: TimeScaling, start: float, end: float) -> Section:
        """Return the same curve with another time scaling, whose arrays are read-only, without copies or checks."""
        section = object.__new__(Section)
        section.space, section.kind, section.arrays, section.clock = self.space, self.kind, self.arrays, clock
        section.start, section.end, section._padded, section._single = start, end, None, None
        section.robot = self.robot
        return section

    def timed(self, clock: TimeScaling, start: float, end: float) -> Section:
        """Return the section with a further time scaling from new times t' to its times t.

        Each segment of ``clock`` lies between two of the section's knots.
        """
        starts, c, _ = _clock_between(clock, start, end)
        inside = 0.5 * (c[:, 0] + values_of(c, np.diff(np.append(starts, end))))
        segments = self.segments_at(inside)
        if self.clock is not None:
            k = segment_indices(self.clock.starts, inside)
            c = composed(shifted(self.clock.coefficients[k], c[:, 0] - self.clock.starts[k]), c)
        return self._of(self.arrays, start, end, TimeScaling(starts, c, segments))


def _restored(space: CurveSpace, kind: str, *content: Any) -> Section:
    return Section(space, KINDS[kind], *content)


def _parts_of(clock: TimeScaling) -> tuple[Any, Any, Any]:
    return clock.starts, clock.coefficients, clock.segments


def _segment_indices(starts: np.ndarray, s: np.ndarray) -> Any:
    """Return the indices of the segments that contain parameters s.

    If ``starts`` has a row for each coordinate, the result has a last axis of coordinates.
    """
    return (
        segment_indices(starts, s) if starts.ndim == 1 else np.stack([_segment_indices(x, s) for x in starts], axis=-1)
    )


def _clock_between(clock: TimeScaling, start: float, end: float) -> tuple[Any, Any, Any]:
    """Return the arrays of the segments of a time scaling between two times, from ``start`` on."""
    first = int(segment_indices(clock.starts, start))
    last = max(int(np.searchsorted(clock.starts, end, side="left")), first + 1)
    starts, c = np.array(clock.starts[first:last]), np.array(clock.coefficients[first:last])
    if starts[0] != start:
        c[0] = shifted(c[0], start - starts[0])
        starts[0] = start
    return starts, c, None if clock.segments is None else clock.segments[first:last]
