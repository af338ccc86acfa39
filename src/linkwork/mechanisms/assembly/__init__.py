"""Assembly: configurations that satisfy the constraints of a mechanism."""

from linkwork.mechanisms.assembly.assembly_branches import Branches, find_branches
from linkwork.mechanisms.assembly.assembly_search import assemble, project
from linkwork.mechanisms.assembly.driven_motion import DrivenMotion, drive
from linkwork.mechanisms.assembly.result import Assembly

__all__ = ["Assembly", "Branches", "DrivenMotion", "assemble", "drive", "find_branches", "project"]
