"""Names of code in the cache: replaced attributes are examined once for all names of a kernel."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork._util import own_code
from linkwork.compiler import build
from linkwork.compiler.kernel import Kernel
from linkwork.expr.scalar import functions as f

PROGRAM = lw.compile(lambda x: f.sin(x[0]) * x[1], x=(2,), name="looked").program
X = np.array([1.0, 2.0])


def kernel(meanwhile: Any = lambda: None) -> Kernel:
    """A kernel that is not compiled yet, and what happens while it is traced."""

    def traced() -> Any:
        meanwhile()
        return PROGRAM

    return Kernel(build.Recipe(PROGRAM.name, PROGRAM.inputs, PROGRAM.outputs, traced, ("content",)), later=True)


def test_first_call_examines_replaced_attributes_of_linkwork_twice(
    cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[Any] = []
    state = build.own_state
    monkeypatch.setattr(build, "own_state", lambda: looks.append(state()) or looks[-1])
    kernel()(X)
    assert len(looks) == 2 and len({*looks}) == 1
    kernel()(X)
    assert len(looks) == 3  # code from the cache


def test_code_compiled_while_attributes_of_linkwork_are_replaced_is_not_cached(
    cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as replaced:
        kernel(lambda: replaced.setattr(lw.spatial.Vec3, "dot", lambda self, other: 0.0))(X)
    assert not [path for path in cache_folder.rglob("*.linkwork") if "-fast" in path.name]
    assert own_code.state_of_attributes() == ""
    kernel()(X)
    assert [path for path in cache_folder.rglob("*.linkwork") if "-fast" in path.name]


class _Wrapper:
    """A function that changes the results of another one, to which it is equal, as objects of wrapt are."""

    def __init__(self, wrapped: Any) -> None:
        self.wrapped = wrapped

    def __eq__(self, other: object) -> bool:
        return bool(self.wrapped == other)

    def __hash__(self) -> int:
        return hash(self.wrapped)

    __class__ = property(lambda self: type(self.wrapped))  # type: ignore[assignment]
    __globals__ = property(lambda self: self.wrapped.__globals__)
    __closure__ = None

    def __get__(self, vector: Any, kind: type) -> Any:
        return lambda factor: 2.0 * self.wrapped(vector, factor)


def test_replaced_functions_of_linkwork_are_detected_even_if_they_compare_equal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = own_code.state_of_attributes()
    monkeypatch.setattr(lw.spatial.Vec3, "dot", _Wrapper(lw.spatial.Vec3.dot))
    monkeypatch.setattr(own_code, "_looked_at", -1)  # as after an import of a module of linkwork
    assert own_code.state_of_attributes() not in ("", before)


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="other implementations have no versions of classes")
def test_versions_of_classes_are_read_and_those_that_miss_a_change_are_refused() -> None:
    read = own_code._version_of()
    assert own_code._are_versions(read) and read(lw.Robot).value != read(lw.spatial.Vec3).value
    versions: dict[type, int] = {}

    class Constant:  # never new: as of another field of the class
        def __init__(self, kind: type) -> None:
            self.value = versions.setdefault(kind, len(versions) + 1)

    class Late:  # 0 after each change, and then the number from before
        def __init__(self, kind: type) -> None:
            self.value = versions.setdefault(kind, len(versions) + 1) if read(kind).value else 0

    assert not own_code._are_versions(Constant) and not own_code._are_versions(Late)


def test_attributes_of_classes_are_compared_only_if_a_version_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(2):  # modules that were imported since the last check
        own_code.state_of_attributes()
    comparisons: list[Any] = []
    compare = own_code.is_
    monkeypatch.setattr(own_code, "is_", lambda a, b: comparisons.append(a) or compare(a, b))
    own_code.state_of_attributes()
    assert not comparisons
    monkeypatch.setattr(own_code, "_versions_then", [])
    own_code.state_of_attributes()
    assert len(comparisons) == len(own_code._values) > 1000


@pytest.mark.parametrize("has_versions", [True, False])
@pytest.mark.parametrize(
    ("owner", "name", "value"),
    [
        (lw.spatial.Vec3, "dot", lambda self, operand: 0.0),
        (lw.spatial.Rotation, "T", property(lambda self: self)),
        (lw.spatial.Rotation, "about", staticmethod(lambda axis, angle: None)),
        (lw.joints.Revolute, "nq", 2),
    ],
)
def test_each_replaced_attribute_of_a_class_is_detected_until_it_is_restored(
    owner: type, name: str, value: Any, has_versions: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_versions:  # as in other implementations of Python
        monkeypatch.setattr(own_code, "_present_versions", list)
    before = own_code.state_of_attributes()
    with monkeypatch.context() as replaced:
        replaced.setattr(owner, name, value)
        state = own_code.state_of_attributes()
        assert state not in ("", before) and own_code.state_of_attributes() == state
    assert own_code.state_of_attributes() == before
