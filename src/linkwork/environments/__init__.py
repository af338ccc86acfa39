"""Vector environments for reinforcement learning, with the interface of gymnasium.

They need an extra: ``pip install "linkwork[environments]"``.
"""

from linkwork.environments.control_tasks import TASKS, ControlTask
from linkwork.environments.vector_environment import VectorEnvironment, register_tasks

__all__ = ["TASKS", "ControlTask", "VectorEnvironment"]

register_tasks()


def __dir__() -> list[str]:
    """Return the documented names of this package."""
    return sorted(__all__)
