"""Conversion of programs from CasADi functions and to them."""
