"""Simulation: what `Robot.simulate` and `linkwork.Simulator` give."""

from .facade.simulation.control_output import ControlOutput
from .facade.simulation.events import Event, Occurrence
from .facade.simulation.ground import ContactGround, ContactPoint
from .facade.simulation.materials import ContactMaterial
from .facade.simulation.result import Simulation
from .facade.simulation.sensors.contract import SensedState, Sensor
from .facade.simulation.sensors.frames import InertialSensor, RangeSensor, TouchSensor
from .facade.simulation.sensors.joints import Encoder, ForceTorqueSensor
from .facade.simulation.servos import Servos
from .facade.simulation.shapes import ContactPair, ContactScene
from .facade.simulation.simulator_state import SimulatorState
from .facade.simulation.stops import JointStops

__all__ = [
    "ContactGround",
    "ContactMaterial",
    "ContactPair",
    "ContactPoint",
    "ContactScene",
    "ControlOutput",
    "Encoder",
    "Event",
    "ForceTorqueSensor",
    "InertialSensor",
    "JointStops",
    "Occurrence",
    "RangeSensor",
    "SensedState",
    "Sensor",
    "Servos",
    "Simulation",
    "SimulatorState",
    "TouchSensor",
]


def __dir__() -> list[str]:
    """The documented names."""
    return sorted(__all__)
