"""Force elements between bodies: springs, dampers and bushings."""

from .bushing import Bushing as Bushing
from .contract import ForceElement as ForceElement
from .contract import Resistance as Resistance
from .spring_damper import SpringDamper as SpringDamper

ALL: tuple[type[ForceElement], ...] = (SpringDamper, Bushing)

__all__ = ["ALL", "Bushing", "ForceElement", "Resistance", "SpringDamper"]


def __dir__() -> list[str]:
    """The documented names."""
    return sorted(__all__)
