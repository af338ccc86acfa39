"""Compiled sine and cosine in float32, against float64's sincos over all ranges."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from compiler.vector_math.support import (
    LANES,
    SKIPS,
    VARIANTS,
    Variant,
    compiled,
    every_variant,
    neighbours,
    of_every_exponent,
    same_bits,
)
from linkwork.compiler.codegen.vector_math.sincos_float32 import BOUND

single = functools.partial(compiled, "sincos", 32)


def arguments() -> np.ndarray:
    rng = np.random.default_rng(5)
    multiples = np.arange(1, 20000) * (np.pi / 2)
    parts = [
        of_every_exponent(rng, 200000, 32),
        *(rng.uniform(-limit, limit, 100000).astype(np.float32) for limit in (np.pi / 4, np.pi, 100.0, BOUND, 1e6)),
        neighbours(multiples, 1, 32),
        -neighbours(multiples / 2, 1, 32),
        neighbours([BOUND, -BOUND, np.finfo(np.float32).max, np.finfo(np.float32).tiny], 0, 32),
    ]
    return np.concatenate(parts)


def errors(x: np.ndarray, got: np.ndarray, true: np.ndarray) -> np.ndarray:
    """Return errors in units in the last place of float32."""
    return np.abs(got - true) / np.ldexp(1.0, np.maximum(np.frexp(true)[1] - 24, -149))


@every_variant
def test_float32_sine_and_cosine_are_accurate_to_nine_tenths_of_a_unit_in_the_last_place(variant: Variant) -> None:
    x = arguments()
    true = compiled("sincos", 64, variant).functions[8](x.astype(np.float64))
    for got, exact in zip(single(variant).functions[16](x), true, strict=True):
        error = errors(x, got, exact)
        assert error.max() < 0.9, x[error.argmax()]


@every_variant
@pytest.mark.parametrize("lanes", LANES)
def test_float32_sine_and_cosine_of_zeros_infinities_and_nan_equal_the_standards_values(
    variant: Variant, lanes: int
) -> None:
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan], dtype=np.float32)
    sine, cosine = single(variant).functions[lanes](x)
    assert np.array_equal(sine[:2], [0.0, 0.0]) and np.array_equal(np.signbit(sine[:2]), [False, True])
    assert np.array_equal(cosine[:2], [1.0, 1.0])
    assert np.isnan(sine[2:]).all() and np.isnan(cosine[2:]).all()


@every_variant
def test_float32_sine_of_tiny_arguments_is_the_argument(variant: Variant) -> None:
    x = neighbours([1e-45, 1e-40, 2.0**-126, 1e-30, 1e-6], 0, 32)
    sine, cosine = single(variant).functions[8](np.concatenate([x, -x]))
    assert np.array_equal(sine, np.concatenate([x, -x]))
    assert np.array_equal(cosine, np.ones_like(cosine))


@every_variant
@pytest.mark.parametrize("lanes", LANES[1:])
def test_float32_sine_and_cosine_do_not_depend_on_the_count_of_simd_lanes(variant: Variant, lanes: int) -> None:
    x = np.random.default_rng(1).permutation(arguments())
    functions = single(variant).functions
    assert same_bits(functions[lanes](x), functions[1](x))


@pytest.mark.skipif(SKIPS["sse2"], reason="no sse2 here")
def test_float32_sine_and_cosine_do_not_depend_on_the_processor() -> None:
    x = arguments()
    assert same_bits(single(VARIANTS["sse2"]).functions[8](x), single(VARIANTS["no-fma"]).functions[8](x))


@every_variant
def test_large_arguments_of_float32_sine_and_cosine_do_not_change_neighbouring_lanes(variant: Variant) -> None:
    run = single(variant).functions[8]
    rng = np.random.default_rng(11)
    near, far = rng.uniform(-50, 50, 8), rng.uniform(1e5, 1e30, 8)
    alone_near, alone_far = run(near), run(far)
    for subset in range(256):
        is_far = (subset >> np.arange(8) & 1).astype(bool)
        expected = tuple(np.where(is_far, f, n) for n, f in zip(alone_near, alone_far, strict=True))
        assert same_bits(run(np.where(is_far, far, near)), expected)
    arguments = np.where(np.arange(8) == 0, near, np.resize([np.nan, np.inf, -np.inf], 8))
    assert run(arguments)[0][0] == alone_near[0][0] and np.isnan(run(arguments)[0][1:]).all()


@every_variant
def test_float32_sine_is_antisymmetric_and_cosine_is_symmetric(variant: Variant) -> None:
    x = arguments()
    run = single(variant).functions[16]
    sine, cosine = run(x)
    assert same_bits(run(-x), (-sine, cosine))
