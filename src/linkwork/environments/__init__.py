"""Vector environments for reinforcement learning, with the interface of gymnasium.

They need an extra: ``pip install "linkwork[environments]"``.
"""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names
from linkwork.environments.control_tasks import TASKS, ControlTask
from linkwork.environments.vector_environment import VectorEnvironment, register_tasks

__all__ = ["TASKS", "ControlTask", "VectorEnvironment"]

register_tasks()

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_names(__name__, __all__)
