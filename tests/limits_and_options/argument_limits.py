"""Limits of arguments of all public callables, measured by trial calls: the values that each argument accepts.

A limit is measured on both sides to the last bit: the outermost accepted float and its refused neighbour.  Checks by
helpers of `_util/validation.py`, by annotations and by plain conditions are all measured so.  A refusal counts only if
its error names function and argument.  The record has a line for each argument that accepts a trial value:

    ContactMaterial.restitution: number [0, 1]
    Robot.mass_matrix.q: array (2,) (-inf, inf); stacked
    Trajectory.resampled.n: integer [2, 2147483647]; None

Arguments without a line refuse all trial values.  An array is tried with one entry replaced, and in other shapes.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import math
import re
import resource
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from benchmarks.fuzz.callable_subjects import Subject, subjects
from benchmarks.fuzz.callable_values import value_of
from benchmarks.fuzz.callables import tried

import linkwork as lw
from helpers.pickle_results import RESULTS

__all__ = ["Limits", "Trials", "arguments", "jumps", "measured", "read", "trial_values", "violations"]

INF, MAX_FLOAT = math.inf, sys.float_info.max
TINY = 1e-9  # the number next to a limit of 0: products of smaller ones may vanish
FLOATS = (-INF, -2.0, -1.0, -0.5, -TINY, 0.0, TINY, 0.5, 1.0, math.nextafter(1.0, 2.0), 2.0, 10.0, INF)
ENTRIES = (-INF, -2.0, -1.0, -TINY, 0.0, TINY, 0.5, 1.0, math.nextafter(1.0, 2.0), 2.0, INF)
HUGE = 2**34 + 1  # above every limit of an integer
INTEGERS = (-2, -1, 0, 1, 2, 3, 4, 5, 8, HUGE)
MAX_TRIED = 1000  # larger integers may take long: only their refusal is tried
KINDS: dict[str, Callable[[], Any]] = {
    "None": lambda: None, "True": lambda: True, "text": lambda: "no such thing", "bytes": lambda: b"text",
    "complex": lambda: 1j, "list": list, "dict": dict, "object": object, "function": lambda: lambda x: x,
    "NaN": lambda: math.nan,
}  # fmt: skip
TEMPLATES = (np.full(2, 0.5), np.full(3, 0.5), np.full(6, 0.5), np.eye(3), np.eye(4), np.full((2, 2), 0.5))
SHAPES: dict[str, Callable[[np.ndarray], Any]] = {
    "shorter": lambda x: x[:-1], "longer": lambda x: np.concatenate((x, x[-1:])), "scalar": lambda x: x.flat[0],
    "stacked": lambda x: x[None],
}  # fmt: skip
SECONDS = 2.0  # [s] of processor time of a call: one that takes longer has accepted its arguments


LEFT_OUT = (  # start processes, go through thousands of samples, write videos, or need files or other packages
    "animation|write_mp4|write_png|workspace_map|WorkspaceMap|xciting|load_description|lqr_about_trajectory|"
    "compare_with_library|^distance_field"
)
MEMORY = 1 << 30  # [bytes] of a call


def _used_memory() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[5]) * resource.getpagesize()


class Limits(NamedTuple):
    """Values that an argument accepts."""

    integer: str = ""  # intervals of integers, if no other number is accepted
    number: str = ""  # intervals of numbers
    shape: tuple[int, ...] = ()  # shape of an accepted array
    array: str = ""  # intervals of the last entry of this array
    kinds: tuple[str, ...] = ()  # names of `SHAPES` and `KINDS`

    def __str__(self) -> str:
        forms = [f"{name} {text}" for name, text in (("integer", self.integer), ("number", self.number)) if text]
        forms += [f"array {self.shape} {self.array}"] if self.shape else []
        return "; ".join(forms + ([", ".join(self.kinds)] if self.kinds else []))


def read(text: str) -> Limits:
    """Return the limits of a line of the record, without the name of the argument."""
    result = Limits()
    for part in filter(None, text.split("; ")):
        form, _, intervals = part.partition(" ")
        if form in ("integer", "number"):
            result = result._replace(**{form: intervals})
        elif form == "array":
            shape, _, intervals = intervals.partition(") ")
            result = result._replace(shape=tuple(map(int, re.findall(r"\d+", shape))), array=intervals)
        else:
            result = result._replace(kinds=tuple(part.split(", ")))
    return result


class Trials:
    """Trial calls of a public callable with values of one argument."""

    def __init__(self, subject: Subject, argument: str) -> None:
        self.subject, self.argument = subject, argument
        self.said: set[float] = set()  # numbers in the texts of refusals
        self.lines = ""  # that refused the last value
        self.text, self.kind = "", ""  # of this error: its message, and its class in `benchmarks.fuzz`

    def accepts(self, value: Any) -> bool:
        """Return True if a call with this value does not refuse the argument."""
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (_used_memory() + MEMORY, hard))
        try:
            error, _ = tried(self.subject, self.argument, value, SECONDS)
        finally:
            resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
        if error is None or error["class"] == "hang":
            return True
        self.lines, self.text, self.kind = error.get("lines", ""), error["error"], error["class"]
        expectation = error["error"].partition(", got ")[0]
        self.said |= {float(x) for x in re.findall(r"(?<![\w.\[])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.])", expectation)}
        return False


def names_argument(text: str, name: str) -> bool:
    """Return True if the text of an error names the function or the class, and the argument, which is not before it."""
    *path, argument = name.split(".")
    argument = re.escape(argument.lstrip("*"))
    words = {re.sub("(?<=[a-z])(?=[A-Z])", " ", x).lower() for x in path[-2:]} | {x.lower() for x in path[-2:]}
    functions = "|".join(map(re.escape, sorted(words)))
    is_named = re.search(rf"(?<!\w)({functions})(?!\w)", text.lower()) and re.search(rf"(?<!\w){argument}(?!\w)", text)
    return bool(is_named) and not re.search(rf"(?<!\w){argument}: ({functions}): ", text)


def _intervals(accepts: Callable[[Any], bool], points: Sequence[Any], said: set[float]) -> str:
    """Return the intervals of accepted numbers, each limit to the last bit or integer."""
    is_float = isinstance(points[0], float)
    known = {point: accepts(point) for point in points}
    more = (
        x for value in sorted(said) for x in ((value,) if is_float else (int(value) - 1, int(value), int(value) + 1))
    )
    known |= {x: accepts(x) for x in more if abs(x) < 10.0 or (not is_float and abs(x) <= MAX_TRIED)}
    ends: list[tuple[Any, Any]] = []  # neighbours, one accepted and one not
    row = sorted(known)
    for low, high in itertools.pairwise(row):
        while known[low] != known[high]:
            middle = _between(low, high)
            if middle in (low, high):
                ends.append((low, high))
                break
            is_beyond = abs(middle) > (MAX_FLOAT / 2 if is_float else MAX_TRIED)
            known[middle] = known[min(low, high, key=abs)] if is_beyond else accepts(middle)
            low, high = (middle, high) if known[middle] == known[low] else (low, middle)
    return _text(ends, known[row[0]], is_float)


def _between(low: Any, high: Any) -> Any:
    if not isinstance(low, float):
        return (low + high) // 2
    if math.isinf(low) or math.isinf(high):  # numbers beyond those tried are like them
        return math.nextafter(low, 0.0) if math.isinf(low) else math.nextafter(high, 0.0)
    small, large = sorted((abs(low), abs(high)))
    if large <= TINY:
        return low
    middle = math.sqrt(max(small, TINY)) * math.sqrt(large) if large > 4.0 * small else 0.5 * (small + large)
    return math.copysign(middle, low + high)


def _text(ends: list[tuple[Any, Any]], is_open: bool, is_float: bool) -> str:
    texts, begin = [], "[-inf" if is_open else ""
    for low, high in ends:
        if not begin:
            begin = f"({_short(low)}" if is_float and len(repr(low)) < len(repr(high)) else f"[{_short(high)}"
        else:
            is_in = len(repr(low)) <= len(repr(high)) if is_float else high != HUGE
            texts.append(f"{begin}, {_short(low)}]" if is_in else f"{begin}, {_short(high if is_float else INF)})")
            begin = ""
    return " ".join([*texts, f"{begin}, inf]"] if begin else texts)


def _next(limit: float, towards: float) -> float:
    return math.copysign(TINY, towards) if limit == 0.0 else math.nextafter(limit, towards)


def _short(value: Any) -> str:
    return repr(value).removesuffix(".0")


def measured(subject: Subject, argument: str) -> str:
    """Return the limits of an argument as a line of the record has them; "" if it refuses all trial values."""
    trials = Trials(subject, argument)
    number = _intervals(trials.accepts, FLOATS, trials.said)
    integer = "" if number else _intervals(trials.accepts, INTEGERS, trials.said)
    kinds = [name for name, value in KINDS.items() if trials.accepts(value())]
    template = next((x for x in _templates(subject, argument) if trials.accepts(x.copy())), None)
    if template is None:
        return str(Limits(integer, number, kinds=tuple(kinds)))
    array = _intervals(lambda x: trials.accepts(_replaced(template, x)), ENTRIES, set())
    kinds = [name for name, changed in SHAPES.items() if trials.accepts(changed(template.copy()))] + kinds
    kinds += ["NaN in array"] if trials.accepts(_replaced(template, math.nan)) else []
    return str(Limits(integer, number, template.shape, array, tuple(kinds)))


def _templates(subject: Subject, argument: str) -> Sequence[np.ndarray]:
    known = value_of(subject.name, argument.lstrip("*"))
    return [np.array(known, dtype=float)] if _is_array(known) else TEMPLATES


def _is_array(value: Any) -> bool:
    if not isinstance(value, (list, tuple, np.ndarray)):
        return False
    try:
        array = np.asarray(value)
    except ValueError:
        return False
    return array.dtype.kind in "if" and array.ndim > 0 and array.size > 0


def _replaced(array: np.ndarray, value: float) -> np.ndarray:
    result = array.copy()
    result.flat[-1] = value
    return result


def _sides(intervals: str, *, is_float: bool) -> Iterator[tuple[Any, bool]]:
    """Generate the numbers next to the limits of intervals, and whether each is accepted."""
    for begin, low, high, end in re.findall(r"([\[(])(\S+), (\S+)([\])])", intervals):
        for is_in, text, outwards in ((begin == "[", low, -INF), (end == "]", high, INF)):
            limit = float(text)
            if not is_float and math.isinf(limit):
                yield from [] if is_in else [(int(math.copysign(HUGE, limit)), False)]
            elif is_float:
                yield limit, is_in
                if abs(limit) < INF:
                    yield _next(limit, outwards if is_in else -outwards), not is_in
            else:
                yield int(limit), True
                yield int(limit) + (1 if outwards > 0.0 else -1), False


def trial_values(subject: Subject, argument: str, limits: Limits) -> Iterator[tuple[str, Any, bool]]:
    """Generate values on both sides of the limits, each with its name, and whether the limits accept it."""
    for kind, intervals in (("number", limits.number), ("integer", limits.integer)):
        yield from ((f"{kind} {x!r}", x, is_in) for x, is_in in _sides(intervals, is_float=kind == "number"))
    yield from ((name, value(), name in limits.kinds) for name, value in KINDS.items())
    if not limits.number:
        yield "0.5", 0.5, False
    if limits.shape:
        template = next(x for x in _templates(subject, argument) if x.shape == limits.shape)
        yield from ((f"array {x!r}", _replaced(template, x), is_in) for x, is_in in _sides(limits.array, is_float=True))
        yield "NaN in array", _replaced(template, math.nan), "NaN in array" in limits.kinds
        yield from ((name, changed(template.copy()), name in limits.kinds) for name, changed in SHAPES.items())
    else:
        yield from ((f"array {x.shape}", x.copy(), False) for x in _templates(subject, argument)[:2])


def violations(subject: Subject, argument: str, limits: Limits) -> list[str]:
    """Return the values on both sides of the limits that calls accept or refuse otherwise than the limits say."""
    trials = Trials(subject, argument)
    cases = [x for x in trial_values(subject, argument, limits) if trials.accepts(x[1]) != x[2]]
    where = f"{subject.name}.{argument}"
    return [f"{where} = {value!r} is {'refused' if is_in else 'accepted'}" for _, value, is_in in cases]


STEPS = (  # a 0 that stands for none, with a result of another form; rounded Q; counts of work in a result
    r"\.(held_out|weights|tolerance|time_limit|duration|elapsed|effort|effort_limits|position_limits|Q)$|^polyline.blend$|"
    "^Robot.velocity_for|^Robot.with_loop|^Robot.with_payload.mass$|^PID.ki$|^OperationalSpace.damping$"
)


def jumps(subject: Subject, argument: str, limits: Limits) -> list[str]:
    """Return the limits at which the result is not close to the result of a value just inside."""
    where = f"{subject.name}.{argument}"
    template = next((x for x in _templates(subject, argument) if x.shape == limits.shape), np.zeros(1))
    wrong = []
    for intervals, changed in ((limits.number, float), (limits.array, lambda x: _replaced(template, x))):
        for begin, low, high, end in re.findall(r"([\[(])(\S+), (\S+)([\])])", intervals):
            for limit, inwards, is_in in ((float(low), 1e-12, begin == "["), (float(high), -1e-12, end == "]")):
                if is_in and low != high and abs(limit) < INF and not re.search(STEPS, where):
                    values = (changed(limit), changed(limit + inwards * (abs(limit) or 1.0)))
                    (at, result), (inside, result_inside) = (tried(subject, argument, value) for value in values)
                    a, b = np.array([*_floats(result)]), np.array([*_floats(result_inside)])
                    is_close = a.shape == b.shape and np.allclose(a, b, 2e-5, 2e-5, equal_nan=True)
                    wrong += (
                        [] if at == inside is None and is_close else [f"{where} = {limit}: {at or inside or a - b}"]
                    )
    return wrong


def _floats(result: Any, depth: int = 5) -> Iterator[float]:
    """Generate the numbers of a result, and of what an object computes or shows of itself."""
    if type(result) in RESULTS and not isinstance(result, lw.TrajectoryProblem):  # which would be solved
        with contextlib.suppress(ValueError, TypeError):  # of a robot with another number of joints
            result = RESULTS[type(result)](result)
    if isinstance(result, int | float | np.number | np.ndarray):
        array = np.asarray(result)
        yield from array.ravel().astype(float) if array.dtype.kind in "fiu" else ()
    elif isinstance(result, dict | list | tuple):
        parts = result.values() if isinstance(result, dict) else result
        yield from itertools.chain.from_iterable(_floats(part, depth - 1) for part in parts if depth)
    elif dataclasses.is_dataclass(result) or type(result).__module__.startswith("linkwork"):
        names = getattr(result, "__dataclass_fields__", getattr(result, "__dict__", ()))
        values = [getattr(result, name) for name in sorted(names) if depth and not name.startswith("_")]
        yield from itertools.chain.from_iterable(_floats(x, depth - 1) for x in values if not callable(x))


def arguments() -> list[tuple[Subject, str]]:
    """Return the public callables with each of their arguments, without those whose trial calls take long."""
    quick = (x for x in subjects() if not re.search(LEFT_OUT, x.name))
    return [(x, argument) for x in quick for argument in x.arguments if argument != "out"]
