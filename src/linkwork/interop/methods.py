"""Methods of `Robot` for other libraries' arrays."""

from __future__ import annotations

from linkwork.interop.labelled_functions import LabelledFunctions
from linkwork.kernels import RobotBase

__all__ = ["LabelledMethods"]


class LabelledMethods(RobotBase):
    """Functions of a robot with labelled arrays."""

    __slots__ = ()

    @property
    def xarray(self) -> LabelledFunctions:
        """The functions of the robot with labelled arrays of xarray, as in ``robot.xarray.pose(q, "hand")``.

        See `linkwork.interop.labelled_functions.LabelledFunctions`.  Raises ImportError without xarray (``pip install
        "linkwork[xarray]"``).
        """
        return LabelledFunctions(self)
