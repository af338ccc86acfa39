"""Readers and writers of robot files: URDF, MJCF, SDF, linkwork's own JSON, SRDF and loop files."""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork._util.file_budget import Budget
    from linkwork.formats import description
    from linkwork.formats.linkwork_json.robot_reader import parse_robot, read_robot
    from linkwork.formats.linkwork_json.robot_writer import robot_text
    from linkwork.formats.loops_file import loops_text, parse_loops, read_loops
    from linkwork.formats.mjcf.coordinates import MujocoCoordinates
    from linkwork.formats.mjcf.writing.mjcf_writer import mjcf_text
    from linkwork.formats.registry import FORMATS, Format
    from linkwork.formats.sdf.sdf_reader import parse_sdf, read_sdf
    from linkwork.formats.sdf.sdf_writer import sdf_text
    from linkwork.formats.srdf import parse_srdf, srdf_text
    from linkwork.formats.urdf.urdf_reader import parse_urdf, read_urdf
    from linkwork.formats.urdf.urdf_writer import urdf_text

__all__ = [
    "FORMATS",
    "Budget",
    "Format",
    "MujocoCoordinates",
    "description",
    "loops_text",
    "mjcf_text",
    "parse_loops",
    "parse_robot",
    "parse_sdf",
    "parse_srdf",
    "parse_urdf",
    "read_loops",
    "read_robot",
    "read_sdf",
    "read_urdf",
    "robot_text",
    "sdf_text",
    "srdf_text",
    "urdf_text",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_names(
        __name__,
        __all__,
        {
            "linkwork.formats.loops_file": "loops_text parse_loops read_loops",
            "linkwork.formats.mjcf.coordinates": "MujocoCoordinates",
            "linkwork.formats.mjcf.writing.mjcf_writer": "mjcf_text",
            "linkwork.formats.registry": "FORMATS Format",
            "linkwork.formats.linkwork_json.robot_reader": "parse_robot read_robot",
            "linkwork.formats.linkwork_json.robot_writer": "robot_text",
            "linkwork.formats.sdf.sdf_reader": "parse_sdf read_sdf",
            "linkwork.formats.sdf.sdf_writer": "sdf_text",
            "linkwork.formats.srdf": "parse_srdf srdf_text",
            "linkwork.formats.urdf.urdf_reader": "parse_urdf read_urdf",
            "linkwork.formats.urdf.urdf_writer": "urdf_text",
            "linkwork._util.file_budget": "Budget",
        },
        modules="description",
    )
