"""Helpers of the tests of vector functions: variants of the code, comparisons of bits, arguments."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.compiler.vector_arguments import both_signs, error_in_ulp, log_uniform, neighbours, of_every_exponent
from benchmarks.compiler.vector_code import (
    IS_X86,
    TWO_ARGUMENTS,
    Arrays,
    Variant,
    compiled,
    host_fuses,
    module_text,
    real,
)

from linkwork.compiler.codegen.vector_math import CODES, LANES

__all__ = [
    "CODES",
    "FIRST",
    "LANES",
    "SKIPS",
    "TWO_ARGUMENTS",
    "VARIANTS",
    "Variant",
    "both_precisions",
    "both_signs",
    "compiled",
    "error_in_ulp",
    "every_code",
    "every_variant",
    "integers",
    "log_uniform",
    "module_text",
    "neighbours",
    "of_every_exponent",
    "real",
    "same_bits",
]

every_code = pytest.mark.parametrize("code", CODES)
both_precisions = pytest.mark.parametrize("bits", [64, 32])
VARIANTS = {"fma": Variant(True, False), "no-fma": Variant(False, False), "sse2": Variant(False, True)}
SKIPS = {"fma": not host_fuses(), "no-fma": False, "sse2": not IS_X86}
every_variant = pytest.mark.parametrize(
    "variant",
    [
        pytest.param(variant, id=name, marks=pytest.mark.skipif(SKIPS[name], reason=f"no {name} here"))
        for name, variant in VARIANTS.items()
    ],
)
FIRST = VARIANTS["no-fma" if SKIPS["fma"] else "fma"]


def integers(x: np.ndarray) -> np.ndarray:
    return x.view(np.int64 if x.dtype == np.float64 else np.int32)


def same_bits(a: Arrays, b: Arrays) -> bool:
    """Equal to the bit, but for what a NaN carries."""
    return all(
        np.array_equal(integers(np.where(np.isnan(p), np.nan, p)), integers(np.where(np.isnan(q), np.nan, q)))
        for p, q in zip(a, b, strict=True)
    )
