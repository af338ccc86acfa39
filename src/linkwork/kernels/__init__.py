"""Function specifications become kernels, and kernels become calls that check their arguments.

The public names are for extensions: methods of a robot, and their kinds of arguments.
"""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.kernels.compiled_method import computed as computed
    from linkwork.kernels.robot_base import Array as Array
    from linkwork.kernels.robot_base import Axes as Axes
    from linkwork.kernels.robot_base import RobotBase as RobotBase
    from linkwork.kernels.robot_base import Wrenches as Wrenches

if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = public_names(
        __name__,
        {
            "linkwork.kernels.compiled_method": "computed",
            "linkwork.kernels.robot_base": "Array Axes RobotBase Wrenches",
        },
    )
