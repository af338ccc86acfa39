"""Optimal motion: features of paths, and what `linkwork.Problem` gives."""

from .algorithms.optimal.checking import RowCheck
from .facade.optimal.asked import ByStep, PathNumber, ProblemEntry
from .facade.optimal.derivatives import PathDerivative
from .facade.optimal.result import OptimalResult
from .facade.optimal.shooting_result import ShootingResult
from .features import AccelerationFeature as AccelerationFeature
from .features import AccelerationLimits as AccelerationLimits
from .features import AskingWindow as AskingWindow
from .features import Clearance as Clearance
from .features import ConfigurationFeature as ConfigurationFeature
from .features import ConstraintForce as ConstraintForce
from .features import ContactForce as ContactForce
from .features import ContactHeight as ContactHeight
from .features import ContactStays as ContactStays
from .features import EnergyFeature as EnergyFeature
from .features import Feature as Feature
from .features import FeatureRows as FeatureRows
from .features import FrictionCone as FrictionCone
from .features import FunctionFeature as FunctionFeature
from .features import HeldConstraint as HeldConstraint
from .features import JerkFeature as JerkFeature
from .features import JerkLimits as JerkLimits
from .features import MomentumFeature as MomentumFeature
from .features import ParameterFeature as ParameterFeature
from .features import PathContact as PathContact
from .features import PositionLimits as PositionLimits
from .features import PowerFeature as PowerFeature
from .features import SurfaceCone as SurfaceCone
from .features import TaskFeature as TaskFeature
from .features import TorqueFeature as TorqueFeature
from .features import TorqueLimits as TorqueLimits
from .features import UnactuatedFeature as UnactuatedFeature
from .features import VariableFeature as VariableFeature
from .features import VelocityConstraint as VelocityConstraint
from .features import VelocityFeature as VelocityFeature
from .features import VelocityLimits as VelocityLimits
from .features import Window as Window

__all__ = [
    "AccelerationFeature",
    "AccelerationLimits",
    "AskingWindow",
    "ByStep",
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
    "OptimalResult",
    "ParameterFeature",
    "PathContact",
    "PathDerivative",
    "PathNumber",
    "PositionLimits",
    "PowerFeature",
    "ProblemEntry",
    "RowCheck",
    "ShootingResult",
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


def __dir__() -> list[str]:
    """The documented names."""
    return sorted(__all__)
