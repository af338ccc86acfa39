"""Conversion of programs to and from CasADi functions."""
