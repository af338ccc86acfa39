"""Joint types.  `ALL` lists them: tests, documentation and benchmarks run over it."""

from .composite import Composite as Composite
from .contract import JointType as JointType
from .cylindrical import Cylindrical as Cylindrical
from .ellipsoid import Ellipsoid as Ellipsoid
from .fixed import Fixed as Fixed
from .floating import Floating as Floating
from .floating_euler import FloatingEuler as FloatingEuler
from .floating_mrp import FloatingMRP as FloatingMRP
from .helical import Helical as Helical
from .planar import Planar as Planar
from .prismatic import Prismatic as Prismatic
from .reversed import Reversed as Reversed
from .revolute import Revolute as Revolute
from .spherical import Spherical as Spherical
from .spherical_euler import SphericalEuler as SphericalEuler
from .spherical_mrp import SphericalMRP as SphericalMRP
from .translational import Translational as Translational
from .unbounded_revolute import UnboundedRevolute as UnboundedRevolute
from .universal import Universal as Universal

ALL: tuple[type[JointType], ...] = (
    Fixed,
    Revolute,
    UnboundedRevolute,
    Prismatic,
    Helical,
    Cylindrical,
    Universal,
    Planar,
    Translational,
    Spherical,
    SphericalMRP,
    SphericalEuler,
    Floating,
    FloatingMRP,
    FloatingEuler,
    Ellipsoid,
    Composite,
    Reversed,
)

__all__ = ["ALL", "JointType", *(kind.__name__ for kind in ALL)]


def __dir__() -> list[str]:
    """The documented names."""
    return sorted(__all__)
