"""Simulation: results, contacts, sensors, events and servos of `Robot.simulate` and `linkwork.Simulator`."""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.simulation.actuators import ServoActuators as ServoActuators
    from linkwork.simulation.actuators import ServoForces as ServoForces
    from linkwork.simulation.actuators import actuator_servos as actuator_servos
    from linkwork.simulation.actuators import actuator_torque as actuator_torque
    from linkwork.simulation.algorithms.step_methods import STEP_METHODS as STEP_METHODS
    from linkwork.simulation.contacts.collision_shape_contacts import ContactPair as ContactPair
    from linkwork.simulation.contacts.collision_shape_contacts import ContactScene as ContactScene
    from linkwork.simulation.contacts.contact_materials import ContactMaterial as ContactMaterial
    from linkwork.simulation.contacts.ground_contact import ContactGround as ContactGround
    from linkwork.simulation.contacts.ground_contact import ContactPoint as ContactPoint
    from linkwork.simulation.control_output import ControlOutput as ControlOutput
    from linkwork.simulation.events import Event as Event
    from linkwork.simulation.events import EventRecord as EventRecord
    from linkwork.simulation.joint_limits import JointStops as JointStops
    from linkwork.simulation.result import Simulation as Simulation
    from linkwork.simulation.sensors.check_sensor import check_sensor as check_sensor
    from linkwork.simulation.sensors.contact_sensor import ContactSensor as ContactSensor
    from linkwork.simulation.sensors.frame_sensors import IMU as IMU
    from linkwork.simulation.sensors.frame_sensors import RangeSensor as RangeSensor
    from linkwork.simulation.sensors.frame_sensors import TouchSensor as TouchSensor
    from linkwork.simulation.sensors.joint_sensors import Encoder as Encoder
    from linkwork.simulation.sensors.joint_sensors import ForceTorqueSensor as ForceTorqueSensor
    from linkwork.simulation.sensors.mujoco_sensors import sensors_of_mujoco as sensors_of_mujoco
    from linkwork.simulation.sensors.sensor import Sensor as Sensor
    from linkwork.simulation.sensors.sensor import SensorInput as SensorInput
    from linkwork.simulation.simulator_state import SimulatorState as SimulatorState


if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = public_names(
        __name__,
        {
            "linkwork.simulation.actuators": "ServoActuators ServoForces actuator_servos actuator_torque",
            "linkwork.simulation.algorithms.step_methods": "STEP_METHODS",
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
            "linkwork.simulation.simulator_state": "SimulatorState",
        },
    )
