"""Control flow over any scalar: loops, branches, calls and tables."""

from linkwork.expr.control.conditional import call, cond
from linkwork.expr.control.loops import WhileResult, fori, scan, while_loop
from linkwork.expr.control.table_access import put, take

__all__ = ["WhileResult", "call", "cond", "fori", "put", "scan", "take", "while_loop"]
