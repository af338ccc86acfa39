"""The method of `Robot` that checks it against physics."""

from __future__ import annotations

from linkwork.compare.plausibility.model_check import ModelCheck
from linkwork.kernels import RobotBase

__all__ = ["ModelCheckMethods"]


class ModelCheckMethods(RobotBase):
    """The method of `Robot` that checks its values against physics."""

    __slots__ = ()

    def check_model(self) -> ModelCheck:
        """Check for implausible masses, inertias, shapes and limits, and for joints that move without mass.

        Each finding of the result has a code, a severity ("error", "warning" or "note"), the link or joint, the
        numbers, why it matters, and the remedy.  ``print`` shows a table.  The values of each inertia are checked by
        the rules of the file readers; further checks compare links with their shapes and with the rest of the robot.
        Mesh files are not opened: `with_collision_hulls` replaces them by shapes of known size.

        >>> import linkwork as lw
        >>> from linkwork import shapes
        >>> robot = lw.load("double_pendulum")
        >>> robot.check_model().errors
        ()
        """
        from linkwork.compare.plausibility.robot_checks import check_of

        return check_of(self.functions, self._tree)
