"""Profiles as people ask for them: arguments, reasons, kernels."""
