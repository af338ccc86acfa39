"""Derivatives of scalar programs: dual numbers, custom derivatives, transposes."""
