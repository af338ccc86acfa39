"""Checks of arguments, shared by all public functions.  The decorator `public` is in `checked_arguments`.

A check takes the name of the called function, the name of the argument and its value.  It returns the value in the
form that the function uses, and raises ArgumentError (wrong type) or ValueError (wrong value):

    <caller>: <argument>: expected ..., got ...; <remedy>

Booleans, strings, bytes and NaN are not accepted as numbers.  Symbols of a trace are accepted.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NoReturn, TypeGuard

import numpy as np

from linkwork._util.messages import did_you_mean
from linkwork.errors import ArgumentError

__all__ = [
    "MOST_COUNT",
    "boolean",
    "bounds",
    "class_text",
    "duration",
    "finite_array",
    "finite_number",
    "floats",
    "function",
    "has_masked",
    "instance",
    "integer",
    "is_integer",
    "is_masked",
    "is_real",
    "is_symbol",
    "name",
    "names",
    "non_negative",
    "number",
    "one_of",
    "optional",
    "positive",
    "scalar_or_tuple",
    "seed",
    "sequence_of",
    "shown",
    "tolerance",
]

Check = Callable[[str, str, Any], Any]

MOST_COUNT = 2**31 - 1  # larger counts are errors: arrays of that size exceed any memory
_LONGEST = 120  # characters of a value that a message shows


def is_masked(value: Any) -> bool:
    """Return True for a masked array of NumPy.  It does not import `numpy.ma`, which takes long."""
    return isinstance(value, _loaded("numpy.ma", "MaskedArray"))


def has_masked(values: Iterable[Any]) -> bool:
    """Return True if one of the values is a masked array of NumPy."""
    masked = sys.modules.get("numpy.ma")
    return masked is not None and masked.MaskedArray in map(type, values)


def _is_fraction(value: Any) -> bool:
    return isinstance(value, _loaded("fractions", "Fraction"))


def _loaded(module: str, name: str) -> tuple[type, ...]:
    """Return the named class of a module in a tuple, for `isinstance`; () if the module is not imported yet."""
    imported = sys.modules.get(module)
    return () if imported is None else (getattr(imported, name),)


def shown(value: Any) -> str:
    """Return a short text of a value for a message.  It never raises."""
    try:
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**40:
            return f"an integer of {value.bit_length()} bits"
        if isinstance(value, np.ndarray) and value.size > 6:
            return f"{type(value).__name__} of shape {value.shape} and type {value.dtype}"
        text = repr(value[:_LONGEST] if isinstance(value, (str, bytes)) else value)
    except Exception:
        return f"an object of type {type(value).__name__}"
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... ({type(value).__name__})"


def is_symbol(value: Any) -> bool:
    """Return True for a symbol or a dual number of a trace."""
    return hasattr(type(value), "_precedence")


def is_integer(value: Any) -> TypeGuard[int]:
    """Return True for an integer that is not a boolean."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def is_real(value: Any) -> bool:
    """Return True for one real number that a float can represent, including infinity but not NaN."""
    if isinstance(value, np.ndarray) and not value.ndim and value.dtype.kind in "iuf":
        value = value[()]
    if not isinstance(value, (int, float, np.integer, np.floating)) and not _is_fraction(value):
        return False
    if isinstance(value, bool):
        return False
    try:
        return not math.isnan(float(value))
    except OverflowError:
        return False


def _refuse(caller: str, argument: str, expected: str, value: Any, kind: type[Exception], remedy: str = "") -> NoReturn:
    raise kind(f"{caller}: {argument}: expected {expected}, got {shown(value)}{f'; {remedy}' if remedy else ''}")


def integer(
    caller: str,
    argument: str,
    value: Any,
    *,
    least: int | None = None,
    most: int | None = MOST_COUNT,
    description: str = "an integer",
) -> int:
    """Return an integer from ``least`` to ``most`` as int; ``description`` describes it in the message."""
    if least is not None and most not in (None, MOST_COUNT):
        expected = f"{description} from {least} to {most}"
    else:
        expected = description if least is None else f"{description} >= {least}"
    if not is_integer(value):
        _refuse(caller, argument, expected, value, ArgumentError)
    result = int(value)
    if least is not None and result < least:
        _refuse(caller, argument, expected, value, ValueError)
    if most is not None and result > most:
        expected = f"{description} up to {most}" if most == MOST_COUNT else expected
        _refuse(caller, argument, expected, value, ValueError)
    return result


def finite_number(
    caller: str,
    argument: str,
    value: Any,
    *,
    least: float | None = None,
    above: float | None = None,
    most: float | None = None,
    infinite: bool = False,
    nonzero: bool = False,
    symbols: bool = True,
    description: str = "",
    unit: str = "",
    remedy: str = "",
) -> Any:
    """Return one real number as float: finite unless ``infinite``, within bounds.  Symbols pass if ``symbols``.

    ``description`` replaces the description of the number and its bounds in messages.
    """
    if symbols and is_symbol(value):
        return value
    expected = description or _range("a number" if infinite else "a finite number", least, above, most)
    expected += (" other than 0" if nonzero else "") + (f" [{unit}]" if unit else "")
    if not is_real(value):
        isnan = isinstance(value, (float, np.floating)) or (is_integer(value))
        _refuse(caller, argument, expected, value, ValueError if isnan else ArgumentError, remedy)
    result = float(value)
    wrong = (
        (not infinite and math.isinf(result))
        or (least is not None and result < least)
        or (above is not None and result <= above)
        or (most is not None and result > most)
        or (nonzero and result == 0.0)
    )
    if wrong:
        _refuse(caller, argument, expected, value, ValueError, remedy)
    return result


def _range(description: str, least: float | None, above: float | None, most: float | None) -> str:
    bounds = [f" {sign} {bound:g}" for sign, bound in ((">", above), (">=", least), ("<=", most)) if bound is not None]
    return description + " and".join(bounds)


def positive(
    caller: str, argument: str, value: Any, *, unit: str = "", infinite: bool = False, symbols: bool = True
) -> Any:
    """Return a positive number."""
    return finite_number(caller, argument, value, above=0.0, unit=unit, infinite=infinite, symbols=symbols)


def non_negative(
    caller: str, argument: str, value: Any, *, unit: str = "", infinite: bool = False, symbols: bool = True
) -> Any:
    """Return a non-negative number."""
    return finite_number(caller, argument, value, least=0.0, unit=unit, infinite=infinite, symbols=symbols)


def duration(caller: str, argument: str, value: Any) -> float:
    """Return a duration [s], a number >= 0; infinity passes, symbols do not."""
    return float(finite_number(caller, argument, value, least=0.0, unit="s", infinite=True, symbols=False))


def tolerance(caller: str, argument: str, value: Any) -> Any:
    """Return a tolerance: a finite non-negative number."""
    return finite_number(caller, argument, value, least=0.0)


def seed(caller: str, argument: str, value: Any, *, generator: bool = True) -> Any:
    """Return a seed of random numbers: a non-negative integer, or a generator if ``generator``."""
    if generator and isinstance(value, (np.random.Generator, np.random.SeedSequence, np.random.BitGenerator)):
        return value
    description = "a numpy.random.Generator or an integer" if generator else "an integer"
    return integer(caller, argument, value, least=0, most=None, description=description)


def boolean(caller: str, argument: str, value: Any) -> bool:
    """Return True or False."""
    if not isinstance(value, (bool, np.bool_)):
        _refuse(caller, argument, "True or False", value, ArgumentError)
    return bool(value)


def name(caller: str, argument: str, value: Any, *, description: str = "a name", empty: bool = False) -> str:
    """Return a string; blank strings are an error unless ``empty``."""
    if not isinstance(value, str):
        _refuse(caller, argument, description, value, ArgumentError)
    if not empty and not value.strip():
        _refuse(caller, argument, f"{description} that is not blank", value, ValueError)
    return str(value)


def names(caller: str, argument: str, value: Any, *, description: str = "names") -> tuple[str, ...]:
    """Return one name or several names as a tuple."""
    if isinstance(value, str):
        return (name(caller, argument, value),)
    return sequence_of(caller, argument, value, name, description=description)


def one_of(caller: str, argument: str, value: Any, known: Collection[str]) -> str:
    """Return a string that is one of ``known``; the error names the nearest."""
    expected = f"one of {', '.join(map(repr, known))}"
    if not isinstance(value, str):
        _refuse(caller, argument, expected, value, ArgumentError)
    if value not in known:
        _refuse(caller, argument, expected, value, ValueError, did_you_mean(value, known))
    return str(value)


def function(caller: str, argument: str, value: Any, *, description: str = "a function") -> Any:
    """Return a callable."""
    if not callable(value):
        _refuse(caller, argument, description, value, ArgumentError)
    return value


def class_text(kind: Any) -> str:
    """Return the words that describe a class in error messages."""
    name = getattr(kind, "__name__", str(kind))
    return "a robot, as lw.load returns it" if name == "RobotBase" else f"an object of type {name}"


def instance(caller: str, argument: str, value: Any, *classes: type, description: str = "", remedy: str = "") -> Any:
    """Return an object of one of these classes."""
    if not isinstance(value, classes):
        expected = description or " or ".join(map(class_text, classes))
        _refuse(caller, argument, expected, value, ArgumentError, remedy)
    return value


def sequence_of(
    caller: str, argument: str, value: Any, check: Check, *, description: str = "a sequence", least: int = 0
) -> tuple[Any, ...]:
    """Return the items of an iterable, each checked, as a tuple; strings and mappings are errors."""
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        _refuse(caller, argument, description, value, ArgumentError)
    result = tuple(value)
    if len(result) < least:
        _refuse(caller, argument, f"{description} of at least {least}", value, ValueError)
    return tuple(check(caller, f"{argument}[{k}]", item) for k, item in enumerate(result))


def finite_array(
    caller: str,
    argument: str,
    value: Any,
    *,
    shape: Sequence[int | str | None] | None = None,
    infinite: bool = False,
    unit: str = "",
) -> np.ndarray:
    """Return real numbers as an array of float64, all finite unless ``infinite``; NaN never.

    ``shape`` has integers, names for arbitrary sizes, and optionally "..." first for any leading dimensions.
    """
    array = as_float_array(value)
    fits = array is not None and (shape is None or _has_shape(array.shape, shape))
    if array is not None and fits and (np.isfinite(array).all() or (infinite and not np.isnan(array).any())):
        return array
    sizes = None if shape is None else ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "")
    expected = f"an array of {'numbers' if infinite else 'finite numbers'}"
    expected += (f" of shape ({sizes})" if sizes is not None else "") + (f" [{unit}]" if unit else "")
    if array is None:
        _refuse(caller, argument, expected, value, ArgumentError)
    if not fits:
        raise ValueError(f"{caller}: {argument}: expected {expected}, got shape {array.shape}")
    index = tuple(np.argwhere(np.isnan(array) if infinite else ~np.isfinite(array))[0].tolist())
    at = f" at {index[0] if len(index) == 1 else index}" if index else ""
    raise ValueError(f"{caller}: {argument}: expected {expected}, got {array[index]}{at}")


def scalar_or_tuple(caller: str, argument: str, value: Any, *, each: str) -> float | tuple[float, ...]:
    """Return a number as a float, or a list of numbers as a tuple, without NaN.

    ``each`` completes "expected a number, or one ..." in the message, for example "for each joint".
    """
    try:
        result = floats(value)
    except (TypeError, ValueError):
        result = np.array(math.nan)
    if result.ndim > 1 or np.isnan(result).any():
        raise ValueError(f"{caller}: {argument}: expected a number, or one {each}, got {value!r}")
    return tuple(result.tolist()) if result.ndim else float(result)


def bounds(caller: str, lower: Any, upper: Any, *, shape: Sequence[int | str | None] | None = None) -> tuple[Any, Any]:
    """Return lower and upper bounds as arrays, with lower <= upper; bounds may be infinite."""
    low = finite_array(caller, "lower", lower, shape=shape, infinite=True)
    high = finite_array(caller, "upper", upper, shape=shape, infinite=True)
    try:
        wrong = bool((low > high).any())
    except ValueError:
        raise ValueError(f"{caller}: lower and upper: shapes {low.shape} and {high.shape} do not broadcast") from None
    if wrong:
        raise ValueError(f"{caller}: lower: expected bounds <= upper, got {shown(lower)} and {shown(upper)}")
    return low, high


def optional(check: Check) -> Check:
    """Return a check of arguments that accepts None, and otherwise applies the given check."""

    def checked(caller: str, argument: str, value: Any) -> Any:
        return None if value is None else check(caller, argument, value)

    return checked


def as_float_array(value: Any) -> np.ndarray | None:
    """Return real numbers as an array of float64, or None for strings, single booleans, ragged lists and the like."""
    if isinstance(value, (str, bytes, bool, Mapping, set, frozenset)) or is_masked(value) or value is None:
        return None
    try:
        array = np.asarray(value)
        if array.dtype.kind == "O" and all(is_real(x) for x in array.flat):
            array = array.astype(float)
        return array.astype(float) if array.dtype.kind in "iufb" else None
    except Exception:
        return None


def _has_shape(result: tuple[int, ...], shape: Sequence[int | str | None]) -> bool:
    if shape and shape[0] == "...":
        if len(result) < len(shape) - 1:
            return False
        result, shape = result[len(result) - len(shape) + 1 :], shape[1:]
    return len(result) == len(shape) and all(
        not isinstance(n, int) or m == n for m, n in zip(result, shape, strict=True)
    )


def floats(value: Any) -> np.ndarray:
    """Return numbers as a new array of float64, like ``np.array(value, dtype=float)`` without strings and bytes.

    Raises TypeError or ValueError for anything but real numbers; NaN is accepted.
    """
    array = np.asarray(value)
    if array.dtype.kind in "SUMmVc" or isinstance(value, (str, bytes, bool, np.bool_)):
        raise TypeError("strings, bytes, dates, complex numbers and single booleans are not real numbers")
    if array.dtype.kind == "O" and any(isinstance(x, (str, bytes, type(None))) for x in array.flat):
        raise TypeError("strings, bytes and None are not numbers")
    return np.array(array, dtype=float)


def number(value: Any) -> float:
    """Return one number as float, like ``float(value)`` without strings, bytes and booleans.

    Raises TypeError or ValueError.
    """
    if isinstance(value, (str, bytes, bytearray, bool, np.bool_)):
        raise TypeError("strings, bytes and booleans are not numbers")
    try:
        return float(value)
    except OverflowError as error:
        raise ValueError(str(error)) from None
