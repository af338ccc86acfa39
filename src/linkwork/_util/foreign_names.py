"""Hints for attributes that do not exist: the nearest name, or the equivalent of another library's name.

Sources: the interfaces of Robotics Toolbox for Python 1.1, MATLAB's rigidBodyTree, Pinocchio 4.1 and Drake 1.51, and
names of common file formats.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from linkwork._util.messages import nearest

__all__ = ["FOREIGN_NAMES", "ForeignName", "add_foreign_names", "missing_attribute"]

_ROBOT = {
    "pose": ("fkine", "fk", "getTransform", "get_transform", "frame_pose", "framePlacement", "CalcRelativeTransform"),
    "forward_kinematics": ("fkine_all", "forwardKinematics", "fkine_path"),
    "jacobian": (
        *("jacob0", "jacobe", "geometricJacobian", "getFrameJacobian", "computeFrameJacobian", "computeJointJacobians"),
        *("CalcJacobianSpatialVelocity",),
    ),
    "jacobian_derivative": ("jacob0_dot", "getFrameJacobianTimeVariation"),
    "inverse_kinematics": (
        "ik",
        "ikine",
        "ikine_LM",
        "ikine_GN",
        "ikine_NR",
        "ik_LM",
        "ik_GN",
        "ik_NR",
        "inverseKinematics",
    ),
    "inverse_dynamics": ("rne", "rnea", "inverseDynamics", "CalcInverseDynamics"),
    "forward_dynamics": ("accel", "aba", "forwardDynamics", "fdyn"),
    "mass_matrix": ("inertia", "crba", "massMatrix", "M", "CalcMassMatrix"),
    "coriolis_matrix": ("coriolis", "computeCoriolisMatrix"),
    "gravity_force": ("gravload", "gravityTorque", "gravity_torque", "computeGeneralizedGravity"),
    "bias_force": ("velocityProduct", "nonLinearEffects", "nle", "CalcBiasTerm"),
    "center_of_mass": ("com", "centerOfMass", "CalcCenterOfMassPosition"),
    "random_configuration": ("randomConfiguration", "random_q"),
    "neutral": ("homeConfiguration", "qz", "q0"),
    "nv": ("n", "dof", "ndof"),
    "position_limits": ("qlim", "lowerPositionLimit", "joint_limits"),
    "joints": ("joint_names", "jointNames"),
    "plan": ("plan_path", "motion_plan"),
    "named_configurations": ("referenceConfigurations", "keyframe", "keyframes"),
    "actuators": ("actuator", "motors"),
}
_MODULE = {
    "load": ("from_urdf", "load_urdf", "URDF", "buildModelFromUrdf", "importrobot", "read", "read_urdf"),
    "Robot.build": ("build", "rigidBodyTree", "ERobot", "MultibodyPlant"),
    "Robot.from_dh": ("DHRobot", "from_dh", "SerialLink"),
    "pose": ("SE3", "transform"),
    "motion": ("trajectory", "planning", "trajectories"),
    "simulation": ("simulate", "sim"),
    "ik": ("inverse_kinematics",),
}
_REMEDIES = {
    **dict.fromkeys(
        ("from_mjcf", "load_mjcf", "MJCF", "from_sdf", "load_sdf", "from_usd", "load_usd"),
        "linkwork reads URDF only: convert the file to URDF, or build the robot with Robot.build",
    ),
    **dict.fromkeys(
        ("show", "view", "visualize", "render", "plotly", "display", "draw"),
        "Robot.plot draws a robot, PlanResult.plot a path and Simulation.animation a motion, with matplotlib",
    ),
}


FOREIGN_NAMES = {name: f"use robot.{own}" for own, theirs in _ROBOT.items() for name in theirs} | _REMEDIES
"""Advice for each attribute of robots that other libraries have."""


class ForeignName:
    """Descriptor for a name of another library: access raises an AttributeError with the equivalent name.

    A `__getattr__` of the class could do the same, but would double the time of each method call.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self.__doc__ = f"Not an attribute here: {FOREIGN_NAMES[name]}."

    def __get__(self, owner: object, kind: type) -> NoReturn:
        message = f"a {kind.__name__} has no attribute {self._name!r}; {FOREIGN_NAMES[self._name]}"
        raise AttributeError(message, name=self._name, obj=kind if owner is None else owner)


def add_foreign_names(kind: type) -> None:
    """Add a `ForeignName` to a class for each name of other libraries that the class does not define."""
    known = {name for base in kind.__mro__ for name in vars(base)}
    for name in FOREIGN_NAMES:
        if name not in known:
            setattr(kind, name, ForeignName(name))


def missing_attribute(module: str, name: str, known: Iterable[str]) -> str:
    """Return the message of a module's AttributeError: the missing name and the nearest existing one."""
    for own, theirs in _MODULE.items():
        if name in theirs:
            return f"module {module!r} has no attribute {name!r}; use linkwork.{own}"
    remedy = _REMEDIES.get(name) or nearest(name, sorted(one for one in known if not one.startswith("_")))
    return f"module {module!r} has no attribute {name!r}; {remedy}"
