"""Which of a robot's constraints of velocities are constraints of positions."""

from __future__ import annotations

import numpy as np

from linkwork.errors import UnknownNameError
from linkwork.kernels.owners import has_symbols
from linkwork.kernels.robot_base import Array, RobotBase
from linkwork.mechanisms.integrability import Integrability, integrability_of
from linkwork.spatial.arguments import given_numbers

__all__ = ["IntegrabilityMethods"]


class IntegrabilityMethods(RobotBase):
    """Which constraints are of positions, and which of velocities alone."""

    __slots__ = ()

    def integrability(self, q: Array, *, time: float = 0.0) -> Integrability:
        """Which combinations of the velocity constraints come from constraints of positions, and which do not.

        By Frobenius' theorem: the velocities that all constraints allow are grown by Lie brackets until they are
        involutive, which is what can be reached; q (nq,) is a configuration at which holonomic constraints hold, and
        ``time`` [s] is for those that depend on it.  The answer is for what can be reached from q;
        `Integrability.generic` tells whether it is so beside q too.  Where velocities have more freedom at q than
        beside it, as in a mechanism at a dead point, the answer is for beside it.

        >>> import linkwork as lw
        >>> base = lw.Joint.of(lw.joints.Planar(), name="base", parent="world", child="body")
        >>> sledge = lw.Robot.build("sledge", base, lw.Link("body", mass=1.0))
        >>> print(sledge.with_constraints(lw.Skate("body")).integrability([0.1, 0.2, 0.3]))
        sledge: degrees of freedom: 2 of velocity, 3 of configuration
          brackets: 2 → 3
          positions follow from 0 of 1 constraints of velocities
          not by themselves: body skates: across
        >>> print(sledge.with_constraints(lw.NoSlip("body", "world.y")).integrability([0.1, 0.2, 0.3]))
        sledge: degrees of freedom: 2 of velocity, 2 of configuration
          positions follow from 1 of 1 constraints of velocities
            body does not slip: along world.y: base.y stays

        Raises ValueError for a configuration that is none or that is off the constraints of positions, and for
        constraints that no velocity obeys, TypeError for a robot with symbols for numbers.
        """
        if has_symbols(self._subject):
            raise TypeError(f"integrability: robot {self.name!r} has symbols for some of its numbers: it needs numbers")
        try:
            at = np.asarray(self._asked("integrate", (q, np.zeros(self.nv)), {}, {}, None))  # looked at, normalised
        except UnknownNameError as error:
            raise error.at("integrability: q") from None
        except ValueError as error:
            raise ValueError(str(error).replace("integrate:", "integrability:", 1)) from None
        if at.ndim != 1:
            raise ValueError(f"integrability: q: expected one configuration ({self.nq},), got shape {at.shape}")
        t = float(given_numbers(time, "integrability: time: expected a number [s]", ()))
        return integrability_of(self._tree, at, t)
