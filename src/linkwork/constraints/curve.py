"""Functions of one variable as data: splines through tables, motion laws of cams, Geneva wheels.

A curve consists of segments.  On a segment of length ℓ that begins at x₀, with s = (x − x₀)/ℓ,

    y = Σ c_k sᵏ + A sin 2πs + B cos πs + G atan2(sin α, m + κ cos α),      α = ℓ (s − ½).

Sources: Norton, Cam Design and Manufacturing Handbook, 2nd ed., 2009, chapters 3 and 5 (motion laws, splines);
Bickford, Mechanisms for Intermittent Motion, 1972 (Geneva wheels).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.cached_properties import cached_property
from linkwork._util.checked_arguments import public_constructor
from linkwork._util.foreign_names import WithForeignNames, add_foreign_names
from linkwork._util.messages import nearest
from linkwork._util.validation import boolean, integer
from linkwork.constraints.arguments import read_number
from linkwork.constraints.jacobian_rows import timed
from linkwork.constraints.user_functions import over_any_scalar
from linkwork.expr.scalar.functions import atan2, cos, floor, le, sin, where
from linkwork.expr.scalar.symbol import Symbol
from linkwork.spatial.arguments import LARGEST

__all__ = ["Curve"]

_POWERS = 8  # coefficients c_k of a segment
_A, _B, _G, _M, _KAPPA = range(_POWERS, _POWERS + 5)  # columns of the other coefficients
_LAWS = {  # coefficients of a rise by 1: c_0, c_1, ..., c_7, A, B
    "345": (0, 0, 0, 10, -15, 6, 0, 0, 0, 0),
    "4567": (0, 0, 0, 0, 35, -84, 70, -20, 0, 0),
    "cycloidal": (0, 1, 0, 0, 0, 0, 0, 0, -0.5 / math.pi, 0),
    "harmonic": (0.5, 0, 0, 0, 0, 0, 0, 0, 0, -0.5),
}
_SAMPLED = "Curve.sampled(function, start, end) has the motion of a function, such as modified sine"
_OTHER_LAWS = {  # remedies for laws that are no name of linkwork
    **dict.fromkeys(("poly345", "345 polynomial", "polynomial 345", "poly5", "quintic"), "use '345'"),
    **dict.fromkeys(("poly4567", "polynomial 4567", "poly7"), "use '4567'"),
    **dict.fromkeys(("sine", "simple harmonic", "shm", "cosine"), "use 'harmonic'"),
    **dict.fromkeys(("dwell", "rest", "constant"), "two points of equal height are a dwell with any law"),
    **dict.fromkeys(("modified sine", "modified trapezoid", "trapezoid", "parabolic", "linear"), _SAMPLED),
}
_MOTIONS = ("spline", *_LAWS, "geneva")
_SAME = 1e-9  # relative difference at which both ends of a period, and lengths of Geneva segments, are equal


@public_constructor
@dataclass(frozen=True)
class Curve(metaclass=WithForeignNames):
    """Function y = f(x) of one variable, through the points of a table.

        angles, lifts = np.radians([0, 90, 120, 240, 360]), [0, 0.02, 0.02, 0, 0]
        lift = lw.constraints.Curve(angles, lifts, "cycloidal", periodic=True)
        lift(1.0), lift.derivatives(1.0)    # a value; the value and its first and second derivatives

    ``x`` (n,) increases, and ``y`` (n,) are the values there.  ``motion`` is the shape between the points, one for all
    segments or one for each:

    - "spline" (default): the cubic spline, which is natural unless it is periodic.  With ``slopes`` f′ and
      ``curvatures`` f″ (n,) at the points, the segments are quintics.
    - "345", "4567", "cycloidal", "harmonic": motion laws of cams.  f′ is 0 at the points; equal values are a dwell.
    - "geneva": a Geneva wheel, as `geneva` returns it.

    f″ is continuous, except for "harmonic" and "geneva", with jumps at the points.  With ``periodic`` the points
    are one period, and f advances by y[-1] − y[0] in each period.  Otherwise f continues beyond its ends with its last
    slope and curvature, and as a constant after a motion law.
    """

    x: tuple[float, ...]
    y: tuple[float, ...]
    motion: str | tuple[str, ...] = "spline"
    _: KW_ONLY
    slopes: tuple[float, ...] = ()
    curvatures: tuple[float, ...] = ()
    periodic: bool = False

    if TYPE_CHECKING:  # any numbers are converted to tuples

        def __init__(
            self,
            x: ArrayLike,
            y: ArrayLike,
            motion: str | Sequence[str] = ...,
            *,
            slopes: ArrayLike = ...,
            curvatures: ArrayLike = ...,
            periodic: bool = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "periodic", boolean("Curve", "periodic", self.periodic))
        for name in ("x", "y", "slopes", "curvatures"):
            object.__setattr__(self, name, _floats(name, getattr(self, name)))
        count = len(self.x)
        if count < 2 or any(b <= a for a, b in pairwise(self.x)):
            raise ValueError(f"Curve: x: expected at least two increasing numbers, got {_shown(self.x)}")
        for name in ("y", "slopes", "curvatures"):
            values = getattr(self, name)
            if len(values) != count and (name == "y" or values):
                raise ValueError(f"Curve: {name}: expected {count} numbers, one for each x, got {len(values)}")
        if bool(self.slopes) != bool(self.curvatures):
            raise ValueError("Curve: slopes, curvatures: expected both or none of them, for a continuous f″")
        motions = (self.motion,) * (count - 1) if isinstance(self.motion, str) else tuple(self.motion)
        if len(motions) != count - 1:
            raise ValueError(f"Curve: motion: expected one for each of {count - 1} segments, got {len(motions)}")
        for law in motions:
            if law not in _MOTIONS:
                remedy = _OTHER_LAWS.get(str(law).lower().replace("-", " ").replace("_", " ")) or nearest(
                    str(law), _MOTIONS
                )
                raise ValueError(f"Curve: motion: got {law!r}: {remedy}")
        motion = motions[0] if len({*motions}) == 1 else motions
        object.__setattr__(self, "motion", motion)
        if "spline" in motions and motion != "spline":
            raise ValueError('Curve: motion: expected "spline" for all segments or for none')
        if self.slopes and motion != "spline":
            raise ValueError('Curve: slopes: expected motion="spline", since all other motion laws stop at the points')
        for k, law in enumerate(motions):
            if law == "geneva":
                self._check_geneva(k)
        ends = [(name, getattr(self, name)) for name in ("slopes", "curvatures") if getattr(self, name)]
        for name, values in ends if self.periodic else ():
            if abs(values[-1] - values[0]) > _SAME * max(map(abs, values)):
                raise ValueError(f"Curve: {name}: expected the same at both ends of a period, got {values[0]!r} and "
                                 f"{values[-1]!r}")  # fmt: skip

    @classmethod
    def geneva(cls, slots: int, *, internal: bool = False) -> Self:
        """Return the angle of a Geneva wheel as a function of its crank's angle, for parallel axes [rad].

        The crank's pin is on the line of centres at x = 0.  In each revolution the wheel turns by 2π/slots against the
        crank while |x| ≤ π/2 − π/slots, and rests otherwise.  An ``internal`` wheel has the crank inside: it turns with
        the crank, while |x| ≤ π/2 + π/slots.  Where the pin enters a slot, f′ is 0 and f″ jumps by tan(π/slots).  The
        distance between the centres is the radius of the crank over sin(π/slots).
        """
        slots = integer("Curve.geneva", "slots", slots, least=3)
        step = math.tau / slots * (1.0 if internal else -1.0)
        half = (math.pi + step) / 2.0
        return cls((-half, half, math.tau - half), (0.0, step, step), "geneva", periodic=True)

    @classmethod
    def sampled(
        cls,
        function: Callable[[Any], Any],
        start: float,
        end: float,
        *,
        periodic: bool = False,
        tolerance: float = 1e-9,
    ) -> Self:
        """Return a curve of quintics through samples of a smooth function: data that files can contain.

        The samples are equidistant and include ``start`` and ``end``. There the curve has the value, f′ and f″ of the
        function. Segments are halved until the error is at most ``tolerance`` [rad, m] at nine points of each segment.
        A ``periodic`` curve repeats itself with the period end − start. Raises ValueError if 4096 segments do not
        suffice, and for values that are not finite.
        """
        name = "Curve.sampled"
        start, end = read_number(name, "start", start), read_number(name, "end", end)
        tolerance = read_number(name, "tolerance", tolerance)

        def value(x: Any) -> list[Any]:
            with np.errstate(all="ignore"):
                return over_any_scalar(name, function, x, count=1)

        error = math.inf
        for count in (2**k for k in range(3, 13)):
            x = np.linspace(start, end, count + 1)
            first, second = (np.broadcast_to(rate[0], x.shape) for rate in timed(value, x))
            y = np.broadcast_to(value(x)[0], x.shape)
            result = cls(x, y, slopes=first, curvatures=second, periodic=periodic)
            between = np.linspace(start, end, 10 * count + 1)
            error = float(np.abs(result(between) - value(between)[0]).max())
            if error <= tolerance:
                return result
        raise ValueError(
            f"{name}: tolerance: {count} segments have an error of {error:.3g} > {tolerance:.3g}; pass a larger one"
        )

    def __call__(self, x: Any) -> Any:
        """Return f(x) for a number, an array of numbers (batch), or scalars of a traced function."""
        x = np.array(x) if isinstance(x, (list, tuple)) else x
        if isinstance(x, (np.ndarray, np.generic)) and x.dtype != object:
            return self._value(np.asarray(x, dtype=float))[()]
        if isinstance(x, np.ndarray):
            result = np.empty(x.shape, dtype=object)
            result[...] = np.frompyfunc(self, 1, 1)(x)
            return result[()]
        if isinstance(x, (int, float)):
            return float(self._value(np.array(float(x))))
        if isinstance(x, Symbol):
            return self._value(x)
        return over_any_scalar("Curve", self._value, x, count=1)[0]

    def derivatives(self, x: Any) -> tuple[Any, Any, Any]:
        """Return f(x), f′(x) and f″(x) for a number or an array of numbers (batch)."""
        if not isinstance(x, (int, float)):
            x = np.asarray(x, dtype=float)
        (first,), (second,) = timed(lambda at: [self(at)], x)
        zero = 0.0 if isinstance(x, (int, float)) else np.zeros_like(x)
        return self(x), first + zero, second + zero

    # -- evaluation

    def _value(self, x: Any) -> Any:
        """Return f(x) for a symbol or an array of floats."""
        edges, columns, table = self._segments
        period, advance, turns = self.x[-1] - self.x[0], self.y[-1] - self.y[0], None
        if self.periodic:
            turns = floor((x - self.x[0]) / period)
            x = x - turns * period
        start, length, *coefficients = _row(x, edges, table)
        c = dict(zip(columns, coefficients, strict=True))
        s = (x - start) / length
        value: Any = 0.0
        for k in reversed(range(_POWERS)):
            value = value * s + c.get(k, 0.0)
        if _A in c:
            value = value + c[_A] * sin(math.tau * s)
        if _B in c:
            value = value + c[_B] * cos(math.pi * s)
        if _G in c:
            angle = (s - 0.5) * length
            value = value + c[_G] * atan2(sin(angle), c[_M] + c[_KAPPA] * cos(angle))
        return value + turns * advance if turns is not None and advance else value

    @cached_property
    def _segments(self) -> tuple[list[float], list[int], np.ndarray]:
        """Inner boundaries of the segments, the indices of the coefficients that are not zero everywhere, and a table.

        The table has a row for each segment: its start x₀, its length ℓ, and these coefficients.
        """
        x, y = self.x, self.y
        if self.motion == "spline":
            slopes = self.slopes or _spline_slopes(x, y, self.periodic)
            rows = [self._between(k, slopes) for k in range(len(x) - 1)]
            bends = self.curvatures or (0.0,) * len(x)
            ends = [[x[k], 1.0, y[k], slopes[k], bends[k] / 2] for k in (0, -1)]
        else:
            motions = (self.motion,) * (len(x) - 1) if isinstance(self.motion, str) else self.motion
            rows = [self._law(k, law) for k, law in enumerate(motions)]
            ends = [[x[k], 1.0, y[k]] for k in (0, -1)]
        edges = [*x[1:-1]] if self.periodic else [*x]
        rows = rows if self.periodic else [ends[0], *rows, ends[1]]
        full = np.array([[*row, *[0.0] * (2 + _KAPPA + 1 - len(row))] for row in rows])
        columns = np.flatnonzero(full[:, 2:].any(axis=0)).tolist()
        if _G in columns:
            full[full[:, 2 + _G] == 0.0, 2 + _M] = 2.0  # where there is no wheel, atan2 has a derivative
        return edges, columns, full[:, [0, 1, *(2 + k for k in columns)]]

    def _between(self, k: int, slopes: Sequence[float]) -> list[float]:
        """Return x₀, ℓ and the polynomial coefficients of segment k, with these ``slopes`` at its ends.

        The segment is a cubic, or a quintic if the curve has curvatures; x₀ is its start and ℓ its length.
        """
        length = self.x[k + 1] - self.x[k]
        y, rise = self.y[k], self.y[k + 1] - self.y[k]
        u, w = slopes[k] * length, slopes[k + 1] * length
        if not self.curvatures:
            return [self.x[k], length, y, u, 3 * rise - 2 * u - w, u + w - 2 * rise]
        a, b = (self.curvatures[i] * length * length / 2 for i in (k, k + 1))
        lift, slope, bend = rise - u - a, w - u - 2 * a, 2 * (b - a)  # that the higher powers make
        c3, c4, c5 = (10 * lift - 4 * slope + bend / 2, -15 * lift + 7 * slope - bend, 6 * lift - 3 * slope + bend / 2)
        return [self.x[k], length, y, u, a, c3, c4, c5]

    def _law(self, k: int, motion: str) -> list[float]:
        """Return x₀, ℓ and the coefficients of segment k with a motion law such as "cycloidal".

        x₀ is the start and ℓ the length of the segment; the module's docstring has the formula.
        """
        length, y, rise = self.x[k + 1] - self.x[k], self.y[k], self.y[k + 1] - self.y[k]
        if motion != "geneva":
            first, *more = (rise * c for c in _LAWS[motion])
            return [self.x[k], length, y + first, *more]
        row = [self.x[k], length, y + rise / 2, *[0.0] * 12]
        if rise:
            row[2 + _G], row[2 + _M] = math.copysign(1.0, rise), 1.0 / math.sin(abs(rise) / 2)
            row[2 + _KAPPA] = -1.0 if length < math.pi else 1.0
        return row

    def _check_geneva(self, k: int) -> None:
        length, rise = self.x[k + 1] - self.x[k], abs(self.y[k + 1] - self.y[k])
        if rise and not (rise < math.pi and abs(abs(length - math.pi) - rise) <= _SAME):
            raise ValueError(
                f'Curve: x, y: expected a length π ∓ |Δy| of a segment of motion "geneva", got {length:.6g} for |Δy| = '
                f"{rise:.6g}; Curve.geneva(slots) returns the curve"
            )


def _row(x: Any, edges: list[float], table: np.ndarray) -> Sequence[Any]:
    """Return the elements of the table's row for the segment that contains x, for a symbol or an array of floats."""
    if not isinstance(x, Symbol):
        chosen = table[np.searchsorted(edges, x, side="right")]
        return [chosen[..., k] for k in range(chosen.shape[-1])]
    rows, columns = table.shape
    if rows == 1:
        return [float(c) for c in table[0]]
    from linkwork.expr.control.table_access import Take

    position: Any = 0.0
    size = 1 << (len(edges).bit_length() - 1)
    padded = (*edges, *[LARGEST] * (2 * size - 1 - len(edges)))
    while size:  # binary search
        (edge,) = Take(len(padded), 1, padded)([position + float(size - 1)])
        position = where(le(edge, x), position + float(size), position)
        size //= 2
    return Take(rows, columns, tuple(table.ravel().tolist()))([position])


def _spline_slopes(x: Sequence[float], y: Sequence[float], periodic: bool) -> list[float]:
    """Return the slopes of the cubic spline through points: periodic, or natural (zero curvature at both ends)."""
    h = [b - a for a, b in pairwise(x)]
    d = [(b - a) / size for (a, b), size in zip(pairwise(y), h, strict=True)]
    inner = range(1, len(h))
    middle = [2 * (h[k - 1] + h[k]) for k in inner]
    right = [3 * (h[k] * d[k - 1] + h[k - 1] * d[k]) for k in inner]
    if not periodic:
        lower, upper = [*(h[k] for k in inner), 1.0], [1.0, *(h[k - 1] for k in inner)]
        return _tridiagonal(lower, [2.0, *middle, 2.0], upper, [3 * d[0], *right, 3 * d[-1]])
    if len(h) == 1:
        return [d[0]] * 2
    # The first and the last slope are equal, so the system has corners: Sherman and Morrison's formula.
    lower, upper = [h[k] for k in inner], [h[-1], *(h[k - 1] for k in inner)]
    first, last = h[0], upper.pop()  # the corners
    gamma = -2 * (h[-1] + h[0])
    diagonal = [2 * (h[-1] + h[0]) - gamma, *middle]
    diagonal[-1] -= first * last / gamma
    solution = _tridiagonal(lower, diagonal, upper, [3 * (h[0] * d[-1] + h[-1] * d[0]), *right])
    corner = _tridiagonal(lower, diagonal, upper, [gamma, *[0.0] * (len(h) - 2), last])
    share = (solution[0] + first * solution[-1] / gamma) / (1 + corner[0] + first * corner[-1] / gamma)
    result = [a - share * b for a, b in zip(solution, corner, strict=True)]
    return [*result, result[0]]


def _tridiagonal(
    lower: Sequence[float], diagonal: Sequence[float], upper: Sequence[float], right: Sequence[float]
) -> list[float]:
    """Solve a tridiagonal system by elimination (Thomas)."""
    diagonal, result = [*diagonal], [*right]
    for k in range(1, len(diagonal)):
        factor = lower[k - 1] / diagonal[k - 1]
        diagonal[k] -= factor * upper[k - 1]
        result[k] -= factor * result[k - 1]
    result[-1] /= diagonal[-1]
    for k in range(len(diagonal) - 2, -1, -1):
        result[k] = (result[k] - upper[k] * result[k + 1]) / diagonal[k]
    return result


def _floats(name: str, values: Any) -> tuple[float, ...]:
    """Return finite numbers as a tuple of floats.  Raises TypeError or ValueError."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(f"Curve: {name}: expected numbers, got {values!r}")
    return tuple(read_number("Curve", f"{name}[{k}]", value) for k, value in enumerate(values))


def _shown(values: Sequence[float]) -> str:
    return f"{list(values[:6])}{' ...' if len(values) > 6 else ''}"


add_foreign_names(Curve, "constraints.Curve")
