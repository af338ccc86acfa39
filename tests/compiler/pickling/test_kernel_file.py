"""Files of kernels: equal results after loading, and refusals of damaged, foreign and hostile files."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import linkwork as lw
from linkwork.compiler.pickling import kernel_file
from linkwork.compiler.pickling.byte_stream import DamagedBytesError, compressed, decompressed
from linkwork.compiler.pickling.kernel_file import kernel_bytes, kernel_of_bytes
from linkwork.compiler.pickling.program_bytes import read_values, write_values
from linkwork.compiler.program import CONSTANT, INPUT, Instruction, Port, Program
from linkwork.expr.autodiff.custom_derivative import CustomDerivative, apply_rule
from linkwork.expr.control.branch_and_call_instructions import CALL, Subroutine
from linkwork.expr.control.loop_instruction import LOOP, Loop
from linkwork.expr.control.table_access import PUT, TAKE, Put, Take
from linkwork.expr.linalg.matrix_product import PRODUCT, MatrixProduct
from linkwork.expr.linalg.sparse_factors import FACTORS, SparseFactorization
from linkwork.expr.scalar.block import Region
from linkwork.expr.scalar.multi_result import PART
from linkwork.expr.scalar.operations import BY_NAME


class Named(NamedTuple):
    """Nested argument."""

    first: Any
    second: Any


@dataclass(frozen=True)
class Pair:
    """Nested argument."""

    first: Any
    second: Any


@dataclass(frozen=True)
class Half(CustomDerivative):
    """Rule of the user, which is code."""

    def compute(self, inputs: Any) -> Any:
        return [0.5 * inputs[0]], []

    def tangent(self, inputs: Any, results: Any, extra: Any, direction: Any) -> Any:
        return [0.5 * direction[0]]

    def cotangent(self, inputs: Any, results: Any, extra: Any, weights: Any) -> Any:
        return [0.5 * weights[0]]


FREE = lw.load("arm7", floating_base=True)


def summed(x: Any) -> Any:
    return lw.scan(lambda s, y: (s + y * s, s), x[0], x)[1]


def kernels() -> Iterator[lw.Kernel]:
    yield FREE.compile(("pose", "hand"))
    yield FREE.compile("forward_dynamics")
    yield lw.compile(lambda x: Named(x.first * x.second["a"], x.second["a"]), x=Named((3,), {"a": ()}), name="nested")
    yield lw.compile(summed, x=(5,))
    yield lw.compile(lambda A, b: lw.solve(A, b), A=(3, 3), b=(3,), name="solved")
    yield lw.compile(lambda x, i: lw.take(lw.put(x, i, 7.0), 2.0 - i), x=(4,), i=(), name="tables")
    yield lw.compile(lambda x: lw.cond(x[0] < 0.5, lambda y: y * 2.0, lambda y: y - 1.0, x), x=(2,), name="choice")


@pytest.mark.slow(every=3)
def test_kernel_loaded_from_a_file_has_the_same_program_and_results(tmp_path: Path, drawn: Any) -> None:
    rng = np.random.default_rng(0)
    for kernel in drawn([*kernels()]):
        path = tmp_path / f"{kernel.name}.kernel"
        kernel.save(path)
        loaded = lw.load_kernel(str(path))
        assert (loaded.inputs, loaded.outputs, loaded.name) == (kernel.inputs, kernel.outputs, kernel.name)
        assert loaded._nesting == kernel._nesting and loaded._doc == kernel._doc
        assert loaded._source.traced == kernel._source.traced
        arrays = [rng.uniform(0.1, 1.0, port.shape) for port in kernel.inputs]
        if kernel.name == "nested":
            arrays = [Named(arrays[0], {"a": arrays[1]})]
        assert repr(loaded(*arrays)) == repr(kernel(*arrays))
        if kernel.name == "pose_hand":
            derivative, expected = loaded.jacobian("q"), kernel.jacobian("q")
            assert derivative.outputs == expected.outputs
            np.testing.assert_allclose(derivative(*arrays), expected(*arrays), rtol=1e-12, atol=1e-12)
        assert kernel_bytes(kernel_of_bytes(kernel_bytes(loaded))) == kernel_bytes(loaded)


def test_failed_save_of_a_kernel_leaves_the_earlier_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.kernel"
    kernel = lw.compile(lambda x: x + 2.5, x=())
    kernel.save(path)
    before = path.read_bytes()

    def fail(kernel: Any) -> bytes:
        raise TypeError("no")

    monkeypatch.setattr(kernel_file, "kernel_bytes", fail)
    with pytest.raises(TypeError, match=r"^no$"):
        kernel.save(path)
    assert path.read_bytes() == before and [*tmp_path.iterdir()] == [path]


def test_files_that_are_not_saved_kernels_are_refused(tmp_path: Path) -> None:
    kernel = lw.compile(lambda x: x + 3.5, x=())
    whole = kernel_bytes(kernel)
    first = whole.index(b"\n") + 1
    newer = whole.replace(b"format 1, of version 0.1.0", b"format 2, of version 7.8.9")
    cases = {
        b"": "not a file that Kernel.save wrote",
        b"\x80\x04K\x01.": "not a file that Kernel.save wrote",
        whole[: first + 5]: "it is damaged",
        whole[:-1]: "it is damaged",
        whole + b"x": "it is damaged",
        newer: r"expected a kernel of format 1, got format 2 of linkwork 7\.8\.9: install that version",
    }
    for data, message in cases.items():
        path = tmp_path / "other.kernel"
        path.write_bytes(data)
        with pytest.raises(ValueError, match=rf"load_kernel: .*other\.kernel: {message}"):
            lw.load_kernel(path)
    with pytest.raises(ValueError, match="expected a regular file, got a directory"):
        lw.load_kernel(tmp_path)
    with pytest.raises(FileNotFoundError, match="absent"):
        lw.load_kernel(tmp_path / "absent")
    with pytest.raises(TypeError, match="load_kernel: path: expected the path of a file, got 3"):
        lw.load_kernel(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"Kernel\.save: path: expected the path of a file, got b'x'"):
        kernel.save(b"x")  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError, match="create it first"):
        kernel.save(tmp_path / "none" / "x")


def test_saving_a_kernel_with_derivative_rules_of_the_user_raises_an_error(tmp_path: Path) -> None:
    ruled = lw.compile(lambda x: apply_rule(Half(), [x])[0], x=(), name="halved")
    with pytest.raises(TypeError, match=r"Kernel\.save: kernel 'halved': .*Half.* pickle the kernel instead"):
        ruled.save(tmp_path / "x.kernel")

    class Keyed(dict[Any, Any]):
        pass

    with pytest.raises(TypeError, match="expected nested values in tuples, named tuples, dataclasses and dicts"):
        lw.compile(lambda x: x["a"], x=Keyed(a=()), name="keyed").save(tmp_path / "x.kernel")
    assert not any(tmp_path.iterdir())


def test_loading_a_kernel_file_imports_no_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = lw.compile(lambda x: x.first, x=Named((), ()), name="named")
    data = kernel_bytes(kernel)
    assert kernel_of_bytes(data)(Named(1.0, 2.0)) == 1.0
    with monkeypatch.context() as patch:
        patch.delitem(sys.modules, __name__)
        with pytest.raises(DamagedBytesError, match=r"Named, which this process has not imported: import the module"):
            kernel_of_bytes(data)
    monkeypatch.setattr(sys.modules[__name__], "Named", NamedTuple("Named", [("first", Any)]))
    with pytest.raises(DamagedBytesError, match=r"with the fields first, second, got first"):
        kernel_of_bytes(data)
    assert kernel_file._class_of((__name__, "Pair"), ("first", "second")) is Pair
    with pytest.raises(kernel_file._NotImportedError, match=r"with the fields first, third, got first, second"):
        kernel_file._class_of((__name__, "Pair"), ("first", "third"))


def sealed(values: Any) -> bytes:
    """Return a file with these values, and the right digest."""
    packed = compressed(values if isinstance(values, bytes) else write_values(values)[0])
    return b"linkwork kernel, format 1, of version 0.1.0\n" + hashlib.sha256(packed).digest() + packed


HEAD = json.dumps({"doc": "", "nesting": [[["x", [[2], True]]], None], "classes": [], "facts": []})
SPACES = ((), (), ())


def hostile() -> Iterator[tuple[str, Any]]:
    x = [Instruction(INPUT, (), 0), Instruction(INPUT, (), 1)]
    ports = (Port("x", (2,)),), (Port("y", ()),)

    def program(*more: Instruction, result: int | None = None, ports: Any = ports, guards: int = 0) -> Program:
        instructions = (*x, *more)
        last = len(instructions) - 1 if result is None else result
        return Program("f", *ports, instructions, (last,), guards)

    part = Instruction(PART, (2,), 0)
    body = Region(1, (Instruction(INPUT, (), 0),), (0,))
    two = Region(2, (Instruction(INPUT, (), 0), Instruction(INPUT, (), 1)), (0, 1))
    yield "input out of range", program(Instruction(INPUT, (), 2))
    yield "result of a loop's kind", program(Instruction(BY_NAME["lt"], (0, 1)))
    yield "table of another size", program(Instruction(TAKE, (0,), Take(1000, 1, (1.0,))), part)
    yield "table without elements", program(Instruction(TAKE, (0,), Take(1000, 1)), part)
    yield "put beyond its arguments", program(Instruction(PUT, (0, 1), Put(1000, 1)), part)
    yield "large product", program(Instruction(PRODUCT, (0, 1), MatrixProduct(1 << 20, 1, 1 << 20)), part)
    for order, starts, rows in (((0, 0), (0, 1, 1), (1,)), ((0, 1), (0, 1, 1), (2,)), ((1, 0), (0, 0, 1), (1,))):
        factors = Instruction(FACTORS, (0, 1), SparseFactorization(order, starts, rows))
        yield f"sparse matrix {order} {rows}", program(factors, part)
    yield "negative size", program(Instruction(TAKE, (0,), Take(-1, -1)), part)
    yield "part that does not exist", program(Instruction(TAKE, (0,), Take(1, 1, (1.0,))), Instruction(PART, (2,), 5))
    yield "part of a number", program(Instruction(PART, (0,), 0))
    yield "body of other inputs", program(Instruction(CALL, (0,), Subroutine(two)), part)
    yield "loop that reads a number", program(Instruction(LOOP, (0, 1), Loop(two, 1, 1, 0, 3, reads=(1,))), part)
    yield (
        "stored outputs as a number",
        program(
            Instruction(LOOP, (0,), Loop(Region(1, body.instructions, (0, 0)), 1, 0, 1, 3, stores=1)),
            Instruction(PART, (2,), 1),
            Instruction(BY_NAME["neg"], (3,)),
        ),
    )
    yield "huge array", Program("f", (Port("x", (1 << 40,)),), ports[1], (Instruction(CONSTANT, (), 1.0),), (0,))
    yield "names of Python", program(x[0], ports=((Port("class", (2,)),), ports[1]))
    yield "no results", Program("f", *ports, tuple(x), ())
    yield "more guards than results", program(guards=5)
    doubled: Region = body
    for _ in range(40):
        calls = [Instruction(INPUT, (), 0)]
        for _ in range(2):
            calls += [Instruction(CALL, (0,), Subroutine(doubled)), Instruction(PART, (len(calls),), 0)]
        doubled = Region(1, tuple(calls), (len(calls) - 1,))
    yield "doubling calls", program(Instruction(CALL, (0,), Subroutine(doubled)), part)


def test_loading_a_kernel_file_rejects_malicious_programs() -> None:
    for name, program in hostile():
        try:
            kernel_of_bytes(sealed((HEAD, program, SPACES)))
        except DamagedBytesError:
            continue
        pytest.fail(f"accepted: {name}")


def test_nested_values_in_kernel_files_are_read_up_to_a_maximum_depth() -> None:
    values: tuple[Any, ...] = ()
    for _ in range(99):
        values = (values,)
    assert read_values(write_values((values,))[0]) == (values,)
    with pytest.raises(DamagedBytesError, match="values are nested too deeply"):
        read_values(write_values(((values,),))[0])
    x, part = Instruction(INPUT, (), 0), Instruction(PART, (1,), 0)
    body = Region(1, (x, Instruction(BY_NAME["neg"], (0,))), (1,))
    programs = []
    for _ in range(51):
        instructions = (x, Instruction(CALL, (0,), Subroutine(body)), part)
        programs.append(Program("f", (Port("x", ()),), (Port("y", ()),), instructions, (2,)))
        body = Region(1, instructions, (2,))
    assert kernel_of_bytes(sealed((HEAD.replace("[2]", "[]"), programs[49], SPACES))).name == "f"
    with pytest.raises(DamagedBytesError, match="loops or calls are nested too deeply"):
        kernel_of_bytes(sealed((HEAD.replace("[2]", "[]"), programs[50], SPACES)))


def test_loading_accepts_the_valid_program_that_malicious_test_programs_modify() -> None:
    ports = (Port("x", (2,)),), (Port("y", ()),)
    program = Program("f", *ports, (Instruction(INPUT, (), 0), Instruction(INPUT, (), 1)), (1,))
    assert kernel_of_bytes(sealed((HEAD, program, SPACES)))([2.0, 3.0]) == 3.0


def test_loading_a_kernel_file_rejects_malicious_bytes() -> None:
    packed = b"\xff\xff\xff\xff\x0f" + zlib.compress(bytes(1 << 20))
    with pytest.raises(DamagedBytesError, match="would have a content of"):
        decompressed(packed)
    data = write_values((HEAD,))[0]
    for module in (b"os:_wrap_close", b"expr.scalar.symbol:Graph", b"__main__:x", b"cli.main:main"):
        named = data[:1] + b"\x00" + data[2:10] + bytes([1, len(module)]) + module + data[11:]
        with pytest.raises(DamagedBytesError, match="no class"):
            kernel_of_bytes(sealed(named))


FUZZ = """
import hashlib, random, resource, sys
import numpy as np
import linkwork as lw
from linkwork.compiler.pickling.byte_stream import DamagedBytesError, decompressed
sys.path.insert(0, sys.argv[1])
from test_kernel_file import kernels, sealed
from linkwork.compiler.pickling.kernel_file import kernel_bytes, kernel_of_bytes

random.seed(int(sys.argv[2]))
wholes = []
for kernel in kernels():
    if kernel.name not in ("forward_dynamics", "nested"):
        data = kernel_bytes(kernel)
        wholes.append(decompressed(data[data.index(b"\\n") + 33:]))
used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
accepted = refused = 0
for k in range(int(sys.argv[3])):
    data = bytearray(random.choice(wholes))
    for _ in range(random.choice((1, 1, 2, 8))):
        at = random.randrange(len(data))
        change = random.randrange(4)
        if change == 0:
            data[at] = random.randrange(256)
        elif change == 1:
            data[at] ^= 1 << random.randrange(8)
        elif change == 2:
            del data[at : at + random.randrange(1, 9)]
        else:
            data[at:at] = data[random.randrange(len(data)) :][: random.randrange(1, 20)]
        data = data or bytearray(b"x")
    try:
        kernel = kernel_of_bytes(sealed(bytes(data)))
        accepted += 1
    except DamagedBytesError:
        refused += 1
        continue
    if accepted % 40 == 0 and not kernel._source.traced.has_bodies:
        kernel(*[np.full(port.shape, 0.5) for port in kernel.inputs])
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - used
print(accepted, refused, grown)
"""


def fuzzed(count: int) -> None:
    """Check that changed files are refused or are kernels: without crash, other errors, or much memory."""
    seed = str(int.from_bytes(os.urandom(3)))
    command = [sys.executable, "-c", FUZZ, str(Path(__file__).parent), seed, str(count)]
    environment = {**os.environ, "LINKWORK_EFFORT": "0", "LINKWORK_CACHE": "off"}
    result = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600)
    assert result.returncode == 0, f"seed {seed}: {result.stderr}"
    accepted, refused, grown = map(int, result.stdout.split())
    assert accepted + refused == count and refused > count // 2
    assert grown < 400_000  # [KiB] peak memory


@pytest.mark.slow(every=3)
@pytest.mark.skipif(sys.platform != "linux", reason="measures memory by Linux's units")
def test_corrupted_kernel_files_are_refused_or_load_a_kernel() -> None:
    fuzzed(400)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="measures memory by Linux's units")
def test_thousands_of_corrupted_kernel_files_are_refused_or_load_a_kernel() -> None:
    fuzzed(20_000)


def test_decompressed_kernel_bytes_equal_the_bytes_before_compression() -> None:
    for data in (b"", bytes(10), bytes(1 << 22), os.urandom(1000)):
        assert decompressed(compressed(data)) == data
