"""The robot as data: its tree of bodies and frames, and the specifications of its functions.

The public names are for extensions: functions of a robot, and readers and writers of robot files.
"""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.model.body import WORLD, Body, Frame
    from linkwork.model.function_spec import FunctionSpec, Output
    from linkwork.model.tree import Tree

__all__ = ["WORLD", "Body", "Frame", "FunctionSpec", "Output", "Tree"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_names(
        __name__,
        __all__,
        {
            "linkwork.model.body": "WORLD Body Frame",
            "linkwork.model.function_spec": "FunctionSpec Output",
            "linkwork.model.tree": "Tree",
        },
    )
