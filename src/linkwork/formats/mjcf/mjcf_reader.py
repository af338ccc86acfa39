"""Reader of MJCF by MuJoCo's own compiler, and of compiled models of MuJoCo.

The compiler determines the meaning of defaults, classes, includes, frames, copies, attachments, inertias from geoms,
limits and units.  linkwork reads the arrays of the compiled model.  The report lists content that is not read: IGNORED
if it does not act on the dynamics, else UNSUPPORTED.  Keyframes are named configurations, in linkwork's coordinates.
"""

from __future__ import annotations

import codecs
import os
import threading
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from linkwork._util.file_access import MODEL, Budget
from linkwork._util.file_search import FileSearch, Folders, read_folders
from linkwork.errors import Issue, Location, ModelError
from linkwork.formats.description import Description, Findings, NamedState, NamedStateDescription, read_gravity
from linkwork.formats.file_reading import path_text, read_start, require_path
from linkwork.formats.mjcf.actuators import read_actuators
from linkwork.formats.mjcf.bodies_and_joints import Structure, read_structure, sites_as_frames
from linkwork.formats.mjcf.compiled_model import CompiledModel, imported_mujoco
from linkwork.formats.mjcf.compiler_errors import compiler_issue, further_issues
from linkwork.formats.mjcf.contact_pairs import read_pairs
from linkwork.formats.mjcf.equalities import read_equalities
from linkwork.formats.mjcf.further_content import report_further_content
from linkwork.formats.mjcf.geoms import read_shapes
from linkwork.formats.mjcf.model_files import ModelFiles, check_files
from linkwork.formats.mjcf.tendons import read_tendons
from linkwork.formats.unique_names import Names
from linkwork.joints import Floating
from linkwork.spatial import Rotation, Vec3

__all__ = ["INITIAL", "describe_model", "prepare_process", "read_mjcf"]

_UNNAMED = "MuJoCo Model"  # MuJoCo's name of a model without a name


def read_mjcf(
    path: str | os.PathLike[str],
    *,
    strict: bool = False,
    floating_base: bool | None = None,
    package_dirs: Folders | None = None,
    budget: Budget | None = None,
) -> Description:
    """Return the description of an MJCF file.

    ``floating_base`` is None for a base that moves as the file says, True to free a base that is welded to the world,
    and False to fix a base that is free.  Files that the model includes or uses may also be in ``package_dirs``.
    ``budget`` limits the files, and what they make MuJoCo allocate.

    Raises ModelError: PATH_ESCAPE, FILE_MISSING, TOO_LARGE, COMPILER (MuJoCo's messages), the errors of XML and of
    values, as many as are found at once; ValueError for ``package_dirs`` that are not folders.
    """
    require_path(path)
    further = FileSearch(()) if package_dirs is None else read_folders("load: package_dirs", package_dirs)
    file, findings = path_text(path), Findings(strict=strict)
    start = read_start(path, 1 << 12)
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        message = "MuJoCo reads MJCF in UTF-8, and this file is in UTF-16"
        raise ModelError(Issue("XML_ENCODING", message, Location(file, 1), "save the file in UTF-8"))
    if file.lower().endswith(".mjb") and not start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        message = "expected MJCF, which is XML; linkwork does not open MuJoCo's binary models"
        hint = "robot = Robot.from_mujoco(mujoco.MjModel.from_binary_path(path)), for a file that you trust"
        raise ModelError(Issue("WRONG_FORMAT", message, Location(file), hint))
    files = check_files(path, further.allowed, findings, budget or MODEL)
    model, warnings = _compiled(file, files, findings)
    source = CompiledModel(model, file, files.lines, files.displaced)
    source.issues += [Issue("IGNORED", f"MuJoCo: {text}", Location(file)) for text in warnings]
    return _checked(source, findings, floating_base)


def prepare_process() -> None:
    """Import MuJoCo and read a small model, before a process reads an untrusted file."""
    body = '<body name="a"><joint/><geom size="1"/></body>'
    model = imported_mujoco("load").MjModel.from_xml_string(f"<mujoco><worldbody>{body}</worldbody></mujoco>")
    describe_model(model)


def describe_model(model: Any, *, floating_base: bool | None = None) -> Description:
    """Return the description of a compiled model (`mujoco.MjModel`), or of a specification (`mujoco.MjSpec`).

    Raises TypeError for anything else, ImportError without the package mujoco, and ModelError.
    """
    mujoco = imported_mujoco("from_mujoco")
    if isinstance(model, mujoco.MjSpec):
        model, problem = _compiled_spec(model)
        if problem:
            raise ModelError(compiler_issue(problem, None, None))
    if not isinstance(model, mujoco.MjModel):
        raise TypeError(f"from_mujoco: model: expected a mujoco.MjModel or MjSpec, got {type(model).__name__}")
    return _checked(CompiledModel(model), Findings(), floating_base)


def _checked(source: CompiledModel, findings: Findings, floating_base: bool | None) -> Description:
    """Return the description of a model.

    Raises ModelError with all errors, also for values outside of permitted ranges.
    """
    try:
        return _describe(source, findings, floating_base)
    except ModelError:
        raise
    except (ValueError, OverflowError) as error:
        problem = str(error)
    raise ModelError(Issue("VALUE", problem, Location(source.file)))


def _describe(source: CompiledModel, findings: Findings, floating_base: bool | None) -> Description:
    """Return the description of a model, with the findings about it."""
    structure = read_structure(source, findings, read_shapes(source, findings), floating_base)
    findings.raise_errors()
    frames = sites_as_frames(source)
    tendons = read_tendons(source, structure)
    equalities = read_equalities(source, structure, tendons.fixed)
    actuators = read_actuators(source, structure, tendons.fixed)
    states = read_keyframes(source, structure, actuators.controls)
    disabled, enabled = read_pairs(source, structure)
    for issue in source.errors:
        findings.error(issue)
    findings.raise_errors()
    report_further_content(source)
    stated_name = bytes(source.model.names).partition(b"\0")[0].decode("utf-8", "replace")
    name = stated_name if stated_name.strip() and stated_name != _UNNAMED else ""
    stem = os.path.splitext(os.path.basename(source.file or ""))[0]
    gravity = Vec3(0.0, 0.0, 0.0) if "gravity" in source.disabled else Vec3.of(source.model.opt.gravity.tolist())
    read_gravity(gravity)
    return Description(
        name or stem or "model",
        tuple(structure.links),
        tuple(structure.joints),
        (*findings.warnings, *source.issues),
        source.file,
        (*frames, *actuators.frames),
        Location(source.file),
        constraints=tuple(equalities.constraints),
        actuators=tuple(actuators.actuators),
        named_configurations=tuple(states),
        points=tuple(equalities.points),
        force_elements=tuple(tendons.springs),
        disabled_collisions=disabled,
        enabled_collisions=enabled,
        gravity=gravity,
        base_is_stated=True,
    )


# -- compilation


def _compiled_spec(spec: Any) -> tuple[Any, str]:
    """Return the compiled model of a specification, and MuJoCo's message if it cannot be compiled."""
    try:
        return spec.compile(), ""
    except Exception as error:
        return None, str(error)


def _compiled(file: str, files: ModelFiles, findings: Findings) -> tuple[Any, list[str]]:
    """Return the compiled model of a file and MuJoCo's warnings.

    Raises ModelError with the recorded errors of values, those of the compiler (COMPILER, FILE_MISSING), and those of
    the model that compiles without the elements of these errors.
    """
    try:
        file.encode()
    except UnicodeEncodeError:
        problem = "it reads no files whose path has bytes that are not UTF-8; rename the folder or the file"
        raise ModelError(compiler_issue(problem, file, files)) from None
    texts: list[str] = []
    compiler = partial(_compile_with, file, texts)
    problem = ""
    if not findings.errors:
        model, problem = compiler({})
        if model is not None:
            return model, texts
        findings.error(compiler_issue(problem, file, files))
    model = further_issues(problem, files, compiler, findings)
    if model is not None:
        reported = {(issue.where.file, issue.where.line) for issue in findings.errors}
        try:
            _checked(CompiledModel(model, file, files.lines, files.displaced), Findings(strict=findings.strict), None)
        except ModelError as error:
            for issue in error.issues:
                if issue.where.line is not None and (issue.where.file, issue.where.line) not in reported:
                    findings.error(issue)
    findings.raise_errors()
    raise AssertionError


def _compile_with(file: str, warnings: list[str], content: Mapping[str, bytes]) -> tuple[Any, str]:
    """Compile an MJCF file; return the model, or None, and MuJoCo's error message.

    ``content`` are the bytes of files by name, which replace those on disk.
    """
    import mujoco

    with _ONE_AT_A_TIME:
        before = mujoco.get_mju_user_warning()
        mujoco.set_mju_user_warning(warnings.append)  # MuJoCo's own handler writes a file into the working folder
        try:
            return mujoco.MjModel.from_xml_path(file, dict(content)), ""
        except Exception as error:
            return None, str(error) or type(error).__name__
        finally:
            mujoco.set_mju_user_warning(before)


_ONE_AT_A_TIME = threading.Lock()  # the handler of warnings is global


INITIAL = "qpos0"  # name of the configuration in which the model is stated


def read_keyframes(
    source: CompiledModel, structure: Structure, controls: Mapping[int, str]
) -> list[NamedStateDescription]:
    """Return the keyframes as named configurations, and the model's initial configuration with the name "qpos0".

    ``controls`` are the names of actuators by the index of their control. Velocities and controls that are all zero
    are left out.
    """
    if not structure.joints:
        return []
    reader = _Reader(source, structure)
    stated_names = [source.name_in_model("key", i) for i in range(source.model.nkey)]
    names, result = Names(stated_names), []
    array = source.array
    if source.model.njnt and INITIAL not in names.taken:
        names.taken.add(INITIAL)
        result.append(NamedStateDescription(NamedState(INITIAL, reader.q(array("qpos0")))))
    keys = zip(stated_names, array("key_qpos"), array("key_qvel"), array("key_ctrl"), strict=True)
    for i, (name, qpos, qvel, ctrl) in enumerate(keys):
        title = name or names.underscored(f"key{i}")
        v = reader.v(qpos, qvel) if any(qvel) else None
        u = tuple((actuator, ctrl[k]) for k, actuator in controls.items()) if any(ctrl) else None
        where = source.where("key", title, "keyframe/")
        result.append(NamedStateDescription(NamedState(title, reader.q(qpos), v, u), where))
    return result


class _Reader:
    """Reader of joint positions and velocities from arrays qpos and qvel."""

    def __init__(self, source: CompiledModel, structure: Structure) -> None:
        self.starts, self.dofs = source.array("jnt_qposadr"), source.array("jnt_dofadr")
        index = {name: j for j, name in enumerate(source.joints)}
        self.joints = [(x.name, x.joint, index[x.name]) for x in structure.joints if x.name in index]

    def q(self, qpos: Sequence[float]) -> tuple[tuple[str, tuple[float, ...]], ...]:
        result = []
        for name, joint, j in self.joints:
            x = qpos[self.starts[j] : self.starts[j] + joint.nq]
            result.append((name, (*x[3:], *x[:3]) if isinstance(joint, Floating) else tuple(x)))
        return tuple(result)

    def v(self, qpos: Sequence[float], qvel: Sequence[float]) -> tuple[tuple[str, tuple[float, ...]], ...]:
        result = []
        for name, joint, j in self.joints:
            x = qvel[self.dofs[j] : self.dofs[j] + joint.nv]
            if isinstance(joint, Floating):
                turn = Rotation.from_quaternion(*qpos[self.starts[j] + 3 : self.starts[j] + 7])
                x = [*x[3:], *turn.inv_act(Vec3.of(x[:3]))]
            result.append((name, tuple(x)))
        return tuple(result)
