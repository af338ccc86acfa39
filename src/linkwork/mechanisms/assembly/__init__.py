"""Assembly: configurations that satisfy the constraints of a mechanism."""

from linkwork.mechanisms.assembly.assembly_branches import Branches, found_branches
from linkwork.mechanisms.assembly.assembly_search import assembled, projected
from linkwork.mechanisms.assembly.driven_motion import DrivenMotion, followed
from linkwork.mechanisms.assembly.result import Assembly

__all__ = ["Assembly", "Branches", "DrivenMotion", "assembled", "followed", "found_branches", "projected"]
