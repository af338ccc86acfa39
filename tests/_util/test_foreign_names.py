"""Attributes that do not exist: the error names one that does."""

from __future__ import annotations

import copy
import pickle
from functools import reduce
from typing import Any

import pytest

import linkwork as lw
from linkwork._util.foreign_names import _MODULE, _REMEDIES, _ROBOT


def test_every_name_that_is_advised_exists() -> None:
    robot: Any = lw.load("double_pendulum")
    for advised in _ROBOT:
        for name in advised.replace("robot.", "").split(" and "):
            assert getattr(robot, name) is not None
    for advised in _MODULE:
        assert reduce(getattr, advised.split("."), lw) is not None


def test_missing_attributes_say_what_there_is() -> None:
    robot: Any = lw.load("double_pendulum")
    for owner, name, said in (
        (robot, "fkine", "use robot.pose"),
        (robot, "qlim", "use robot.position_limits"),
        (lw.Robot, "from_mjcf", "Robot.build"),
        (robot, "show", _REMEDIES["show"]),
        (lw, "from_mjcf", "Robot.build"),
        (lw, "DHRobot", "use linkwork.Robot.from_dh"),
        (lw, "lod", "did you mean 'load'?"),
    ):
        with pytest.raises(AttributeError, match=said) as caught:
            getattr(owner, name)
        assert caught.value.name == name
        assert not hasattr(owner, name)
    assert not hasattr(robot, "__array__") and not hasattr(lw, "__wrapped__")
    for again in (pickle.loads(pickle.dumps(robot)), copy.copy(robot), copy.deepcopy(robot)):
        assert again == robot
    assert not {"fkine", "show"} & {*dir(robot)} and "pose" in dir(robot)
    assert lw.environments.__name__ == "linkwork.environments" and "environments" in dir(lw)
