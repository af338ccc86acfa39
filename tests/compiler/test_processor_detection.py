"""The processor of this machine: what LLVM detects, and what the operating system confirms."""

from __future__ import annotations

import io
import platform
import sys

import pytest

from linkwork.compiler.codegen import target
from linkwork.compiler.codegen.target import Processor, _feature_list

DETECTED = dict.fromkeys(("avx", "avx2", "avx512bw", "avx512f", "bmi", "f16c", "fma", "sse4.2"), True)
SAVED = {  # features that Linux reports -> those that remain, lanes, fused multiply-add
    "sse4_2 bmi1 avx avx2 fma f16c avx512f avx512bw": (set(DETECTED), 8, True),
    "sse4_2 bmi1 avx avx2 fma f16c": ({"avx", "avx2", "bmi", "f16c", "fma", "sse4.2"}, 4, True),
    "sse4_2 bmi1": ({"bmi", "sse4.2"}, 2, False),
}


@pytest.mark.parametrize("flags", SAVED)
def test_vector_registers_that_linux_does_not_save_are_not_used(flags: str, monkeypatch: pytest.MonkeyPatch) -> None:
    features = _feature_list({**DETECTED, "sse4a": False}, frozenset(flags.split()))
    remaining, lanes, fuses = SAVED[flags]
    processor = Processor("x86_64-unknown-linux-gnu", "znver5", features, "1", "(22, 1, 0)")
    assert processor.has == remaining
    assert {feature[1:] for feature in features.split(",")} == {*DETECTED, "sse4a"}  # LLVM is told of each one
    monkeypatch.setattr(target, "processor", lambda: processor)
    machine = target._machine.__wrapped__()
    assert (machine.lanes, machine.fma) == (lanes, fuses)


LEVELS = {
    "": ["sse2"],
    "+avx": ["sse2", "avx"],
    "+avx,+avx2,+bmi,+bmi2,+fma": ["sse2", "avx2"],
    "+avx,+avx2,+avx512bw,+avx512cd,+avx512dq,+avx512f,+avx512vl,+bmi,+bmi2,+fma": ["sse2", "avx2", "avx512"],
}


@pytest.mark.parametrize("features", LEVELS)
def test_best_simd_level_has_the_lanes_of_the_processor(features: str, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Processor("x86_64-unknown-linux-gnu", "generic", features, "1", "(22, 1, 0)")
    monkeypatch.setattr(target, "processor", lambda: machine)
    monkeypatch.setattr(target, "_machine", target._machine.__wrapped__)
    levels = target.levels.__wrapped__()
    assert [*levels] == LEVELS[features]
    assert [*levels.values()][-1].lanes == target._machine().lanes


def test_processor_features_are_those_of_llvm_if_linux_does_not_list_them() -> None:
    assert _feature_list({"neon": True, "avx": True, "sve": False}, None) == "+avx,+neon,-sve"


@pytest.mark.parametrize("text", ["", "processor: 0\n\nflags: avx\n", "Features: asimd\n"])
def test_processor_flags_are_unknown_if_linux_lists_none(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(target, "open", lambda *args, **kwargs: io.StringIO(text), raising=False)
    assert target._flags_of_linux() is None


@pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="the list of processors is that of x86 on Linux"
)
def test_linux_and_llvm_report_equal_vector_registers_on_this_machine() -> None:
    flags = target._flags_of_linux()
    assert flags is not None and "sse2" in flags
    machine = target.processor()
    assert ("avx512f" in machine.has, "avx" in machine.has) == ("avx512f" in flags, "avx" in flags)
