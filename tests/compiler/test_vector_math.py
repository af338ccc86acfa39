"""Sine and cosine as compiled from `linkwork.compiler.vector_math`.

Tested are the error in units in the last place against mpmath, over every range of arguments; the special values;
that every lane count, and every target, gives the same bits; that lanes do not disturb each other; and that the code
calls nothing outside itself.  All of it for the variant with fused multiply-add, where the processor has it, for the
variant without, and for the latter on the oldest 64-bit x86 processor.
"""

from __future__ import annotations

import ctypes
import functools
import platform
import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

import llvmlite.binding as llvm
import mpmath
import numpy as np
import pytest

from linkwork.compiler import vector_math
from linkwork.compiler.vector_math import Definition, sincos

LANES = (1, 2, 4, 8)
BOUND = 2.0**20  # where one way of reducing the argument gives way to the other
WORST = 6381956970095103 * 2.0**797  # of all doubles the closest to a multiple of pi/2
LARGEST = np.finfo(np.float64).max
IS_X86 = platform.machine().lower() in ("x86_64", "amd64")

Pair = tuple[np.ndarray, np.ndarray]


class Variant(NamedTuple):
    fma: bool
    plain: bool  # the baseline of the architecture instead of the processor at hand


class Compiled(NamedTuple):
    functions: dict[int, Callable[[np.ndarray], Pair]]
    assembly: str


def host_fuses() -> bool:
    return llvm.get_host_cpu_features().get("fma", False) if IS_X86 else platform.machine() in ("arm64", "aarch64")


VARIANTS = {"fma": Variant(True, False), "no-fma": Variant(False, False), "sse2": Variant(False, True)}
SKIPS = {"fma": not host_fuses(), "no-fma": False, "sse2": not IS_X86}
every_variant = pytest.mark.parametrize(
    "variant",
    [
        pytest.param(variant, id=name, marks=pytest.mark.skipif(SKIPS[name], reason=f"no {name} here"))
        for name, variant in VARIANTS.items()
    ],
)


def loop_over_arrays(definition: Definition, lanes: int) -> str:
    real = "double" if lanes == 1 else f"<{lanes} x double>"
    return f"""
define void @run{lanes}(ptr %x, ptr %sin, ptr %cos, i64 %count) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %x.at = getelementptr double, ptr %x, i64 %i
  %sin.at = getelementptr double, ptr %sin, i64 %i
  %cos.at = getelementptr double, ptr %cos, i64 %i
  %argument = load {real}, ptr %x.at, align 8
  %both = call {{ {real}, {real} }} {definition.name}({real} %argument)
  %s = extractvalue {{ {real}, {real} }} %both, 0
  %c = extractvalue {{ {real}, {real} }} %both, 1
  store {real} %s, ptr %sin.at, align 8
  store {real} %c, ptr %cos.at, align 8
  %next = add i64 %i, {lanes}
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""


def module_text(fma: bool) -> str:
    """All lane counts in one module, every declaration once."""
    definitions = {lanes: sincos(lanes, fma) for lanes in LANES}
    declarations = dict.fromkeys(text for definition in definitions.values() for text in definition.declarations)
    functions = [d.ir + loop_over_arrays(d, lanes) for lanes, d in definitions.items()]
    return "\n".join([*declarations, *functions])


@functools.cache
def compiled(variant: Variant) -> Compiled:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(module_text(variant.fma))
    module.verify()
    cpu, features = ("x86-64", "") if variant.plain else (llvm.get_host_cpu_name(), host_features())
    target = llvm.Target.from_default_triple()
    small = target.create_target_machine(cpu=cpu, features=features, opt=3, codemodel="small")
    machine = target.create_target_machine(cpu=cpu, features=features, opt=3)
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3))
    builder.getModulePassManager().run(module, builder)
    assembly = small.emit_assembly(module)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return Compiled({lanes: callable_from(engine, lanes) for lanes in LANES}, assembly)


def host_features() -> str:
    return str(llvm.get_host_cpu_features().flatten())


def callable_from(engine: llvm.ExecutionEngine, lanes: int) -> Callable[[np.ndarray], Pair]:
    pointer = ctypes.c_void_p
    run = ctypes.CFUNCTYPE(None, pointer, pointer, pointer, ctypes.c_int64)(engine.get_function_address(f"run{lanes}"))

    def call(x: np.ndarray) -> Pair:
        padded = np.concatenate([x, np.zeros(-len(x) % lanes)])
        sine, cosine = np.empty_like(padded), np.empty_like(padded)
        run(padded.ctypes.data, sine.ctypes.data, cosine.ctypes.data, len(padded))
        return sine[: len(x)], cosine[: len(x)]

    call.engine = engine  # type: ignore[attr-defined]  # the code lives as long as the engine
    return call


def neighbours(x: Iterable[float], steps: int) -> np.ndarray:
    """Each number with the doubles up to `steps` away on both sides."""
    bits = np.array(list(x), dtype=np.float64).view(np.int64)
    return (bits[:, None] + np.arange(-steps, steps + 1)).ravel().view(np.float64)


def both_signs(x: np.ndarray) -> np.ndarray:
    return np.where(np.arange(len(x)) % 2, -x, x)


def of_every_exponent(rng: np.random.Generator, count: int) -> np.ndarray:
    """Log-uniform: every pattern of bits that stands for a finite number is as likely as any other."""
    return both_signs(rng.integers(0, 0x7FF0000000000000, count).view(np.float64))


def log_uniform(rng: np.random.Generator, low: float, high: float, count: int) -> np.ndarray:
    return both_signs(np.exp(rng.uniform(np.log(low), np.log(high), count)))


@functools.cache
def ranges() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(20240229)
    with mpmath.workprec(1200):
        half_pi = mpmath.pi / 2
        quarter_turns = [*range(1, 40), *(int(k) for k in np.abs(log_uniform(rng, 40, BOUND / 1.6, 100)))]
        huge_turns = [int(k) for k in np.abs(log_uniform(rng, BOUND, 1e307, 120))]
        near_zeros = [float(k * half_pi) for k in quarter_turns]
        near_huge_zeros = [float(k * half_pi) for k in huge_turns]
        near_switch = [float((2 * k + 1) * half_pi / 2) for k in quarter_turns]
    return {
        "subnormal": both_signs(np.abs(rng.integers(0, 1 << 52, 100)).view(np.float64)),
        "tiny": log_uniform(rng, 1e-307, 1e-3, 200),
        "within an eighth": rng.uniform(-np.pi / 4, np.pi / 4, 800),
        "within pi": rng.uniform(-np.pi, np.pi, 800),
        "within 100": rng.uniform(-100, 100, 500),
        "within 1e5": rng.uniform(-1e5, 1e5, 500),
        "common range": rng.uniform(-BOUND, BOUND, 500),
        "edge of the common range": neighbours([BOUND, -BOUND], 4),
        "multiples of pi/2": both_signs(neighbours(near_zeros, 1)),
        "odd multiples of pi/4": both_signs(neighbours(near_switch, 1)),
        "large": log_uniform(rng, BOUND, 1e22, 400),
        "huge multiples of pi/2": both_signs(neighbours(near_huge_zeros, 1)),
        "every exponent": of_every_exponent(rng, 400),
        # close to multiples of pi/2: for small multiples, for doubles below 2^20 and for all doubles
        "hard": np.array(
            [np.pi / 2, 45.553093477052, -45.553093477052, WORST, -WORST, LARGEST, -LARGEST, 1e22, 2.0**1023]
        ),
    }


RANGES = list(ranges())


@functools.cache
def exact(name: str) -> list[tuple[mpmath.mpf, mpmath.mpf]]:
    x = ranges()[name]
    with mpmath.workprec(1200 if np.abs(x).max() > BOUND else 160):
        return [(mpmath.sin(mpmath.mpf(v)), mpmath.cos(mpmath.mpf(v))) for v in x.tolist()]


def error_in_ulp(value: float, true: mpmath.mpf) -> float:
    last_place = max(mpmath.frexp(true)[1] - 53, -1074)
    return float(abs(mpmath.mpf(value) - true) / mpmath.ldexp(1, last_place))


def same_bits(a: Pair, b: Pair) -> bool:
    return all(np.array_equal(p.view(np.int64), q.view(np.int64)) for p, q in zip(a, b, strict=True))


def all_arguments() -> np.ndarray:
    rng = np.random.default_rng(7)
    more = [rng.uniform(-10, 10, 20000), of_every_exponent(rng, 20000)]
    x = np.concatenate([*ranges().values(), *more])
    return rng.permutation(x)


@every_variant
@pytest.mark.parametrize("name", RANGES)
def test_error_is_below_three_quarters_of_a_last_place(variant: Variant, name: str) -> None:
    sine, cosine = compiled(variant).functions[8](ranges()[name])
    with mpmath.workprec(160):
        for x, s, c, (true_s, true_c) in zip(ranges()[name], sine, cosine, exact(name), strict=True):
            assert error_in_ulp(s, true_s) < 0.75, x
            assert error_in_ulp(c, true_c) < 0.75, x


@every_variant
@pytest.mark.parametrize("lanes", LANES)
def test_zeros_infinities_and_nan(variant: Variant, lanes: int) -> None:
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan])
    sine, cosine = compiled(variant).functions[lanes](x)
    assert np.array_equal(sine[:2], [0.0, 0.0]) and np.array_equal(np.signbit(sine[:2]), [False, True])
    assert np.array_equal(cosine[:2], [1.0, 1.0])
    assert np.isnan(sine[2:]).all() and np.isnan(cosine[2:]).all()


@every_variant
@pytest.mark.parametrize("lanes", LANES)
def test_smallest_arguments_are_their_own_sine(variant: Variant, lanes: int) -> None:
    x = np.concatenate([ranges()["subnormal"], [5e-324, -5e-324, 2.0**-1022, 1e-300, 1e-100, -1e-9]])
    sine, cosine = compiled(variant).functions[lanes](x)
    assert np.array_equal(sine, x)
    assert np.array_equal(cosine, np.ones_like(x))


@every_variant
@pytest.mark.parametrize("lanes", LANES[1:])
def test_lane_counts_agree_to_the_bit(variant: Variant, lanes: int) -> None:
    x = all_arguments()
    functions = compiled(variant).functions
    assert same_bits(functions[lanes](x), functions[1](x))


@pytest.mark.skipif(SKIPS["sse2"], reason="no sse2 here")
def test_targets_agree_to_the_bit() -> None:
    x = all_arguments()
    assert same_bits(compiled(VARIANTS["sse2"]).functions[8](x), compiled(VARIANTS["no-fma"]).functions[8](x))


@every_variant
@pytest.mark.parametrize("lanes", LANES[1:])
def test_lanes_do_not_disturb_each_other(variant: Variant, lanes: int) -> None:
    run = compiled(variant).functions[lanes]
    rng = np.random.default_rng(11)
    near, far = rng.uniform(-50, 50, lanes), log_uniform(rng, 1e7, 1e300, lanes)
    alone_near, alone_far = run(near), run(far)
    for subset in range(1 << lanes):
        is_far = (subset >> np.arange(lanes) & 1).astype(bool)
        expected = tuple(np.where(is_far, f, n) for n, f in zip(alone_near, alone_far, strict=True))
        assert same_bits(run(np.where(is_far, far, near)), expected)
    others = np.where(np.arange(lanes) == 0, near, np.resize([np.nan, np.inf, -np.inf], lanes))
    assert run(others)[0][0] == alone_near[0][0] and np.isnan(run(others)[0][1:]).all()


@every_variant
def test_symmetry(variant: Variant) -> None:
    x = all_arguments()
    run = compiled(variant).functions[8]
    sine, cosine = run(x)
    assert same_bits(run(-x), (-sine, cosine))


@every_variant
def test_nothing_outside_is_called(variant: Variant) -> None:
    declared = re.findall(r"@llvm\.([a-z]+)\.", "\n".join(sincos(8, variant.fma).declarations))
    assert set(declared) <= {"fma", "fabs", "ctlz"}
    assert "fma" in declared or not variant.fma
    called = re.findall(r"^\s*(?:callq?|bl)\s+(\S+)", compiled(variant).assembly, re.MULTILINE)
    assert called and all("lw.sincos." in target for target in called)


def test_no_instruction_may_be_rearranged() -> None:
    for fma in (True, False):
        assert not re.search(r"\b(fast|nnan|ninf|nsz|arcp|contract|afn|reassoc)\b", module_text(fma))


def test_definition_names_its_lanes_and_declares_once() -> None:
    for lanes in LANES:
        definition = sincos(lanes, True)
        assert definition.name == f"@lw.sincos.f64x{lanes}"
        assert f"{definition.name}(" in definition.ir
        assert len(set(definition.declarations)) == len(definition.declarations)
        assert definition == sincos(lanes, True)


@pytest.mark.parametrize("lanes", [0, 3, 16])
def test_other_lane_counts_are_refused(lanes: int) -> None:
    with pytest.raises(ValueError, match="lanes"):
        sincos(lanes, False)


def test_stored_bits_of_pi() -> None:
    with mpmath.workprec(1400):
        assert int(mpmath.floor(mpmath.ldexp(2 / mpmath.pi, 1216))) == vector_math._TWO_OVER_PI
        assert int(mpmath.floor(mpmath.ldexp(mpmath.pi / 2, 255))) == vector_math._HALF_PI
        for ends in (vector_math._ENDS_FMA, vector_math._ENDS_PLAIN):
            total = sum(map(mpmath.mpf, vector_math._half_pi_parts(ends)))
            assert abs(total - mpmath.pi / 2) < mpmath.mpf(2) ** -139
