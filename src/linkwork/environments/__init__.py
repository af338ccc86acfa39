"""Vector environments for reinforcement learning, with the interface of gymnasium.

They need an extra: ``pip install "linkwork[environments]"``.
"""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import imported, public_names

if TYPE_CHECKING:
    from linkwork.environments.control_tasks import TASKS, ControlTask
    from linkwork.environments.vector_environment import VectorEnvironment

__all__ = ["TASKS", "ControlTask", "VectorEnvironment"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_names(
        __name__,
        __all__,
        {
            "linkwork.environments.control_tasks": "TASKS ControlTask",
            "linkwork.environments.vector_environment": "VectorEnvironment",
        },
    )

imported("linkwork.environments.vector_environment.register_tasks")()
