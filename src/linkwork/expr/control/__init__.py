"""Control flow over any scalar: loops, branches, calls and tables."""

from linkwork.expr.control.conditional import call, cond
from linkwork.expr.control.loops import WhileResult, fori_loop, scan, while_loop
from linkwork.expr.control.table_access import put, take

__all__ = ["WhileResult", "call", "cond", "fori_loop", "put", "scan", "take", "while_loop"]
