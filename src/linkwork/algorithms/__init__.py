"""Algorithms over any scalar, one file a computed quantity."""

from .configuration import difference, integrate, normalize
from .forward_dynamics import forward_dynamics
from .forward_kinematics import forward_kinematics
from .frame_kinematics import acceleration, jacobian, pose, twist
from .inverse_dynamics import bias_force, gravity_force, inverse_dynamics
from .mass_matrix import mass_matrix

__all__ = [
    "acceleration",
    "bias_force",
    "difference",
    "forward_dynamics",
    "forward_kinematics",
    "gravity_force",
    "integrate",
    "inverse_dynamics",
    "jacobian",
    "mass_matrix",
    "normalize",
    "pose",
    "twist",
]
