"""Trajectory optimisation: problems made of features, solvers and results."""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.optimal.algorithms.jacobian_check import JacobianCheck as JacobianCheck
    from linkwork.optimal.feature_contract import check_feature as check_feature
    from linkwork.optimal.features import AccelerationFeature as AccelerationFeature
    from linkwork.optimal.features import AccelerationLimits as AccelerationLimits
    from linkwork.optimal.features import Clearance as Clearance
    from linkwork.optimal.features import ConfigurationFeature as ConfigurationFeature
    from linkwork.optimal.features import ConstraintForce as ConstraintForce
    from linkwork.optimal.features import ContactForce as ContactForce
    from linkwork.optimal.features import ContactHeight as ContactHeight
    from linkwork.optimal.features import EnergyFeature as EnergyFeature
    from linkwork.optimal.features import Feature as Feature
    from linkwork.optimal.features import FeatureJacobian as FeatureJacobian
    from linkwork.optimal.features import FrictionCone as FrictionCone
    from linkwork.optimal.features import FunctionFeature as FunctionFeature
    from linkwork.optimal.features import HolonomicFeature as HolonomicFeature
    from linkwork.optimal.features import JerkFeature as JerkFeature
    from linkwork.optimal.features import JerkLimits as JerkLimits
    from linkwork.optimal.features import MomentumFeature as MomentumFeature
    from linkwork.optimal.features import ParameterFeature as ParameterFeature
    from linkwork.optimal.features import PathContact as PathContact
    from linkwork.optimal.features import PositionLimits as PositionLimits
    from linkwork.optimal.features import PowerFeature as PowerFeature
    from linkwork.optimal.features import StickingContact as StickingContact
    from linkwork.optimal.features import SurfaceCone as SurfaceCone
    from linkwork.optimal.features import TaskFeature as TaskFeature
    from linkwork.optimal.features import TorqueFeature as TorqueFeature
    from linkwork.optimal.features import TorqueLimits as TorqueLimits
    from linkwork.optimal.features import UnactuatedFeature as UnactuatedFeature
    from linkwork.optimal.features import VariableFeature as VariableFeature
    from linkwork.optimal.features import VelocityConstraint as VelocityConstraint
    from linkwork.optimal.features import VelocityFeature as VelocityFeature
    from linkwork.optimal.features import VelocityLimits as VelocityLimits
    from linkwork.optimal.features import Window as Window
    from linkwork.optimal.features import WindowQuery as WindowQuery
    from linkwork.optimal.optimum_derivative import PathDerivative as PathDerivative
    from linkwork.optimal.problem_terms import DecisionVariable as DecisionVariable
    from linkwork.optimal.problem_terms import PerStep as PerStep
    from linkwork.optimal.problem_terms import ProblemTerm as ProblemTerm
    from linkwork.optimal.result import OptimalResult as OptimalResult
    from linkwork.optimal.shooting.shooting_result import ShootingResult as ShootingResult
    from linkwork.optimal.trajectory_problem import TrajectoryProblem as TrajectoryProblem


if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = public_names(
        __name__,
        {
            "linkwork.optimal.algorithms.jacobian_check": "JacobianCheck",
            "linkwork.optimal.feature_contract": "check_feature",
            "linkwork.optimal.features": (
                "AccelerationFeature AccelerationLimits Clearance ConfigurationFeature ConstraintForce "
                "ContactForce ContactHeight EnergyFeature Feature FeatureJacobian FrictionCone "
                "FunctionFeature HolonomicFeature JerkFeature JerkLimits MomentumFeature ParameterFeature "
                "PathContact PositionLimits PowerFeature StickingContact SurfaceCone TaskFeature "
                "TorqueFeature TorqueLimits UnactuatedFeature VariableFeature VelocityConstraint "
                "VelocityFeature VelocityLimits Window WindowQuery"
            ),
            "linkwork.optimal.optimum_derivative": "PathDerivative",
            "linkwork.optimal.problem_terms": "DecisionVariable PerStep ProblemTerm",
            "linkwork.optimal.result": "OptimalResult",
            "linkwork.optimal.shooting.shooting_result": "ShootingResult",
            "linkwork.optimal.trajectory_problem": "TrajectoryProblem",
        },
    )
