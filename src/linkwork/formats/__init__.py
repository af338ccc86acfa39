"""Reading robots from files."""

from .loops import parse_loops, read_loops
from .loops_text import loops_text
from .srdf import parse_srdf, srdf_text
from .urdf import parse_urdf, read_urdf
from .xml import Budget

__all__ = ["Budget", "loops_text", "parse_loops", "parse_srdf", "parse_urdf", "read_loops", "read_urdf", "srdf_text"]
