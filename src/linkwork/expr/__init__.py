"""Scalar expressions: functions over any scalar, the traced symbol, differentiation, the interpreter."""
