"""Figures of compiled code: loops, elementary functions, linear algebra, large programs, operation counts."""
