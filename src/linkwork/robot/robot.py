"""The class `Robot`, with the methods of all subjects, and `load`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.checked_arguments import public, public_methods
from linkwork._util.file_access import Budget
from linkwork._util.file_search import Folders
from linkwork._util.foreign_names import WithForeignNames, add_foreign_names
from linkwork.formats import Format
from linkwork.formats.file_reading import XacroArguments
from linkwork.formats.registry import format_named
from linkwork.kernels.compiled_method import add_methods
from linkwork.kernels.robot_base import RobotBase
from linkwork.model.tree import Report
from linkwork.robot.construction.robot_loading import Continuous, Inertias, LoadOptions, Mimicry, Options, read_robot
from linkwork.robot.robot_methods import METHODS, RobotMethods
from linkwork.robot.robot_table import ROBOT

__all__ = ["Robot", "join_robots", "load", "load_description"]


class Robot(RobotMethods, metaclass=WithForeignNames):
    """An articulated system, with its functions as compiled code.

    Conventions: SI units and radians; right-handed frames; 6-vectors have the angular part first; poses are 4 × 4
    matrices; quaternions are (w, x, y, z).  ``q`` stacks the configurations of the joints and ``v`` their velocities in
    the order of `joints`, without coupled joints.  The q of a floating joint is (w x y z, x y z) and its v is the
    body's twist in the body's axes, so ``q̇ ≠ v`` in general.

    Each function accepts arrays with any leading axes, a batch, which broadcast as in NumPy: ``q`` has shape (..., nq),
    ``v``, ``a`` and ``tau`` (..., nv).  A dict by joint name is accepted also; missing joints have their zero
    configuration or value.  ``out=`` is an array for the result.  A function is compiled at its first call (see
    `compile`).

    Functions raise ValueError for an array of wrong shape or type, or with non-finite values, and UnknownNameError (a
    KeyError) for an unknown name.  A quaternion whose length differs from 1 by more than 1e-3 is a ValueError, too;
    smaller differences are normalised with a `linkwork.errors.ConfigurationWarning`.

    A robot is an immutable value: equal robots compare and hash equal, and it pickles.

    ``tree`` is the model that `linkwork.load` and `Robot.build` create.  ``functions`` has the specification of each
    function by its name: inputs, outputs, options, and the algorithm over any scalar (see the pages on extensions).
    """

    __slots__ = ()

    functions = ROBOT

    # -- description

    @property
    def report(self) -> Report:
        """Report on the reading of the robot's file, to be printed: all repairs and all ignored elements."""
        return self._tree.report

    @property
    def gravity(self) -> np.ndarray:
        """Gravitational acceleration in the world frame, (3,) [m/s²]."""
        return np.array([*self._tree.gravity])

    @property
    def mass(self) -> float:
        """Total mass of all links [kg], including those fixed to the world."""
        self._tree.require_inertias("mass")
        return self._tree.mass

    # -- equality, hash and pickle

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Robot) and self._tree == other._tree

    def __hash__(self) -> int:
        return hash((Robot, self._tree))

    def __reduce__(self) -> tuple[Any, ...]:
        return Robot, (self._tree,)

    def __repr__(self) -> str:
        bodies, dof, constraints = len(self._tree.bodies), self.nv, len(self._tree.constraints)
        moving = f"{bodies} moving {'body' if bodies == 1 else 'bodies'}"
        if constraints:  # `mobility` computes the degrees of freedom
            size = f"{dof} joint {'velocity' if dof == 1 else 'velocities'}"
            return f"<Robot {self.name!r}: {moving}, {size}, {constraints} constraint{'' if constraints == 1 else 's'}>"
        return f"<Robot {self.name!r}: {moving}, {dof} degree{'' if dof == 1 else 's'} of freedom>"


add_methods(Robot, METHODS)
add_foreign_names(Robot)
public_methods(Robot)


@public
def load(
    robot: str | os.PathLike[str],
    *,
    format: str | Format | None = None,
    base: ArrayLike | None = None,
    floating_base: bool | None = None,
    gravity: Sequence[float] | None = None,
    strict: bool = False,
    multi_root: bool = False,
    mimic: Mimicry = "free",
    continuous: Continuous = "angle",
    inertia: Inertias = "given",
    loops: str | os.PathLike[str] | None = None,
    package_dirs: Folders | None = None,
    xacro: bool = False,
    arguments: XacroArguments | None = None,
    model: str | None = None,
    trusted: bool = True,
    budget: Budget | None = None,
) -> Robot:
    """Load a robot from a file, or a built-in robot by its name (`linkwork.robots.names`).

    The format of the file follows from the suffix of the path, or if no format has the suffix (".xml"), from the root
    element.  ``format`` selects a format by name ("urdf"), or is a `linkwork.formats.Format`.

    ``base`` is the pose of the root link in the world, (4, 4) or a position (3,) [m]: `Robot.with_base`.

    ``floating_base`` connects the root link to the world by a floating joint named "floating_base" instead of fixing
    it; by default the base moves as the file says, and is fixed if the file does not say it (URDF).  ``multi_root``
    allows several links without a parent, all fixed to the world.  ``gravity`` is in the axes of the world [m/s²], by
    default that of the file, or (0, 0, -9.81) if the file states none.  ``robot.report`` lists repairs and ignored
    elements.  Repairs also emit one `linkwork.errors.ModelWarning`; with ``strict`` they are errors.

    ``mimic`` is for joints that follow others in the file.  ``"coupled"`` couples them exactly
    (`Robot.with_couplings`), without coordinates in q and v.  ``"free"`` leaves them free and stores the relation in
    ``joint.mimic``.  ``"ignore"`` does not read it.

    ``continuous`` and ``inertia`` are for URDF and SDF.  ``continuous`` is the configuration of a continuous joint: its
    ``"angle"``, or ``"sincos"``, two coordinates (sin, cos).  ``inertia="nearest"`` replaces physically impossible
    rotational inertias by the nearest possible ones, if these are close enough, instead of raising an error like
    ``"given"``.  ``inertia="ignore"`` ignores all inertias, for kinematics only.  The page on robot files describes all
    of these options.

    ``loops`` is a second file, JSON or YAML, that closes kinematic loops: frames, joints between them, gears, rolling
    wheels and further constraints (`Robot.loops_document` writes one).  YAML needs PyYAML:
    ``pip install "linkwork[yaml]"``.  The loops of built-in robots are loaded automatically.

    ``package_dirs`` are folders that contain packages, or a dict of the folder of each package: files that an SDF,
    USD, MJCF or xacro file names, such as ``package://arm/hand.sdf`` or ``model://hand``, may be there, and so may the
    mesh files of every robot: pictures and collision hulls search these folders as well.

    ``xacro`` expands a xacro file to URDF or SDF first, with the package xacro (``pip install "linkwork[xacro]"``).
    ``arguments`` are the values of its arguments, strings, numbers or bools by name.  A xacro file is a program, which
    can run code and open any file: expand only files that you trust.

    ``model`` is the name of one model of an SDF file; by default all models are loaded, with their names before the
    names of their links and joints ("arm::hand") if there are several.

    ``trusted=False`` is for a file from a stranger.  MuJoCo, USD and PyYAML then parse in another process, with limits
    of memory and time, which can open no file outside of the folders of the model and has no network.  What happens
    there, a crash included, is a ModelError (UNTRUSTED_FILE).  ``robot`` is the same with both values.  ``budget``
    is a `linkwork.formats.Budget`: limits of the file, which are counted before it is parsed.

    A path may begin with ``~``, the home directory; ``./~`` is a file of that name.

    Raises ModelError (a ValueError), which lists the errors of the file and their locations, also for an unknown
    format; FileNotFoundError and PermissionError of the system; UnknownNameError for an unknown built-in robot or
    format; TypeError for an option that the format does not accept; ImportError, with the installation command, for a
    format whose package is not installed.
    """
    options = Options(
        base=base,
        floating_base=floating_base,
        gravity=gravity,
        strict=strict,
        multi_root=multi_root,
        mimic=mimic,
        continuous=continuous,
        inertia=inertia,
        loops=loops,
        package_dirs=package_dirs,
        xacro=xacro,
        arguments=arguments,
        model=model,
        trusted=trusted,
        budget=budget,
    )
    return Robot(read_robot(robot, options, format))


@public
def load_description(
    name: str, *, format: str | None = None, commit: str | None = None, **options: Unpack[LoadOptions]
) -> Robot:
    """Load a robot by its name in the package robot_descriptions, such as "panda_description".

    The package downloads the repository of the robot when it is first used (``pip install
    "linkwork[descriptions]"``).  ``format`` is "urdf" or "mjcf"; by default URDF, if the description has it.
    ``commit`` selects a commit of the robot's repository.  ``options`` are those of `load`.  A description that is a
    xacro file needs ``xacro=True``, because such a file is a program; ``arguments`` replace its default arguments.

    Raises ImportError, with the installation command, without the package; UnknownNameError for an unknown description
    or a format that it does not have; TypeError for a xacro file without ``xacro=True``; and the errors of `load`.
    """
    from linkwork.robot.construction.description_loading import description_file

    keywords: dict[str, Any] = dict(options)
    Options.of("load_description", keywords)
    file = description_file(name, format, commit, keywords.get("package_dirs"))
    if file.format == "xacro":
        if not keywords.get("xacro"):
            raise TypeError(
                f"load_description: xacro: expected True, because {name!r} is a xacro file: a program, which can run "
                "code and open any file; pass xacro=True if you trust it"
            )
        keywords["arguments"] = {**file.arguments, **(keywords.get("arguments") or {})}
    elif keywords.pop("xacro", False) or keywords.get("arguments") is not None:
        raise TypeError(f"load_description: xacro: {name!r} is a file of the format {file.format}, without xacro")
    takes_folders = file.format == "xacro" or "package_dirs" in format_named(file.format).options
    if takes_folders or keywords.get("package_dirs") is not None:
        keywords["package_dirs"] = file.package_dirs
    return load(file.path, format=None if file.format == "xacro" else file.format, **keywords)


@public
def join_robots(robots: Mapping[str, RobotBase], *, name: str = "cell") -> Robot:
    """Return one robot that joins several on a shared world: two arms of a cell, or a robot and a conveyor.

    ``robots`` is a dict; each key with "_" precedes all names of its robot ("left_elbow").  The robots stay where they
    are; `Robot.with_base` places them.  q is the q of all robots in the order of the dict, and so is v.  Each root link
    is fixed to the link "world".  ``name`` is the name of the whole.

    >>> import linkwork as lw
    >>> arm = lw.load("arm6")
    >>> cell = lw.join_robots({"left": arm.with_base((0, 0.4, 0)), "right": arm.with_base((0, -0.4, 0))})
    >>> cell.nq, cell.q_names[6]
    (12, 'right_shoulder_pan')

    Raises ValueError for robots with different gravity, and a constraint on the centre of mass of one of them.
    """
    from linkwork.robot.joining import joined_tree

    return Robot(joined_tree(robots, name))
