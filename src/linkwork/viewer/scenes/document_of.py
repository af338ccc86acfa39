"""Functions that make the scene document of an object with a method ``show``, selected by the object's class."""

from __future__ import annotations

from functools import singledispatch
from importlib import import_module
from typing import Any

from linkwork.viewer.document import SceneDocument

__all__ = ["document_of", "has_document"]

_MODULES = {  # that register a function, by the names of linkwork's classes; each is imported when it is needed
    "Assembly": "linkwork.viewer.scenes.mechanism_scenes",
    "DrivenMotion": "linkwork.viewer.scenes.mechanism_scenes",
    "IKPathResult": "linkwork.viewer.scenes.ik_scenes",
    "IKResult": "linkwork.viewer.scenes.ik_scenes",
    "OptimalResult": "linkwork.viewer.scenes.trajectory_scenes",
    "PlanResult": "linkwork.viewer.scenes.planning_scenes",
    "Roadmap": "linkwork.viewer.scenes.planning_scenes",
    "Robot": "linkwork.viewer.scenes.robot_scenes",
    "Scene": "linkwork.viewer.scenes.robot_scenes",
    "Simulation": "linkwork.viewer.scenes.simulation_scenes",
    "TimedPath": "linkwork.viewer.scenes.trajectory_scenes",
    "TrackedPath": "linkwork.viewer.scenes.trajectory_scenes",
    "Trajectory": "linkwork.viewer.scenes.trajectory_scenes",
    "VectorEnvironment": "linkwork.environments.environment_scene",
    "WorkspaceMap": "linkwork.workspace.map_scene",
}


@singledispatch
def document_of(contents: Any, *selection: Any, **options: Any) -> SceneDocument:
    """Return the scene document of an object, with the options of its method ``show``.

    Raises TypeError for an object of a class that has no scene.
    """
    if not has_document(contents):
        raise TypeError(f"show: expected an object with a scene, such as a Robot, got {contents!r}")
    result: SceneDocument = document_of.dispatch(type(contents))(contents, *selection, **options)
    return result


_without_document = document_of.dispatch(object)


def has_document(contents: Any) -> bool:
    """Return True for an object whose class has a scene, after importing the module that makes it."""
    for base in type(contents).__mro__:
        if document_of.dispatch(type(contents)) is not _without_document:
            return True
        if base.__name__ in _MODULES and base.__module__.partition(".")[0] == "linkwork":
            import_module(_MODULES[base.__name__])
    return document_of.dispatch(type(contents)) is not _without_document
