"""Functions with loops, branches, calls and tables over any scalar, for the tests of control flow.

Inputs are numbers, or rows of numbers (T,), of which a batch has columns (T, samples).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from linkwork.expr import and_, call, cond, cos, fori_loop, linalg, put, scan, sin, sqrt, take, where, while_loop
from linkwork.expr.arrays.symbol_array import object_array
from linkwork.expr.scalar.symbol import Graph, Symbol


class Pair(NamedTuple):
    a: Any
    b: Any


@dataclass(frozen=True)
class Walker:
    position: Any
    facing: Any
    tired: Any


@dataclass(frozen=True)
class Case:
    """A function, the shapes of its inputs, whether there is a reverse gradient, and whether it takes NumPy batches."""

    function: Callable[..., dict[str, Any]]
    shapes: Mapping[str, tuple[int, ...]]
    reverse: bool = True
    batches: bool = True

    def samples(self, rng: np.random.Generator, many: int) -> list[np.ndarray]:
        return [rng.normal(size=(many, *shape)) for shape in self.shapes.values()]

    def traced(self) -> tuple[list[Any], list[Symbol]]:
        """Return the outputs and the inputs as symbols."""
        graph = Graph()
        symbols = {name: graph.inputs(name, shape) for name, shape in self.shapes.items()}
        outputs = self.function(
            *(object_array(shape, symbols[name]) if shape else symbols[name][0] for name, shape in self.shapes.items())
        )
        return flat(outputs), [x for part in symbols.values() for x in part]

    def of(self, elements: Sequence[Any]) -> list[Any]:
        """Return the outputs for the flattened inputs."""
        arguments, start = [], 0
        for shape in self.shapes.values():
            size = math.prod(shape)
            arguments.append(elements[start : start + size] if shape else elements[start])
            start += size
        return flat(self.function(*(np.array(x, dtype=object) if isinstance(x, list) else x for x in arguments)))


def flat(outputs: dict[str, Any]) -> list[Any]:
    return [
        x for value in outputs.values() for x in (value.ravel().tolist() if isinstance(value, np.ndarray) else [value])
    ]


def newton(x: Any, y: Any) -> dict[str, Any]:
    """A loop whose number of steps depends on the sample."""
    a, start = x * x + 0.1, 1.0 + y * y
    root = while_loop(lambda r: abs(r * r - a) > 1e-9 * a, lambda r: 0.5 * (r + a / r), start, max_iterations=9)
    return {"root": root.state, "iterations": root.iterations, "status": root.status}


def nested_whiles(x: Any, y: Any) -> dict[str, Any]:
    """A loop in a loop, whose inner one takes from the outer state and from outside."""
    outside = sin(x) * 0.1

    def outer(state: Pair) -> Pair:
        inner = while_loop(
            lambda t: t > 0.3 + outside, lambda t: 0.6 * t - 0.01 * state.b, state.a + 1.0, max_iterations=6
        )
        return Pair(0.5 * state.a + inner.state * outside + 0.2, state.b + inner.iterations)

    outer_loop = while_loop(lambda s: s.b < 5.0 + y, outer, Pair(x, 0.0), max_iterations=8)
    return {
        "a": outer_loop.state.a,
        "b": outer_loop.state.b,
        "iterations": outer_loop.iterations,
        "status": outer_loop.status,
    }


def swing(x: Any, y: Any, u: Any) -> dict[str, Any]:
    """A scan over inputs with nested outputs."""

    def step(state: tuple[Any, Any], torque: Any) -> tuple[tuple[Any, Any], dict[str, Any]]:
        angle, rate = state
        rate = rate + 0.1 * (torque - y * sin(angle))
        angle = angle + 0.1 * rate
        return (angle, rate), {"angle": angle, "energy": 0.5 * rate * rate - y * cos(angle)}

    (angle, rate), angles = scan(step, (x, 0.0 * x), u)
    return {"angle": angle, "rate": rate, "angles": angles["angle"], "energies": angles["energy"]}


def backward(x: Any, u: Any) -> dict[str, Any]:
    """Scans from the last input to the first, and in segments with some left over."""
    step = lambda total, v: (0.7 * total + v * v, total * v)  # noqa: E731
    last, outputs = scan(step, x, u, reverse=True)
    again, parts = scan(step, x, u, reverse=True, segments=3)
    forth, segmented = scan(step, x, u, segments=4)
    return {"last": last, "outputs": outputs, "again": again, "parts": parts, "forth": forth, "others": segmented}


def counted(x: Any, y: Any) -> dict[str, Any]:
    """Loops over numbers, one in the other."""
    inner = lambda j, total: total + cos(y * j)  # noqa: E731
    last = fori_loop(0, 4, lambda k, s: 0.5 * s + fori_loop(0, 3, inner, s * y) * (k + 1.0), x)
    return {"last": last, "untouched": fori_loop(0, 0, lambda k, s: s * 2.0, x)}


def chosen(x: Any, y: Any) -> dict[str, Any]:
    """Choices in choices, of nested values."""
    z = x * y
    small = lambda: cond(y < 0.0, lambda: Pair(z, -y), lambda: Pair(sqrt(y), z + 1.0))  # noqa: E731
    pair = cond(x < 0.2, small, lambda: Pair(x * x, sin(z)))
    return {"a": pair.a, "b": pair.b, "operands": cond(x < y, lambda a, b: a - b, lambda a, b: b * b, x, y)}


def poly(a: Any, b: Any, c: Any) -> tuple[Any, Any]:
    return a * b + c, sin(a) - b


def called(x: Any, y: Any) -> dict[str, Any]:
    """Calls with numbers known in advance, of results of calls, in a loop, and of what takes from outside."""
    a, b = call(poly, x, 2.0, y)
    c, d = call(poly, a, b, -1.0)
    scaled = lambda t: poly(t, y, 0.5)[1]  # noqa: E731
    last = fori_loop(0, 3, lambda k, s: 0.5 * s + call(scaled, s) + call(poly, s, k, 0.1)[0], d)
    return {"c": c, "d": d, "last": last, "scaled": call(scaled, x)}


def table_entries(x: Any, y: Any, u: Any) -> dict[str, Any]:
    """Entries of tables of constants and of inputs."""
    fixed = np.array([[1.0, -2.0], [0.5, 3.0], [0.25, 8.0]])
    total, entries = scan(lambda s, v: (s + take(fixed[:, 1], v * 2.0), take(fixed[:, 0], s)), x, u)
    row = take(np.stack([u[0], u[1], y + 0.0 * u[0]]), x * 3.0)
    return {"total": total, "entries": entries, "given": row}


def walked(x: Any, y: Any) -> dict[str, Any]:
    """Truth values in the state, which is a dataclass with a dict in it."""

    def step(w: Walker) -> Walker:
        position = where(w.tired, w.position["at"], w.position["at"] + w.facing)
        turned = where(position > 1.0, -0.7 * w.facing, w.facing)
        return Walker({"at": position, "last": w.position["at"]}, turned, position * w.facing > 0.8 + abs(y))

    started = Walker({"at": x, "last": 0.0 * x}, 0.3 + 0.0 * x, x > 5.0)
    walk = while_loop(lambda w: w.position["at"] < 3.0 + y, step, started, max_iterations=12)
    state = walk.state
    tired = where(state.tired, 1.0, 0.0)
    return {"at": state.position["at"], "last": state.position["last"], "tired": tired, "iterations": walk.iterations}


def empty(x: Any, u: Any) -> dict[str, Any]:
    """Loops of no steps, of nothing carried, without outputs."""
    never = while_loop(lambda s: s < 5.0, lambda s: s + 1.0, x, max_iterations=0)
    empty_state, squares = scan(lambda s, v: (s, v * v + x), (), u)
    last, no_outputs = scan(lambda s, v: (s + v, None), x, u)
    unchanged, _ = scan(lambda s, v: (s + 1.0, v), x, np.zeros((0,)))
    assert empty_state == () and no_outputs is None
    return {"never": never.state, "status": never.status, "squares": squares, "last": last, "still": unchanged}


def everything(x: Any, y: Any, u: Any, k: Any) -> dict[str, Any]:
    """A scan of loops, calls, tables and choices."""

    def step(state: tuple[Any, Any], c: Any) -> tuple[tuple[Any, Any], dict[str, Any]]:
        shrink = lambda t: (t[0] * 0.5 + 0.1 * t[1], t[1] + 1.0)  # noqa: E731
        shrunk = while_loop(lambda t: abs(t[0]) > 0.2 + 0.01 * c, shrink, (state[0] + c, 0.0 * c), max_iterations=7)
        a, b = call(poly, shrunk.state[0], state[1], k)
        d, e = call(poly, b, a, 0.5)
        table = np.array([0.5, -1.0, 2.0, 0.25])
        z = cond(a < e, lambda: take(table, shrunk.iterations), lambda: fori_loop(0, 4, lambda j, s: s + cos(s) * j, a))
        return (0.3 * sin(d) + 0.1 * z, shrunk.iterations + 0.1 * state[1]), {"z": z, "pair": (a, shrunk.status)}

    (p, q), states = scan(step, (x, y), u)
    return {"p": p, "q": q, "z": states["z"], "a": states["pair"][0], "status": states["pair"][1]}


def solved(x: Any, y: Any, u: Any) -> dict[str, Any]:
    """Linear equations in the steps of a scan."""

    def step(state: tuple[Any, Any], v: Any) -> tuple[tuple[Any, Any], Any]:
        A = np.array([[3.0 + v * v, y], [y * state[0], 2.0 + y * y]], dtype=object)
        b = linalg.solve(A, np.array([state[0] + v, state[1]], dtype=object))
        return (b[0], b[1] + 0.5 * x), b[0] * b[1]

    (a, b), states = scan(step, (x, y), u)
    return {"a": a, "b": b, "kept": states}


def stacked(x: Any, y: Any, u: Any) -> dict[str, Any]:
    """A stack of pairs, to which some steps push two, and from which the others take one."""

    def step(state: tuple[Any, Any, Any], v: Any) -> tuple[tuple[Any, Any, Any], Any]:
        stack, top, total = state
        pushed = v > 0.0
        popped = take(stack, top - 1.0)
        stack = put(stack, where(pushed, top, -1.0), np.stack([v * y, total]))
        stack = put(stack, where(pushed, top + 1.0, -1.0), np.stack([take(stack, top)[0] + y, v]))
        total = where(pushed, total * 0.5, total + popped[0] * popped[1])
        return (stack, where(pushed, top + 2.0, where(top > 0.5, top - 1.0, top)), total), popped[1] + stack[1, 0]

    (stack, top, total), tops = scan(step, (np.ones((11, 2)), 1.0 + 0.0 * y, x), u)
    return {"stack": stack, "top": top, "total": total, "kept": tops}


def put_in_order(x: Any, y: Any, u: Any) -> dict[str, Any]:
    """Numbers put where they belong among those before, in a table that is none but at its end."""

    def insert(k: Any, table: Any) -> Any:
        new = take(u, k) + y
        smaller = lambda s: and_(s[1] > 0.0, take(s[0], s[1] - 1.0) > new)  # noqa: E731
        moved = lambda s: (put(s[0], s[1], take(s[0], s[1] - 1.0)), s[1] - 1.0)  # noqa: E731
        table, index = while_loop(smaller, moved, (table, k), max_iterations=20).state
        return put(table, index, new)

    table = fori_loop(0, len(u), insert, np.full(20, 9.0))
    return {"table": table[: len(u)], "x": x * take(table, x)}


CASES = {
    "newton": Case(newton, {"x": (), "y": ()}, reverse=False),
    "nested_whiles": Case(nested_whiles, {"x": (), "y": ()}, reverse=False),
    "swing": Case(swing, {"x": (), "y": (), "u": (7,)}),
    "backward": Case(backward, {"x": (), "u": (11,)}),
    "counted": Case(counted, {"x": (), "y": ()}),
    "chosen": Case(chosen, {"x": (), "y": ()}),
    "called": Case(called, {"x": (), "y": ()}),
    "looked_up": Case(table_entries, {"x": (), "y": (), "u": (4,)}, batches=False),
    "stacked": Case(stacked, {"x": (), "y": (), "u": (7,)}, batches=False),
    "put_in_order": Case(put_in_order, {"x": (), "y": (), "u": (6,)}, reverse=False, batches=False),
    "walked": Case(walked, {"x": (), "y": ()}, reverse=False),
    "empty": Case(empty, {"x": (), "u": (3,)}, reverse=False),
    "everything": Case(everything, {"x": (), "y": (), "u": (5,), "k": ()}, reverse=False),
    "solved": Case(solved, {"x": (), "y": (), "u": (3,)}, batches=False),
}
