"""Object files loaded without LLVM: equal results and data, and files that only LLVM can load."""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
import subprocess
import sys
from collections import deque
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import linkwork as lw
from compiler.passes.samples import SAMPLES, sample
from linkwork._util import own_code
from linkwork.compiler.codegen import jit, object_loader
from linkwork.compiler.codegen.jit import emit, link
from linkwork.compiler.codegen.object_loader import loaded
from linkwork.compiler.codegen.target import host

IS_AVAILABLE = object_loader._is_available()
TEXT = """
@{name}.constants = private constant [2 x i64] [i64 5, i64 7]
@{name}.counter = global i64 40
declare i64 @{other}(i64)
declare i64 @llabs(i64)
define i64 @{name}(i64 %x) nounwind {{
  %c = load i64, ptr @{name}.counter
  %n = add i64 %c, 1
  store i64 %n, ptr @{name}.counter
  %p = getelementptr i64, ptr @{name}.constants, i64 1
  %k = load i64, ptr %p
  %stop = icmp sle i64 %x, 0
  br i1 %stop, label %end, label %more
more:
  %down = sub i64 %x, 1
  %y = call i64 @{other}(i64 %down)
  br label %end
end:
  %z = phi i64 [ 0, %0 ], [ %y, %more ]
  %m = sub i64 0, %k
  %a = call i64 @llabs(i64 %m)
  %s = add i64 %z, %a
  ret i64 %s
}}
"""


def objects() -> list[bytes]:
    """Two objects whose functions call each other and one of the C library."""
    texts = [TEXT.format(name=name, other=callee) for name, callee in (("one", "two"), ("two", "one"))]
    return emit([f'target triple = "{host().triple}"\n{text}' for text in texts], host())


@pytest.mark.skipif(not IS_AVAILABLE, reason="LLVM loads the objects of this system")
def test_object_files_with_references_to_each_other_are_loaded_without_llvm() -> None:
    library = loaded(objects(), {})
    assert library is not None
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(library.addresses["one"])
    counters = [ctypes.c_int64.from_address(library.addresses[f"{name}.counter"]) for name in ("one", "two")]
    assert [function(x) for x in range(5)] == [7, 14, 21, 28, 35]
    assert [counter.value for counter in counters] == [49, 46]
    (code,) = link(objects(), host(), [("one", "two.counter")])
    assert ctypes.c_int64.from_address(code.table).value == 40


@pytest.mark.skipif(not IS_AVAILABLE, reason="LLVM loads the objects of this system")
def test_object_files_with_missing_or_foreign_references_are_not_loaded_without_llvm() -> None:
    first, second = objects()
    text = "declare void @absent()\ndefine void @f() {} {{\n  call void @absent()\n  ret void\n}}"
    external, unwinding = (
        emit([f'target triple = "{host().triple}"\n{text.format(x)}'], host()) for x in ("nounwind", "")
    )
    machine = first[:18] + b"\xb7\x00" + first[20:]  # of an ARM processor
    for files in (
        [first],
        [first, first, second],
        external,
        unwinding,
        [b""],
        [first[:100], second],
        [machine, second],
    ):
        assert loaded(files, {}) is None
    assert loaded(external, {"absent": 1}) is not None and loaded(unwinding, {"absent": 1}) is None


def edited(code: bytes, index: int, position: int, layout: str, value: int) -> bytes:
    """Return an ELF file with another value at a position in the header of a section."""
    start = struct.unpack_from("<Q", code, 40)[0] + 64 * index + position
    return code[:start] + struct.pack(layout, value) + code[start + struct.calcsize(layout) :]


@pytest.mark.skipif(not IS_AVAILABLE, reason="LLVM loads the objects of this system")
def test_object_files_with_sections_of_other_kinds_are_not_loaded_without_llvm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Fields of a section's header: type at 4, flags at 8, offset at 24, size at 32 and alignment at 48."""
    first, second = objects()
    start, count = struct.unpack_from("<Q", first, 40)[0], struct.unpack_from("<H", first, 60)[0]
    headers = [struct.unpack_from("<IIQQQQIIQQ", first, start + 64 * k) for k in range(count)]
    types, flags = [header[1] for header in headers], [header[2] for header in headers]
    code = next(k for k in range(count) if flags[k] & 4 and headers[k][5])
    data = next(k for k in range(count) if flags[k] & 3 == 3)
    names, relocations = types.index(3), types.index(4)
    entries, size = headers[relocations][4], headers[relocations][5]
    kind = first[: entries + 8] + b"\x02" + first[entries + 9 :]  # an address of 32 bits
    outside = headers[headers[relocations][7]][5] - 7  # the address would end one byte after the section
    beyond = first[:entries] + struct.pack("<Q", outside) + first[entries + 8 :]
    for wrong in (
        edited(first, code, 8, "<Q", flags[code] | 0x400),  # of each thread
        edited(first, code, 8, "<Q", flags[code] | 1),  # writable instructions
        edited(first, data, 48, "<Q", 2 * mmap.PAGESIZE),
        edited(first, names, 4, "<I", 2),  # a second table of symbols
        edited(first, names, 4, "<I", 6),
        edited(first, names, 32, "<Q", len(first) - headers[names][4] + 1),
        kind,
        beyond,
    ):
        assert loaded([wrong, second], {}) is None
    for accepted in (
        first,
        edited(first, data, 48, "<Q", mmap.PAGESIZE),
        edited(first, names, 32, "<Q", len(first) - headers[names][4]),
    ):
        assert loaded([accepted, second], {}) is not None and size
    monkeypatch.setattr(own_code, "_replaced", {})
    with monkeypatch.context() as patch:
        patch.setattr(object_loader, "_protect", lambda address, size, is_executable: not is_executable)
        assert loaded([first, second], {}) is None
    with monkeypatch.context() as patch:
        patch.setattr(object_loader, "_is_available", lambda: False)
        assert loaded([first, second], {}) is None
    assert object_loader._address_in_process("llabs") > 0
    with pytest.raises(object_loader._Unsupported, match="no function absent_function"):
        object_loader._address_in_process("absent_function")


@pytest.mark.parametrize("name", SAMPLES)
def test_kernels_loaded_without_llvm_give_equal_results(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program, rng = sample(name), np.random.default_rng(0)
    arrays = [rng.uniform(0.1, 0.9, (5, *port.shape)) for port in program.inputs]
    results = []
    for load in (jit.loaded, lambda files, known: None):
        monkeypatch.setattr(jit, "loaded", load)
        kernel = lw.Kernel(program)
        results.append([kernel(*arrays), kernel(*(x[0] for x in arrays))])
    for result, expected in zip(*results, strict=True):
        both = (
            [np.ravel(x) for x in (value if isinstance(value, tuple) else (value,))] for value in (result, expected)
        )
        for x, y in zip(*both, strict=True):
            np.testing.assert_array_equal(x, y)


WARM = """
import sys
import linkwork as lw
robot = lw.load("double_pendulum")
robot.pose([0.3, 0.4], "tip")
robot.pose([[0.3, 0.4]] * 9, "tip")
lw.wait_for_compiler()
print(sorted(name for name in sys.modules if name.startswith("llvmlite.")))
"""


@pytest.mark.skipif(not IS_AVAILABLE, reason="LLVM loads the objects of this system")
@pytest.mark.slow(every=5)
def test_cached_machine_code_runs_without_importing_llvm(tmp_path: Path) -> None:
    environment = {**os.environ, "LINKWORK_CACHE": str(tmp_path), "LINKWORK_EFFORT": "2"}
    printed = [
        subprocess.run([sys.executable, "-c", WARM], capture_output=True, text=True, env=environment, check=True).stdout
        for _ in range(2)
    ]
    assert "llvmlite.binding" in printed[0]
    assert printed[1].strip() == "['llvmlite._version']"


def test_pages_of_deleted_windows_code_are_released_at_the_next_allocation(monkeypatch: pytest.MonkeyPatch) -> None:
    released: list[int] = []
    addresses = iter(range(0x1000, 0x9000, 0x1000))
    system = SimpleNamespace(
        VirtualAlloc=lambda *arguments: next(addresses), VirtualFree=lambda start, *more: released.append(start)
    )
    monkeypatch.setattr(own_code, "_replaced", {})
    monkeypatch.setattr(object_loader, "_kernel32", lambda: system)
    monkeypatch.setattr(object_loader, "_deleted", deque())  # pages of other tests on Windows
    monkeypatch.setattr(object_loader, "_references", set())
    pages = [object_loader._Pages(64) for _ in range(3)]
    assert [page.start for page in pages] == [0x1000, 0x2000, 0x3000]
    del pages[:2]
    assert released == []
    last = object_loader._Pages(64)
    assert sorted(released) == [0x1000, 0x2000]
    assert {reference.start for reference in object_loader._references} == {0x3000, last.start}
