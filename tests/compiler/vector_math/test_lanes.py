"""Results of vector functions depend on their own arguments alone, not on lanes, neighbours or processor."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.compiler.vector_arguments import arguments

from compiler.vector_math.support import (
    LANES,
    SKIPS,
    VARIANTS,
    Variant,
    both_precisions,
    compiled,
    every_code,
    every_variant,
    real,
    same_bits,
)


def many(code: str, bits: int) -> tuple[np.ndarray, ...]:
    """Arguments of every range among each other, and what is not a number among them."""
    parts = list(arguments(code, bits, 1000).values())
    columns = [np.concatenate([*column, [0.0, -0.0, np.inf, -np.inf, np.nan]]) for column in zip(*parts, strict=True)]
    order = np.random.default_rng(7).permutation(len(columns[0]))
    return tuple(column[order].astype(real(bits)) for column in columns)


@every_variant
@both_precisions
@every_code
@pytest.mark.parametrize("lanes", LANES[1:])
def test_results_of_vector_functions_do_not_depend_on_the_count_of_lanes(
    variant: Variant, bits: int, code: str, lanes: int
) -> None:
    x = many(code, bits)
    functions = compiled(code, bits, variant).functions
    assert same_bits(functions[lanes](*x), functions[1](*x))


@pytest.mark.skipif(SKIPS["sse2"], reason="no sse2 here")
@both_precisions
@every_code
def test_results_of_vector_functions_do_not_depend_on_the_processor(bits: int, code: str) -> None:
    x = many(code, bits)
    results = [compiled(code, bits, VARIANTS[name]).functions[8](*x) for name in ("sse2", "no-fma")]
    assert same_bits(*results)


@every_variant
@both_precisions
@every_code
def test_results_of_vector_functions_do_not_depend_on_neighbouring_lanes(
    variant: Variant, bits: int, code: str
) -> None:
    x = many(code, bits)
    run = compiled(code, bits, variant).functions[16]
    expected = run(*x)
    for shift in (1, 5):
        moved = run(*(np.roll(a, shift) for a in x))
        assert same_bits(tuple(np.roll(r, -shift) for r in moved), expected)
    order = np.random.default_rng(3).permutation(len(x[0]))
    assert same_bits(run(*(a[order] for a in x)), tuple(r[order] for r in expected))
