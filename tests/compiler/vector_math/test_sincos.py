"""Compiled sine and cosine in float64.

Tested are the error in units in the last place against mpmath, over every range of arguments; the special values;
that every lane count, and every target, gives the same bits; that lanes do not disturb each other; and that the code
calls nothing outside itself.  All of it for the variant with fused multiply-add, where the processor has it, for the
variant without, and for the latter on the oldest 64-bit x86 processor.
"""

from __future__ import annotations

import functools
import re

import mpmath
import numpy as np
import pytest

from compiler.vector_math.support import (
    LANES,
    SKIPS,
    VARIANTS,
    Variant,
    both_signs,
    error_in_ulp,
    every_variant,
    log_uniform,
    module_text,
    neighbours,
    of_every_exponent,
    same_bits,
)
from compiler.vector_math.support import compiled as compiled_function
from linkwork.compiler.codegen.llvm_ir import IrModule
from linkwork.compiler.codegen.vector_math import argument_reduction as reduction
from linkwork.compiler.codegen.vector_math import vector_function

BOUND = 2.0**20  # where one way of reducing the argument gives way to the other
WORST = 6381956970095103 * 2.0**797  # of all doubles the closest to a multiple of pi/2
LARGEST = np.finfo(np.float64).max

compiled = functools.partial(compiled_function, "sincos", 64)


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


def all_arguments() -> np.ndarray:
    rng = np.random.default_rng(7)
    more = [rng.uniform(-10, 10, 20000), of_every_exponent(rng, 20000)]
    x = np.concatenate([*ranges().values(), *more])
    return rng.permutation(x)


@every_variant
@pytest.mark.parametrize("name", RANGES)
def test_sine_and_cosine_are_accurate_to_three_quarters_of_a_unit_in_the_last_place(
    variant: Variant, name: str
) -> None:
    sine, cosine = compiled(variant).functions[8](ranges()[name])
    with mpmath.workprec(160):
        for x, s, c, (true_s, true_c) in zip(ranges()[name], sine, cosine, exact(name), strict=True):
            assert error_in_ulp(s, true_s) < 0.75, x
            assert error_in_ulp(c, true_c) < 0.75, x


@every_variant
@pytest.mark.parametrize("lanes", LANES)
def test_sine_and_cosine_of_zeros_infinities_and_nan_equal_the_standards_values(variant: Variant, lanes: int) -> None:
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan])
    sine, cosine = compiled(variant).functions[lanes](x)
    assert np.array_equal(sine[:2], [0.0, 0.0]) and np.array_equal(np.signbit(sine[:2]), [False, True])
    assert np.array_equal(cosine[:2], [1.0, 1.0])
    assert np.isnan(sine[2:]).all() and np.isnan(cosine[2:]).all()


@every_variant
@pytest.mark.parametrize("lanes", LANES)
def test_sine_of_tiny_arguments_is_the_argument(variant: Variant, lanes: int) -> None:
    x = np.concatenate([ranges()["subnormal"], [5e-324, -5e-324, 2.0**-1022, 1e-300, 1e-100, -1e-9]])
    sine, cosine = compiled(variant).functions[lanes](x)
    assert np.array_equal(sine, x)
    assert np.array_equal(cosine, np.ones_like(x))


@every_variant
@pytest.mark.parametrize("lanes", LANES[1:])
def test_sine_and_cosine_do_not_depend_on_the_count_of_simd_lanes(variant: Variant, lanes: int) -> None:
    x = all_arguments()
    functions = compiled(variant).functions
    assert same_bits(functions[lanes](x), functions[1](x))


@pytest.mark.skipif(SKIPS["sse2"], reason="no sse2 here")
def test_sine_and_cosine_do_not_depend_on_the_processor() -> None:
    x = all_arguments()
    assert same_bits(compiled(VARIANTS["sse2"]).functions[8](x), compiled(VARIANTS["no-fma"]).functions[8](x))


@every_variant
@pytest.mark.parametrize("lanes", [2, 4, 8])
def test_large_arguments_of_sine_and_cosine_do_not_change_neighbouring_lanes(variant: Variant, lanes: int) -> None:
    run = compiled(variant).functions[lanes]
    rng = np.random.default_rng(11)
    near, far = rng.uniform(-50, 50, lanes), log_uniform(rng, 1e7, 1e300, lanes)
    alone_near, alone_far = run(near), run(far)
    for subset in range(1 << lanes):
        is_far = (subset >> np.arange(lanes) & 1).astype(bool)
        expected = tuple(np.where(is_far, f, n) for n, f in zip(alone_near, alone_far, strict=True))
        assert same_bits(run(np.where(is_far, far, near)), expected)
    arguments = np.where(np.arange(lanes) == 0, near, np.resize([np.nan, np.inf, -np.inf], lanes))
    assert run(arguments)[0][0] == alone_near[0][0] and np.isnan(run(arguments)[0][1:]).all()


@every_variant
def test_sine_is_antisymmetric_and_cosine_is_symmetric(variant: Variant) -> None:
    x = all_arguments()
    run = compiled(variant).functions[8]
    sine, cosine = run(x)
    assert same_bits(run(-x), (-sine, cosine))


@every_variant
def test_sine_and_cosine_call_no_external_function(variant: Variant) -> None:
    text = IrModule()
    text.add(vector_function("sincos", 8, 64, variant.fma))
    declared = re.findall(r"@llvm\.([a-z]+)\.", "\n".join(text.declarations))
    assert set(declared) <= {"fma", "fabs", "ctlz"}
    assert "fma" in declared or not variant.fma
    called = re.findall(r"^\s*(?:callq?|bl)\s+(\S+)", compiled(variant).assembly, re.MULTILINE)
    assert called and all("lw." in target for target in called)


def test_emitted_sine_and_cosine_have_no_fast_math_flags() -> None:
    for fma in (True, False):
        assert not re.search(r"\b(fast|nnan|ninf|nsz|arcp|contract|afn|reassoc)\b", module_text("sincos", 64, fma))


def test_stored_bits_of_two_over_pi_and_pi_are_correct() -> None:
    with mpmath.workprec(1400):
        assert int(mpmath.floor(mpmath.ldexp(2 / mpmath.pi, 1216))) == reduction.TWO_OVER_PI
        assert int(mpmath.floor(mpmath.ldexp(mpmath.pi / 2, 255))) == reduction.HALF_PI
        for ends in (reduction._ENDS_FMA, reduction._ENDS_PLAIN):
            total = sum(map(mpmath.mpf, reduction.half_pi_parts(ends)))
            assert abs(total - mpmath.pi / 2) < mpmath.mpf(2) ** -139
