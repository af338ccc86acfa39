"""The robot as data: its tree of bodies and frames, and the specifications of its functions.

The public names are for extensions: functions of a robot, readers and writers of robot files, viewers and other tools.

- Tree: `Tree`, `Body`, `Frame`; `bounds` and names and units of coordinates; pairs of links that collide; inertias of
  frames; `tree_lines` and other texts.
- Functions: `FunctionSpec`, `Output`, `quantity_of`; dimensions of their arrays; laws of friction; `read_parameters`.
"""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.model.body import WORLD as WORLD
    from linkwork.model.body import Body as Body
    from linkwork.model.body import Frame as Frame
    from linkwork.model.collision_pairs import pair_filter as pair_filter
    from linkwork.model.collision_pairs import pairs_of_links as pairs_of_links
    from linkwork.model.composite_body import bounding_sphere_of as bounding_sphere_of
    from linkwork.model.composite_body import compose as compose
    from linkwork.model.composite_body import frames_with_inertias as frames_with_inertias
    from linkwork.model.composite_body import with_summed_inertias as with_summed_inertias
    from linkwork.model.coordinate_names import dimensions_of as dimensions_of
    from linkwork.model.coordinate_names import labels_of as labels_of
    from linkwork.model.coordinate_names import names_in as names_in
    from linkwork.model.coordinate_names import names_of as names_of
    from linkwork.model.coordinate_names import units_for as units_for
    from linkwork.model.coordinate_names import units_of as units_of
    from linkwork.model.coupled_joints import bounds as bounds
    from linkwork.model.friction_laws import Friction as Friction
    from linkwork.model.friction_laws import FrictionLaw as FrictionLaw
    from linkwork.model.friction_laws import read_friction as read_friction
    from linkwork.model.function_spec import FunctionSpec as FunctionSpec
    from linkwork.model.function_spec import Output as Output
    from linkwork.model.function_spec import quantity_of as quantity_of
    from linkwork.model.kernel_parameters import read_parameters as read_parameters
    from linkwork.model.tree import Tree as Tree
    from linkwork.model.tree_drawing import axis_text as axis_text
    from linkwork.model.tree_drawing import constraint_lines as constraint_lines
    from linkwork.model.tree_drawing import constraint_rows as constraint_rows
    from linkwork.model.tree_drawing import follows_text as follows_text
    from linkwork.model.tree_drawing import joint_parameters as joint_parameters
    from linkwork.model.tree_drawing import slice_text as slice_text
    from linkwork.model.tree_drawing import tree_lines as tree_lines


if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = public_names(
        __name__,
        {
            "linkwork.model.body": "WORLD Body Frame",
            "linkwork.model.collision_pairs": "pair_filter pairs_of_links",
            "linkwork.model.composite_body": "bounding_sphere_of compose frames_with_inertias with_summed_inertias",
            "linkwork.model.coordinate_names": "dimensions_of labels_of names_in names_of units_for units_of",
            "linkwork.model.coupled_joints": "bounds",
            "linkwork.model.friction_laws": "Friction FrictionLaw read_friction",
            "linkwork.model.function_spec": "FunctionSpec Output quantity_of",
            "linkwork.model.kernel_parameters": "read_parameters",
            "linkwork.model.tree": "Tree",
            "linkwork.model.tree_drawing": (
                "axis_text constraint_lines constraint_rows follows_text joint_parameters slice_text tree_lines"
            ),
        },
    )
