"""Optimization over any scalar: convex quadratic programs."""

from .quadratic_program import QuadraticSolution, quadratic_program

__all__ = ["QuadraticSolution", "quadratic_program"]
