"""The machine that code is made for."""

from __future__ import annotations

import platform

import pytest

from compiler.support import TARGETS, every_target
from linkwork.compiler.target import Target, host


def test_this_machine() -> None:
    here = host()
    assert here is host()
    assert here.lanes in (2, 4, 8)
    assert here.triple and here.cpu
    assert platform.machine().lower() not in ("arm64", "aarch64") or here.fma


def test_a_target_is_a_value() -> None:
    here = host()
    same = Target(here.triple, here.cpu, here.features, here.lanes, here.fma)
    assert same == here and hash(same) == hash(here)
    assert Target(here.triple, here.cpu, here.features, 2, False) != here
    with pytest.raises(AttributeError):
        here.lanes = 4  # type: ignore[misc]


@every_target
def test_llvm_knows_the_target(target: Target) -> None:
    machine = target.machine()
    assert machine.triple == target.triple
    assert str(machine.target_data)


def test_older_processors_of_the_family_are_at_hand_for_the_tests() -> None:
    if platform.machine().lower() in ("x86_64", "amd64"):
        assert TARGETS["sse2"].lanes == 2 and not TARGETS["sse2"].fma
