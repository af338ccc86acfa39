"""Derivatives of scalar programs: dual numbers, graph transformations, custom derivatives."""
