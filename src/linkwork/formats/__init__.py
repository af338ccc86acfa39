"""Readers and writers of robot files: URDF, SRDF and loop files."""

from linkwork.formats.loops_file import loops_text, parse_loops, read_loops
from linkwork.formats.registry import FORMATS, Format
from linkwork.formats.srdf import parse_srdf, srdf_text
from linkwork.formats.urdf.urdf_reader import parse_urdf, read_urdf
from linkwork.formats.xml_document import Budget

__all__ = [
    "FORMATS",
    "Budget",
    "Format",
    "loops_text",
    "parse_loops",
    "parse_srdf",
    "parse_urdf",
    "read_loops",
    "read_urdf",
    "srdf_text",
]
