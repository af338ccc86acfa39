"""What a motion shows of the base parameters, before or without measuring forces.

Sources: Gautier and Khalil, Exciting trajectories for the identification of base inertial parameters of robots, Int. J.
Robotics Research 11, 1992 (the condition number); Golub and Van Loan, Matrix Computations, section 5.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.checked_arguments import public
from linkwork._util.messages import label, number, table
from linkwork._util.result import Made
from linkwork.dynamics.base_parameters import BaseParameters
from linkwork.identify.linear_least_squares import RANK, triangular
from linkwork.identify.measurements import Measurements, joint_weights, read
from linkwork.identify.parameter_selection import Columns, Passive, columns_of, structural
from linkwork.kernels.robot_base import Array
from linkwork.model.friction_laws import FrictionName
from linkwork.robot import Robot

__all__ = ["Excitation", "Weigher", "excitation"]


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Excitation(Made):
    """How well a motion shows base parameters.  Printed, it is a table, the worst first.

    Columns of the weighted regressor are scaled to length 1, so that units do not count.
    """

    base: BaseParameters  # which combinations of the parameters they are
    condition: float  # the largest singular value by the smallest; infinite where something is not shown
    singular_values: np.ndarray  # (r,) the largest first
    independence: np.ndarray  # (r,) what is left of each column (0 to 1) when all others are taken off
    deviations: np.ndarray  # (r,) standard deviations of the estimates per unit of noise; infinite where not shown
    samples: int

    @property
    def smallest(self) -> float:
        """The smallest singular value."""
        return float(self.singular_values[-1])

    @property
    def order(self) -> np.ndarray:
        """(r,): the base parameters' places, those that are shown worst first."""
        return np.argsort(self.independence, kind="stable")

    @property
    def names(self) -> tuple[str, ...]:
        """The combinations: ``"link2.J_xx - link2.J_yy + 0.1 link3.m"``."""
        return self.base.expressions()

    @property
    def unexcited(self) -> tuple[str, ...]:
        """The names of those that the motion does not show."""
        return tuple(self.names[k] for k in self.order if self.independence[k] == 0.0)

    def __repr__(self) -> str:
        return f"<Excitation: condition number {self.condition:.4g} of {self.base.rank} base parameters>"

    def __str__(self) -> str:
        title = f"condition number {self.condition:.4g} of {self.base.rank} base parameters at {self.samples} samples"
        names = self.names
        rows = [
            [label(names[k]), number(self.independence[k]), f"{self.deviations[k]:.3g}"] for k in self.order.tolist()
        ]
        return "\n".join([title, "", *table(["parameter, the worst first", "independence", "σ per noise"], rows)])


@public
def excitation(
    robot: Robot,
    q: Array,
    v: Array,
    a: Array,
    *,
    weights: ArrayLike | Mapping[str, float] | None = None,
    passive: Passive = False,
    friction: FrictionName = "smooth",
    bodies: Iterable[str] | None = None,
) -> Excitation:
    """What a motion shows of the base parameters: the regressor's condition number, and parameter by parameter.

    q (..., nq), v, a (..., nv): samples.  ``weights`` (nv,) are 1 / σ of the joint forces' noise [1/(N·m), 1/N], 1 by
    default; the other arguments are those of `base_parameters`.  A motion that does not show everything has an infinite
    condition number, and names in `Excitation.unexcited`.

    >>> import numpy as np
    >>> import linkwork as lw
    >>> robot = lw.load("double_pendulum")
    >>> t = np.linspace(0.0, 10.0, 200)[:, np.newaxis] * [1.0, 1.7]
    >>> seen = lw.identify.excitation(robot, np.sin(t), np.cos(t) * [1.0, 1.7], -np.sin(t) * [1.0, 2.89])
    >>> seen.condition < 100.0, seen.unexcited
    (True, ())
    >>> still = lw.identify.excitation(robot, np.sin(t), 0.0 * t, 0.0 * t)
    >>> still.condition, still.unexcited
    (inf, ('upper_rod.J_yy + lower_rod.m', 'lower_rod.J_yy'))
    """
    caller = "excitation"
    motion = read(caller, robot, q, v, a)
    columns = columns_of(caller, robot, bodies, passive, friction)
    given = joint_weights(caller, robot, weights)
    return Weigher(robot, columns, np.ones(robot.nv) if given is None else given).of(motion)


class Weigher:
    """Looks at many motions of one robot."""

    def __init__(self, robot: Robot, columns: Columns, weights: np.ndarray) -> None:
        self.columns, self.weights = columns, weights
        self.base, typical = structural(robot, columns, weights > 0.0)
        self.typical = typical[self.base.columns]

    def triangle(self, motion: Measurements) -> np.ndarray:
        """R (r, r) of the weighted regressor of a motion."""
        R = np.zeros((self.base.rank, self.base.rank))
        for Y, _ in motion.regressors(self.columns.passive, self.columns.friction):
            rows = self.base.regressor(Y[..., self.columns.estimated]) * self.weights[:, None]
            R = triangular(np.concatenate([R, rows.reshape(-1, self.base.rank)]))
        return R

    def scaled(self, motion: Measurements) -> tuple[np.ndarray, np.ndarray]:
        """The triangle with columns of length 1, or zero where there is nothing, and their lengths."""
        R = self.triangle(motion)
        lengths = np.linalg.norm(R, axis=0)
        least = RANK * self.typical * np.sqrt(len(motion) * (self.weights**2).sum())
        lengths = np.where(lengths > least, lengths, 0.0)
        return R / np.where(lengths > 0.0, lengths, 1.0) * (lengths > 0.0), lengths

    def of(self, motion: Measurements) -> Excitation:
        """What one shows."""
        R, lengths = self.scaled(motion)
        _, s, Vt = np.linalg.svd(R)
        shown = s > RANK * s.max(initial=0.0)
        inverse = (Vt[shown].T / s[shown]) ** 2
        seen = np.linalg.norm(Vt[~shown], axis=0) < 1e-6
        with np.errstate(divide="ignore", invalid="ignore"):
            independence = np.where(seen, 1.0 / np.sqrt(inverse.sum(axis=1)), 0.0)
            deviations = np.where(seen, 1.0 / (independence * lengths), np.inf)
            condition = float(s[0] / s[-1]) if len(s) and shown.all() else np.inf
        return Excitation._make(self.base, condition, s, independence, deviations, len(motion))
