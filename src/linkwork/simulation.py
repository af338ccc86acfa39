"""Simulation: what `Robot.simulate` and `linkwork.Simulator` give."""

from .facade.simulation.events import Event, Occurrence
from .facade.simulation.ground import ContactGround, ContactPoint
from .facade.simulation.materials import ContactMaterial
from .facade.simulation.result import Simulation
from .facade.simulation.servos import Servos
from .facade.simulation.shapes import ContactPair, ContactScene
from .facade.simulation.simulator import SimulatorState

__all__ = [
    "ContactGround",
    "ContactMaterial",
    "ContactPair",
    "ContactPoint",
    "ContactScene",
    "Event",
    "Occurrence",
    "Servos",
    "Simulation",
    "SimulatorState",
]


def __dir__() -> list[str]:
    """The documented names."""
    return sorted(__all__)
