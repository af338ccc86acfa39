"""Change of the total energy in simulations of conservative systems by methods of first order."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["drift_message", "resists"]

_ROUNDING = 1e-9  # change of the energy of a robot at rest, relative to its energy
_AT_REST = 1e-24  # [J] kinetic energy of rounding errors: 1 kg at 1e-12 m/s
_DRIFT = 0.01  # change of the energy that is stated, relative to the largest kinetic energy


def resists(robot: Any) -> bool:
    """Return True if damping or friction of joints dissipate energy."""
    resistances = (robot.damping, robot.friction, robot.static_friction)
    return any(np.asarray(x, dtype=float).any() for x in resistances)


def drift_message(method: str, energies: dict[str, np.ndarray]) -> str:
    """Return a message about a drift of the energies (n,) [J] of a conservative system, "" for a small one.

    ``method`` is the result of `SimulationSetup.first_order_method`, and the energies have the keys "kinetic" and
    "sum".
    """
    kinetic, total = (np.asarray(energies[key], dtype=float) for key in ("kinetic", "sum"))
    scale = float(np.nan_to_num(kinetic).max(initial=0.0))
    if not method or scale <= _AT_REST:
        return ""
    change = float(np.nan_to_num(np.abs(total - total[0])).max())
    if change <= max(_DRIFT * scale, _ROUNDING * float(np.nan_to_num(np.abs(total)).max())):
        return ""
    share = change / scale
    return (
        f"the energy changes by {100.0 * share:.2g} % of the largest kinetic energy, as {method!r} is of first order; "
        f'method="rk4" is of fourth order, and a smaller dt helps, too'
    )
