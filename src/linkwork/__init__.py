"""linkwork: a robot compiler.

>>> import linkwork as lw
>>> robot = lw.load("arm7")
>>> q = robot.random_configuration(0, size=1000)
>>> robot.pose(q, "hand").shape
(1000, 4, 4)
"""

from . import errors, expr, joints, robots
from .compiler.casadi import from_casadi
from .compiler.kernel import Kernel
from .compiler.threads import get_num_threads, set_num_threads
from .compiler.trace import compile
from .joint import Joint
from .joint_check import JointReport, check_joint
from .robot import Robot, load

__all__ = [
    "Joint",
    "JointReport",
    "Kernel",
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
    "robots",
    "set_num_threads",
]

__version__ = "0.1.0"
