"""Definitions of vector functions: names, declarations and refusals."""

from __future__ import annotations

import re

import pytest

from compiler.vector_math.support import (
    LANES,
    Variant,
    both_precisions,
    compiled,
    every_code,
    every_variant,
    module_text,
)
from linkwork.compiler.codegen.llvm_ir import IrModule
from linkwork.compiler.codegen.vector_math import vector_function

INTRINSICS = {"fma", "fabs", "sqrt", "ctlz", "fshl", "copysign"}


@every_code
@both_precisions
@pytest.mark.parametrize("lanes", LANES)
def test_emitted_vector_function_defines_its_helper_functions_once(code: str, bits: int, lanes: int) -> None:
    function, text = vector_function(code, lanes, bits, True), IrModule()
    text.add(function)
    text.add(function)
    assert function.name == f"@lw.{code}.f{bits}x{lanes}" == list(text.functions)[-1]
    assert all(f" {name}(" in definition for name, definition in text.functions.items())
    assert len(re.findall(r"^define ", str(text), re.MULTILINE)) == len(text.functions)
    assert function is vector_function(code, lanes, bits, True)


@every_code
@both_precisions
def test_emitted_vector_functions_have_no_fast_math_flags(code: str, bits: int) -> None:
    for fma in (True, False):
        assert not re.search(r"\b(fast|nnan|ninf|nsz|arcp|contract|afn|reassoc)\b", module_text(code, bits, fma))


@every_code
@both_precisions
@every_variant
def test_emitted_vector_functions_call_no_external_function(code: str, bits: int, variant: Variant) -> None:
    text = module_text(code, bits, variant.fma)
    declared = set(re.findall(r"@llvm\.([a-z]+)\.", text))
    assert declared <= INTRINSICS
    assert "fma" not in declared or variant.fma
    called = re.findall(r"^\s*(?:callq?|bl)\s+(\S+)", compiled(code, bits, variant).assembly, re.MULTILINE)
    assert called and all("lw." in target for target in called)


def test_unknown_vector_functions_and_counts_of_lanes_and_bits_are_refused() -> None:
    with pytest.raises(ValueError, match="got 'gamma'"):
        vector_function("gamma", 4, 64, True)
    with pytest.raises(ValueError, match="lanes"):
        vector_function("sincos", 3, 64, True)
    with pytest.raises(ValueError, match="bits"):
        vector_function("sincos", 4, 16, True)
