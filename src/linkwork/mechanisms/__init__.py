"""Results of mechanisms with loops: assembly, driven motion, equilibrium, mobility and integrability.

The functions themselves are methods of `linkwork.Robot`: `assemble`, `branches`, `follow`, `equilibrium`, `mobility`,
`minimal_coordinates` and `integrability`.
"""

from linkwork.mechanisms.assembly.assembly_branches import Branches
from linkwork.mechanisms.assembly.driven_motion import DrivenMotion
from linkwork.mechanisms.assembly.result import Assembly
from linkwork.mechanisms.equilibrium import Equilibrium
from linkwork.mechanisms.integrability.frobenius_analysis import Integrability
from linkwork.mechanisms.mobility.minimal_coordinates import MinimalCoordinates
from linkwork.mechanisms.mobility.mobility_analysis import Mobility

__all__ = [
    "Assembly",
    "Branches",
    "DrivenMotion",
    "Equilibrium",
    "Integrability",
    "MinimalCoordinates",
    "Mobility",
]


def __dir__() -> list[str]:
    """The documented names."""
    return sorted(__all__)
