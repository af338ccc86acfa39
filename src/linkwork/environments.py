"""Environments for learning, by gymnasium's interface: ``pip install "linkwork[environments]"``."""

from .facade.environments.task import ControlTask
from .facade.environments.tasks import TASKS
from .facade.environments.vector import VectorEnvironment, register_tasks

__all__ = ["TASKS", "ControlTask", "VectorEnvironment"]

register_tasks()


def __dir__() -> list[str]:
    """The documented names."""
    return sorted(__all__)
