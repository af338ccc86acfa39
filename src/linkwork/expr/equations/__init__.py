"""Equations over any scalar: roots and fixed points."""

from .root import Root, fixed_point, root

__all__ = ["Root", "fixed_point", "root"]
