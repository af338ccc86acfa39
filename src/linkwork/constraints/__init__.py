"""Constraints: what a mechanism obeys besides its joints, one file a kind."""

from .asking import Asking as Asking
from .contract import Between as Between
from .contract import Constraint as Constraint
from .contract import Kinematics as Kinematics
from .contract import Rates as Rates
from .contract import References as References
from .holonomic import Holonomic as Holonomic
from .loop import LoopJoint as LoopJoint
from .no_slip import NoSlip as NoSlip
from .pfaffian import Pfaffian as Pfaffian
from .rolling import BallRolling as BallRolling
from .rolling import Rolling as Rolling
from .rolling import RollingContact as RollingContact
from .skate import Skate as Skate

ALL: tuple[type[Constraint], ...] = (
    LoopJoint,
    Holonomic,
    Pfaffian,
    NoSlip,
    Skate,
    Rolling,
    RollingContact,
    BallRolling,
)

__all__ = [
    "ALL",
    "Asking",
    "Between",
    "Constraint",
    "Kinematics",
    "Rates",
    "References",
    *(kind.__name__ for kind in ALL),
]


def __dir__() -> list[str]:
    """The documented names."""
    return sorted(__all__)
