"""The robot as data: its tree of bodies and frames, and the specifications of its functions.

The public names are for extensions: functions of a robot, and readers and writers of robot files.
"""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.model.body import WORLD as WORLD
    from linkwork.model.body import Body as Body
    from linkwork.model.body import Frame as Frame
    from linkwork.model.function_spec import FunctionSpec as FunctionSpec
    from linkwork.model.function_spec import Output as Output
    from linkwork.model.tree import Tree as Tree


if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = public_names(
        __name__,
        {
            "linkwork.model.body": "WORLD Body Frame",
            "linkwork.model.function_spec": "FunctionSpec Output",
            "linkwork.model.tree": "Tree",
        },
    )
