"""Machine code for operating systems: symbols, relocations and stack probes of object files for each of them.

The files are made on any system: a file for Windows or macOS shows there what would be wrong on Windows or macOS.
"""

from __future__ import annotations

import re
import struct
import sys
from dataclasses import replace
from itertools import product
from typing import Any

import llvmlite.binding as llvm
import pytest

from compiler.object_contents import contents_of
from compiler.passes.samples import SAMPLES, sample
from linkwork.compiler.codegen import object_loader
from linkwork.compiler.codegen.float_type import DOUBLE, SINGLE, FloatType
from linkwork.compiler.codegen.jit import emit
from linkwork.compiler.codegen.loops.interrupt_checks import attention_text
from linkwork.compiler.codegen.part_code import PARTS, CodegenOptions
from linkwork.compiler.codegen.runtimes import ON_STACK
from linkwork.compiler.codegen.target import Target, host
from linkwork.compiler.codegen.target_system import is_object_file, system_of
from linkwork.compiler.passes import optimize
from linkwork.compiler.program import Program
from linkwork.compiler.runtime.interrupts import SYMBOL
from linkwork.kernels.function_request import read_request
from linkwork.kernels.function_trace import trace_requests
from linkwork.robot.robot_table import robot_owner
from oracles.example_robots import EXAMPLES, SHIPPED

SYSTEMS = {
    "Linux on x86-64": Target("x86_64-unknown-linux-gnu", "x86-64-v3", "", lanes=4, fma=True),
    "Linux on ARM": Target("aarch64-unknown-linux-gnu", "generic", "", lanes=2, fma=True),
    "Windows": Target("x86_64-pc-windows-msvc", "x86-64-v3", "", lanes=4, fma=True),
    "macOS on ARM": Target("arm64-apple-darwin", "apple-m1", "", lanes=2, fma=True),
    "macOS on x86-64": Target("x86_64-apple-darwin", "x86-64-v3", "", lanes=4, fma=True),
}
GOLDEN = "panda", "talos"  # whose operations are counted, beside those of linkwork's own robots
ROBOTS = {example.name: example for example in (*EXAMPLES, *SHIPPED) if not example.file or example.name in GOLDEN}
FUNCTIONS = "inverse_dynamics", "forward_dynamics", "mass_matrix", "forward_kinematics", "pose"
C_LIBRARY = {"malloc", "free", "memset", "memcpy"}
POSIX = {
    *C_LIBRARY,
    *("clock_gettime", "pthread_create", "pthread_join"),
    *("pthread_attr_init", "pthread_attr_destroy", "pthread_attr_setstacksize"),
}
WINDOWS = {*C_LIBRARY, "__chkstk", "GetTickCount64", "CreateThread", "WaitForSingleObject", "CloseHandle"}
ALLOWED = {"windows": WINDOWS, "posix": POSIX, "darwin": {*POSIX, "bzero"}}
# Kinds of relocations: 64-bit addresses; on ARM also their quarters, calls, and pages of the table of addresses.
# LLVM's loader knows all kinds of Mach-O below 10 but those of variables of threads (8 and 9).
RELOCATIONS = {
    "Linux on x86-64": {1},
    "Linux on ARM": {257, 264, 266, 268, 269, 275, 277, 278, 282, 283, 286, 299, 311, 312},
    "Windows": {1},
    "macOS on ARM": {0, 1, 2, 3, 4, 5, 6},
    "macOS on x86-64": {0, 1, 2, 3, 4, 5, 6, 7, 8},
}

every_system = pytest.mark.parametrize("name", SYSTEMS)


@pytest.fixture(autouse=True, scope="module")
def all_processors() -> None:
    """LLVM's support of all processors."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


def objects(program: Program, target: Target, real: FloatType = DOUBLE) -> list[bytes]:
    """Return the object files of all parts of a program's code, and of the function that long loops call."""
    lowered = CodegenOptions(optimize(program, without=() if target.fma else ("fuse",)), target, real)
    return emit([*lowered.texts(PARTS), attention_text(target)], target)


def assert_loadable(files: list[bytes], name: str) -> None:
    """The files are of the system, need functions of its list alone, and no relocation that its loader confuses."""
    system = SYSTEMS[name].system
    assert all(is_object_file(code, SYSTEMS[name].triple) for code in files)
    contents = [contents_of(code) for code in files]
    defined = frozenset().union(*(x.defined for x in contents))
    assert frozenset().union(*(x.undefined for x in contents)) - defined <= ALLOWED[system.name]
    assert SYMBOL in defined and any(symbol.endswith(".loop") for symbol in defined)
    assert frozenset().union(*(x.relocations for x in contents)) <= RELOCATIONS[name]


@pytest.mark.costly
@every_system
def test_object_code_of_samples_calls_known_functions_only_and_has_known_relocations(name: str, drawn: Any) -> None:
    for program, real, effort in drawn([*product(SAMPLES, (DOUBLE, SINGLE), (0, 2))]):
        assert_loadable(objects(sample(program), replace(SYSTEMS[name], effort=effort), real), name)


@pytest.mark.slow
@every_system
@pytest.mark.parametrize("robot", ROBOTS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_object_code_of_robot_functions_calls_known_functions_only_and_has_known_relocations(
    name: str, robot: str, function: str
) -> None:
    owner = robot_owner(ROBOTS[robot].robot().tree)
    request = (function, ROBOTS[robot].frames[0]) if function == "pose" else function
    program = trace_requests(owner, function, {function: read_request(owner, request)})
    assert_loadable(objects(program, SYSTEMS[name]), name)


LARGE_FRAME = f"""
declare void @use(ptr)
define void @large() #0 {{
  %memory = alloca [{ON_STACK} x i8], align 64
  call void @use(ptr %memory)
  ret void
}}
"""


@every_system
def test_functions_with_large_stack_frames_touch_each_page_of_the_stack(name: str) -> None:
    target = SYSTEMS[name]
    text = f'target triple = "{target.triple}"\n{LARGE_FRAME}\nattributes #0 = {{ nounwind {target.system.probes} }}'
    (code,) = emit([text], target)
    assert contents_of(code).undefined == ({"use", "__chkstk"} if name == "Windows" else {"use"})
    listing = target.machine().emit_assembly(llvm.parse_assembly(text))
    if name != "Windows":
        touches = r"orq\s+\$0, \(%rsp\)|movq\s+\$0, \(%rsp\)|str\s+xzr, \[sp\]"
        assert re.search(touches, listing), listing
        without = target.machine().emit_assembly(llvm.parse_assembly(text.replace(target.system.probes, "")))
        assert not re.search(touches, without)


@pytest.mark.parametrize("name", ["Windows", "macOS on ARM"])
def test_code_uses_neither_memory_below_the_stack_pointer_nor_reserved_registers(name: str) -> None:
    """Windows has no memory below the stack pointer that signals spare, and on macOS x18 belongs to the system."""
    target = SYSTEMS[name]
    reserved = r"-\d+\(%rsp\)" if name == "Windows" else r"\b[wx]18\b"
    for program in ("chain of rotations", "horner"):
        for text in CodegenOptions(optimize(sample(program)), target).texts(PARTS):
            assert not re.search(reserved, target.machine().emit_assembly(llvm.parse_assembly(text)))


def test_each_target_triple_selects_its_operating_system() -> None:
    expected = {"Linux on x86-64": "posix", "Linux on ARM": "posix", "Windows": "windows"}
    for name, target in SYSTEMS.items():
        assert target.system.name == expected.get(name, "darwin")
        assert target.machine().triple.endswith("-elf") == (name == "Windows")
        assert not replace(target, runtime="plain").machine().triple.endswith("-elf")
    name = {"win32": "windows", "darwin": "darwin"}.get(sys.platform, "posix")
    assert host().system.name == name and system_of("aarch64-pc-windows-msvc").name == "windows"


def test_object_files_of_a_different_format_or_processor_are_refused() -> None:
    program = sample("horner")
    files = {name: objects(program, replace(target, effort=0)) for name, target in SYSTEMS.items()}
    kinds = {name: (target.system.objects, target.triple.startswith("x86_64")) for name, target in SYSTEMS.items()}
    for name, target in SYSTEMS.items():
        for made_for, codes in files.items():
            same = kinds[made_for] == kinds[name]
            assert all(is_object_file(code, target.triple) is same for code in codes), (name, made_for)
        unknown = target.triple.replace("x86_64", "riscv64").replace("aarch64", "riscv64").replace("arm64", "riscv64")
        assert all(is_object_file(code, unknown) for code in files[name])  # no number of the processor is known
    coff = emit(["define void @f() { ret void }"], replace(SYSTEMS["Windows"], runtime="plain"))
    triples = [target.triple for target in SYSTEMS.values()]
    assert not any(is_object_file(code, triple) for code in (*coff, b"") for triple in triples)


def test_damaged_elf_files_are_refused() -> None:
    (code, *_) = objects(sample("horner"), replace(SYSTEMS["Windows"], effort=0))
    triple = SYSTEMS["Windows"].triple
    start = struct.unpack_from("<Q", code, 40)[0]
    damaged = [
        code[:63],
        code[:-1],
        b"\x7fELF\x01" + code[5:],  # of 32 bit
        code[:16] + b"\x02\x00" + code[18:],  # an executable
        code[:40] + struct.pack("<Q", len(code) - 32) + code[48:],  # sections after the end
        code[:58] + b"\x38\x00" + code[60:],  # headers of another size
        code[:62] + b"\xff\xff" + code[64:],  # no section with names
        code[: start + 64 + 32] + struct.pack("<Q", len(code)) + code[start + 64 + 40 :],  # a section after the end
    ]
    assert is_object_file(code, triple) and not any(is_object_file(x, triple) for x in damaged)


@pytest.mark.skipif(not object_loader._is_available(), reason="LLVM loads the objects of this system")
def test_functions_that_code_calls_exist_on_this_system() -> None:
    for function in ALLOWED[host().system.name]:
        assert object_loader._address_in_process(function)
