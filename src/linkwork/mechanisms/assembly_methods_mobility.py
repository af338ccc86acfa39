"""What a mechanism can do: its degrees of freedom by name, and minimal coordinates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from linkwork._util.validation import floats
from linkwork.kernels.array_arguments import stacked
from linkwork.kernels.robot_base import Array, RobotBase
from linkwork.mechanisms.mobility.configuration_sampling import Mechanism
from linkwork.mechanisms.mobility.coordinate_selection import assembled_at, minimal_of
from linkwork.mechanisms.mobility.length_scaling import Scales, characteristic_length
from linkwork.mechanisms.mobility.minimal_coordinates import MinimalCoordinates
from linkwork.mechanisms.mobility.mobility_analysis import assembled_near, mobility_of
from linkwork.mechanisms.mobility.mobility_analysis_report import Mobility
from linkwork.model.function_spec import QUANTITIES

__all__ = ["MobilityMethods"]


class MobilityMethods(RobotBase):
    """What constraints leave free."""

    __slots__ = ()

    def mobility(
        self, q: Array | None = None, *, length: float | None = None, time: float | None = None, seed: int = 0
    ) -> Mobility:
        """Degrees of freedom, and which rows and joints are what to them, by name: print it.

        q (nq,), made to obey the constraints where it does not quite; without it an assembled configuration is looked
        for, from `neutral` on.  The rank is that of the rows with angles times ``length`` [m], by default how long
        links are, by the largest gap of the singular values.  What is *redundant* (dependent everywhere) and what
        *singular* (only here) is told by configurations along random motions from there, drawn by ``seed``; where no
        configuration obeys all constraints, the rows are *inconsistent*.

        Raises ValueError for q of another shape, or that is not finite, and for a length that is not positive.
        """
        return mobility_of(self, self._one("mobility", "q", q), self._scales("mobility", length), time, seed)

    def minimal(
        self,
        independent: str | Sequence[str] | None = None,
        at: Array | None = None,
        *,
        speeds: str | Sequence[str] | None = None,
        length: float | None = None,
        time: float | None = None,
        least: float = 1e-6,
    ) -> MinimalCoordinates:
        """Minimal coordinates: ``independent`` ones by name, or chosen by pivots at an assembled configuration ``at``.

        Names are joints' or of `v_names`.  ``speeds`` are the independent velocities: the same, but where constraints
        of velocities, such as rolling, leave fewer of them; then these are chosen among the coordinates unless they are
        named.  The margin of a choice is the smallest singular value of the dependent columns of the rows, with angles
        times ``length`` as in `mobility`; one below ``least`` is refused.  Without ``at`` an assembled configuration is
        looked for.

        Raises ValueError for coordinates that depend on each other, or leave others undetermined, and says which; and
        for a configuration that is not assembled.  UnknownNameError for a name that is not there.
        """
        mechanism = Mechanism(self, self._scales("minimal", length), time)
        given = self._one("minimal", "at", at)
        if not (isinstance(least, (int, float)) and 0.0 < least < 1.0):
            raise ValueError(f"minimal: least: expected a number between 0 and 1, got {least!r}")
        found = None if given is not None else assembled_near(mechanism, None)
        return minimal_of(mechanism, assembled_at(mechanism, found, given), independent, speeds, float(least))

    def _scales(self, who: str, length: float | None) -> Scales:
        if length is None:
            length = characteristic_length(self._tree)
        if not (isinstance(length, (int, float)) and np.isfinite(length) and length > 0.0):
            raise ValueError(f"{who}: length: expected a positive number of metres, got {length!r}")
        return Scales.of(self._tree, float(length))

    def _one(self, who: str, what: str, q: Array | None) -> np.ndarray | None:
        """One configuration, finite and on its manifold."""
        if q is None:
            return None
        if isinstance(q, Mapping):
            q = stacked(self._subject, QUANTITIES["q"], q)
        array = floats(q)
        if array.shape != (self.nq,):
            raise ValueError(f"{who}: {what}: expected one configuration of {self.nq} numbers, got shape {array.shape}")
        if not np.isfinite(array).all():
            raise ValueError(f"{who}: {what}: there is a number in it that is not finite")
        found: np.ndarray = self.normalize(array)  # type: ignore[attr-defined]
        return found
