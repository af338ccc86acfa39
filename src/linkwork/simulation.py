"""Simulation: what `Robot.simulate` gives."""

from .facade.simulation.result import Simulation

__all__ = ["Simulation"]


def __dir__() -> list[str]:
    """The documented names."""
    return sorted(__all__)
