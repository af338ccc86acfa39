"""Values that dynamics returns: base parameters of a robot.

The functions are methods of `linkwork.Robot`; `linkwork.parameters` has functions of the inertial parameters of a body.
"""

from linkwork.dynamics.base_parameters import BaseParameters

__all__ = [
    "BaseParameters",
]


def __dir__() -> list[str]:
    """The documented names."""
    return sorted(__all__)
