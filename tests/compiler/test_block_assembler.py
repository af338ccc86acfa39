"""Machine code of blocks without LLVM: the bits of LLVM's code, in object files that the linker accepts."""

from __future__ import annotations

import ctypes
import math
import random
from typing import Any

import numpy as np
import pytest

from linkwork.compiler.codegen.float_type import DOUBLE, SINGLE, FloatType
from linkwork.compiler.codegen.jit import emit, link
from linkwork.compiler.codegen.llvm_instructions import Instructions
from linkwork.compiler.codegen.llvm_ir import IrModule
from linkwork.compiler.codegen.part_code import elementary_function
from linkwork.compiler.codegen.quick.block_assembler import (
    BlockAssembler,
    NotSupported,
    can_assemble,
    object_of_blocks,
)
from linkwork.compiler.codegen.quick.machine_code import object_file
from linkwork.compiler.codegen.target import host
from linkwork.compiler.codegen.target_system import is_object_file
from linkwork.compiler.program import FMA, FMS, FNMA
from linkwork.expr.scalar.multi_result import PART
from linkwork.expr.scalar.operations import BY_NAME

IS_CALLABLE = can_assemble(host(), DOUBLE) and not host().system.assembled_convention  # by ctypes, as tests call it
pytestmark = pytest.mark.skipif(not IS_CALLABLE, reason="another processor, or another calling convention")

_NAMES = "neg add sub mul div sqrt abs sign floor copysign fmin fmax eq lt le and_ or_ not_ where"
_OPERATIONS = [*(BY_NAME[name] for name in _NAMES.split()), *[FMA, FMS, FNMA] * 4]
_FUNCTIONS = [BY_NAME[name] for name in ("sin", "cos", "tan", "atan2", "exp", "hypot")]
_SPECIAL = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 1e300, 5e-324, 0.5, 1e38, 1e-45]


def _write(f: Any, rng: random.Random, length: int, inputs: int, without: str = "") -> int:
    """Write random instructions with a builder, store all values to %b, and return their number."""
    operations = [operation for operation in _OPERATIONS * 3 + _FUNCTIONS if operation.name != without]
    values = [f.get("%a", k) for k in range(inputs)] + [f.constant(x) for x in (0.5, -2.0, 1e300)]
    truths: list[Any] = [f.operation(BY_NAME["lt"], values[:2])]
    for _ in range(length):
        operation = rng.choice(operations)
        arguments = [rng.choice((truths if kind == "t" else values)[-40:]) for kind in operation.kinds]
        value = f.operation(operation, arguments)
        (truths if operation.logical else values).append(value)
    for k, value in enumerate(values):
        f.put(value, "%b", k)
    for k, value in enumerate(truths, len(values)):
        f.keep(BY_NAME["lt"], value, k, "%b")
    again = f.operation(BY_NAME["where"], [f.fetch(BY_NAME["lt"], len(values), "%b"), *values[:2]])
    f.put(again, "%b", 0)
    return len(values) + len(truths)


def _run(objects: list[bytes], x: np.ndarray, count: int) -> np.ndarray:
    y = np.full(count + 1, 7.0, dtype=x.dtype)
    (code,) = link(objects, host(), [("random.f", "")])
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(code.address)(x.ctypes.data, y.ctypes.data)
    assert y[-1] == 7.0  # nothing is written behind the results
    return y[:-1]


def _objects(kernel: str, block: BlockAssembler) -> list[bytes]:
    """Return the object files of a block and of the functions that it calls."""
    text = IrModule(kernel, {})
    blocks = [write() for write in object_of_blocks(text, [("@.f", block)])]
    return [*blocks, *(elementary_function(f, host()) for f in (text.shared or {}).values())]


@pytest.mark.slow(every=9)
@pytest.mark.parametrize("real", [DOUBLE, SINGLE], ids=["float64", "float32"])
@pytest.mark.parametrize(("length", "special"), [(3, False), (900, False), (40, True), (900, True)])
def test_code_of_the_block_assembler_gives_the_bits_of_llvm_code(length: int, special: bool, real: FloatType) -> None:
    """Random programs with few values and with more values than registers, on usual and special arguments."""
    without = "copysign" if special else ""  # the sign of NaN is not specified
    rng = random.Random(length)
    seed = rng.random()
    assembler = BlockAssembler(["%a", "%b"], real=real)
    count = _write(assembler, random.Random(seed), length, 8, without)
    ours = _objects("random", assembler)
    assert all(is_object_file(code, host().triple) for code in ours)
    module = IrModule("random")
    f = Instructions("define void @.f(ptr %a, ptr %b)", host(), real, 1, unchanging=False)
    assert _write(f, random.Random(seed), length, 8, without) == count
    module.add(f)
    theirs = emit([f'target triple = "{host().triple}"\n{module}\nattributes #0 = {{ nounwind }}\n'], host())
    for _ in range(4):
        values = [rng.choice(_SPECIAL) if special else rng.uniform(-2.0, 2.0) for _ in range(8)]
        with np.errstate(over="ignore"):
            x = np.array(values).astype(real.dtype)
        results, expected = _run([*reversed(ours)], x, count), _run(theirs, x, count)
        bits = f"i{real.bytes}"
        same = (results.view(bits) == expected.view(bits)) | (np.isnan(results) & np.isnan(expected))
        assert same.all(), (x, np.flatnonzero(~same), results[~same], expected[~same])


def test_functions_in_one_object_file_of_the_block_assembler_call_each_other_by_name() -> None:
    functions = []
    for k in range(3):
        f = BlockAssembler(["%a", "%b"])
        f.put(f.operation(BY_NAME["mul"], [f.get("%a", 0), f.constant(float(k))]), "%b", 0)
        functions.append((f"random.f{k}", *f.machine_code()))
    object_ = object_file(functions)
    for k in range(3):
        x, y = np.array([3.0]), np.zeros(1)
        (code,) = link([object_], host(), [(f"random.f{k}", "")])
        ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(code.address)(x.ctypes.data, y.ctypes.data)
        assert y[0] == 3.0 * k


def test_function_calls_in_block_assembler_code_preserve_values_and_pointers() -> None:
    """A function calls functions with an aligned stack, for any number of pointers, and with pointers in a list."""
    for count, listed in ((2, 0), (8, 0), (9, 0), (12, 0), (13, 0), (2, 20), (6, 12)):
        names = [f"%p{k}" for k in range(count)]
        pointers = [f"%q{k}" for k in range(listed)]
        f = BlockAssembler(names, pointers)
        sources = [*(names[:-1] if listed else names), *pointers]
        values = [f.get(name, 0) for name in sources]
        sines = [f.operation(BY_NAME["sin"], [x]) for x in values]
        angle = f.operation(BY_NAME["atan2"], [values[1], values[0]])
        total = f.constant(0.5)
        for x, sine in zip(values, sines, strict=True):
            total = f.operation(FMA, [x, sine, total])
        for name in sources:
            f.put(f.operation(BY_NAME["add"], [f.get(name, 0), total]), name, 1)
        f.put(f.operation(BY_NAME["cos"], [angle]), sources[-1], 2)
        objects = _objects("calls", f)
        (code,) = link([*reversed(objects)], host(), [("calls.f", "")])
        arrays = [np.array([0.3 + k, 0.0, 0.0]) for k in range(len(sources))]
        addresses = [x.ctypes.data for x in arrays]
        table = np.array(addresses[count - 1 :])
        arguments = [*addresses[: count - 1], table.ctypes.data] if listed else addresses
        ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * count)(code.address)(*arguments)
        expected = 0.5 + sum(x[0] * math.sin(x[0]) for x in arrays)
        np.testing.assert_allclose([x[1] - x[0] for x in arrays], expected, rtol=1e-14)
        assert math.isclose(arrays[-1][2], 0.3 / math.hypot(0.3, 1.3), rel_tol=1e-14)


def test_block_assembler_functions_with_many_pointer_arguments_read_all_of_them() -> None:
    names = [f"%p{k}" for k in range(13)]
    f = BlockAssembler(names)
    total = f.constant(0.0)
    for k, name in enumerate(names[:12]):
        total = f.operation(FMA, [f.get(name, 1), f.constant(10.0**k), total])
    f.put(total, "%p12", 0)
    (code,) = link([object_file([("random.f", *f.machine_code())])], host(), [("random.f", "")])
    arrays = [np.array([0.0, k % 10.0]) for k in range(13)]
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 13)(code.address)(*(x.ctypes.data for x in arrays))
    assert arrays[12][0] == 109876543210.0


def test_block_assembler_functions_read_pointers_from_a_list() -> None:
    names = [f"%p{k}" for k in range(20)]
    f = BlockAssembler(["%out", "%list"], names)
    total = f.constant(0.0)
    for name in (*names, *names[3:5]):
        total = f.operation(BY_NAME["add"], [total, f.get(name, 1)])
    f.put(total, "%p7", 0)
    f.put(total, "%out", 0)
    (code,) = link([object_file([("random.f", *f.machine_code())])], host(), [("random.f", "")])
    arrays, out = [np.array([0.0, 2.0**k]) for k in range(20)], np.zeros(1)
    listed = np.array([x.ctypes.data for x in arrays])
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(code.address)(out.ctypes.data, listed.ctypes.data)
    assert out[0] == arrays[7][0] == 2.0**20 - 1.0 + 24.0


def test_block_assembler_raises_not_supported_for_too_many_pointers_or_unknown_operations() -> None:
    f = BlockAssembler(["%a"])
    with pytest.raises(NotSupported, match=r"^$"):
        f.operation(PART, [f.get("%a", 0)])
    with pytest.raises(NotSupported, match=r"^$"):
        BlockAssembler([f"%{k}" for k in range(14)])
