"""The cases by subject."""

from recorded_results.cases import control, planning

__all__ = ["control", "planning"]
