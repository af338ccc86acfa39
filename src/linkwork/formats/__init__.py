"""Readers and writers of robot files: URDF, MJCF, SDF, SRDF and loop files."""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.formats.loops_file import loops_text, parse_loops, read_loops
    from linkwork.formats.mjcf.coordinates import MujocoCoordinates
    from linkwork.formats.registry import FORMATS, Format
    from linkwork.formats.sdf.sdf_reader import parse_sdf, read_sdf
    from linkwork.formats.srdf import parse_srdf, srdf_text
    from linkwork.formats.urdf.urdf_reader import parse_urdf, read_urdf
    from linkwork.formats.xml_document import Budget

__all__ = [
    "FORMATS",
    "Budget",
    "Format",
    "MujocoCoordinates",
    "loops_text",
    "parse_loops",
    "parse_sdf",
    "parse_srdf",
    "parse_urdf",
    "read_loops",
    "read_sdf",
    "read_urdf",
    "srdf_text",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_names(
        __name__,
        __all__,
        {
            "linkwork.formats.loops_file": "loops_text parse_loops read_loops",
            "linkwork.formats.mjcf.coordinates": "MujocoCoordinates",
            "linkwork.formats.registry": "FORMATS Format",
            "linkwork.formats.sdf.sdf_reader": "parse_sdf read_sdf",
            "linkwork.formats.srdf": "parse_srdf srdf_text",
            "linkwork.formats.urdf.urdf_reader": "parse_urdf read_urdf",
            "linkwork.formats.xml_document": "Budget",
        },
    )
