"""Controllers of robots, linear-quadratic regulators and model-predictive control."""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.control.admittance import Admittance
    from linkwork.control.cartesian_controllers import HybridForcePosition, Impedance
    from linkwork.control.controller_base import ControlLaw
    from linkwork.control.controller_contract import check_controller
    from linkwork.control.joint_controllers import PD, PID, ComputedTorque, GravityCompensation, JointImpedance
    from linkwork.control.linear_quadratic.lqr_controllers import (
        LQRController,
        TVLQRController,
        lqr_about_state,
        lqr_about_trajectory,
    )
    from linkwork.control.linear_quadratic.lqr_gains import FiniteHorizonLQR, LQRGain, finite_horizon_lqr, lqr
    from linkwork.control.mpc.mpc import ModelPredictiveController
    from linkwork.control.mpc.mpc_plan import MPCCommand, MPCPlan
    from linkwork.control.task_controllers import OperationalSpace
    from linkwork.control.whole_body import WholeBody, WholeBodyAnswer

__all__ = [
    "PD",
    "PID",
    "Admittance",
    "ComputedTorque",
    "ControlLaw",
    "FiniteHorizonLQR",
    "GravityCompensation",
    "HybridForcePosition",
    "Impedance",
    "JointImpedance",
    "LQRController",
    "LQRGain",
    "MPCCommand",
    "MPCPlan",
    "ModelPredictiveController",
    "OperationalSpace",
    "TVLQRController",
    "WholeBody",
    "WholeBodyAnswer",
    "check_controller",
    "finite_horizon_lqr",
    "lqr",
    "lqr_about_state",
    "lqr_about_trajectory",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_names(
        __name__,
        __all__,
        {
            "linkwork.control.admittance": "Admittance",
            "linkwork.control.cartesian_controllers": "HybridForcePosition Impedance",
            "linkwork.control.controller_contract": "check_controller",
            "linkwork.control.controller_base": "ControlLaw",
            "linkwork.control.joint_controllers": "PD PID ComputedTorque GravityCompensation JointImpedance",
            "linkwork.control.linear_quadratic.lqr_controllers": (
                "LQRController TVLQRController lqr_about_state lqr_about_trajectory"
            ),
            "linkwork.control.linear_quadratic.lqr_gains": "FiniteHorizonLQR LQRGain finite_horizon_lqr lqr",
            "linkwork.control.mpc.mpc": "ModelPredictiveController",
            "linkwork.control.mpc.mpc_plan": "MPCCommand MPCPlan",
            "linkwork.control.task_controllers": "OperationalSpace",
            "linkwork.control.whole_body": "WholeBody WholeBodyAnswer",
        },
    )
