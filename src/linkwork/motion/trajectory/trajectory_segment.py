"""A section of a trajectory: a curve, its time scaling, and the times between which it runs."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from linkwork.expr.arrays.symbol_array import array, is_traced
from linkwork.kernels.compiler_api import Kernel, PiecewiseKernel, batch_call, compile, recycled
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.motion.algorithms.curves import KINDS, CurveKind, CurveSpace, TimeScaling, curve_motion
from linkwork.motion.algorithms.curves.curve_kinds import FAR
from linkwork.motion.trajectory.piecewise_evaluation import polynomial_evaluator, segment_indices

__all__ = ["Section", "composed", "frozen", "shifted"]

_KERNELS: LazyCache[Kernel] = LazyCache(256)
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

    Its arrays are floats, or symbols while a function is traced.
    """

    __slots__ = ("_evaluators", "_padded", "_single", "arrays", "clock", "end", "kind", "space", "start")

    def __init__(
        self,
        space: CurveSpace,
        kind: CurveKind,
        arrays: Mapping[str, Any],
        start: float,
        end: float,
        clock: TimeScaling | None = None,
    ) -> None:
        self.space, self.kind = space, kind
        self.start, self.end = (x if is_traced(x) else float(x) for x in (start, end))
        self.arrays = {name: frozen(arrays[name]) for name, _ in kind.arrays}
        self.clock = None if clock is None else TimeScaling(frozen(clock.starts), frozen(clock.coefficients))
        self._padded: tuple[dict[str, Any], dict[str, Any]] | None = None
        self._single: Any = None  # evaluator of one time, created on first use
        self._evaluators: dict[int, PiecewiseKernel] = {}  # of many times, by order

    # -- value semantics

    def key(self) -> tuple[Any, ...]:
        """Return the contents of the section as a tuple, for comparison and hashing."""
        arrays = [*self.arrays.values(), *(() if self.clock is None else (self.clock.starts, self.clock.coefficients))]
        values = tuple((x.shape, x.tobytes()) for x in arrays)
        return (self.space, self.kind.name, self.start, self.end, self.clock is None, *values)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.space, self.kind.name, self.arrays, self.start, self.end, self.clock)

    @property
    def is_symbolic(self) -> bool:
        """Return True if its arrays contain symbols."""
        return any(x.dtype != np.float64 and is_traced(x) for x in self.arrays.values())

    # -- evaluation

    def on_symbols(self, t: Any, order: int) -> list[list[Any]]:
        """Return q and its first ``order`` derivatives at time t, over any scalar.

        Before its start and after its end the section rests.
        """
        arrays, clocks = self.padded()
        clock = None if self.clock is None else TimeScaling(clocks["clock_starts"], clocks["clock"])
        return curve_motion(self.space, self.kind, arrays, clock, (self.start, self.end), t, order)

    def at_time(self, t: float) -> Any:
        """Return q, v and a at one time within the section, by a kernel for the segment that contains it.

        None if the section has no such kernel.
        """
        if self._single is None:
            self._single = self._single_evaluator()
        if not self._single:
            return None
        kernel, starts, arrays, (begin, first, rate), clocks = self._single
        k = max(bisect_right(starts, first + rate * (t - begin) if clocks else t) - 1, 0)
        return kernel(np.array(t), *(x[k : k + 1] for x in arrays), *clocks)

    def _single_evaluator(self) -> Any:
        starts = self.arrays["starts"]
        if self.is_symbolic or starts.ndim > 1 or not self.is_affine:
            return ()
        clocks = self.padded()[1]
        arrays = {name: x[:1] for name, x in self.arrays.items()}
        kernel = _kernel(self.space, self.kind, _shapes(self.kind, arrays), _clock_shapes(clocks), 2)
        values = (0.0, 0.0, 1.0)
        if self.clock is not None:
            values = (float(self.clock.starts[0]), *self.clock.coefficients[0].tolist())
        return kernel, starts.tolist(), [*self.arrays.values()], values, [*clocks.values()]

    def at(self, times: np.ndarray, order: int, hold: bool = False) -> Any:
        """Return q (..., nq) and its first ``order`` derivatives (..., nv) at times (...) within the section.

        With ``hold`` other times are permitted; the section rests there.
        """
        if hold:
            inside = np.clip(times, self.start, self.end)
            result = self.at(inside, order)
            for x in result[1:]:
                x[times != inside] = 0.0
            return result
        arrays, clocks = self.padded()
        uniform, segments = len(clocks.get("clock", ())) < 2, self._segment_count
        if uniform and (segments > _MANY_SEGMENTS or times.size >= _MANY_TIMES) and self.arrays["starts"].ndim == 1:
            if self.kind.name == "polynomial" and 0 < self.space.nv <= _MAX_PARALLEL:
                return self._along(times, order)
            if segments > 1:
                return self._by_segments(times, order, clocks)
        if uniform and times.size * _TIMES_PER_SEGMENT <= segments:
            arrays = self._rows(times)
        kernel: Any = _kernel(self.space, self.kind, _shapes(self.kind, arrays), _clock_shapes(clocks), order)
        timed = 1 if self.clock is None else len(self.clock.starts)
        if times.ndim or segments & (segments - 1) or timed & (timed - 1):  # the single call does not accept `FAR`
            kernel = batch_call(kernel)
        return kernel(times, *arrays.values(), *clocks.values())

    def _along(self, times: np.ndarray, order: int) -> list[np.ndarray]:
        """Return q and derivatives at times, for polynomials of plain coordinates, all coordinates in parallel."""
        if order not in self._evaluators:
            self._evaluators[order] = polynomial_evaluator(self.arrays, self.clock, order)
        flat = times.reshape(-1)
        result = self._evaluators[order](flat, self.parameter(flat))
        return [x.reshape(*times.shape, self.space.nv) for x in result]

    def _by_segments(self, times: np.ndarray, order: int, clocks: Any) -> list[np.ndarray]:
        """Return q and derivatives at times, each evaluated with the coefficients of its segment only.

        Many sorted times are evaluated with one call for each segment.
        """
        flat = times.reshape(-1)
        result = [recycled((flat.size, n)) for n in (self.space.nq, *(self.space.nv,) * order)]
        arrays = [x.reshape(len(x), 1, *x.shape[1:]) for x in self.arrays.values()]
        shapes = tuple(x.shape[1:] for x in arrays)
        kernel = _kernel(self.space, self.kind, shapes, _clock_shapes(clocks), order)
        s = self.parameter(flat)
        if flat.size >= _TIMES_FOR_CALL * self._segment_count and bool((s[1:] >= s[:-1]).all()):
            cuts = [0, *np.searchsorted(s, self.arrays["starts"][1:], side="left").tolist(), flat.size]
            parts: Iterable[_Part] = (
                (slice(b, e), [x[k] for x in arrays]) for k, (b, e) in enumerate(pairwise(cuts)) if e > b
            )
        else:
            parts = self._gathered(arrays, segment_indices(self.arrays["starts"], s))
        call: Any = kernel
        for here, rows in parts:
            call(flat[here], *rows, *clocks.values(), out=tuple([x[here] for x in result]))
            call = kernel.ufunc  # without checks; it exists once the kernel was called
        return [x.reshape(*times.shape, x.shape[1]) for x in result]

    def _gathered(self, arrays: list[np.ndarray], segments: np.ndarray) -> Iterator[_Part]:
        """Yield for each block of times its slice, and the coefficients of the times' segments, in the same memory."""
        buffers = [np.empty((min(_ROW_BLOCK, len(segments)), *x.shape[1:])) for x in arrays]
        for b in range(0, len(segments), _ROW_BLOCK):
            here = segments[b : b + _ROW_BLOCK]
            rows = zip(arrays, buffers, strict=True)
            yield (
                slice(b, b + len(here)),
                [x.take(here, axis=0, out=y[: len(here)], mode="clip") for x, y in rows],
            )

    def padded(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the arrays of the curve and its time scaling, padded to 2^k segments, so that few kernels suffice."""
        if self._padded is None:
            arrays = {
                name: _filled(self.arrays[name], shape.index("pieces") if "pieces" in shape else None, name)
                for name, shape in self.kind.arrays
            }
            clocks = {}
            if self.clock is not None:
                clocks = {
                    "clock_starts": _filled(self.clock.starts, 0, "starts"),
                    "clock": _filled(self.clock.coefficients, 0, "clock"),
                }
            self._padded = arrays, clocks
        return self._padded

    @property
    def _segment_count(self) -> int:
        return int(self.arrays["starts"].shape[-1])

    def _rows(self, times: np.ndarray) -> dict[str, np.ndarray]:
        """Return the curve's arrays with one segment for each time: the segment that contains it."""
        s = self.parameter(np.clip(times, self.start, self.end))
        result = {}
        starts = self.arrays["starts"]
        if starts.ndim == 1:
            segment = segment_indices(starts, s)
            for name, shape in self.kind.arrays:
                result[name] = self.arrays[name][segment][..., None] if len(shape) == 1 else self.arrays[name][segment]
                if len(shape) > 1:
                    result[name] = result[name].reshape(*s.shape, 1, *result[name].shape[s.ndim :])
            return result
        segments = np.stack([segment_indices(x, s) for x in starts], axis=-1)
        which = np.arange(len(starts))
        for name, shape in self.kind.arrays:
            x = self.arrays[name]
            result[name] = x[which, segments][..., None, *(slice(None),) * (x.ndim - 2)] if "pieces" in shape else x
        return result

    # -- time scaling

    def parameter(self, t: np.ndarray) -> np.ndarray:
        """Return the curve's parameter s at times t."""
        if self.clock is None:
            return t
        starts, coefficients = self.clock.starts, self.clock.coefficients
        segment = segment_indices(starts, t)
        u, c = t - starts[segment], coefficients[segment]
        result = c[..., -1]
        for k in range(coefficients.shape[1] - 2, -1, -1):
            result = result * u + c[..., k]
        return np.asarray(result)

    def time(self, s: np.ndarray) -> np.ndarray:
        """Return the times at which the curve's parameter is s, within the range of the time scaling."""
        if self.clock is None:
            return np.asarray(s)
        if self.is_affine:
            result: np.ndarray = (
                self.clock.starts[0] + (s - self.clock.coefficients[0, 0]) / self.clock.coefficients[0, 1]
            )
            return result
        low, high = np.full(s.shape, self.start), np.full(s.shape, self.end)
        up = bool(self.parameter(np.array(self.end)) >= self.parameter(np.array(self.start)))
        for _ in range(64):
            middle = 0.5 * (low + high)
            before = self.parameter(middle) < s if up else self.parameter(middle) > s
            low, high = np.where(before, middle, low), np.where(before, high, middle)
        return np.asarray(0.5 * (low + high))

    @property
    def is_affine(self) -> bool:
        """Return True if the curve's parameter is an affine function of time."""
        return self.clock is None or (len(self.clock.starts) == 1 and self.clock.coefficients.shape[1] == 2)

    def knots(self) -> np.ndarray:
        """Return the times between which the section is smooth, including both ends.

        These are starts of segments of the curve and of its time scaling.  They are two equal times for zero duration.
        """
        ends = np.sort(self.parameter(np.array([self.start, self.end])))
        s = np.unique(self.arrays["starts"])
        inside = self.time(s[(s > ends[0]) & (s < ends[1])])
        more = [] if self.clock is None else self.clock.starts
        times = np.unique(np.concatenate([[self.start, self.end], inside, more]))
        times = times[(times >= self.start) & (times <= self.end)]
        near = 1e-12 * max(self.end - self.start, abs(self.start), abs(self.end))
        keep = np.concatenate([[True], np.diff(times) > near])
        times = times[keep]
        times[-1] = self.end if len(times) > 1 or self.end == self.start else times[-1]
        return np.repeat(times, 2) if self.end == self.start else np.asarray(times)

    # -- derived sections

    def part(self, start: float, end: float) -> Section:
        """Return the section between two of its times."""
        return Section(self.space, self.kind, self.arrays, start, end, self.clock)

    def starting_at(self, start: float) -> Section:
        """Return the section shifted to start at another time."""
        if start == self.start:
            return self
        by = start - self.start
        if self.clock is None:
            clock = TimeScaling([start], [[self.start, 1.0]])
        else:
            clock = TimeScaling(self.clock.starts + by, self.clock.coefficients)
        return Section(self.space, self.kind, self.arrays, start, self.end + by, clock)

    def run_backwards(self, start: float) -> Section:
        """Return the section run backwards, from time ``start`` on."""
        end = start + (self.end - self.start)
        if self.clock is None:
            return Section(self.space, self.kind, self.arrays, start, end, TimeScaling([start], [[self.end, -1.0]]))
        starts, coefficients = self.clock.starts, self.clock.coefficients
        ends = np.append(starts[1:], self.end)
        inside = (ends > self.start) & (starts < self.end) if len(starts) > 1 else np.array([True])
        starts, coefficients, ends = starts[inside], coefficients[inside], ends[inside]
        ends[-1] = self.end
        signs = (-1.0) ** np.arange(coefficients.shape[1])
        new = [shifted(c, e - b) * signs for c, b, e in zip(coefficients, starts, ends, strict=True)]
        clock = TimeScaling((start + (self.end - ends))[::-1], np.array(new)[::-1])
        return Section(self.space, self.kind, self.arrays, start, end, clock)

    def scaled(self, start: float, scale: float) -> Section:
        """Return the section with its duration scaled, from time ``start`` on."""
        end = start + scale * (self.end - self.start)
        clock = self.clock if self.clock is not None else TimeScaling(frozen([self.start]), frozen([[self.start, 1.0]]))
        powers = scale ** -np.arange(clock.coefficients.shape[1], dtype=float)
        time_scaling = TimeScaling(start + scale * (clock.starts - self.start), clock.coefficients * powers)
        return Section(self.space, self.kind, self.arrays, start, end, time_scaling)

    def with_time_scaling(self, clock: TimeScaling, start: float, end: float) -> Section:
        """Return the same curve with another time scaling, whose arrays are read-only, without copies or checks."""
        section = object.__new__(Section)
        section.space, section.kind, section.arrays, section.clock = self.space, self.kind, self.arrays, clock
        section.start, section.end, section._padded, section._single = start, end, None, None
        return section

    def timed(self, clock: TimeScaling, start: float, end: float) -> Section:
        """Return the section with a further time scaling from new times t' to its times t."""
        if self.clock is None:
            return Section(self.space, self.kind, self.arrays, start, end, clock)
        own = self.clock
        inner = self.part(start, end)
        inner.clock = TimeScaling(frozen(clock.starts), frozen(clock.coefficients))
        between = [inner.time(np.array(x)) for x in own.starts[(own.starts > self.start) & (own.starts < self.end)]]
        starts = np.unique(np.concatenate([clock.starts, np.array(between)]))
        starts = starts[(starts < end) & (starts >= start)]
        result = []
        for b, e in zip(starts, np.append(starts[1:], end), strict=True):
            segment = segment_indices(clock.starts, b)
            c = shifted(clock.coefficients[segment], b - clock.starts[segment])
            middle = inner.parameter(np.array(0.5 * (b + e)))
            k = segment_indices(own.starts, middle)
            result.append(composed(shifted(own.coefficients[k], c[0] - own.starts[k]), c))
        return Section(self.space, self.kind, self.arrays, start, end, TimeScaling(starts, np.array(result)))


def _restored(
    space: CurveSpace, kind: str, arrays: Mapping[str, Any], start: float, end: float, clock: TimeScaling | None
) -> Section:
    return Section(space, KINDS[kind], arrays, start, end, clock)


def shifted(c: np.ndarray, by: Any) -> np.ndarray:
    """Return the coefficients of p(u + by), from those of polynomials p (..., terms), lowest first."""
    result = np.array(c, dtype=float)
    for k in range(result.shape[-1] - 1):
        for j in range(result.shape[-1] - 2, k - 1, -1):
            result[..., j] += by * result[..., j + 1]
    return result


def composed(c: np.ndarray, inner: np.ndarray) -> np.ndarray:
    """Return the coefficients of the polynomial p(s(t) − s(0)), from those of p and s, lowest first."""
    inner_change = np.array([0.0, *inner[1:]])
    result = np.array([c[-1]])
    for x in c[-2::-1]:
        result = np.convolve(result, inner_change)
        result[0] += x
    return result


def _filled(x: Any, axis: int | None, name: str) -> Any:
    """Return an array padded to 2^k segments; unused segments begin at `FAR`."""
    if axis is None:
        return x
    count = x.shape[axis]
    missing = (1 << max(count - 1, 0).bit_length()) - count
    if not missing:
        return x
    last = np.take(np.asarray(x), [-1] * missing, axis=axis)
    if name == "starts":
        last = np.full(last.shape, FAR)
    return np.concatenate([np.asarray(x), last], axis=axis)


def _shapes(kind: CurveKind, arrays: Mapping[str, np.ndarray]) -> tuple[tuple[int, ...], ...]:
    return tuple(arrays[name].shape[arrays[name].ndim - len(shape) :] for name, shape in kind.arrays)


def _clock_shapes(clocks: Mapping[str, np.ndarray]) -> tuple[tuple[int, ...], ...]:
    return tuple(x.shape for x in clocks.values())


def _kernel(space: CurveSpace, kind: CurveKind, shapes: tuple[Any, ...], clocks: tuple[Any, ...], order: int) -> Kernel:
    """Return the kernel that evaluates curves of a kind and size."""
    names = [name for name, _ in kind.arrays]
    more = ["clock_starts", "clock"][: len(clocks)]

    def traced(*, t: Any, **arrays: Any) -> Any:
        clock = TimeScaling(arrays["clock_starts"], arrays["clock"]) if clocks else None
        own = {name: arrays[name] for name in names}
        return tuple(array(x) for x in curve_motion(space, kind, own, clock, None, t, order))

    def build() -> Kernel:
        sizes = dict(zip([*names, *more], [*shapes, *clocks], strict=True))
        return compile(traced, name=f"{kind.name}_curve", t=(), **sizes)

    return _KERNELS.get((space, kind.name, shapes, clocks, order), build)
