"""Change of the total energy in simulations of conservative systems by methods of first order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.simulation.algorithms.step_methods import METHODS

if TYPE_CHECKING:
    from linkwork.simulation.simulation_spec import SimulationSetup

__all__ = ["drift_message", "first_order_method"]

_ROUNDING = 1e-9  # change of the energy of a robot at rest, relative to its energy
_DRIFT = 0.01  # change of the energy that is stated, relative to the largest kinetic energy


def first_order_method(setup: SimulationSetup) -> str:
    """Return the name of the method if it is of first order and the energy of the exact motion is constant, else "".

    It is constant without dissipation, inputs, contacts, joint limits and constraints that depend on time.
    """
    robot: Any = setup.robot
    tree = robot.tree
    acting: list[Any] = [setup.controller, setup.wrenches, setup.contacts, setup.limits, setup.signals]
    acting += [setup.parameters, setup.events, tree.force_elements]
    if METHODS[setup.method].order > 1 or any(acting) or any(x.time_dependent for x in tree.constraints):
        return ""
    if setup.passive:
        resistances = [np.asarray(x, dtype=float) for x in (robot.damping, robot.friction, robot.static_friction)]
        if any(x.any() for x in resistances):
            return ""
    return setup.method


def drift_message(method: str, energies: dict[str, np.ndarray]) -> str:
    """Return a message about a drift of the energies (n,) [J] of a conservative system, "" for a small one.

    ``method`` is that of `first_order_method`, and the energies have the keys "kinetic" and "sum".
    """
    kinetic, total = (np.asarray(energies[key], dtype=float) for key in ("kinetic", "sum"))
    scale = float(np.nan_to_num(kinetic).max(initial=0.0))
    if not method or scale <= 0.0:
        return ""
    change = float(np.nan_to_num(np.abs(total - total[0])).max())
    if change <= max(_DRIFT * scale, _ROUNDING * float(np.nan_to_num(np.abs(total)).max())):
        return ""
    share = change / scale
    return (
        f"the energy changes by {100.0 * share:.2g} % of the largest kinetic energy, as {method!r} is of first order; "
        f'method="rk4" is of fourth order, and a smaller dt helps, too'
    )
