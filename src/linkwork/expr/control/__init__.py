"""Control flow over any scalar: loops, choices, calls and tables."""

from .choices import call, cond
from .loops import Iterated, fori, scan, while_loop
from .root import Root, fixed_point, root
from .table import take

__all__ = ["Iterated", "Root", "call", "cond", "fixed_point", "fori", "root", "scan", "take", "while_loop"]
