"""The values that readers of robot files return and writers take, and functions for readers.

A `Description` has the links, joints and frames of a robot by name; `Findings` collects errors and repairs.
"""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.errors import Findings as Findings
    from linkwork.formats.file_reading import path_text as path_text
    from linkwork.formats.file_reading import read_regular as read_regular
    from linkwork.formats.resource_paths import resource_paths as resource_paths
    from linkwork.formats.resource_paths import tree_paths as tree_paths
    from linkwork.formats.tree_description import describe as describe
    from linkwork.model.actuator import Actuator as Actuator
    from linkwork.model.body import FRICTION_VELOCITY as FRICTION_VELOCITY
    from linkwork.model.body import DisabledPair as DisabledPair
    from linkwork.model.body import Drive as Drive
    from linkwork.model.body import Following as Following
    from linkwork.model.body import Limits as Limits
    from linkwork.model.description import ActuatorDescription as ActuatorDescription
    from linkwork.model.description import ConstraintDescription as ConstraintDescription
    from linkwork.model.description import Description as Description
    from linkwork.model.description import ForceElementDescription as ForceElementDescription
    from linkwork.model.description import FrameDescription as FrameDescription
    from linkwork.model.description import JointDescription as JointDescription
    from linkwork.model.description import LinkDescription as LinkDescription
    from linkwork.model.description import MarkDescription as MarkDescription
    from linkwork.model.description import NamedState as NamedState
    from linkwork.model.description import NamedStateDescription as NamedStateDescription
    from linkwork.model.inertia_check import check_inertial as check_inertial
    from linkwork.model.inertia_check import mass_properties as mass_properties
    from linkwork.model.inertia_check import moments_possible as moments_possible
    from linkwork.model.tree import Report as Report
    from linkwork.model.tree_builder import DEFAULT_GRAVITY as DEFAULT_GRAVITY
    from linkwork.model.tree_builder import FLOATING_BASE as FLOATING_BASE
    from linkwork.model.tree_builder import read_gravity as read_gravity
    from linkwork.model.value_check import looks_like_degrees as looks_like_degrees
    from linkwork.shapes.mesh_files import MeshFile as MeshFile
    from linkwork.shapes.mesh_files import read_mesh_file as read_mesh_file
    from linkwork.spatial.arguments import LARGEST as LARGEST


if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = public_names(
        __name__,
        {
            "linkwork.shapes.mesh_files": "MeshFile read_mesh_file",
            "linkwork.errors": "Findings",
            "linkwork.formats.file_reading": "path_text read_regular",
            "linkwork.formats.resource_paths": "resource_paths tree_paths",
            "linkwork.formats.tree_description": "describe",
            "linkwork.model.actuator": "Actuator",
            "linkwork.model.body": "FRICTION_VELOCITY DisabledPair Drive Following Limits",
            "linkwork.model.description": (
                "ActuatorDescription ConstraintDescription Description ForceElementDescription FrameDescription "
                "JointDescription LinkDescription MarkDescription NamedState NamedStateDescription"
            ),
            "linkwork.model.tree": "Report",
            "linkwork.model.tree_builder": "DEFAULT_GRAVITY FLOATING_BASE read_gravity",
            "linkwork.model.inertia_check": "check_inertial mass_properties moments_possible",
            "linkwork.model.value_check": "looks_like_degrees",
            "linkwork.spatial.arguments": "LARGEST",
        },
    )
