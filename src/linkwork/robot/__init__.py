"""The class `Robot`: construction, joints and links, edits, and the table of its functions."""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.robot.robot import Robot, load, load_description

__all__ = ["Robot", "load", "load_description"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_names(__name__, __all__, {"linkwork.robot.robot": "Robot load load_description"})
