"""Features of trajectories: values and their Jacobians, one kind or family per file."""

from linkwork.optimal.features.clearance_feature import Clearance as Clearance
from linkwork.optimal.features.constraint_features import HolonomicFeature as HolonomicFeature
from linkwork.optimal.features.constraint_features import VelocityConstraint as VelocityConstraint
from linkwork.optimal.features.contact_features import ConstraintForce as ConstraintForce
from linkwork.optimal.features.contact_features import ContactForce as ContactForce
from linkwork.optimal.features.contact_features import ContactHeight as ContactHeight
from linkwork.optimal.features.contact_features import FrictionCone as FrictionCone
from linkwork.optimal.features.contact_features import PathContact as PathContact
from linkwork.optimal.features.contact_features import StickingContact as StickingContact
from linkwork.optimal.features.contact_features import SurfaceCone as SurfaceCone
from linkwork.optimal.features.dynamics_features import EnergyFeature as EnergyFeature
from linkwork.optimal.features.dynamics_features import MomentumFeature as MomentumFeature
from linkwork.optimal.features.dynamics_features import PowerFeature as PowerFeature
from linkwork.optimal.features.dynamics_features import TorqueFeature as TorqueFeature
from linkwork.optimal.features.dynamics_features import UnactuatedFeature as UnactuatedFeature
from linkwork.optimal.features.feature import Feature as Feature
from linkwork.optimal.features.feature import FeatureJacobian as FeatureJacobian
from linkwork.optimal.features.feature import TaskFeature as TaskFeature
from linkwork.optimal.features.feature import Window as Window
from linkwork.optimal.features.function_feature import FunctionFeature as FunctionFeature
from linkwork.optimal.features.function_feature import WindowQuery as WindowQuery
from linkwork.optimal.features.limits import AccelerationLimits as AccelerationLimits
from linkwork.optimal.features.limits import JerkLimits as JerkLimits
from linkwork.optimal.features.limits import PositionLimits as PositionLimits
from linkwork.optimal.features.limits import TorqueLimits as TorqueLimits
from linkwork.optimal.features.limits import VelocityLimits as VelocityLimits
from linkwork.optimal.features.motion_features import AccelerationFeature as AccelerationFeature
from linkwork.optimal.features.motion_features import ConfigurationFeature as ConfigurationFeature
from linkwork.optimal.features.motion_features import JerkFeature as JerkFeature
from linkwork.optimal.features.motion_features import ParameterFeature as ParameterFeature
from linkwork.optimal.features.motion_features import VariableFeature as VariableFeature
from linkwork.optimal.features.motion_features import VelocityFeature as VelocityFeature

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
"""Features that `TrajectoryProblem.add` accepts by name; they are created without arguments."""

__all__ = [
    "BY_NAME",
    "AccelerationFeature",
    "AccelerationLimits",
    "Clearance",
    "ConfigurationFeature",
    "ConstraintForce",
    "ContactForce",
    "ContactHeight",
    "EnergyFeature",
    "Feature",
    "FeatureJacobian",
    "FrictionCone",
    "FunctionFeature",
    "HolonomicFeature",
    "JerkFeature",
    "JerkLimits",
    "MomentumFeature",
    "ParameterFeature",
    "PathContact",
    "PositionLimits",
    "PowerFeature",
    "StickingContact",
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
    "WindowQuery",
]
