"""Variables that change after a trace: later calls report each of them once."""

from __future__ import annotations

import warnings
from array import array
from collections.abc import Callable
from functools import partial
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.compiler.runtime import fastcall
from linkwork.compiler.trace.result_digest import result_digest
from linkwork.errors import TraceWarning
from linkwork.model.friction_laws import FrictionLaw

ROW, SECOND_ROW, LIST_VALUES, BLOCK = np.arange(3.0), np.ones(3), [1.0, 2.0, 3.0], np.eye(3)
TABLE, GAIN = {"a": np.ones(3), "b": np.ones(3)}, 2.0
NESTED: list[list[Any]] = [[np.ones(3)], [{"k": 1.0}]]
SETTINGS, SPACE, PLAIN = ModuleType("settings"), SimpleNamespace(gain=1.0), array("d", [1.0, 2.0, 3.0])
SETTINGS.gain = 1.0  # type: ignore[attr-defined]
FACTOR, UNREAD = np.ones(3), np.zeros(3)


class Law:
    scale = 1.0

    def __init__(self) -> None:
        self.gain, self.row, self.calls = 1.0, np.ones(3), 0

    def __call__(self, x: Any) -> Any:
        return self.gain * x + self.row * self.scale

    def count(self) -> None:
        self.calls += 1

    def through_another(self, x: Any) -> Any:
        return self(x) + self.of_global(x)

    @staticmethod
    def of_global(x: Any) -> Any:
        return ROW * x


class Pull(FrictionLaw):
    """A law of friction; its methods read a global variable."""

    name = "pull"

    def resistance(self, v: Any, friction: Any) -> Any:
        return PULL[0] * v

    def slope(self, v: Any, friction: Any) -> Any:
        return PULL[0]


def helper(x: Any) -> Any:
    return GAIN * x


def closed(gain: Any) -> tuple[Callable[[Any], Any], Callable[[Any], None]]:
    def change(value: Any) -> None:
        nonlocal gain
        gain = value

    return lambda x: gain * x, change


LAW, READS_LAW, LAWS = Law(), Law(), [Pull()]
PENDULUM, PULL = lw.load("double_pendulum"), np.ones(1)
CLOSED, CHANGE = closed(1.0)
INNER = lw.compile(lambda x: FACTOR * x, name="inner", x=3)


def rebind(**values: Any) -> None:
    globals().update(values)


# the function, what changes a variable, and the variable's name
KINDS: dict[str, tuple[Callable[[Any], Any], Callable[[], Any], str]] = {
    "element of an array": (lambda x: ROW * x, lambda: ROW.__setitem__(0, 7.0), "ROW"),
    "slice of an array": (lambda x: BLOCK[0] * x, lambda: BLOCK.__setitem__((0, slice(1, 3)), 7.0), "BLOCK"),
    "array in place": (lambda x: SECOND_ROW * x, lambda: SECOND_ROW.__imul__(3.0), "SECOND_ROW"),
    "whole array": (lambda x: SECOND_ROW * x, lambda: rebind(SECOND_ROW=np.full(3, 9.0)), "SECOND_ROW"),
    "number": (lambda x: GAIN * x, lambda: rebind(GAIN=3.0), "GAIN"),
    "variable of a helper": (lambda x: helper(x), lambda: rebind(GAIN=4.0), "GAIN"),
    "code of a helper": (lambda x: helper(x), lambda: rebind(helper=lambda x: x), "helper"),
    "list": (lambda x: LIST_VALUES[1] * x, lambda: LIST_VALUES.__setitem__(1, 5.0), "LIST_VALUES"),
    "longer list": (lambda x: sum(LIST_VALUES) * x, lambda: LIST_VALUES.append(5.0), "LIST_VALUES"),
    "array of Python": (lambda x: PLAIN[0] * x, lambda: PLAIN.__setitem__(0, 5.0), "PLAIN"),
    "dict of arrays": (lambda x: TABLE["b"] * x, lambda: TABLE["b"].__setitem__(2, 5.0), "TABLE"),
    "containers in containers": (lambda x: NESTED[0][0] * x, lambda: NESTED[0][0].__setitem__(0, 5.0), "NESTED"),
    "attribute": (lambda x: READS_LAW.gain * x, lambda: setattr(READS_LAW, "gain", 3.0), "READS_LAW.gain"),
    "array of an object": (lambda x: READS_LAW.row * x, lambda: READS_LAW.row.fill(3.0), "READS_LAW.row"),
    "attribute of a class": (lambda x: Law.scale * x, lambda: setattr(Law, "scale", 3.0), "Law.scale"),
    "attribute of a module": (lambda x: SETTINGS.gain * x, lambda: setattr(SETTINGS, "gain", 2.0), "SETTINGS.gain"),
    "attribute of a namespace": (lambda x: SPACE.gain * x, lambda: setattr(SPACE, "gain", 2.0), "SPACE.gain"),
    "closure": (CLOSED, lambda: CHANGE(3.0), "gain"),
    "object that is called": (LAW, lambda: setattr(LAW, "gain", 3.0), "Law.gain"),
    "method": (LAW.__call__, lambda: LAW.row.fill(4.0), "self.row"),
    "method of a method": (LAW.through_another, lambda: ROW.fill(8.0), "ROW"),
    "partial": (partial(lambda x, k: k * x, k=ROW), lambda: ROW.fill(6.0), "partial"),
    "method that linkwork calls": (
        lambda x: PENDULUM.inverse_dynamics(x[:2], x[:2], x[:2], passive=True, friction=LAWS[0]),
        lambda: PULL.fill(3.0),
        "PULL",
    ),
    "kernel": (lambda x: INNER(x), lambda: FACTOR.fill(5.0), "FACTOR"),
}


def reported(call: Callable[..., Any], *arguments: Any) -> list[str]:
    """Return the warnings of calls, each with one argument."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for x in arguments:
            call(x)
    assert all(x.category is TraceWarning and x.filename == __file__ for x in caught)
    return [str(x.message) for x in caught]


@pytest.mark.slow(every=3)
def test_changed_variables_of_a_kernels_function_are_reported_by_name() -> None:
    x = np.ones(3)
    kernels = {kind: lw.compile(function, name="law", x=3) for kind, (function, _, _) in KINDS.items()}
    assert reported(lambda k: [kernel(x) for kernel in kernels.values()], *range(20)) == []
    for kind, (function, change, name) in KINDS.items():
        kernel = lw.compile(function, name="law", x=3)
        old = kernel(x)
        change()
        messages = reported(kernel, x, x, x)
        assert len(messages) == 1, kind
        (message,) = messages
        assert message.startswith(f"law: {name} has changed since the function"), (kind, message)
        assert message.endswith("pass them as arguments, or compile the function again"), kind
        assert (kernel(x) == old).all(), kind


def test_batches_derivatives_and_nested_arguments_report_changed_variables() -> None:
    row = np.ones(3)
    kernel = lw.compile(lambda x: row * x, name="law", x=3)
    nested = lw.compile(lambda s: row * s["x"], name="nested", s={"x": 3})
    before = kernel.jacobian()
    row[1] = 2.0
    forward = kernel.jvp()
    for call in (kernel, before, lambda x: forward(x, x), lambda x: nested({"x": x})):
        (message,) = reported(call, np.ones((4, 3)))
        assert ": row has changed since" in message
        assert not reported(call, *np.ones((3, 3)))
    row[1] = 1.0  # as it was in the trace
    assert not reported(kernel, *np.ones((5, 3)))


def test_variables_read_by_a_kernels_function_are_compared_at_calls_1_2_4_and_so_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    row = np.ones(3)
    kernel = lw.compile(lambda x: row * x, x=3)
    watch = kernel._watch
    assert watch is not None
    calls, compared = [0], list[int]()
    monkeypatch.setattr(type(watch), "warn", lambda self: compared.append(calls[0]))
    x, batch = np.ones(3), np.ones((2, 3))
    for k in range(1, 140_001):
        calls[0] = k
        kernel(x if k % 3 else batch)
    assert compared == [2**k for k in range(17)] + [2**17]


def test_changes_of_variables_that_a_kernels_function_does_not_read_are_not_reported() -> None:
    law = Law()
    kernel = lw.compile(lambda x: law.gain * law(x), name="law", x=3)

    def run(k: int) -> None:
        law.count()
        UNREAD[0] = k
        law.added = k  # type: ignore[attr-defined]
        kernel(np.ones(3))

    assert reported(run, *range(20)) == []


def test_changed_attributes_are_distinguished_from_global_variables_of_the_same_name() -> None:
    class Pair:
        UNREAD = 2.0

    kernel = lw.compile(lambda x: Pair.UNREAD * x, x=3)
    digest = result_digest(kernel.function)

    def run(k: int) -> None:
        UNREAD[1] = k
        kernel(np.ones(3))

    assert reported(run, *range(1, 9)) == [] and result_digest(kernel.function) == digest


def test_variable_that_cannot_be_read_does_not_stop_a_kernel_call() -> None:
    class Table(dict[str, float]):
        changes = False

        def items(self) -> Any:
            if self.changes:
                raise RuntimeError("dictionary changed size during iteration")
            return super().items()

    table = Table(k=2.0)
    kernel = lw.compile(lambda x: table["k"] * x, name="law", x=3)
    table.changes, table["k"] = True, 3.0
    assert reported(kernel, *np.ones((3, 3))) == []
    table.changes = False
    (message,) = reported(kernel, *np.ones((3, 3)))
    assert message.startswith("law: table has changed")


def test_changed_variables_are_reported_without_the_fastcall_extension(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fastcall, "available", lambda: False)
    row = np.ones(3)
    kernel = lw.compile(lambda x: row * x, name="law", x=3)
    kernel(np.ones(3))
    row[1] = 2.0
    (message,) = reported(kernel, *np.ones((5, 3)))
    assert message.startswith("law: row has changed")
