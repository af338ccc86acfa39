"""Configurations that satisfy constraints: found from a guess, from anywhere, and from state to state."""

from .branches import Branches, found_branches
from .following import Followed, followed
from .results import Assembly
from .solving import assembled, projected

__all__ = ["Assembly", "Branches", "Followed", "assembled", "followed", "found_branches", "projected"]
