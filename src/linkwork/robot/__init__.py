"""The class `Robot`: construction, joints and links, edits, and the table of its functions."""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.robot.robot import Robot as Robot
    from linkwork.robot.robot import join_robots as join_robots
    from linkwork.robot.robot import load as load
    from linkwork.robot.robot import load_description as load_description


if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = public_names(
        __name__, {"linkwork.robot.robot": "Robot join_robots load load_description"}
    )
