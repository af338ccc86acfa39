"""linkwork: a robot compiler.

>>> import linkwork as lw
>>> robot = lw.load("arm7")
>>> q = robot.random_configuration(seed=0, size=1000)
>>> robot.pose(q, "hand").shape
(1000, 4, 4)
"""

from . import errors, expr, joints, robots, shapes, spatial
from .compiler.from_casadi import from_casadi
from .compiler.kernel import Kernel
from .compiler.threads import get_num_threads, set_num_threads
from .compiler.trace import compile
from .facade.check_joint import JointReport, check_joint
from .facade.joint import Joint
from .facade.link import Link
from .facade.posing import pose
from .facade.robot import Robot, load

__all__ = [
    "Joint",
    "JointReport",
    "Kernel",
    "Link",
    "Robot",
    "__version__",
    "check_joint",
    "compile",
    "errors",
    "expr",
    "from_casadi",
    "get_num_threads",
    "joints",
    "load",
    "pose",
    "robots",
    "set_num_threads",
    "shapes",
    "spatial",
]

__version__ = "0.1.0"


def __dir__() -> list[str]:
    """The documented names, and none of the rooms that they come from."""
    return sorted(__all__)
