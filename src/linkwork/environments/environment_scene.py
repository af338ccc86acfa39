"""Scene document of a vector environment: the robots of all environments in a grid."""

from __future__ import annotations

from typing import Any

from linkwork.environments.vector_environment import VectorEnvironment
from linkwork.viewer.bounds import document_bounds
from linkwork.viewer.document import SceneDocument
from linkwork.viewer.scenes.document_of import document_of

__all__: list[str] = []

_SPACING = 1.2  # distance of shown environments, relative to the size of a robot


@document_of.register(VectorEnvironment)
def _environments_document(envs: Any, *, spacing: float | None = None, **options: Any) -> SceneDocument:
    robot = envs.task.robot
    if spacing is None:
        low, high = document_bounds(document_of(robot, envs._q[0]))
        spacing = _SPACING * float((high - low).max())
    return document_of(robot, envs._q, spacing=spacing, **options)
