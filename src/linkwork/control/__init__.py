"""Controllers of robots, linear-quadratic regulators and model-predictive control."""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.control.admittance import Admittance as Admittance
    from linkwork.control.cartesian_controllers import HybridForcePosition as HybridForcePosition
    from linkwork.control.cartesian_controllers import Impedance as Impedance
    from linkwork.control.controller_base import ControlLaw as ControlLaw
    from linkwork.control.controller_contract import check_controller as check_controller
    from linkwork.control.joint_controllers import PD as PD
    from linkwork.control.joint_controllers import PID as PID
    from linkwork.control.joint_controllers import ComputedTorque as ComputedTorque
    from linkwork.control.joint_controllers import GravityCompensation as GravityCompensation
    from linkwork.control.joint_controllers import JointImpedance as JointImpedance
    from linkwork.control.linear_quadratic.linear_model import linear_model as linear_model
    from linkwork.control.linear_quadratic.lqr_controllers import LQRController as LQRController
    from linkwork.control.linear_quadratic.lqr_controllers import lqr_about_state as lqr_about_state
    from linkwork.control.linear_quadratic.lqr_gains import FiniteHorizonLQR as FiniteHorizonLQR
    from linkwork.control.linear_quadratic.lqr_gains import LQRGain as LQRGain
    from linkwork.control.linear_quadratic.lqr_gains import finite_horizon_lqr as finite_horizon_lqr
    from linkwork.control.linear_quadratic.lqr_gains import lqr as lqr
    from linkwork.control.linear_quadratic.state_space import StateSpace as StateSpace
    from linkwork.control.linear_quadratic.tracking_regulators import TVLQRController as TVLQRController
    from linkwork.control.linear_quadratic.tracking_regulators import lqr_about_trajectory as lqr_about_trajectory
    from linkwork.control.mpc.mpc import ModelPredictiveController as ModelPredictiveController
    from linkwork.control.mpc.mpc_plan import MPCCommand as MPCCommand
    from linkwork.control.mpc.mpc_plan import MPCPlan as MPCPlan
    from linkwork.control.task_controllers import OperationalSpace as OperationalSpace
    from linkwork.control.whole_body import WholeBody as WholeBody
    from linkwork.control.whole_body import WholeBodyAnswer as WholeBodyAnswer


if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = public_names(
        __name__,
        {
            "linkwork.control.admittance": "Admittance",
            "linkwork.control.cartesian_controllers": "HybridForcePosition Impedance",
            "linkwork.control.controller_contract": "check_controller",
            "linkwork.control.controller_base": "ControlLaw",
            "linkwork.control.joint_controllers": "PD PID ComputedTorque GravityCompensation JointImpedance",
            "linkwork.control.linear_quadratic.linear_model": "linear_model",
            "linkwork.control.linear_quadratic.lqr_controllers": "LQRController lqr_about_state",
            "linkwork.control.linear_quadratic.lqr_gains": "FiniteHorizonLQR LQRGain finite_horizon_lqr lqr",
            "linkwork.control.linear_quadratic.state_space": "StateSpace",
            "linkwork.control.linear_quadratic.tracking_regulators": "TVLQRController lqr_about_trajectory",
            "linkwork.control.mpc.mpc": "ModelPredictiveController",
            "linkwork.control.mpc.mpc_plan": "MPCCommand MPCPlan",
            "linkwork.control.task_controllers": "OperationalSpace",
            "linkwork.control.whole_body": "WholeBody WholeBodyAnswer",
        },
    )
