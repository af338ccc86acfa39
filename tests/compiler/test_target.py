"""The machine that code is made for."""

from __future__ import annotations

import platform

import llvmlite.binding as llvm
import pytest

from compiler.passes.samples import sample
from compiler.support import TARGETS, every_target
from linkwork.compiler.codegen.part_code import PARTS, CodegenOptions
from linkwork.compiler.codegen.target import Target, host
from linkwork.compiler.passes import optimize


@pytest.mark.best_code
def test_this_machine() -> None:
    here = host()
    assert here is host()
    assert here.lanes in (2, 4, 8)
    assert here.triple and here.cpu
    assert platform.machine().lower() not in ("arm64", "aarch64") or here.fma


@pytest.mark.best_code
def test_a_target_is_a_value() -> None:
    here = host()
    same = Target(here.triple, here.cpu, here.features, here.lanes, here.fma)
    assert same == here and hash(same) == hash(here)
    assert Target(here.triple, here.cpu, here.features, 2, False) != here
    with pytest.raises(AttributeError, match="cannot assign to field 'lanes'"):
        here.lanes = 4  # type: ignore[misc]


@every_target
def test_llvm_knows_the_target(target: Target) -> None:
    machine = target.machine()
    assert machine.triple == target.triple
    assert str(machine.target_data)


FOREIGN = {
    "64-bit ARM": Target("aarch64-unknown-linux-gnu", "generic", "", lanes=2, fma=True),
    "Apple": Target("arm64-apple-darwin", "generic", "", lanes=2, fma=True),
    "Windows": Target("x86_64-pc-windows-msvc", "x86-64", "", lanes=2, fma=False),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_code_for_other_machines_assembles(name: str) -> None:
    target = FOREIGN[name]
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    for text in CodegenOptions(optimize(sample("chain of rotations")), target).texts(PARTS):
        module = llvm.parse_assembly(text)
        module.verify()
        assert len(target.machine().emit_object(module)) > 1000


def test_older_processors_of_the_family_are_at_hand_for_the_tests() -> None:
    if platform.machine().lower() in ("x86_64", "amd64"):
        assert TARGETS["sse2"].lanes == 2 and not TARGETS["sse2"].fma
