"""A robot with other numbers, as assembly asks about it: they come with each call, so no code is made for new ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from linkwork.errors import UnknownNameError
from linkwork.kernels.function_request import read_request
from linkwork.model.kernel_parameters import inputs_of, read_parameters
from linkwork.spatial.arguments import given_numbers

__all__ = ["VariedRobot", "varied_robot"]


class VariedRobot:
    """A robot whose functions of constraints are evaluated with other numbers in the place of its own.

    All else, such as names, limits and what joints do to configurations, is the robot's.
    """

    def __init__(self, robot: Any, caller: str, numbers: Mapping[Any, np.ndarray]) -> None:
        self.robot, self.caller = robot, caller
        self.parameters = tuple(numbers)
        names = inputs_of(self.parameters)
        self.numbers = {names[parameter]: x for parameter, x in numbers.items()}

    def __getattr__(self, name: str) -> Any:
        if name == "robot":  # while it is unpickled
            raise AttributeError(name)
        return getattr(self.robot, name)

    def assemble_configuration(self, q: Any, q1: Any, weights: Any, *, time: Any = None, **options: Any) -> Any:
        return self._asked("assemble_configuration", (q, q1, weights), options, time, needed=True)

    def assembly_derivatives(self, q: Any, *, time: Any = None, **options: Any) -> Any:
        return self._asked("assembly_derivatives", (q,), options, time)

    def constraint_jacobian(self, q: Any, *, time: Any = None) -> Any:
        return self._asked("constraint_jacobian", (q,), {}, time)

    def loop_configuration(self, q: Any) -> Any:
        return self._asked("loop_configuration", (q,), {}, None)

    def explicit_velocity(self, q: Any, v: Any, independent: Any, *, time: Any = None) -> Any:
        return self._asked("explicit_velocity", (q, v), {"independent": tuple(independent)}, time)

    def explicit_acceleration(self, q: Any, v: Any, a: Any, independent: Any, *, time: Any = None) -> Any:
        return self._asked("explicit_acceleration", (q, v, a), {"independent": tuple(independent)}, time)

    def _asked(self, name: str, arrays: Any, options: dict[str, Any], time: Any, *, needed: bool = False) -> Any:
        """Call a function's kernel; parameters that it does not depend on are refused where it is ``needed``."""
        given = () if time is None else ("time",)
        request = read_request(self.robot._subject, (name, options) if options else name, given)
        parameters = tuple(p if needed else replace(p, fitting=True) for p in self.parameters)
        request = replace(request, parameters=parameters)
        try:
            kernel = self.robot._kernel(request.label, {request.label: request})
        except UnknownNameError:
            raise
        except ValueError as error:
            raise ValueError(str(error).replace("compile:", f"{self.caller}:", 1)) from None
        return kernel(*arrays, *([] if time is None else [time]), **self.numbers)


def varied_robot(robot: Any, caller: str, parameters: Any) -> Any:
    """Return the robot, or one with these numbers by the names of its parameters, as `Robot.parameters` has them.

    Raises TypeError for what is no dict, UnknownNameError for a parameter that is not there, and ValueError for another
    shape and for numbers that are not finite.
    """
    if parameters is None or (isinstance(parameters, Mapping) and not parameters):
        return robot
    if not isinstance(parameters, Mapping):
        raise TypeError(f"{caller}: parameters: expected a dict by parameter, got {parameters!r}")
    read_parameters(robot.tree, caller, [*parameters])  # refuses what is given twice
    numbers = {}
    for name, value in parameters.items():
        for parameter in read_parameters(robot.tree, caller, name):
            shape = parameter.shape(robot.tree)
            expected = f"{caller}: parameters: {parameter}: expected finite numbers of shape {shape}"
            numbers[parameter] = given_numbers(value, expected, shape)
    return VariedRobot(robot, caller, numbers)
