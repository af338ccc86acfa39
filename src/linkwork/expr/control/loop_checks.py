"""What conditions and steps give, looked at: clear errors before anything is computed."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linkwork.expr.arrays.pytree import Form, Leaf, difference, leaves_of
from linkwork.expr.arrays.symbol_array import filled
from linkwork.expr.control.closure_conversion import named
from linkwork.expr.scalar.functions import where
from linkwork.expr.scalar.symbol import Symbol

__all__ = [
    "bound",
    "check_step",
    "chosen_by",
    "is_of_elements",
    "number_of_steps",
    "pair",
    "truth_of_condition",
]


def bound(what: str, value: Any) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = -1
    if number < 0:
        raise ValueError(f"{what}: expected a whole number, not negative and known in advance, got {value!r}")
    return number


def number_of_steps(form: Form | Leaf | None, length: int | None) -> int:
    """How many steps a scan has, of inputs like this.  Raises ValueError where they do not agree."""
    found: dict[int, str] = {}
    if form is not None:
        for path, leaf in leaves_of(form):
            name = "".join(f"[{key!r}]" for key in path)
            if not leaf.shape:
                raise ValueError(f"scan: xs{name}: expected an array (T, ...), a row for each step, got a number")
            found.setdefault(leaf.shape[0], f"xs{name}")
    if length is not None:
        found.setdefault(bound("scan: length", length), "length")
    if len(found) != 1:
        told = ", ".join(f"{many} ({name})" for many, name in found.items()) or "neither xs nor a length"
        raise ValueError(f"scan: xs and length: expected one number of steps, got {told}")
    return next(iter(found))


def pair(step: Callable[..., Any], found: Any) -> tuple[Any, Any]:
    if not (isinstance(found, tuple) and len(found) == 2):
        raise TypeError(
            f"scan: expected {named(step)} to return (state, output), the output may be None, got {found!r}"
        )
    return found


def truth_of_condition(what: str, found: Any, condition: Callable[..., Any] | None = None) -> Any:
    """A truth value, an array of them, or the symbol of one.  Raises TypeError for anything else that is found.

    ``condition`` is the function that gave it.
    """
    if isinstance(found, np.ndarray) and found.ndim == 0:
        found = found.item()
    if found.__class__ is Symbol and found.op.logical:
        return found
    if isinstance(found, (bool, np.bool_)) or (isinstance(found, np.ndarray) and found.dtype == bool):
        return found
    source = "" if condition is None else f" from {named(condition)}"
    expected = "as comparisons, and_, or_ and not_ give them"
    argument = "pred" if condition is None else "cond_fun"
    raise TypeError(f"{what}: {argument}: expected a truth value{source}, {expected}, got {found!r}")


def is_of_elements(found: Any) -> bool:
    """Whether this is a batch that stands for one number, in an array of no dimension, as elements of arrays do."""
    return isinstance(found, np.ndarray) and found.dtype == object and found.ndim == 0


def chosen_by(holds: np.ndarray, *, in_elements: bool) -> Callable[[Any, Any], Any]:
    """The function that takes, of two arrays, the first's samples where a condition of a batch holds.

    Samples stand in leading dimensions, or in the elements of arrays of objects.
    """

    def choose(x: Any, y: Any) -> Any:
        if in_elements or any(isinstance(z, np.ndarray) and z.dtype == object for z in (x, y)):
            parts = [np.asarray(z, dtype=object) for z in (x, y)]
            elements = [where(holds, a, b) for a, b in np.broadcast(*parts)]
            return filled(np.broadcast_shapes(*(z.shape for z in parts)), elements)
        core = max(np.ndim(x), np.ndim(y)) - holds.ndim
        return np.where(np.reshape(holds, holds.shape + (1,) * max(core, 0)), x, y)

    return choose


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
        raise TypeError(f"{what}: state: {named(step)} must return a state as it got one: {text}")


def _over_samples(one: Any, other: Any) -> bool:
    """Whether two forms are equal, but for leading dimensions."""
    pairs = zip(leaves_of(one), leaves_of(other), strict=False)
    return len(leaves_of(one)) == len(leaves_of(other)) and all(
        path == same and all(a == b for a, b in zip(reversed(x.shape), reversed(y.shape), strict=False))
        for (path, x), (same, y) in pairs
    )
