"""Control flow over any scalar: loops, choices, calls and tables."""

from .loops import Iterated, fori, scan, while_loop

__all__ = ["Iterated", "fori", "scan", "while_loop"]
