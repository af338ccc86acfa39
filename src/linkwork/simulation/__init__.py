"""Simulation: results, contacts, sensors, events and servos of `Robot.simulate` and `linkwork.Simulator`."""

from linkwork.simulation.contacts.collision_shape_contacts import ContactPair, ContactScene
from linkwork.simulation.contacts.contact_materials import ContactMaterial
from linkwork.simulation.contacts.ground_contact import ContactGround, ContactPoint
from linkwork.simulation.control_output import ControlOutput
from linkwork.simulation.events import Event, EventRecord
from linkwork.simulation.joint_limits import JointStops
from linkwork.simulation.result import Simulation
from linkwork.simulation.sensors.frame_sensors import IMU, RangeSensor, TouchSensor
from linkwork.simulation.sensors.joint_sensors import Encoder, ForceTorqueSensor
from linkwork.simulation.sensors.sensor import Sensor, SensorInput
from linkwork.simulation.servo_actuators import ServoActuators
from linkwork.simulation.simulator_state import SimulatorState

__all__ = [
    "IMU",
    "ContactGround",
    "ContactMaterial",
    "ContactPair",
    "ContactPoint",
    "ContactScene",
    "ControlOutput",
    "Encoder",
    "Event",
    "EventRecord",
    "ForceTorqueSensor",
    "JointStops",
    "RangeSensor",
    "Sensor",
    "SensorInput",
    "ServoActuators",
    "Simulation",
    "SimulatorState",
    "TouchSensor",
]


def __dir__() -> list[str]:
    """The documented names."""
    return sorted(__all__)
