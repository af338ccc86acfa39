"""Signed distances of shapes that are not convex: height fields, point clouds, distance fields and compounds.

Their values are arrays that are inputs of each call, so one kernel serves all data of a capacity.
"""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.geometry.fields.distance_grid import Voxels, voxel_arrays, voxel_distance
    from linkwork.geometry.fields.field_dispatch import (
        FIELDS,
        Field,
        FieldKind,
        distance_field,
        distance_of_shapes,
        field_distance,
        field_row,
        is_bounded,
        is_measured,
        minimum_of,
    )
    from linkwork.geometry.fields.height_field import Ground, ground_arrays, ground_distance
    from linkwork.geometry.fields.height_field_ray import ground_ray
    from linkwork.geometry.fields.point_cloud import Cloud, cloud_arrays, cloud_distance, least_of_points

__all__ = [
    "FIELDS",
    "Cloud",
    "Field",
    "FieldKind",
    "Ground",
    "Voxels",
    "cloud_arrays",
    "cloud_distance",
    "distance_field",
    "distance_of_shapes",
    "field_distance",
    "field_row",
    "ground_arrays",
    "ground_distance",
    "ground_ray",
    "is_bounded",
    "is_measured",
    "least_of_points",
    "minimum_of",
    "voxel_arrays",
    "voxel_distance",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_names(
        __name__,
        __all__,
        {
            "linkwork.geometry.fields.distance_grid": "Voxels voxel_arrays voxel_distance",
            "linkwork.geometry.fields.field_dispatch": (
                "FIELDS Field FieldKind distance_field distance_of_shapes field_distance field_row "
                "is_bounded is_measured minimum_of"
            ),
            "linkwork.geometry.fields.height_field": "Ground ground_arrays ground_distance",
            "linkwork.geometry.fields.height_field_ray": "ground_ray",
            "linkwork.geometry.fields.point_cloud": "Cloud cloud_arrays cloud_distance least_of_points",
        },
    )
