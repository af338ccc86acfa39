"""Features: what problems of optimal motion are made of, a kind or a family a file."""

from .asking import AskingWindow as AskingWindow
from .clearance import Clearance as Clearance
from .constraints import HeldConstraint as HeldConstraint
from .constraints import VelocityConstraint as VelocityConstraint
from .contacts import ConstraintForce as ConstraintForce
from .contacts import ContactForce as ContactForce
from .contacts import ContactHeight as ContactHeight
from .contacts import ContactStays as ContactStays
from .contacts import FrictionCone as FrictionCone
from .contacts import PathContact as PathContact
from .contacts import SurfaceCone as SurfaceCone
from .contract import Feature as Feature
from .contract import FeatureRows as FeatureRows
from .contract import TaskFeature as TaskFeature
from .contract import Window as Window
from .function import FunctionFeature as FunctionFeature
from .limits import AccelerationLimits as AccelerationLimits
from .limits import JerkLimits as JerkLimits
from .limits import PositionLimits as PositionLimits
from .limits import TorqueLimits as TorqueLimits
from .limits import VelocityLimits as VelocityLimits
from .mass import EnergyFeature as EnergyFeature
from .mass import MomentumFeature as MomentumFeature
from .motion import AccelerationFeature as AccelerationFeature
from .motion import ConfigurationFeature as ConfigurationFeature
from .motion import JerkFeature as JerkFeature
from .motion import VelocityFeature as VelocityFeature
from .numbers import ParameterFeature as ParameterFeature
from .numbers import VariableFeature as VariableFeature
from .torque import PowerFeature as PowerFeature
from .torque import TorqueFeature as TorqueFeature
from .torque import UnactuatedFeature as UnactuatedFeature

BY_NAME: dict[str, type[Feature]] = {
    "configuration": ConfigurationFeature,
    "velocity": VelocityFeature,
    "acceleration": AccelerationFeature,
    "jerk": JerkFeature,
    "torque": TorqueFeature,
    "unactuated": UnactuatedFeature,
    "power": PowerFeature,
    "energy": EnergyFeature,
    "momentum": MomentumFeature,
    "clearance": Clearance,
    "position limits": PositionLimits,
    "velocity limits": VelocityLimits,
    "torque limits": TorqueLimits,
}
"""What problems know by a name alone: each is made without arguments."""

__all__ = [
    "BY_NAME",
    "AccelerationFeature",
    "AccelerationLimits",
    "AskingWindow",
    "Clearance",
    "ConfigurationFeature",
    "ConstraintForce",
    "ContactForce",
    "ContactHeight",
    "ContactStays",
    "EnergyFeature",
    "Feature",
    "FeatureRows",
    "FrictionCone",
    "FunctionFeature",
    "HeldConstraint",
    "JerkFeature",
    "JerkLimits",
    "MomentumFeature",
    "ParameterFeature",
    "PathContact",
    "PositionLimits",
    "PowerFeature",
    "SurfaceCone",
    "TaskFeature",
    "TorqueFeature",
    "TorqueLimits",
    "UnactuatedFeature",
    "VariableFeature",
    "VelocityConstraint",
    "VelocityFeature",
    "VelocityLimits",
    "Window",
]
