"""Targets of machine code: processors, features and vector widths."""

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
def test_host_target_has_a_triple_a_processor_and_simd_lanes() -> None:
    target = host()
    assert target is host()
    assert target.lanes in (2, 4, 8)
    assert target.triple and target.cpu
    assert platform.machine().lower() not in ("arm64", "aarch64") or target.fma


@pytest.mark.best_code
def test_compilation_targets_compare_by_value_and_cannot_be_changed() -> None:
    target = host()
    same = Target(target.triple, target.cpu, target.features, target.lanes, target.fma)
    assert same == target and hash(same) == hash(target)
    assert Target(target.triple, target.cpu, target.features, 2, False) != target
    with pytest.raises(AttributeError, match="cannot assign to field 'lanes'"):
        target.lanes = 4  # type: ignore[misc]


@every_target
def test_llvm_creates_a_machine_for_every_test_target(target: Target) -> None:
    machine = target.machine()
    assert machine.triple == target.system.triple(target.triple)
    assert str(machine.target_data)


FOREIGN = {
    "64-bit ARM": Target("aarch64-unknown-linux-gnu", "generic", "", lanes=2, fma=True),
    "Apple": Target("arm64-apple-darwin", "generic", "", lanes=2, fma=True),
    "Windows": Target("x86_64-pc-windows-msvc", "x86-64", "", lanes=2, fma=False),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_code_for_other_processor_families_assembles(name: str) -> None:
    target = FOREIGN[name]
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    for text in CodegenOptions(optimize(sample("chain of rotations")), target).texts(PARTS):
        module = llvm.parse_assembly(text)
        module.verify()
        assert len(target.machine().emit_object(module)) > 1000


def test_test_targets_include_older_processors_of_the_hosts_family() -> None:
    if platform.machine().lower() in ("x86_64", "amd64"):
        assert TARGETS["sse2"].lanes == 2 and not TARGETS["sse2"].fma
