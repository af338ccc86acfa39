"""Control: linear-quadratic regulators."""

from .facade.control.regulators import HorizonRegulator, Regulator, lqr, lqr_horizon

__all__ = ["HorizonRegulator", "Regulator", "lqr", "lqr_horizon"]


def __dir__() -> list[str]:
    """The documented names."""
    return sorted(__all__)
