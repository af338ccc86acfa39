"""Programs with loops, choices and calls as machine code."""

from .layout import ControlLayout, block_texts, sample_texts
from .plan import has_control, plan_program

__all__ = ["ControlLayout", "block_texts", "has_control", "plan_program", "sample_texts"]
