"""Control flow over any scalar: loops, choices, calls and tables."""

from .choices import call, cond
from .loops import Iterated, fori, scan, while_loop
from .table import put, take

__all__ = ["Iterated", "call", "cond", "fori", "put", "scan", "take", "while_loop"]
