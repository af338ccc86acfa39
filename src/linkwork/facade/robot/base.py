"""What all of a robot's methods stand on: its tree, its kernels, and the calls made of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...bridge.calls import checked
from ...bridge.composing import lazily
from ...bridge.kernels import compile_requests
from ...bridge.machine import Kernel
from ...bridge.once import Once
from ...bridge.requests import Request, read_request
from ...bridge.subjects import OfRobot
from ...model.tree import Tree

__all__ = ["Array", "RobotBase"]

Array = ArrayLike | Mapping[str, ArrayLike]  # an array, anything NumPy makes one of, or a dict by joint name


class RobotBase:
    """A tree and its kernels; a class of a subject's methods adds methods and nothing else."""

    __slots__ = ("__weakref__", "_calls", "_kernels", "_subject", "_tree")

    def __init__(self, tree: Tree) -> None:
        if not isinstance(tree, Tree):
            made = "linkwork.load reads one from a file, Robot.build and Robot.from_dh make one of Python"
            raise TypeError(f"Robot: expected a tree, got {tree!r}; {made}")
        self._tree = tree
        self._subject = OfRobot(tree)
        self._calls: dict[Any, Callable[..., np.ndarray]] = {}
        self._kernels: Once[Kernel] = Once()

    @property
    def name(self) -> str:
        """What its file, or who built it, calls it."""
        return self._tree.name

    @property
    def tree(self) -> Tree:
        """The tree of bodies, joints and frames that the robot is made of."""
        return self._tree

    @property
    def nq(self) -> int:
        """How many numbers a configuration has."""
        return self._tree.nq

    @property
    def nv(self) -> int:
        """How many degrees of freedom there are: the numbers of a velocity."""
        return self._tree.nv

    # -- how methods compute

    def _kernel(self, name: str, requests: dict[str, Request]) -> Kernel:
        key = (name, *requests.items())
        return self._kernels.get(key, lambda: compile_requests(self._subject, name, requests))

    def _prepared(self, request: Request) -> Callable[..., np.ndarray]:
        """What a method runs: the kernel, with a look at the arguments where the kernel is not content with them."""
        call = self._calls.get(request)
        if call is None:
            call = checked(self._subject, request, self._kernel(request.label, {request.label: request}))
            self._calls[request] = call
        return call

    def _refuse_frames(self, function: str, **frames: object) -> None:
        """Raise TypeError for a frame that is no name, as where a configuration stands in its place."""
        for option, frame in frames.items():
            if not (frame is None or isinstance(frame, str)):
                got = f"an array of shape {frame.shape}" if isinstance(frame, np.ndarray) else repr(frame)
                order = "; arrays come before it, as in pose(q, frame)" if option == "frame" else ""
                raise TypeError(f"{function}: {option}: expected a frame's name, got {got}{order}")

    def _call(self, name: str, **frames: str | None) -> Callable[..., np.ndarray]:
        """The same for a method's arguments, by which it is found faster the next time; symbols need no kernel."""
        request = read_request(self._subject, (name, frames) if frames else name)

        def make() -> Callable[..., np.ndarray]:
            call = self._calls[(name, *frames.values()) if frames else name] = self._prepared(request)
            return call

        return lazily(self._subject, request, make)
