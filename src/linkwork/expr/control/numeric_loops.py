"""Loops on numbers, and checks of conditions and steps for all loops.

Floats use Python's own loops.  On NumPy batches, with samples in leading dimensions, finished samples are masked.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linkwork.expr.arrays.pytree import (
    Leaf,
    TreeDef,
    children,
    describe_difference,
    flatten,
    is_nested,
    leaf_paths,
    rebuild,
    shallow_tree_def,
    tree_map,
)
from linkwork.expr.arrays.symbol_array import object_array
from linkwork.expr.control.closure_conversion import function_label, graph_of
from linkwork.expr.control.flat_values import FlatValue, is_truth
from linkwork.expr.control.loop_instruction import DONE, NOT_A_NUMBER, OUT_OF_ITERATIONS
from linkwork.expr.scalar.functions import where
from linkwork.expr.scalar.symbol import Graph, Symbol

__all__ = [
    "call_argument",
    "check_pair",
    "check_step",
    "is_element_batch",
    "number_of_steps",
    "numeric_scan",
    "numeric_while_loop",
    "read_count",
    "select_samples",
    "truth_of_condition",
]


def numeric_while_loop(
    condition: Callable[[Any], Any], step: Callable[[Any], Any], state: Any, start: FlatValue, max_iterations: int
) -> tuple[Any, Any, Any] | Graph:
    """Return last state, number of steps and status of a while loop on numbers; the trace if a symbol occurs."""
    done: Any = 0
    status: Any = int(OUT_OF_ITERATIONS)
    going: Any = True
    in_elements = False
    truths = _truths(state)
    for count in range(max_iterations + 1):
        said = call_argument("while_loop: cond_fun", "the state", condition, state)
        holds = truth_of_condition("while_loop", said, condition)
        in_elements = in_elements or is_element_batch(said)
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
        if count == max_iterations or not np.any(going):
            break
        following = call_argument("while_loop: body_fun", "the state", step, _own(state))
        elements, form = flatten(following, f"while_loop: body_fun: result of {function_label(step)}")
        graph = graph_of(elements)
        if graph is not None:
            return graph
        masked = bool(np.ndim(going))
        check_step("while_loop: body_fun", step, start.form, form, truths, _truths(following), batches=True)
        state = tree_map(select_samples(going, in_elements=in_elements), following, state) if masked else following
        done = done + (np.where(going, 1, 0) if masked else 1)
    if in_elements:
        done, status = (object_array((), [x]) if np.ndim(x) else x for x in (done, status))
    return state, done, status


def numeric_scan(
    step: Callable[..., Any], state: Any, inputs: Any, start: FlatValue, steps: int, backward: bool
) -> tuple[Any, Any] | Graph:
    """Return the last state and the outputs of a scan on floats or arrays; return the trace if a symbol occurs."""
    if not steps:
        return state, _no_outputs(step, state, inputs)
    truths = _truths(state)
    collected: list[Any] = [None] * steps
    for t in reversed(range(steps)) if backward else range(steps):
        following, collected[t] = check_pair(
            step, call_argument("scan: f", "(carry, x)", step, _own(state), _row(inputs, t))
        )
        elements, form = flatten(following, f"scan: f: state that {function_label(step)} returns")
        outputs = [] if collected[t] is None else flatten(collected[t], f"scan: f: output of {function_label(step)}")[0]
        graph = graph_of([*elements, *outputs])
        if graph is not None:
            return graph
        check_step("scan: f", step, start.form, form, truths, _truths(following), batches=True)
        state = following
    return state, _stacked(collected)


def _no_outputs(step: Callable[..., Any], state: Any, inputs: Any) -> Any:
    """Return the outputs of zero steps, with the structure of one step's output."""
    _, output = check_pair(step, call_argument("scan: f", "(carry, x)", step, state, tree_map(_nan_entry, inputs)))
    return tree_map(lambda x: np.zeros((0, *np.shape(x))), output)


def _nan_entry(rows: Any) -> Any:
    """Return a NaN array or number with the shape of one entry of ``rows``.

    It replaces the input of a step if a scan has no steps.
    """
    return np.full(np.shape(rows)[1:], np.nan) if np.ndim(rows) > 1 else np.nan


def _truths(state: Any) -> list[bool]:
    """Return, for each array and number of a state, True if it is a truth value."""
    result: list[bool] = []

    def look(x: Any) -> None:
        elements = x.ravel() if isinstance(x, np.ndarray) and x.dtype == object else [x]
        result.append(getattr(x, "dtype", None) == np.dtype(bool) or any(map(is_truth, elements)))

    tree_map(look, state)
    return result


def _missing(state: Any, leading: int) -> Any:
    """Return an array that is True for each sample whose state has a NaN value.

    The first ``leading`` dimensions of arrays are the sample dimensions.
    """
    result: Any = False

    def look(x: Any) -> None:
        nonlocal result
        if isinstance(x, np.ndarray) and x.dtype == object:
            for element in x.ravel().tolist():
                look(element)
            return
        while hasattr(x, "value"):  # a dual number
            x = x.value
        nan = np.isnan(np.asarray(x, dtype=float))
        result = result | (nan.any(axis=tuple(range(leading, nan.ndim))) if nan.ndim > leading else nan)

    tree_map(look, state)
    return result if np.ndim(result) else bool(result)


def _row(inputs: Any, t: int) -> Any:
    return None if inputs is None else _own(tree_map(lambda x: x[t], inputs))


def _own(value: Any) -> Any:
    """Return the value with its arrays copied, so that a step may write to them."""
    return tree_map(lambda x: x.copy() if isinstance(x, np.ndarray) else x, value)


def _stacked(outputs: Sequence[Any]) -> Any:
    if not outputs or outputs[0] is None:
        return None
    if is_nested(outputs[0]):
        columns = zip(*([part for _, part in children(value)] for value in outputs), strict=True)
        return rebuild(shallow_tree_def(outputs[0]), [_stacked(list(column)) for column in columns])
    return np.stack([np.asarray(x) for x in outputs])


def call_argument(argument_name: str, operands: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function that the caller received as an argument.

    ``argument_name`` and ``operands`` describe the argument and its operands in the message.

    Raises TypeError, with the argument's name, where the function does not accept these operands.
    """
    try:
        return function(*arguments)
    except TypeError as error:
        is_call = error.__traceback__ is not None and error.__traceback__.tb_next is None  # no frame of the function
        if not is_call and getattr(function, "__module__", "") != "builtins":
            raise
        raise TypeError(
            f"{argument_name}: expected a function of {operands}, got {function_label(function)}: {error}"
        ) from error


def read_count(argument_name: str, value: Any) -> int:
    """Return a count that is known at trace time.  Raises ValueError unless it is an integer >= 0."""
    try:
        number = operator.index(value)
    except TypeError:
        number = -1
    if number < 0:
        raise ValueError(f"{argument_name}: expected an integer >= 0 that is known at trace time, got {value!r}")
    return number


def number_of_steps(form: TreeDef | Leaf | None, length: int | None) -> int:
    """Return the number of steps of a scan.  Raises ValueError if the inputs disagree."""
    result: dict[int, str] = {}
    if form is not None:
        for path, leaf in leaf_paths(form):
            name = "".join(f"[{key!r}]" for key in path)
            if not leaf.shape:
                raise ValueError(f"scan: xs{name}: expected an array (T, ...), an entry for each step, got a number")
            result.setdefault(leaf.shape[0], f"xs{name}")
    if length is not None:
        result.setdefault(read_count("scan: length", length), "length")
    if len(result) != 1:
        counts = ", ".join(f"{many} ({name})" for many, name in result.items()) or "neither xs nor a length"
        raise ValueError(f"scan: xs and length: expected equal numbers of steps, got {counts}")
    return next(iter(result))


def check_pair(step: Callable[..., Any], result: Any) -> tuple[Any, Any]:
    if not (isinstance(result, tuple) and len(result) == 2):
        raise TypeError(
            f"scan: f: expected {function_label(step)} to return (state, output), with output possibly None, "
            f"got {result!r}"
        )
    return result


def truth_of_condition(caller: str, result: Any, condition: Callable[..., Any] | None = None) -> Any:
    """Return the value of a condition: a truth value, an array of truth values, or a symbol of a truth value.

    ``condition`` is the function that returned it.  Raises TypeError for any other value.
    """
    if isinstance(result, np.ndarray) and result.ndim == 0:
        result = result.item()
    if result.__class__ is Symbol and result.op.logical:
        return result
    if isinstance(result, (bool, np.bool_)) or (isinstance(result, np.ndarray) and result.dtype == bool):
        return result
    source = "" if condition is None else f" from {function_label(condition)}"
    expected = "as comparisons, and_, or_ and not_ return it"
    argument = "pred" if condition is None else "cond_fun"
    raise TypeError(f"{caller}: {argument}: expected a truth value{source}, {expected}, got {result!r}")


def is_element_batch(result: Any) -> bool:
    """Return True for a batch of one number that is stored as the element of a 0-dimensional object array."""
    return isinstance(result, np.ndarray) and result.dtype == object and result.ndim == 0


def select_samples(holds: np.ndarray, *, in_elements: bool) -> Callable[[Any, Any], Any]:
    """Return a function f(x, y) that takes each sample from x where ``holds`` is true, and from y elsewhere.

    Samples are in the leading dimensions of x and y or, with ``in_elements``, in the elements of object arrays.
    """

    def choose(x: Any, y: Any) -> Any:
        if hasattr(x, "_precedence") or hasattr(y, "_precedence"):
            return where(holds, x, y)
        if in_elements or any(isinstance(z, np.ndarray) and z.dtype == object for z in (x, y)):
            parts = [np.asarray(z, dtype=object) for z in (x, y)]
            elements = [where(holds, a, b) for a, b in np.broadcast(*parts)]
            return object_array(np.broadcast_shapes(*(z.shape for z in parts)), elements)
        core = max(np.ndim(x), np.ndim(y)) - holds.ndim
        return np.where(np.reshape(holds, holds.shape + (1,) * max(core, 0)), x, y)

    return choose


def check_step(
    caller: str,
    step: Callable[..., Any],
    expected: Any,
    got: Any,
    logical: Sequence[bool],
    result: Sequence[bool],
    *,
    batches: bool = False,
) -> None:
    """Raise TypeError if a step returns a state of another structure than it received.

    With ``batches`` an array may gain or lose sample dimensions before its own.
    """
    text = "" if batches and _over_samples(expected, got) else describe_difference(expected, got)
    if not text and len(logical) == len(result) and list(logical) != list(result):
        text = "a number became a truth value, or the reverse: where(condition, 1.0, 0.0) converts it"
    if text:
        raise TypeError(
            f"{caller}: expected {function_label(step)} to return a state of the same structure as its argument: {text}"
        )


def _over_samples(left: Any, right: Any) -> bool:
    """Return True if two structures differ at most in leading dimensions of their arrays, the sample dimensions."""
    pairs = zip(leaf_paths(left), leaf_paths(right), strict=False)
    return len(leaf_paths(left)) == len(leaf_paths(right)) and all(
        path == same and all(a == b for a, b in zip(reversed(x.shape), reversed(y.shape), strict=False))
        for (path, x), (same, y) in pairs
    )
