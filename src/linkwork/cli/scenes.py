"""Scene files in the arguments of commands: obstacles, objects on the robot's frames, pairs and margins."""

from __future__ import annotations

import argparse
import warnings
from dataclasses import replace

from linkwork import Robot, load_scene
from linkwork.cli.arguments import log_issues
from linkwork.cli.command_error import USAGE, CommandError
from linkwork.cli.output import Terminal, escaped
from linkwork.collision import SceneSetup
from linkwork.errors import ModelError, ModelWarning

__all__ = ["add_scene", "scene_setup", "setup_of"]


def add_scene(parser: argparse.ArgumentParser) -> None:
    """Add the option for the scene around the robot."""
    parser.add_argument(
        "--scene", metavar="FILE", help="a file of obstacles: YAML, JSON, or MoveIt's text format (.scene)"
    )


def scene_setup(arguments: argparse.Namespace, robot: Robot, terminal: Terminal) -> SceneSetup | None:
    """Return the robot with the objects of the file of ``--scene``, and its obstacles; None without the option.

    Warnings about the file are logged, but not with ``--json``.  Raises CommandError.
    """
    if arguments.scene is None:
        return None
    setup = setup_of(arguments.scene, robot, arguments)
    if not arguments.json:
        log_issues(setup.scene.issues, terminal)
    return setup


def setup_of(file: str, robot: Robot | None, arguments: argparse.Namespace, code: int = USAGE) -> SceneSetup:
    """Return the content of a scene's file.  Without a robot it has the obstacles only.  Raises CommandError."""
    options = {"package_dirs": arguments.package_dirs, "trusted": arguments.trusted}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            if robot is None:
                return SceneSetup(None, load_scene(file, **options))
            return load_scene(file, robot, **options)
    except ModelError as error:
        hint = "name the robot after the scene's file"
        issues = [replace(issue, hint=hint) if issue.code == "ROBOT_NEEDED" else issue for issue in error.issues]
        raise CommandError(code, str(ModelError(issues)), issues) from error
    except OSError as error:
        name = escaped(str(error.filename or file))
        raise CommandError(code, f"cannot read {name}: {error.strerror or error}") from error
    except (ImportError, TypeError, ValueError) as error:
        raise CommandError(code, escaped(str(error))) from error
