"""Workspace maps: what a robot's frame reaches, and how well it moves there (`Robot.workspace_map`)."""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.workspace.workspace_map import WorkspaceMap as WorkspaceMap


if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = public_names(__name__, {"linkwork.workspace.workspace_map": "WorkspaceMap"})
