"""Simulation: results, contacts, sensors, events and servos of `Robot.simulate` and `linkwork.Simulator`."""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.simulation.actuator_forces import actuator_torque
    from linkwork.simulation.contacts.collision_shape_contacts import ContactPair, ContactScene
    from linkwork.simulation.contacts.contact_materials import ContactMaterial
    from linkwork.simulation.contacts.ground_contact import ContactGround, ContactPoint
    from linkwork.simulation.control_output import ControlOutput
    from linkwork.simulation.events import Event, EventRecord
    from linkwork.simulation.joint_limits import JointStops
    from linkwork.simulation.result import Simulation
    from linkwork.simulation.sensors.check_sensor import check_sensor
    from linkwork.simulation.sensors.contact_sensor import ContactSensor
    from linkwork.simulation.sensors.frame_sensors import IMU, RangeSensor, TouchSensor
    from linkwork.simulation.sensors.joint_sensors import Encoder, ForceTorqueSensor
    from linkwork.simulation.sensors.mujoco_sensors import sensors_of_mujoco
    from linkwork.simulation.sensors.sensor import Sensor, SensorInput
    from linkwork.simulation.servo_actuators import ServoActuators, ServoForces, actuator_servos
    from linkwork.simulation.simulator_state import SimulatorState

__all__ = [
    "IMU",
    "ContactGround",
    "ContactMaterial",
    "ContactPair",
    "ContactPoint",
    "ContactScene",
    "ContactSensor",
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
    "ServoForces",
    "Simulation",
    "SimulatorState",
    "TouchSensor",
    "actuator_servos",
    "actuator_torque",
    "check_sensor",
    "sensors_of_mujoco",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_names(
        __name__,
        __all__,
        {
            "linkwork.simulation.contacts.collision_shape_contacts": "ContactPair ContactScene",
            "linkwork.simulation.contacts.contact_materials": "ContactMaterial",
            "linkwork.simulation.contacts.ground_contact": "ContactGround ContactPoint",
            "linkwork.simulation.control_output": "ControlOutput",
            "linkwork.simulation.events": "Event EventRecord",
            "linkwork.simulation.joint_limits": "JointStops",
            "linkwork.simulation.result": "Simulation",
            "linkwork.simulation.sensors.check_sensor": "check_sensor",
            "linkwork.simulation.sensors.contact_sensor": "ContactSensor",
            "linkwork.simulation.sensors.frame_sensors": "IMU RangeSensor TouchSensor",
            "linkwork.simulation.sensors.joint_sensors": "Encoder ForceTorqueSensor",
            "linkwork.simulation.sensors.mujoco_sensors": "sensors_of_mujoco",
            "linkwork.simulation.sensors.sensor": "Sensor SensorInput",
            "linkwork.simulation.actuator_forces": "actuator_torque",
            "linkwork.simulation.servo_actuators": "ServoActuators ServoForces actuator_servos",
            "linkwork.simulation.simulator_state": "SimulatorState",
        },
    )
