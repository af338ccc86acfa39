"""Traces on disk: functions with keys, what a key depends on, and use in later processes."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from types import MappingProxyType, SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

import linkwork as lw
from linkwork._util import own_code
from linkwork.compiler.cache import function_content
from linkwork.compiler.cache.disk_cache import Cache, CacheWarning, Entry
from linkwork.compiler.cache.function_content import UnknownContentError, content_digest
from linkwork.compiler.trace import trace as module
from linkwork.compiler.trace.trace import compile_guarded, compile_later
from linkwork.errors import Status

OURS = "linkwork.example"


@pytest.fixture(autouse=True, scope="module")
def this_module_is_linkworks():
    """Prove that `linkwork.example`, under which `ours` puts functions and classes, is linkwork's own module."""
    module = sys.modules[__name__]
    sys.modules[OURS], own_code._libraries[OURS] = module, (module, True)
    yield
    del sys.modules[OURS], own_code._libraries[OURS]


def ours(value):
    """Return a function or class as if it were linkwork's."""
    value.__module__ = OURS
    return value


def scaled(factor, *, shift=0.0):
    """Return a function with a closure and a default."""

    @ours
    def function(x, shift=shift):
        return factor * x + shift

    return function


@ours
@dataclass(frozen=True)
class Example:
    a: object
    b: object = field(default=None, compare=False)

    @cached_property
    def derived(self):
        return object()


@ours
class Plain:
    def __init__(self, a):
        self.a = a

    @ours
    def method(self, x):
        return x


@ours
class Slotted(Plain):
    __slots__ = ("b",)


class Pair(NamedTuple):
    a: object
    b: object


def of_slots(b):
    result = Slotted(1)
    result.b = b
    return result


DIFFERENT = [
    *(None, ..., True, False, 0, 1, 2, 0.0, -0.0, 1.0, math.inf, 1j, "", "1", b"1", "1(", "s1"),
    *((), (1,), [1], (1, 2), (2, 1), ((1,), 2), (1, (2,)), (12,), ("1", "2"), ("12",)),
    *({}, {"a": 1}, {"a": 2}, {"b": 1}, {"a": 1, "b": 2}, {"b": 2, "a": 1}, frozenset(), {1}, {1, 2}),
    *(slice(1), slice(2), range(2), range(3), Status.SOLVED, Status.RUNNING),
    *(np.zeros(2), np.zeros(3), np.zeros((1, 2)), np.zeros(2, np.float32), np.array([0.0, -0.0]), np.float64(0.0)),
    *(np.float32(0.0), np.int64(0), np.bool_(False), np.array([1, None], dtype=object), np.dtype),
    *(int, float, Example, Plain, math, np, math.sin, math.cos, np.sin, np.cos, np.linalg.norm),
    *(Example(1), Example(2), Plain(1), Plain(2), Plain(Plain(1)), of_slots(1), of_slots(2)),
    *(Plain(1).method, Plain(2).method, partial(math.pow, 2), partial(math.pow, 3), partial(math.pow, y=2)),
    *(
        scaled(1.0),
        scaled(2.0),
        scaled(1.0, shift=1.0),
        scaled(scaled(1.0)),
        ours(lambda x: x),
        ours(lambda x: x + 1),
        ours(lambda x: x + 2),
    ),
    *(ours(lambda x: lambda: x + 1), ours(lambda x: lambda: x + 2)),
]


def test_values_with_different_content_have_different_digests() -> None:
    digests = [content_digest(value) for value in DIFFERENT]
    twice = [value for value, content in zip(DIFFERENT, digests, strict=True) if digests.count(content) > 1]
    assert twice == []
    assert content_digest(1, 2) != content_digest((1, 2)) != content_digest(1) != content_digest()


def test_values_with_equal_content_have_equal_digests() -> None:
    whole = "".join(["sim", "ulate"])
    same = [
        (("simulate", 1), (whole, 1)),
        (Example(1, 2), Example(1, 3)),
        (scaled((1, 2)), scaled((1, 2))),
        ({"a", "b", "c"}, {"c", "b", "a"}),
        ({"a": 1}, MappingProxyType({"a": 1})),
        (lw.load("arm7"), lw.load("arm7")),
        (lw.Scene().with_box("a", (1, 1, 1), (0, 0, 0)), lw.Scene().with_box("a", (1, 1, 1), (0, 0, 0))),
    ]
    for a, b in same:
        assert content_digest(a) == content_digest(b)
    used = Example(1)
    assert used.derived is not None  # a cached property is no content
    assert content_digest(used) == content_digest(Example(1))
    shared = (1, 2)
    assert content_digest((shared, shared)) == content_digest(((1, 2), (*range(1, 3),)))


def test_digests_of_differently_edited_robots_differ() -> None:
    arm = lw.load("arm7")
    edited = [
        arm,
        lw.load("arm6"),
        arm.with_gravity((0, 0, -1)),
        arm.with_frame("camera", "hand", (0.0, 0.0, 0.1)),
        arm.with_payload("load", "hand", 1.0),
    ]
    assert len({content_digest(robot) for robot in edited}) == len(edited)


class Theirs(lw.joints.Revolute):
    """A user's joint type, whose code is unknown."""


def test_objects_with_code_outside_of_linkwork_have_no_digest() -> None:
    def holds_itself():
        value = Plain(None)
        value.a = value
        return value

    local = type("Local", (), {"__module__": "linkwork.example", "__qualname__": "f.<locals>.Local"})
    for value in (
        lambda x: x,
        scaled(lambda x: x),
        SimpleNamespace(a=1),
        OrderedDict(a=1),
        Theirs,
        partial(lambda x: x),
        pytest,
        local,
        local(),
        object(),
        Pair(1, 2),
        holds_itself(),
    ):
        with pytest.raises(UnknownContentError, match=r"code that is not proved to be|a value of type|contains itself"):
            content_digest(value)


def test_recursive_functions_have_a_content_digest() -> None:
    @ours
    def factorial(n):
        return 1 if n == 0 else n * factorial(n - 1)

    assert content_digest(factorial) != content_digest(cache(factorial))


# -- stored traces


@pytest.fixture
def traces(cache_folder, monkeypatch) -> list[str]:
    """An empty cache; the names of the functions that are traced."""
    monkeypatch.delenv("LINKWORK_DEBUG", raising=False)
    traced, original = [], module.traced_function
    monkeypatch.setattr(
        module,
        "traced_function",
        lambda f, name, *arguments, **more: (traced.append(name), original(f, name, *arguments, **more))[1],
    )
    return traced


@ours
@dataclass(frozen=True)
class Ends:
    first: object
    last: object


def nested(factor):
    @ours
    def function(x, k):
        return {"pair": (x * factor, k), "more": [x[0], k]}

    return function


def test_second_kernel_of_an_equal_function_is_not_traced(traces) -> None:
    x, k = np.array([1.0, 2.0]), np.array(3.0)
    first = compile_later(nested(2.0), name="f", x=2, k=())
    expected = first(x, k)
    again = compile_later(nested(2.0), name="f", x=2, k=())
    changed = compile_later(nested(3.0), name="f", x=2, k=())
    renamed = compile_later(nested(2.0), name="g", x=2, k=())
    assert traces == ["f", "f", "g"]
    result = again(x, k)
    assert traces == ["f", "f", "g"]  # nor was its code compiled
    assert repr(result) == repr(expected) and again.outputs == first.outputs and repr(again) == repr(first)
    assert np.array_equal(changed(x, k)["pair"][0], 3.0 * x) and renamed.name == "g"
    assert again.operations == first.operations and traces.count("f") == 3  # needs the program


def test_derivatives_of_a_stored_trace_are_not_traced_again(traces) -> None:
    def compiled():
        return compile_later(scaled(2.0), name="f", x=3, shift=()).jacobian("x")

    expected = compiled()([1.0, 2.0, 3.0], 0.5)
    assert np.array_equal(compiled()([1.0, 2.0, 3.0], 0.5), expected) and traces == ["f"]


def test_guards_are_part_of_the_key_of_a_stored_trace(traces) -> None:
    @ours
    def guards(x):
        return [x[0]]

    def compiled(guards):
        return compile_guarded(ours(lambda x: x), guards, name="f", x=2)

    compiled(guards), compiled(guards), compiled(ours(lambda x: [x[1]]))
    assert traces == ["f", "f"]


def test_traces_of_users_functions_are_not_stored(traces, cache_folder) -> None:
    for _ in range(2):
        compile_later(lambda x: x, name="f", x=2)
    assert traces == ["f", "f"]


def test_damaged_and_unreadable_stored_traces_are_replaced(traces, cache_folder) -> None:
    def entry():
        (path,) = cache_folder.glob("*-trace.linkwork")
        return path

    compile_later(scaled(2.0), name="f", x=3, shift=())
    data = entry().read_bytes()
    entry().write_bytes(data[:-1])
    with pytest.warns(CacheWarning, match="damaged"):
        compile_later(scaled(2.0), name="f", x=3, shift=())
    assert traces == ["f", "f"]
    cache = Cache(cache_folder, 1 << 20)
    facts = cache.load(entry().name.removesuffix(".linkwork")).facts
    for wrong in (
        {},
        facts | {"outputs": 3},
        facts | {"form": {"class": ["linkwork.none", "X"], "keys": [], "parts": []}},
    ):
        cache.store(entry().name.removesuffix(".linkwork"), Entry(wrong, b""))
        compile_later(scaled(2.0), name="f", x=3, shift=())
    assert traces == ["f"] * 5


def test_stored_traces_are_compared_with_new_traces_in_debug_mode(traces, cache_folder, monkeypatch) -> None:
    monkeypatch.setenv("LINKWORK_DEBUG", "1")
    compile_later(scaled(2.0), name="f", x=3, shift=())
    compile_later(scaled(2.0), name="f", x=3, shift=())
    assert traces == ["f", "f"]
    monkeypatch.setattr(function_content, "content_digest", lambda *values: "incomplete")
    compile_later(scaled(3.0), name="f", x=3, shift=())
    with pytest.raises(AssertionError, match="the stored trace"):
        compile_later(scaled(4.0), name="f", x=3, shift=())


PROGRAM = """
import json, sys
import numpy as np, linkwork as lw
from linkwork.compiler.trace import trace as module
traced, whole = [], module.traced_function.__wrapped__.__code__
def noted(frame, event, _):
    if frame.f_code is whole and event == "call":
        traced.append(frame.f_locals["name"])
sys.setprofile(noted)  # a function that is replaced would have other names of traces
robot = lw.load("double_pendulum")
boxes = lw.Scene().with_box("box", (0.1, 0.1, 0.1), (2.0, 0.0, 0.0))
q = np.array([0.3, -0.2])
results = [
    robot.spline([0.0, 1.0], [q, 2 * q], boundary="clamped")(0.3).q,
    robot.simulate(q, duration=0.02).q[-1],
    robot.distances(q, boxes).distance,
    robot.ik_problem([lw.ik.PostureTask(target=2 * q)]).solve(q).q,
    lw.quadratic_program(np.eye(2), q, x_lower=[0.0, 0.0]).x,
]
print(json.dumps([traced, [np.asarray(x).tolist() for x in results]]))
"""


@pytest.mark.slow(every=9)
def test_another_process_uses_stored_traces(cache_folder) -> None:
    def run(seed):
        env = {**os.environ, "LINKWORK_CACHE": str(cache_folder), "PYTHONHASHSEED": seed, "LINKWORK_EFFORT": "0"}
        env.pop("LINKWORK_DEBUG", None)
        ran = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
        return json.loads(ran.stdout)

    (first, expected), (second, results) = run("1"), run("2")
    assert len(first) >= 5 and second == [] and results == expected
