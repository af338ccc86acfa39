"""Results of mechanisms with loops: assembly, driven motion, equilibrium, mobility and integrability.

The functions themselves are methods of `linkwork.Robot`: `assemble`, `branches`, `drive_mechanism`, `equilibrium`,
`mobility`, `minimal_coordinates` and `integrability`.
"""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.mechanisms.assembly.assembly_branches import Branches
    from linkwork.mechanisms.assembly.driven_motion import DrivenMotion
    from linkwork.mechanisms.assembly.driven_output import Reactions
    from linkwork.mechanisms.assembly.result import Assembly
    from linkwork.mechanisms.equilibrium import Equilibrium
    from linkwork.mechanisms.integrability.frobenius_analysis import Integrability
    from linkwork.mechanisms.mobility.minimal_coordinates import MinimalCoordinates
    from linkwork.mechanisms.mobility.mobility_analysis import Mobility
    from linkwork.mechanisms.mobility.mobility_batch import Mobilities

__all__ = [
    "Assembly",
    "Branches",
    "DrivenMotion",
    "Equilibrium",
    "Integrability",
    "MinimalCoordinates",
    "Mobilities",
    "Mobility",
    "Reactions",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_names(
        __name__,
        __all__,
        {
            "linkwork.mechanisms.assembly.assembly_branches": "Branches",
            "linkwork.mechanisms.assembly.driven_motion": "DrivenMotion",
            "linkwork.mechanisms.assembly.driven_output": "Reactions",
            "linkwork.mechanisms.assembly.result": "Assembly",
            "linkwork.mechanisms.equilibrium": "Equilibrium",
            "linkwork.mechanisms.integrability.frobenius_analysis": "Integrability",
            "linkwork.mechanisms.mobility.minimal_coordinates": "MinimalCoordinates",
            "linkwork.mechanisms.mobility.mobility_analysis": "Mobility",
            "linkwork.mechanisms.mobility.mobility_batch": "Mobilities",
        },
    )
