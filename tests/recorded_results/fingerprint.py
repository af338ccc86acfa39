"""Fingerprints: a few numbers and words that change if any number or word of a result changes."""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

__all__ = ["differences", "fingerprint"]

_SHOWN = 6  # elements of an array that are recorded one by one; of a longer array: its shape, largest element and sums
_LETTERS = 60  # letters of a text that is recorded whole
_SUMS = 2
_NOISE = 1e-13  # smaller differences are rounding errors of results that are zero
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+\.?\d*(?:e[-+]?\d+)?(?![\w.])", re.I)


def fingerprint(value: Any) -> dict[str, Any]:
    """Return the recorded form of a result: a dictionary from paths in it to texts and lists of numbers.

    ``value`` consists of numbers, arrays, texts, None, mappings and sequences.  A path is a text such as ``a.b[2]``.
    """
    return dict(_leaves("", value))


def differences(actual: dict[str, Any], recorded: dict[str, Any], tolerance: float) -> list[str]:
    """Return a line for each path whose fingerprints differ: numbers by more than the tolerance.

    Differences of numbers are relative to the largest number of the same path; sums have the magnitude of an element.
    """
    lines = [f"{path}: missing" for path in recorded if path not in actual]
    for path, value in actual.items():
        expected = recorded.get(path, "nothing")
        if not _agree(value, expected, tolerance):
            lines.append(f"{path}: expected {expected}, got {value}")
    return lines


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(f"{path}.{key}" if path else str(key), item)
    elif isinstance(value, str):
        yield from _of_text(path, value)
    elif value is None:
        yield path, "None"
    elif isinstance(value, list | tuple) and not _is_array(value):
        yield path, f"{len(value)} items"
        for k, item in enumerate(value):
            yield from _leaves(f"{path}[{k}]", item)
    else:
        yield path, _of_array(np.asarray(value))


def _is_array(value: Any) -> bool:
    """Return True for a nonempty sequence of numbers, or of such sequences with equal lengths."""
    try:
        return len(value) > 0 and np.asarray(value).dtype.kind in "biuf"
    except ValueError:
        return False


def _of_text(path: str, text: str) -> Iterator[tuple[str, Any]]:
    """Return a short text as it is; of a long one its length and checksum without numbers, and its numbers."""
    if len(text) <= _LETTERS:
        yield path, text
        return
    words = _NUMBER.sub("#", text)
    yield path, f"{len(words.splitlines())} lines, {zlib.crc32(words.encode()):08x}"
    values = np.array([float(x) for x in _NUMBER.findall(text)])
    if values.size:  # by a logarithm, so that small numbers beside large ones count
        yield f"{path} (numbers)", _of_array(np.sign(values) * np.log1p(1e6 * np.minimum(np.abs(values), 1e30)))


def _of_array(array: np.ndarray) -> Any:
    if array.dtype.kind in "USO":
        return [str(x) for x in array.ravel()]
    values = array.astype(float).ravel()
    if values.size <= _SHOWN:
        return [_rounded(x) for x in values]
    finite = np.where(np.isfinite(values), values, 0.0)
    # weights of an irrational period, so that neither a sign nor an order of elements is lost in the sums
    weights = 1.0 + np.modf(np.outer(np.arange(1, _SUMS + 1) * (math.sqrt(5.0) - 1.0) / 2.0, np.arange(finite.size)))[0]
    sums = weights @ finite / finite.size
    size = float(np.abs(finite).max())
    shape = "x".join(map(str, array.shape))
    return [f"{shape}, {int((~np.isfinite(values)).sum())} not finite", *map(_rounded, (size, *sums))]


def _rounded(x: float) -> float | str:
    return float(f"{x:.10g}") if math.isfinite(x) else str(x)


def _agree(value: Any, expected: Any, tolerance: float) -> bool:
    if not (isinstance(value, list) and isinstance(expected, list)):
        return bool(value == expected)
    if len(value) != len(expected):
        return False
    values = [abs(x) for x in expected if isinstance(x, float)]
    bound = tolerance * max(values, default=0.0) + _NOISE
    return all(
        abs(x - y) <= bound if isinstance(x, float) and isinstance(y, float) else x == y
        for x, y in zip(value, expected, strict=True)
    )
