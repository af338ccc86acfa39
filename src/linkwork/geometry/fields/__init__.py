"""Signed distances of shapes that are not convex: height fields, point clouds, distance fields and compounds.

Their values are arrays that are inputs of each call, so one kernel serves all data of a capacity.
"""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.geometry.fields.distance_grid import Voxels as Voxels
    from linkwork.geometry.fields.distance_grid import distance_slope as distance_slope
    from linkwork.geometry.fields.distance_grid import voxel_arrays as voxel_arrays
    from linkwork.geometry.fields.distance_grid import voxel_distance as voxel_distance
    from linkwork.geometry.fields.field_dispatch import FIELDS as FIELDS
    from linkwork.geometry.fields.field_dispatch import Field as Field
    from linkwork.geometry.fields.field_dispatch import FieldKind as FieldKind
    from linkwork.geometry.fields.field_dispatch import distance_field as distance_field
    from linkwork.geometry.fields.field_dispatch import distance_of_shapes as distance_of_shapes
    from linkwork.geometry.fields.field_dispatch import field_distance as field_distance
    from linkwork.geometry.fields.field_dispatch import field_row as field_row
    from linkwork.geometry.fields.field_dispatch import is_bounded as is_bounded
    from linkwork.geometry.fields.field_dispatch import is_measured as is_measured
    from linkwork.geometry.fields.field_dispatch import minimum_of as minimum_of
    from linkwork.geometry.fields.height_field import Ground as Ground
    from linkwork.geometry.fields.height_field import ground_arrays as ground_arrays
    from linkwork.geometry.fields.height_field import ground_distance as ground_distance
    from linkwork.geometry.fields.point_cloud import Cloud as Cloud
    from linkwork.geometry.fields.point_cloud import cloud_arrays as cloud_arrays
    from linkwork.geometry.fields.point_cloud import cloud_distance as cloud_distance
    from linkwork.geometry.fields.point_cloud import least_of_points as least_of_points
    from linkwork.geometry.ray_casting import ground_ray as ground_ray


if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = public_names(
        __name__,
        {
            "linkwork.geometry.fields.distance_grid": "Voxels distance_slope voxel_arrays voxel_distance",
            "linkwork.geometry.fields.field_dispatch": (
                "FIELDS Field FieldKind distance_field distance_of_shapes field_distance field_row "
                "is_bounded is_measured minimum_of"
            ),
            "linkwork.geometry.fields.height_field": "Ground ground_arrays ground_distance",
            "linkwork.geometry.fields.point_cloud": "Cloud cloud_arrays cloud_distance least_of_points",
            "linkwork.geometry.ray_casting": "ground_ray",
        },
    )
