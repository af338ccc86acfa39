"""Real robots: those of the package example-robot-data, and those that linkwork has inside."""

from __future__ import annotations

import functools
import importlib.metadata
import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from linkwork import Robot, robots
from linkwork.errors import ModelWarning

__all__ = ["EXAMPLES", "SHIPPED", "Example", "shipped"]


@dataclass(frozen=True)
class Example:
    """A robot's file, with frames for tests: as a rule one at the end and one in between."""

    name: str
    file: str  # in example-robot-data; empty for a robot of linkwork's own
    frames: tuple[str, ...]
    floating: bool = False

    def __str__(self) -> str:
        return self.name

    def text(self) -> str:
        """The file's text.  A missing file is an error; without the whole package the test is skipped."""
        if not self.file:
            return robots.path(self.name).read_text(encoding="utf-8")
        text = (_folder() / self.file).read_text(encoding="utf-8")
        return _with_possible_inertias(text) if self.name == "tiago" else text

    @functools.cache  # noqa: B019 - the examples live as long as the tests
    def robot(self) -> Robot:
        """The robot, loaded once: its functions are compiled once for all tests."""
        return self.load()

    def load(self, text: str | None = None, **options: Any) -> Robot:
        """The robot, loaded anew, or one of a changed text; what reading its file repairs is looked at elsewhere."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            return Robot.from_urdf_string(text or self.text(), **{"floating_base": self.floating, **options})


def _folder() -> Path:
    try:
        package = importlib.metadata.distribution("example-robot-data")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("example-robot-data is not installed")
    return Path(str(package.locate_file("cmeel.prefix/share/example-robot-data/robots")))


def _with_possible_inertias(text: str) -> str:
    """TIAGo's antennas have an inertia with a negative moment, as no body has: it is replaced by a possible one."""
    antenna = re.compile(r'(<link name="base_antenna_(?:left|right)_link">.*?)<inertia [^>]*/>', re.DOTALL)
    possible = '<inertia ixx="1e-7" ixy="0" ixz="0" iyy="1e-7" iyz="0" izz="1e-7"/>'
    text, count = antenna.subn(rf"\1{possible}", text)
    assert count == 2
    return text


EXAMPLES = (
    Example("panda", "panda_description/urdf/panda.urdf", ("panda_hand", "panda_link4")),
    Example("ur5", "ur_description/urdf/ur5_robot.urdf", ("tool0", "forearm_link")),
    Example("tiago", "tiago_description/robots/tiago_no_hand.urdf", ("wrist_ft_tool_link", "head_2_link")),
    Example("tiago_pro", "tiago_pro_description/robots/tiago_pro.urdf", ("arm_left_7_link", "head_2_link")),
    Example("pr2", "pr2_description/urdf/pr2.urdf", ("l_gripper_tool_frame", "torso_lift_link")),
    Example("baxter", "baxter_description/urdf/baxter.urdf", ("left_gripper", "head")),
    Example("allegro", "allegro_hand_description/urdf/allegro_left_hand.urdf", ("link_3.0_tip", "link_14.0")),
    Example("kinova", "kinova_description/robots/kinova.urdf", ("j2s6s200_end_effector", "j2s6s200_link_3")),
    Example("xarm7", "xarm_description/urdf/xarm7.urdf", ("link_eef", "link4")),
    Example("so101", "so_arm_description/urdf/so101.urdf", ("gripper_frame_link", "lower_arm_link")),
    Example(
        "double_pendulum_continuous", "double_pendulum_description/urdf/double_pendulum_continuous.urdf", ("link2",)
    ),
    Example("talos", "talos_data/robots/talos_reduced.urdf", ("gripper_left_base_link", "leg_right_4_link"), True),
    Example("g1", "g1_description/urdf/g1_29dof_rev_1_0.urdf", ("left_rubber_hand", "right_knee_link"), True),
    Example("icub", "icub_description/robots/icub.urdf", ("l_hand", "chest"), True),
    Example("solo12", "solo_description/robots/solo12.urdf", ("FL_FOOT", "HR_LOWER_LEG"), True),
    Example("anymal", "anymal_b_simple_description/robots/anymal.urdf", ("LF_FOOT", "RH_SHANK"), True),
    Example("go2", "go2_description/urdf/go2.urdf", ("FL_foot", "RR_calf"), True),
)

SHIPPED = (
    Example("double_pendulum", "", ("tip",)),
    Example("arm6", "", ("tool",)),
    Example("arm7", "", ("tool", "hand")),
    Example("arm7_gripper", "", ("tool", "hand")),
    Example("quadruped", "", ("front_left_foot", "hind_right_foot"), True),
    Example("humanoid", "", ("left_hand", "right_foot"), True),
)


def shipped(name: str) -> Robot:
    """A robot of linkwork's own, as the tests share it."""
    return next(example for example in SHIPPED if example.name == name).robot()
