"""What conditions and steps give, looked at: clear errors before anything is computed."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..structure import difference, leaves_of, taken_apart
from ..symbol import Symbol
from .closing import named

__all__ = ["bound", "check_step", "number_of_steps", "pair", "truth", "truth_of_condition"]


def bound(what: str, value: Any) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = -1
    if number < 0:
        raise ValueError(f"{what}: expected a whole number, not negative and known in advance, got {value!r}")
    return number


def number_of_steps(inputs: Any, length: int | None) -> int:
    """How many steps a scan has.  Raises ValueError where its inputs do not agree."""
    found: dict[int, str] = {}
    if inputs is not None:
        _, form = taken_apart(inputs, "scan: inputs")
        for path, leaf in leaves_of(form):
            name = "".join(f"[{key!r}]" for key in path)
            if not leaf.shape:
                raise ValueError(f"scan: inputs{name}: expected an array (T, ...), a row for each step, got a number")
            found.setdefault(leaf.shape[0], f"inputs{name}")
    if length is not None:
        found.setdefault(bound("scan: length", length), "length")
    if len(found) != 1:
        told = ", ".join(f"{many} ({name})" for many, name in found.items()) or "neither inputs nor a length"
        raise ValueError(f"scan: expected one number of steps, got {told}")
    return next(iter(found))


def pair(step: Callable[..., Any], found: Any) -> tuple[Any, Any]:
    if not (isinstance(found, tuple) and len(found) == 2):
        raise TypeError(
            f"scan: expected {named(step)} to return (state, output), the output may be None, got {found!r}"
        )
    return found


def truth(condition: Callable[[Any], Any], state: Any) -> Any:
    """What a condition says of a state: a truth value, or an array of them."""
    return truth_of_condition("while_loop", condition(state), f" from {named(condition)}")


def truth_of_condition(what: str, found: Any, source: str = "") -> Any:
    """A truth value, an array of them, or the symbol of one.  Raises TypeError for anything else."""
    if isinstance(found, np.ndarray) and found.ndim == 0:
        found = found.item()
    if found.__class__ is Symbol and found.op.logical:
        return found
    if isinstance(found, (bool, np.bool_)) or (isinstance(found, np.ndarray) and found.dtype == bool):
        return found
    expected = "as comparisons, and_, or_ and not_ give them"
    raise TypeError(f"{what}: expected a truth value{source}, {expected}, got {found!r}")


def check_step(
    what: str,
    step: Callable[..., Any],
    expected: Any,
    got: Any,
    logical: Sequence[bool],
    found: Sequence[bool],
    *,
    batches: bool = False,
) -> None:
    """Raises TypeError where a step returns another kind of state than it got.

    With ``batches`` an array may have samples in dimensions before its own, or have them no more.
    """
    text = "" if batches and _over_samples(expected, got) else difference(expected, got)
    if not text and len(logical) == len(found) and list(logical) != list(found):
        text = "a number became a truth value, or a truth value a number: where(condition, 1.0, 0.0) makes a number"
    if text:
        raise TypeError(f"{what}: {named(step)} must return a state as it got one: {text}")


def _over_samples(one: Any, other: Any) -> bool:
    """Whether two forms are equal, but for leading dimensions."""
    pairs = zip(leaves_of(one), leaves_of(other), strict=False)
    return len(leaves_of(one)) == len(leaves_of(other)) and all(
        path == same and all(a == b for a, b in zip(reversed(x.shape), reversed(y.shape), strict=False))
        for (path, x), (same, y) in pairs
    )
