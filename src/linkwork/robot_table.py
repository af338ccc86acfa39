"""Tables of the specifications of all functions of a robot and of a joint, in the order of the reference page."""

from collections.abc import Mapping
from dataclasses import replace

from linkwork.dynamics.algorithms import ROWS as _DYNAMICS
from linkwork.dynamics.singular_inertia import SINGULAR_INERTIA
from linkwork.kernels.owners import NONE, RobotOwner
from linkwork.kinematics.algorithms import ROWS as _KINEMATICS
from linkwork.kinematics.algorithms.joint_functions import TABLE as JOINT
from linkwork.mechanisms.algorithms import ROWS as _MECHANISMS
from linkwork.mechanisms.algorithms import for_constrained_robots
from linkwork.model.function_spec import FunctionSpec, table
from linkwork.model.parametrized_tree import ParameterValues
from linkwork.model.tree import Tree

__all__ = ["JOINT", "ROBOT", "robot_owner"]

_ALL = for_constrained_robots((*_KINEMATICS, *_DYNAMICS, *_MECHANISMS))

ROBOT: Mapping[str, FunctionSpec] = table(
    replace(row, inertia_check=SINGULAR_INERTIA) if row.requires_regular_coordinates else row for row in _ALL
)


def robot_owner(tree: Tree, parameter_values: ParameterValues = NONE) -> RobotOwner:
    """Return the owner of all functions of a robot, for requests and traces."""
    return RobotOwner(tree, ROBOT, parameter_values)
