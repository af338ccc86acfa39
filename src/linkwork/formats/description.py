"""The values that readers of robot files return and writers take, and functions for readers.

A `Description` has the links, joints and frames of a robot by name; `Findings` collects errors and repairs.
"""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.errors import Findings
    from linkwork.formats.file_reading import path_text, read_regular
    from linkwork.formats.resource_paths import resource_paths
    from linkwork.model.actuator import Actuator
    from linkwork.model.body import DisabledPair, Drive, Following, Limits
    from linkwork.model.description import (
        ActuatorDescription,
        ConstraintDescription,
        Description,
        ForceElementDescription,
        FrameDescription,
        JointDescription,
        LinkDescription,
        MarkDescription,
        NamedStateDescription,
    )
    from linkwork.model.named_state import NamedState
    from linkwork.model.tree import Report

__all__ = [
    "Actuator",
    "ActuatorDescription",
    "ConstraintDescription",
    "Description",
    "DisabledPair",
    "Drive",
    "Findings",
    "Following",
    "ForceElementDescription",
    "FrameDescription",
    "JointDescription",
    "Limits",
    "LinkDescription",
    "MarkDescription",
    "NamedState",
    "NamedStateDescription",
    "Report",
    "path_text",
    "read_regular",
    "resource_paths",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_names(
        __name__,
        __all__,
        {
            "linkwork.errors": "Findings",
            "linkwork.formats.file_reading": "path_text read_regular",
            "linkwork.formats.resource_paths": "resource_paths",
            "linkwork.model.actuator": "Actuator",
            "linkwork.model.body": "DisabledPair Drive Following Limits",
            "linkwork.model.description": (
                "ActuatorDescription ConstraintDescription Description ForceElementDescription FrameDescription "
                "JointDescription LinkDescription MarkDescription NamedStateDescription"
            ),
            "linkwork.model.named_state": "NamedState",
            "linkwork.model.tree": "Report",
        },
    )
