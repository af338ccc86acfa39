"""The robots that are measured: some of the package example-robot-data, and those inside linkwork."""

from __future__ import annotations

import importlib.metadata
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import linkwork as lw

__all__ = ["ROBOTS", "BenchmarkRobot", "NotInstalled", "example_robots", "quietly"]


class NotInstalled(Exception):
    """A robot's file is not on this machine."""


@dataclass(frozen=True, slots=True)
class BenchmarkRobot:
    """A robot to measure: a file of example-robot-data, the name of one inside linkwork, or an absolute path."""

    name: str
    source: str
    floating_base: bool = False
    hand: str = ""  # the frame of functions that are asked about one

    @property
    def path(self) -> str:
        """Return the argument for `linkwork.load`.  Raises NotInstalled."""
        if self.source in lw.robots.names() or Path(self.source).is_absolute():
            return self.source
        file = example_robots() / self.source
        if not file.is_file():
            raise NotInstalled(f"{self.name}: {file} is not there")
        return str(file)

    @classmethod
    def of_file(cls, path: str) -> BenchmarkRobot:
        """Return the robot in a file; functions of a frame are measured at its last frame."""
        robot = cls(Path(path).stem, str(Path(path).resolve()))
        return replace(robot, hand=robot.load().frames[-1])

    def load(self) -> lw.Robot:
        with quietly():
            return lw.load(self.path, floating_base=self.floating_base)


@contextmanager
def quietly() -> Iterator[None]:
    """Suppress the warnings about repairs when a model file is read."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.errors.ModelWarning)
        yield


def example_robots() -> Path:
    """The folder of robots that the package example-robot-data has installed.  Raises NotInstalled."""
    try:
        package = importlib.metadata.distribution("example-robot-data")
    except importlib.metadata.PackageNotFoundError:
        raise NotInstalled("the package example-robot-data is not installed") from None
    return Path(str(package.locate_file("cmeel.prefix/share/example-robot-data/robots")))


ROBOTS: dict[str, BenchmarkRobot] = {
    robot.name: robot
    for robot in (
        BenchmarkRobot("panda", "panda_description/urdf/panda.urdf", hand="panda_hand"),
        BenchmarkRobot(
            "talos", "talos_data/robots/talos_reduced.urdf", floating_base=True, hand="gripper_left_base_link"
        ),
        BenchmarkRobot("ur5", "ur_description/urdf/ur5_robot.urdf"),
        BenchmarkRobot("solo12", "solo_description/robots/solo12.urdf", floating_base=True),
        BenchmarkRobot("g1", "g1_description/urdf/g1_29dof_rev_1_0.urdf", floating_base=True),
        BenchmarkRobot("double_pendulum", "double_pendulum"),
        BenchmarkRobot("arm6", "arm6"),
        BenchmarkRobot("arm7", "arm7"),
        BenchmarkRobot("arm7_gripper", "arm7_gripper"),
        BenchmarkRobot("quadruped", "quadruped", floating_base=True),
        BenchmarkRobot("humanoid", "humanoid", floating_base=True),
    )
}
