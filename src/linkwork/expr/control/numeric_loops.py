"""Loops on plain numbers, and checks of the conditions and steps of all loops before anything is computed.

Python's own loops run on floats; on NumPy batches, with samples in leading dimensions, finished samples are masked.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linkwork.expr.arrays.pytree import (
    Form,
    Leaf,
    children,
    difference,
    is_nested,
    leaves_of,
    mapped,
    remade,
    shallow_form,
    taken_apart,
)
from linkwork.expr.arrays.symbol_array import filled
from linkwork.expr.control.closure_conversion import Numbers, graph_of, is_truth, named
from linkwork.expr.control.loop_instruction import DONE, NOT_A_NUMBER, OUT_OF_ITERATIONS
from linkwork.expr.scalar.functions import where
from linkwork.expr.scalar.symbol import Graph, Symbol

__all__ = [
    "bound",
    "call_argument",
    "check_step",
    "chosen_by",
    "is_of_elements",
    "number_of_steps",
    "pair",
    "scan_on_numbers",
    "truth_of_condition",
    "while_on_numbers",
]


def while_on_numbers(
    condition: Callable[[Any], Any], step: Callable[[Any], Any], state: Any, start: Numbers, most: int
) -> tuple[Any, Any, Any] | Graph:
    """The last state, the number of steps and the status; or the trace of the symbols that were met."""
    done: Any = 0
    status: Any = int(OUT_OF_ITERATIONS)
    going: Any = True
    in_elements = False
    truths = _truths(state)
    for count in range(most + 1):
        said = call_argument("while_loop: cond_fun", "the state", condition, state)
        holds = truth_of_condition("while_loop", said, condition)
        in_elements = in_elements or is_of_elements(said)
        if holds.__class__ is Symbol:
            return holds.graph
        missing = _missing(state, max(np.ndim(going), np.ndim(holds)))
        if np.ndim(missing) or np.ndim(holds) or np.ndim(going):
            status = np.where(going & np.asarray(missing), int(NOT_A_NUMBER), status)
            going = np.asarray(going & ~np.asarray(missing))
            status = np.where(going & ~np.asarray(holds), int(DONE), status)
            going = np.asarray(going & holds)
        else:
            status = int(NOT_A_NUMBER) if missing else status if holds else int(DONE)
            going = bool(holds) and not missing
        if count == most or not np.any(going):
            break
        following = call_argument("while_loop: body_fun", "the state", step, _own(state))
        numbers, form = taken_apart(following, f"while_loop: body_fun: result of {named(step)}")
        graph = graph_of(numbers)
        if graph is not None:
            return graph
        masked = bool(np.ndim(going))
        check_step("while_loop: body_fun", step, start.form, form, truths, _truths(following), batches=True)
        state = mapped(chosen_by(going, in_elements=in_elements), following, state) if masked else following
        done = done + (np.where(going, 1, 0) if masked else 1)
    if in_elements:
        done, status = (filled((), [x]) if np.ndim(x) else x for x in (done, status))
    return state, done, status


def scan_on_numbers(
    step: Callable[..., Any], state: Any, inputs: Any, start: Numbers, steps: int, backward: bool
) -> tuple[Any, Any] | Graph:
    """The scan on floats or arrays; or the trace of the symbols that it met."""
    if not steps:
        return state, _no_outputs(step, state, inputs)
    truths = _truths(state)
    kept: list[Any] = [None] * steps
    for t in reversed(range(steps)) if backward else range(steps):
        following, kept[t] = pair(step, call_argument("scan: f", "(carry, x)", step, _own(state), _row(inputs, t)))
        numbers, form = taken_apart(following, f"scan: f: state that {named(step)} returns")
        outputs = [] if kept[t] is None else taken_apart(kept[t], f"scan: f: output of {named(step)}")[0]
        graph = graph_of([*numbers, *outputs])
        if graph is not None:
            return graph
        check_step("scan: f", step, start.form, form, truths, _truths(following), batches=True)
        state = following
    return state, _stacked(kept)


def _no_outputs(step: Callable[..., Any], state: Any, inputs: Any) -> Any:
    """The outputs of no steps, as nested as those of one would be."""
    _, output = pair(step, call_argument("scan: f", "(carry, x)", step, state, mapped(_nothing, inputs)))
    return mapped(lambda x: np.zeros((0, *np.shape(x))), output)


def _nothing(rows: Any) -> Any:
    """A row of none, of NaN."""
    return np.full(np.shape(rows)[1:], np.nan) if np.ndim(rows) > 1 else np.nan


def _truths(state: Any) -> list[bool]:
    """Which of the arrays and numbers of a state are truth values."""
    result: list[bool] = []

    def look(x: Any) -> None:
        elements = x.ravel() if isinstance(x, np.ndarray) and x.dtype == object else [x]
        result.append(getattr(x, "dtype", None) == np.dtype(bool) or any(map(is_truth, elements)))

    mapped(look, state)
    return result


def _missing(state: Any, leading: int) -> Any:
    """Whether some number of the state is NaN, of each sample."""
    found: Any = False

    def look(x: Any) -> None:
        nonlocal found
        if isinstance(x, np.ndarray) and x.dtype == object:
            for element in x.ravel().tolist():
                look(element)
            return
        while hasattr(x, "value"):  # of a dual number
            x = x.value
        nan = np.isnan(np.asarray(x, dtype=float))
        found = found | (nan.any(axis=tuple(range(leading, nan.ndim))) if nan.ndim > leading else nan)

    mapped(look, state)
    return found if np.ndim(found) else bool(found)


def _row(inputs: Any, t: int) -> Any:
    return None if inputs is None else _own(mapped(lambda x: x[t], inputs))


def _own(value: Any) -> Any:
    """The same with arrays of its own, which a step may write to."""
    return mapped(lambda x: x.copy() if isinstance(x, np.ndarray) else x, value)


def _stacked(kept: Sequence[Any]) -> Any:
    if not kept or kept[0] is None:
        return None
    if is_nested(kept[0]):
        columns = zip(*([part for _, part in children(value)] for value in kept), strict=True)
        return remade(shallow_form(kept[0]), [_stacked(list(column)) for column in columns])
    return np.stack([np.asarray(x) for x in kept])


def call_argument(what: str, operands: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function that is itself an argument, named by ``what``; ``operands`` says in words what it is called with.

    Raises TypeError, with the argument's name, where the function does not accept these operands.
    """
    try:
        return function(*arguments)
    except TypeError as error:
        is_call = error.__traceback__ is not None and error.__traceback__.tb_next is None  # no frame of the function
        if not is_call and getattr(function, "__module__", "") != "builtins":
            raise
        raise TypeError(f"{what}: expected a function of {operands}, got {named(function)}: {error}") from error


def bound(what: str, value: Any) -> int:
    """Return a count that is known at trace time.  Raises ValueError unless it is an integer >= 0."""
    try:
        number = operator.index(value)
    except TypeError:
        number = -1
    if number < 0:
        raise ValueError(f"{what}: expected an integer >= 0 that is known at trace time, got {value!r}")
    return number


def number_of_steps(form: Form | Leaf | None, length: int | None) -> int:
    """How many steps a scan has, of inputs like this.  Raises ValueError where they do not agree."""
    result: dict[int, str] = {}
    if form is not None:
        for path, leaf in leaves_of(form):
            name = "".join(f"[{key!r}]" for key in path)
            if not leaf.shape:
                raise ValueError(f"scan: xs{name}: expected an array (T, ...), a row for each step, got a number")
            result.setdefault(leaf.shape[0], f"xs{name}")
    if length is not None:
        result.setdefault(bound("scan: length", length), "length")
    if len(result) != 1:
        told = ", ".join(f"{many} ({name})" for many, name in result.items()) or "neither xs nor a length"
        raise ValueError(f"scan: xs and length: expected one number of steps, got {told}")
    return next(iter(result))


def pair(step: Callable[..., Any], result: Any) -> tuple[Any, Any]:
    if not (isinstance(result, tuple) and len(result) == 2):
        raise TypeError(
            f"scan: f: expected {named(step)} to return (state, output), where output may be None, got {result!r}"
        )
    return result


def truth_of_condition(what: str, result: Any, condition: Callable[..., Any] | None = None) -> Any:
    """A truth value, an array of them, or the symbol of one.  Raises TypeError for anything else that is found.

    ``condition`` is the function that gave it.
    """
    if isinstance(result, np.ndarray) and result.ndim == 0:
        result = result.item()
    if result.__class__ is Symbol and result.op.logical:
        return result
    if isinstance(result, (bool, np.bool_)) or (isinstance(result, np.ndarray) and result.dtype == bool):
        return result
    source = "" if condition is None else f" from {named(condition)}"
    expected = "as comparisons, and_, or_ and not_ give them"
    argument = "pred" if condition is None else "cond_fun"
    raise TypeError(f"{what}: {argument}: expected a truth value{source}, {expected}, got {result!r}")


def is_of_elements(result: Any) -> bool:
    """Whether this is a batch that stands for one number, in an array of no dimension, as elements of arrays do."""
    return isinstance(result, np.ndarray) and result.dtype == object and result.ndim == 0


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
    result: Sequence[bool],
    *,
    batches: bool = False,
) -> None:
    """Raises TypeError where a step returns another kind of state than it got.

    With ``batches`` an array may have samples in dimensions before its own, or have them no more.
    """
    text = "" if batches and _over_samples(expected, got) else difference(expected, got)
    if not text and len(logical) == len(result) and list(logical) != list(result):
        text = "a number became a truth value, or a truth value a number: where(condition, 1.0, 0.0) makes a number"
    if text:
        raise TypeError(
            f"{what}: expected {named(step)} to return a state of the same structure as its argument: {text}"
        )


def _over_samples(one: Any, other: Any) -> bool:
    """Whether two forms are equal, but for leading dimensions."""
    pairs = zip(leaves_of(one), leaves_of(other), strict=False)
    return len(leaves_of(one)) == len(leaves_of(other)) and all(
        path == same and all(a == b for a, b in zip(reversed(x.shape), reversed(y.shape), strict=False))
        for (path, x), (same, y) in pairs
    )
