"""Readers and writers of robot files: URDF, MJCF, SDF, linkwork's own JSON, SRDF and loop files."""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork._util.file_access import Budget as Budget
    from linkwork.formats import description as description
    from linkwork.formats.linkwork_json.robot_reader import parse_robot as parse_robot
    from linkwork.formats.linkwork_json.robot_reader import read_robot as read_robot
    from linkwork.formats.linkwork_json.robot_writer import robot_text as robot_text
    from linkwork.formats.loops_file import loops_text as loops_text
    from linkwork.formats.loops_file import parse_loops as parse_loops
    from linkwork.formats.loops_file import read_loops as read_loops
    from linkwork.formats.mjcf.coordinates import MujocoCoordinates as MujocoCoordinates
    from linkwork.formats.mjcf.writing.mjcf_writer import mjcf_text as mjcf_text
    from linkwork.formats.registry import FORMATS as FORMATS
    from linkwork.formats.registry import Format as Format
    from linkwork.formats.registry import find_format as find_format
    from linkwork.formats.sdf.sdf_reader import parse_sdf as parse_sdf
    from linkwork.formats.sdf.sdf_reader import read_sdf as read_sdf
    from linkwork.formats.sdf.sdf_writer import sdf_text as sdf_text
    from linkwork.formats.srdf import parse_srdf as parse_srdf
    from linkwork.formats.srdf_writing import srdf_text as srdf_text
    from linkwork.formats.urdf.urdf_reader import parse_urdf as parse_urdf
    from linkwork.formats.urdf.urdf_reader import read_urdf as read_urdf
    from linkwork.formats.urdf.urdf_writer import urdf_text as urdf_text


if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = public_names(
        __name__,
        {
            "linkwork.formats.loops_file": "loops_text parse_loops read_loops",
            "linkwork.formats.mjcf.coordinates": "MujocoCoordinates",
            "linkwork.formats.mjcf.writing.mjcf_writer": "mjcf_text",
            "linkwork.formats.registry": "FORMATS Format find_format",
            "linkwork.formats.linkwork_json.robot_reader": "parse_robot read_robot",
            "linkwork.formats.linkwork_json.robot_writer": "robot_text",
            "linkwork.formats.sdf.sdf_reader": "parse_sdf read_sdf",
            "linkwork.formats.sdf.sdf_writer": "sdf_text",
            "linkwork.formats.srdf": "parse_srdf",
            "linkwork.formats.srdf_writing": "srdf_text",
            "linkwork.formats.urdf.urdf_reader": "parse_urdf read_urdf",
            "linkwork.formats.urdf.urdf_writer": "urdf_text",
            "linkwork._util.file_access": "Budget",
        },
        modules="description",
    )
