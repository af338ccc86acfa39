"""Results of mechanisms with loops: assembly, driven motion, equilibrium, mobility and integrability.

The functions themselves are methods of `linkwork.Robot`: `assemble`, `branches`, `drive_mechanism`, `equilibrium`,
`mobility`, `minimal_coordinates` and `integrability`.
"""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.mechanisms.assembly.assembly_branches import Branches as Branches
    from linkwork.mechanisms.assembly.driven_motion import DrivenMotion as DrivenMotion
    from linkwork.mechanisms.assembly.reactions import Reactions as Reactions
    from linkwork.mechanisms.assembly.result import Assembly as Assembly
    from linkwork.mechanisms.equilibrium import Equilibrium as Equilibrium
    from linkwork.mechanisms.integrability.frobenius_analysis import Integrability as Integrability
    from linkwork.mechanisms.mobility.minimal_coordinates import MinimalCoordinates as MinimalCoordinates
    from linkwork.mechanisms.mobility.mobility_analysis import Mobility as Mobility
    from linkwork.mechanisms.mobility.mobility_batch import Mobilities as Mobilities


if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = public_names(
        __name__,
        {
            "linkwork.mechanisms.assembly.assembly_branches": "Branches",
            "linkwork.mechanisms.assembly.driven_motion": "DrivenMotion",
            "linkwork.mechanisms.assembly.reactions": "Reactions",
            "linkwork.mechanisms.assembly.result": "Assembly",
            "linkwork.mechanisms.equilibrium": "Equilibrium",
            "linkwork.mechanisms.integrability.frobenius_analysis": "Integrability",
            "linkwork.mechanisms.mobility.minimal_coordinates": "MinimalCoordinates",
            "linkwork.mechanisms.mobility.mobility_analysis": "Mobility",
            "linkwork.mechanisms.mobility.mobility_batch": "Mobilities",
        },
    )
