"""Machine code of programs with loops, branches and calls."""

from linkwork.compiler.codegen.loops.frame_layout import has_control, plan_program
from linkwork.compiler.codegen.loops.loop_program_code import (
    ControlLayout,
    block_texts,
    quick_sample_texts,
    sample_texts,
)

__all__ = [
    "ControlLayout",
    "block_texts",
    "has_control",
    "plan_program",
    "quick_block",
    "quick_sample_texts",
    "sample_texts",
]
