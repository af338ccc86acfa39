"""Single and vector environments for reinforcement learning, with the interface of gymnasium.

The package needs an extra: ``pip install "linkwork[environments]"``.
"""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import imported, public_names

if TYPE_CHECKING:
    from linkwork.environments.control_task import ControlTask as ControlTask
    from linkwork.environments.example_tasks import TASKS as TASKS
    from linkwork.environments.randomization import Push as Push
    from linkwork.environments.randomization import Randomization as Randomization
    from linkwork.environments.single_environment import SingleEnvironment as SingleEnvironment
    from linkwork.environments.stable_baselines import stable_baselines_environment as stable_baselines_environment
    from linkwork.environments.vector_environment import VectorEnvironment as VectorEnvironment


if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = public_names(
        __name__,
        {
            "linkwork.environments.control_task": "ControlTask",
            "linkwork.environments.example_tasks": "TASKS",
            "linkwork.environments.randomization": "Push Randomization",
            "linkwork.environments.single_environment": "SingleEnvironment",
            "linkwork.environments.stable_baselines": "stable_baselines_environment",
            "linkwork.environments.vector_environment": "VectorEnvironment",
        },
    )

imported("linkwork.environments.vector_environment.register_tasks")()
