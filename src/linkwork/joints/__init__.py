"""Joint types.  `ALL` lists them: tests, documentation and benchmarks run over it."""

from .fixed import Fixed
from .floating import Floating
from .joint import Joint
from .prismatic import Prismatic
from .revolute import Revolute

__all__ = ["ALL", "Fixed", "Floating", "Joint", "Prismatic", "Revolute"]

ALL: tuple[type[Joint], ...] = (Fixed, Revolute, Prismatic, Floating)
