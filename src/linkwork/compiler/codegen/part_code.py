"""LLVM modules of the parts of a kernel's code.

A new part is an item of `PARTS`. For tables there is a part for each number of columns (see `piecewise_lookup`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import replace
from functools import cache, partial
from typing import Any

from linkwork.compiler.backend import Module, symbol_prefix, table_columns
from linkwork.compiler.codegen.batch_loop import SampleLayout, few_function, loop_function
from linkwork.compiler.codegen.code_segments import plan
from linkwork.compiler.codegen.entry_points import ENTRIES, available
from linkwork.compiler.codegen.fastcall_code import fast_function
from linkwork.compiler.codegen.float_type import DOUBLE, FloatType
from linkwork.compiler.codegen.jit import emit
from linkwork.compiler.codegen.llvm_ir import IrFunction, IrModule
from linkwork.compiler.codegen.loops import (
    ControlLayout,
    block_texts,
    has_control,
    plan_program,
    quick_sample_texts,
    sample_texts,
)
from linkwork.compiler.codegen.piecewise_lookup import along_function
from linkwork.compiler.codegen.quick.block_assembler import NotSupported, can_assemble, object_of_blocks
from linkwork.compiler.codegen.quick.machine_code import WrittenObject
from linkwork.compiler.codegen.straight_line import (
    Layout,
    assembled_segment,
    block_function,
    sample_function,
    segment_function,
)
from linkwork.compiler.codegen.target import Target
from linkwork.compiler.program import Program

__all__ = ["PARTS", "CodegenOptions", "elementary_function", "parts_here"]


class CodegenOptions:
    """A program's layout for a target and a floating-point type, from which the code of its parts is written."""

    def __init__(self, program: Program, target: Target, real: FloatType = DOUBLE) -> None:
        self.program, self.target, self.prefix = program, target, symbol_prefix(program.name)
        self.shared: dict[str, IrFunction] | None = None  # functions compiled to separate object files, by name
        self.assembled: set[str] = set()  # names of functions that are written without LLVM
        lanes = target.lanes_of(real), 1
        self.vectors: Layout | ControlLayout
        self.scalar: Layout | ControlLayout
        if has_control(program):
            scope, room = plan_program(program)
            self.vectors, self.scalar = (ControlLayout(program, scope, room, target, real, many) for many in lanes)
        else:
            cut = plan(program)
            self.vectors, self.scalar = (Layout(cut, target, real, many) for many in lanes)

    def texts(self, parts: Iterable[str]) -> list[str]:
        """Return the LLVM IR of the parts, one text for each module."""
        return [_module(text, self.target) for part in parts for text in _part(part)(self)]

    def quick_texts(self, parts: Iterable[str]) -> list[Module]:
        """Return the modules of the parts in a form that compiles quickly, as LLVM IR or as object files."""
        quick = copy(self)
        quick.shared, quick.assembled = {} if can_assemble(self.target, self.scalar.real) else None, set()
        texts = [text for part in parts for text in QUICK.get(part, _part(part))(quick)]
        texts += [WrittenObject(partial(elementary_function, f, self.target)) for f in (quick.shared or {}).values()]
        return [text if isinstance(text, WrittenObject) else _module(text, self.target) for text in texts]

    def text(self) -> IrModule:
        """Return a new, empty LLVM module with this program's settings."""
        return IrModule(self.prefix, self.shared, self.assembled, self.target.system.assembled_convention)


def _sample(design: CodegenOptions) -> list[IrModule]:
    """Return the modules of the code for one sample."""
    layout = design.scalar
    if isinstance(layout, ControlLayout):
        return sample_texts(layout, design.text)
    return _straight(design, layout, sample_function)


def _quick_sample(design: CodegenOptions) -> list[IrModule | WrittenObject]:
    """Return the modules of the code for one sample, with blocks of straight-line code written without LLVM."""
    layout = design.scalar
    if isinstance(layout, ControlLayout):
        return quick_sample_texts(layout, design.text)
    if not layout.plan.segmented or not can_assemble(layout.target, layout.real):
        return [*_sample(design)]
    text, segment_texts, functions = design.text(), list[IrModule](), []
    sample_function(text, layout)
    for k in range(len(layout.plan.segments)):
        try:
            functions.append(assembled_segment(layout, k))
        except NotSupported:
            segment_texts.append(design.text())
            segment_function(segment_texts[-1], layout, k)
    return [text, *segment_texts, *object_of_blocks(text, functions)]


def _quick_loop(design: CodegenOptions) -> list[IrModule]:
    """Return the module of NumPy's inner loop that runs the code for one sample for each sample of a batch."""
    text = design.text()
    loop_function(text, SampleLayout(design.scalar))
    return [text]


def _block(design: CodegenOptions) -> list[IrModule]:
    """Return the modules of the code for vectors of samples."""
    layout = design.vectors
    if isinstance(layout, ControlLayout):
        return block_texts(layout, design.text)
    return _straight(design, layout, block_function)


def _straight(design: CodegenOptions, layout: Layout, write: Callable[[IrModule, Layout], None]) -> list[IrModule]:
    """Return the modules of straight-line code: the called function and, for a long program, its segments."""
    texts = [design.text()]
    write(texts[0], layout)
    for k in range(len(layout.plan.segments) if layout.plan.segmented else 0):
        texts.append(design.text())
        segment_function(texts[-1], layout, k)
    return texts


def _loop(design: CodegenOptions) -> list[IrModule]:
    if design.vectors.lanes == 1:
        return _quick_loop(design)
    text = design.text()
    loop_function(text, design.vectors)
    return [text, *_block(design)]


def _few(design: CodegenOptions) -> list[IrModule]:
    text = design.text()
    few_function(text, design.scalar)
    return [text]


def _fast(design: CodegenOptions) -> list[IrModule]:
    text = design.text()
    fast_function(text, design.program)
    return [text]


def _along(design: CodegenOptions, name: str) -> list[IrModule]:
    layout, text = design.vectors, design.text()
    assert isinstance(layout, Layout) and not layout.plan.segmented, design.program
    text.add(along_function(layout, name, table_columns(name)))
    return [text]


PARTS: dict[str, Callable[[CodegenOptions], list[IrModule]]] = {
    "sample": _sample,
    "loop": _loop,
    "fast": _fast,
    "few": _few,
}
QUICK: dict[str, Callable[[CodegenOptions], list[Any]]] = {"sample": _quick_sample, "loop": _quick_loop}


def _part(name: str) -> Callable[[CodegenOptions], list[IrModule]]:
    """Return the function that writes the LLVM modules of the part with this name."""
    return PARTS.get(name) or partial(_along, name=name)


def _module(text: IrModule, target: Target) -> str:
    attributes = f'nounwind "prefer-vector-width"="{64 * target.lanes}" {target.system.probes}'.rstrip()
    return (
        f'target triple = "{target.triple}"\n{text}\n'
        f"attributes #0 = {{ {attributes} }}\nattributes #1 = {{ noinline cold {attributes} }}\n"
        f'attributes #2 = {{ {attributes} "stackrealign" }}\n!0 = !{{}}\n!1 = !{{i32 1}}\n'
    )


def parts_here(real: FloatType) -> list[str]:
    """Return the parts of all available entries for this floating-point type, in the order of `PARTS`."""
    needed = {part for name, entry in ENTRIES.items() if available(name, real) for part in entry.parts}
    return [part for part in PARTS if part in needed]


def elementary_function(function: IrFunction, target: Target) -> bytes:
    """Return the object file of an elementary function (`linkwork.compiler.codegen.vector_math`) for one lane.

    All kernels share the object file: LLVM compiles such a function only once in a process.  The best code of kernels
    contains the same function, so results are equal to the bit.
    """
    return _elementary_object(function, replace(target, effort=0))


@cache
def _elementary_object(function: IrFunction, target: Target) -> bytes:
    module = IrModule()
    module.add(function)
    visible = f"define {target.system.assembled_convention}".rstrip()
    text = str(module).replace(function.signature, function.signature.replace("define internal", visible))
    (result,) = emit([f'target triple = "{target.triple}"\n{text}\nattributes #0 = {{ nounwind }}\n'], target)
    return result
