"""Equation solvers over any scalar: roots and fixed points."""

from linkwork.expr.equations.root_finding import Root, fixed_point, root

__all__ = ["Root", "fixed_point", "root"]
