"""Reading robots from files."""

from .urdf import parse_urdf, read_urdf
from .xml import Budget

__all__ = ["Budget", "parse_urdf", "read_urdf"]
