"""Calls of robots' methods and kernels with arguments of every kind: the right numbers, or an error that is of use."""

from __future__ import annotations

import functools
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import linkwork as lw
from benchmarks.fuzz.failures import Find, expect
from benchmarks.fuzz.layouts import laid_out
from linkwork.errors import ConfigurationWarning

__all__ = ["case"]

_INPUTS = {
    "forward_kinematics": "q",
    "pose": "q",
    "twist": "qv",
    "acceleration": "qvv",
    "jacobian": "q",
    "inverse_dynamics": "qvv",
    "forward_dynamics": "qvv",
    "mass_matrix": "q",
    "bias_force": "qv",
    "gravity_force": "q",
    "integrate": "qv",
    "difference": "qq",
    "normalize": "q",
}
_OF_FRAMES = ("pose", "twist", "acceleration", "jacobian")
_FLOATING = ("pose", "inverse_dynamics", "integrate", "difference", "normalize")  # with quaternions in q, too
_BATCHES: tuple[tuple[int, ...], ...] = ((), (), (1,), (3,), (2, 3), (0,), (17,), (4, 1, 2), (70,))
_SAME, _EITHER, _REFUSED = "the same", "either", "refused"


@dataclass(frozen=True)
class _Subject:
    """A function under test: its name, the call, and its arguments."""

    name: str
    call: Callable[..., Any]
    robot: lw.Robot
    inputs: str
    is_kernel: bool


@functools.cache
def _robot(floating: bool) -> lw.Robot:
    return lw.load("double_pendulum", floating_base=floating)


@functools.cache
def _subject(floating: bool, function: str, is_kernel: bool) -> _Subject:
    result = _robot(floating)
    frame = result.frames[-1]
    inputs = _INPUTS[function]
    if is_kernel:
        call: Callable[..., Any] = result.compile((function, frame) if function in _OF_FRAMES else function)
    elif function in _OF_FRAMES:
        method = getattr(result, function)

        def call(*arguments: Any, **out: Any) -> Any:
            return method(*arguments, frame, **out)

    else:
        call = getattr(result, function)
    return _Subject(function, call, result, inputs, is_kernel)


@dataclass
class _Argument:
    """An argument: the passed object, its values as an array, and the expected outcome."""

    passed: Any
    values: np.ndarray
    outcome: str
    label: str


def case(rng: np.random.Generator, tally: Counter[str]) -> None:
    """Calls one function once, in some way.  Raises Find."""
    function = str(rng.choice([*_INPUTS]))
    subject = _subject(function in _FLOATING and rng.random() < 0.7, function, rng.random() < 0.3)
    batch = _BATCHES[int(rng.integers(len(_BATCHES)))]
    arguments = [_argument(rng, subject, kind, batch) for kind in subject.inputs]
    tried = " ".join(f"{a.label}{a.values.shape}" for a in arguments)
    shown = f"{'kernel' if subject.is_kernel else 'method'} {function}, nq {subject.robot.nq}: {tried}"
    expected = np.asarray(subject.call(*(np.array(a.values) for a in arguments)))
    before = [_bytes(a.passed) for a in arguments]
    outcome = max((a.outcome for a in arguments), key=[_SAME, _EITHER, _REFUSED].index)
    if expected.size == 0 and outcome == _REFUSED and any(a.label == "a NaN" for a in arguments):
        outcome = _EITHER  # nothing is computed with it
    single = all(isinstance(a.passed, np.ndarray) and a.passed.dtype.itemsize < 8 for a in arguments)
    out, out_outcome = _out(rng, expected, arguments)
    if out is not None:
        shown += f", out {out_outcome}: {getattr(out, 'dtype', None)} {getattr(out, 'shape', None)}"
        outcome = max(outcome, out_outcome, key=[_SAME, _EITHER, _REFUSED].index)
    result = _called(subject, arguments, out, outcome, shown)
    tally["refused" if result is None else "computed"] += 1
    tally[f"expected: {outcome}"] += 1
    if result is not None and outcome == _SAME:
        got = np.asarray(result)
        expect(got.shape == expected.shape, "the shape is that of the arguments", f"{got.shape}\n{shown}")
        expect(out is None or result is out, "out is what comes back", shown)
        if single or got.dtype != np.float64:
            close = np.allclose(got, expected, rtol=1e-2, atol=1e-2 * np.abs(expected).max(initial=1.0))
            expect(close, "float32 is near", f"{got}\n{expected}\n{shown}")
        else:
            expect(np.array_equal(got, expected), "the numbers are the same", f"{got}\n{expected}\n{shown}")
    if out is None:
        after = [_bytes(a.passed) for a in arguments]
        expect(before == after, "arguments stay as they are", shown)
    again = np.asarray(subject.call(*(np.array(a.values) for a in arguments)))
    expect(np.array_equal(again, expected), "equal calls have equal results", shown)


def _called(subject: _Subject, arguments: list[_Argument], out: Any, outcome: str, shown: str) -> Any:
    """The result, or None where the call is refused.  Raises Find where it may not be, or not so."""
    options = {} if out is None else {"out": out}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", ConfigurationWarning)
            result = subject.call(*(a.passed for a in arguments), **options)
    except (ValueError, TypeError, KeyError) as error:
        expect(outcome != _SAME, "good arguments are taken", f"{error!r}\n{shown}")
        expect(10 < len(str(error)) < 2000, "an error says something, in short", f"{error!r}\n{shown}")
        if not subject.is_kernel and out is None:
            named = any(word in str(error) for word in (subject.name, "joint '", "no joint named"))
            expect(named, "an error names the function or the joint", f"{error!r}\n{shown}")
        return None
    except Exception as error:
        kind = f"a call raises {type(error).__name__}"
        raise Find(kind, f"{kind}: {error}\n{shown}") from error
    expect(outcome != _REFUSED, f"{_worst(arguments)} is refused", f"{type(result).__name__}\n{shown}")
    return result


def _worst(arguments: list[_Argument]) -> str:
    return next((a.label for a in arguments if a.outcome == _REFUSED), "out")


def _bytes(data: Any) -> Any:
    return data.tobytes() if isinstance(data, np.ndarray) and data.dtype != object else repr(data)


# -- arguments


def _argument(rng: np.random.Generator, subject: _Subject, kind: str, batch: tuple[int, ...]) -> _Argument:
    """An array of good numbers for this input, in some form."""
    robot = subject.robot
    member = batch[int(rng.integers(len(batch) + 1)) :] if rng.random() < 0.3 else batch
    if rng.random() < 0.2:
        member = tuple(n if rng.random() < 0.5 else 1 for n in member)
    size = robot.nq if kind == "q" else robot.nv
    values = robot.random_configuration(seed=rng, size=member) if kind == "q" else rng.normal(size=(*member, size))
    values = np.ascontiguousarray(values, dtype=float)
    if rng.random() < 0.7:
        return _Argument(values.copy(), values, _SAME, "plain")
    labels = [*_SAMES] if rng.random() < 0.6 else [*_BADS]
    label = labels[int(rng.integers(len(labels)))]
    if label in _SAMES:
        if label in _ROUNDED:
            if kind == "q" and robot.nq != robot.nv:
                return _Argument(values.copy(), values, _SAME, "plain")  # a rounded quaternion is another
            values = values.astype(_ROUNDED[label]).astype(float)
        passed = _SAMES[label](rng, values.copy())
        return _Argument(passed, values, _SAME, label)
    make, outcome = _BADS[label]
    if values.size == 0 and outcome == _REFUSED:
        outcome = _EITHER
    if label in ("a NaN", "masked") and subject.is_kernel:
        outcome = _EITHER  # kernels are NumPy's functions: they let NaN through, and give masked arrays their masks
    return _Argument(make(rng, values.copy()), values, outcome, label)


def _read_only(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    x.flags.writeable = False
    return x


class _Array(np.ndarray):
    """A subclass of ndarray without changes."""


_ROUNDED = {"float32": np.float32, "float16": np.float16, "int64": np.int64, "int8": np.int8}
_SAMES: dict[str, Callable[[np.random.Generator, np.ndarray], Any]] = {
    "laid out": lambda rng, x: laid_out(rng, x)[1],
    "read-only": _read_only,
    "Fortran": lambda rng, x: np.asfortranarray(x),
    "big-endian": lambda rng, x: x.astype(">f8"),
    "backwards": lambda rng, x: np.ascontiguousarray(x[..., ::-1])[..., ::-1],
    "a list": lambda rng, x: x.tolist() if x.size else x,
    "a tuple": lambda rng, x: tuple(x.tolist()) if x.size else x,
    "a subclass": lambda rng, x: x.view(_Array),
    **{name: lambda rng, x, dtype=dtype: x.astype(dtype) for name, dtype in _ROUNDED.items()},
}


def _with(value: float) -> Callable[[np.random.Generator, np.ndarray], Any]:
    def make(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
        if x.size:
            x.flat[int(rng.integers(x.size))] = value
        return x

    return make


_BADS: dict[str, tuple[Callable[[np.random.Generator, np.ndarray], Any], str]] = {
    "a NaN": (_with(np.nan), _REFUSED),
    "an infinity": (_with(np.inf), _EITHER),
    "complex": (lambda rng, x: x.astype(complex), _REFUSED),
    "objects": (lambda rng, x: x.astype(object), _REFUSED),
    "texts": (lambda rng, x: x.astype(str), _REFUSED),
    "dates": (lambda rng, x: x.astype("datetime64[s]"), _REFUSED),
    "masked": (lambda rng, x: np.ma.masked_array(x, mask=True), _REFUSED),
    "one too many": (lambda rng, x: np.concatenate([x, x[..., :1]], -1), _REFUSED),
    "one too few": (lambda rng, x: x[..., :-1], _REFUSED),
    "a column": (lambda rng, x: x[..., None], _REFUSED),
    "nothing": (lambda rng, x: None, _REFUSED),
    "a number": (lambda rng, x: 1.0, _EITHER),
    "a word": (lambda rng, x: "zero", _REFUSED),
    "bytes": (lambda rng, x: b"\0" * 8, _REFUSED),
    "ragged": (lambda rng, x: [[1.0], [1.0, 2.0]], _REFUSED),
    "a generator": (lambda rng, x: (v for v in (1.0, 2.0)), _REFUSED),
    "a set": (lambda rng, x: {1.0, 2.0}, _REFUSED),
    "an unknown joint": (lambda rng, x: {"no such joint": 1.0}, _REFUSED),
    "a dict of nonsense": (lambda rng, x: {3: "x"}, _REFUSED),
    "a record": (lambda rng, x: np.zeros(x.shape, [("a", float)]), _REFUSED),
    "huge integers": (lambda rng, x: [10**400] * x.shape[-1], _REFUSED),
    "flags": (lambda rng, x: np.zeros(x.shape, bool), _EITHER),
    "longer floats": (lambda rng, x: x.astype(np.longdouble), _EITHER),
}


def _out(rng: np.random.Generator, expected: np.ndarray, arguments: list[_Argument]) -> tuple[Any, str]:
    """Somewhere to write to, as a rule nowhere."""
    if rng.random() < 0.7:
        return None, _SAME
    match int(rng.integers(7)):
        case 0:
            return np.empty(expected.shape), _SAME
        case 1:
            return laid_out(rng, np.zeros(expected.shape))[1], _SAME
        case 2:
            return np.empty((*expected.shape[:-1], expected.shape[-1] + 1)), _REFUSED
        case 3:
            return _read_only(rng, np.empty(expected.shape)), _REFUSED if expected.size else _EITHER
        case 4:
            return np.empty(expected.shape, np.int64), _REFUSED
        case 5:
            return [0.0], _REFUSED
        case _:
            same = [a.passed for a in arguments if isinstance(a.passed, np.ndarray) and a.label == "plain"]
            same = [x for x in same if x.shape == expected.shape]
            return (same[0], _SAME) if same else (np.empty(expected.shape, ">f8"), _EITHER)
