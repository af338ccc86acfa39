"""Every public callable, with good arguments for it: found by walking the public modules.

Good arguments are known by the name of the parameter (`callable_values`), so that a new function is covered without a
word here, unless it takes something new.  What is left out, and why, is `LEFT_OUT`.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import linkwork as lw
from benchmarks.fuzz.callable_objects import INSTANCES
from benchmarks.fuzz.callable_values import value_of
from benchmarks.fuzz.required_values import BESIDES, REQUIRED
from linkwork import constraints, errors, ik, joints, spatial
from linkwork._util.declared_kinds import declared, fits, is_quick
from linkwork._util.lazy_imports import LazyAttribute
from linkwork._util.result import ReturnedValue
from linkwork.optimal import features

__all__ = ["LEFT_OUT", "Subject", "subjects"]

_PUBLIC = [getattr(lw, name) for name in lw.__all__]
MODULES: tuple[ModuleType, ...] = (
    *(lw, lw.environments, lw.expr.linalg, lw.expr.optimize),
    *(x for x in _PUBLIC if isinstance(x, ModuleType) and x not in (errors, spatial)),
)

LEFT_OUT = {
    "contracts": "methods that the library calls, of kinds that users may write: of joint types, constraints, tasks, "
    "features, sensors and grounds; what they are called with is the library's own",
    "values": "spatial values, joint types' formulas and Kinematics, Window, Resistance: algebra over any scalar, "
    "symbols too, which looks at nothing while a function is traced",
    "results": "constructors of results, which the library makes",
    "errors": "constructors of errors",
    "inner methods": "public by their name alone, on no page, called by the library",
}
_INNER = frozenset(
    (
        *("adjoint", "tangent", "expr.jacobian", "from_casadi", "Robot", "CartesianPath.ending"),
        *("CartesianPath.moving", "ClosedForm.nearest_branch", "DifferentialIK.step"),
        *("IKProblem.chain", "IKProblem.residual_and_jacobian", "IKProblem.nearest"),
        *("IKProblem.refuse_unless_poses", "IKProblem.single", "PD.apply_actuation"),
        *("PD.check_input", "PD.forces", "PD.read_gains", "WholeBody.forces"),
    )
)
_FILES = frozenset(  # read by a fuzz of their own
    (
        *(
            "ModelPredictiveController.restore",
            "Roadmap.load",
            "Robot.with_loops_document",
            "Simulation.load",
            "sensors_of_mujoco",
        ),
        *("TVLQRController.load", "Trajectory.load", "load_kernel", "load_mesh"),
    )
)
_CONTRACTS = (
    *(joints.JointType, constraints.Constraint, ik.Task, features.feature.Feature, lw.simulation.Sensor),
    *(lw.simulation.ContactGround, lw.simulation.ContactPair, lw.simulation.ContactScene, lw.simulation.JointStops),
    *(lw.simulation.ContactPoint, lw.simulation.ServoActuators, lw.optimal.PathContact),
)
_VALUES = (
    constraints.StateQuery,
    constraints.Kinematics,
    constraints.RelativeMotion,
    lw.force_elements.Resistance,
    lw.optimal.WindowQuery,
    lw.optimal.Window,
)
_RESULTS = {
    *(
        "ContractReport",
        "Progress",
        "Kernel",
        "Fit",
        "LoadedMesh",
        "Geometry",
        "Rates",
        "References",
        "LoopJoint",
        "SensorInput",
    ),
    *("RobotDifference", "ComparedQuantity", "ModelFinding", "InstallationReport", "Outcome", "Verdict", "SceneSetup"),
    *("CartesianPath", "TimedPath", "Command", "LQRController", "TVLQRController", "ServoForces", "CostSoFar"),
    *(
        "DecisionVariable",
        "ProblemTerm",
        "JacobianCheck",
        "FeatureJacobian",
        "PathDerivative",
        "SimulatorState",
        "EventRecord",
    ),
    *("ExcitingTrajectory", "HeldOut", "Signals", "IKBranches", "ClosedForm", "IKArrays", "Excitation", "QRResult"),
    *(
        "JointDiscontinuity",
        "BlockingLimit",
        "UnreachableCertificate",
        "Singularity",
        "TaskRows",
        "TaskTarget",
        "Root",
        "SVDResult",
    ),
    *("EighResult", "SlogdetResult"),
    *(
        "Deviation",
        "Extremes",
        "MotionSequence",
        "PlanTree",
        "ProfileArrays",
        "TrajectoryState",
        "FiniteHorizonLQR",
        "LQRGain",
    ),
    *("MPCPlan", "WholeBodyAnswer", "WhileResult", "DifferentialIK", "IKProblem", "Trajectory", "Controller"),
    *("ControlLaw", "Task", "TaskKinematics", "Constraint", "Feature", "Shape", "Sensor", "JointType", "Joint"),
    *("PathContact", "ConstraintForce", "QuadraticSolution", "DistanceDerivatives", "DistanceHessian"),
    *("Obstacle", "Marks", "LinkMotion", "LinkVelocityAcceleration", "PropagatedMotion", "ScrewAxes", "Bounds"),
    *("SceneDocument", "View", "LocalCoordinates", "LoopJointView", "NamedConfiguration", "PlacedLink"),
    "SplitWrench",
}
_ELEMENTWISE = "linkwork.expr"
_ABSENT = ("Robot.is_motion_free",)  # in whose results NaN stands for what is not there
_KERNELS = (  # let NaN through, and say so by a status where there is one
    *("Kernel.interpret", "Kernel.call_python", "quadratic_program", "ProfileFunction.__call__"),
)


def _spoken(cls: str) -> str:
    """A class in words: "height field"."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", cls).lower()


@dataclass(frozen=True)
class Subject:
    """A public callable: its name, how messages may call it, its arguments by name, and a maker of the call."""

    name: str
    names: tuple[str, ...]
    arguments: tuple[str, ...]
    make: Callable[[], Callable[..., Any]]
    signature: inspect.Signature
    passes_nan: bool
    function: Any

    @property
    def has_absent(self) -> bool:
        """Return True if NaN in a result means that a quantity does not exist."""
        return self.name in _ABSENT

    def declares(self, argument: str, value: Any) -> bool:
        """Return False where the signature says that an argument is of another kind."""
        parameter = self.signature.parameters[argument.lstrip("*")]
        if argument in ("seed", "rng", "max_iterations") and isinstance(value, int) and not isinstance(value, bool):
            return True  # of any size
        if argument == "out" or (isinstance(value, int) and value in (0, 1)):
            return True  # None leaves an output out; 0 and 1 are equal to False and True
        kind = declared(self.function, parameter)
        return value is parameter.default or not is_quick(kind) or fits(kind, value)

    def prepared(self) -> tuple[Callable[[str, Any, dict[str, Any]], Any], dict[str, Any]]:
        """Return a function of an argument's name ("" for none), its value and valid arguments; and these."""
        function = self.make()
        arguments = {
            name: value_of(self.name, name)
            for name, p in self.signature.parameters.items()
            if (p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD))
            or name in REQUIRED.get(self.name, ())
        }

        def call(argument: str, value: Any, arguments: dict[str, Any]) -> Any:
            beside = {name: x for name, x in BESIDES.get(argument, {}).items() if name in arguments}
            arguments = {**arguments, **beside, argument.lstrip("*"): value} if argument else arguments
            positional, named = [], {}
            for name, p in self.signature.parameters.items():
                if p.kind is p.VAR_POSITIONAL:
                    many = [*value_of(self.name, f"*{name}", [])]
                    positional += [arguments[name], *many[1:]] if name == argument.lstrip("*") else many
                elif p.kind is p.VAR_KEYWORD:
                    named |= value_of(self.name, f"**{name}", {})
                elif name in arguments:
                    if p.kind is p.POSITIONAL_ONLY or (p.kind is p.POSITIONAL_OR_KEYWORD and p.default is p.empty):
                        positional.append(arguments[name])
                    else:
                        named[name] = arguments[name]
            return function(*positional, **named)

        return call, arguments


def _subject(name: str, names: tuple[str, ...], function: Any, make: Callable[[], Any]) -> Subject | None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    parameters = {k: p for k, p in signature.parameters.items() if k not in ("self", "cls")}
    signature = signature.replace(parameters=[*parameters.values()])
    arguments = tuple(
        f"*{k}" if p.kind is p.VAR_POSITIONAL else k
        for k, p in parameters.items()
        if p.kind is not p.VAR_KEYWORD and not k.startswith("_")
    )
    passes = getattr(function, "__module__", "").startswith(_ELEMENTWISE) or name in _KERNELS
    return Subject(name, names, arguments, make, signature, passes, function) if arguments else None


@functools.cache
def subjects() -> tuple[Subject, ...]:
    """All of them, each once, in an order that does not change."""
    results: dict[Any, Subject | None] = {}
    names: dict[type, str] = {}
    for module in MODULES:
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value):
                names.setdefault(value, name)
            elif callable(value) and not isinstance(value, ModuleType):
                key = getattr(value, "__wrapped__", value)
                if key not in results:
                    results[key] = _subject(name, (name,), value, functools.partial(_same, value))
    for cls, name in names.items():
        for key, subject in _of_class(cls, name):
            results.setdefault(key, subject)
    selected = (s for s in results.values() if s is not None and s.name not in _INNER | _FILES)
    return tuple(sorted(selected, key=lambda s: s.name))


def _same(value: Any) -> Any:
    return value


def _of_class(cls: type, name: str) -> list[tuple[Any, Subject | None]]:
    if issubclass(cls, (BaseException, Warning)) or cls in errors.__dict__.values() or cls in spatial.__dict__.values():
        return []
    results: list[tuple[Any, Subject | None]] = []
    if (
        name not in _RESULTS
        and not issubclass(cls, ReturnedValue)
        and cls not in _VALUES
        and not inspect.isabstract(cls)
    ):
        results.append(((cls, "new"), _subject(name, (name, _spoken(name)), cls, functools.partial(_same, cls))))
    contract = isinstance(cls, type) and issubclass(cls, _CONTRACTS)
    members = {
        "of", "from_urdf", "from_urdf_string", "build", "from_dh", "load", "from_dict", "from_json", "polynomial",
        "by_coordinate",
    }  # fmt: skip
    for key, value in sorted(_members(cls).items()):
        if isinstance(value, (property, functools.cached_property)) or key == "__init__":
            continue
        if isinstance(value, (classmethod, staticmethod)):
            if key in members and not contract and cls not in _VALUES:
                bound = getattr(cls, key)
                names = (key,)
                results.append((value, _subject(f"{name}.{key}", names, bound, functools.partial(_same, bound))))
            continue
        if not inspect.isroutine(value) or contract or cls in _VALUES or cls not in INSTANCES:
            continue
        spoken = (name, _spoken(name), *(["function"] if name == "Kernel" else [])) if key == "__call__" else (key,)
        results.append((value, _subject(f"{name}.{key}", spoken, value, functools.partial(_bound, cls, key))))
    return results


def _bound(cls: type, key: str) -> Any:
    return getattr(INSTANCES[cls](key), key)


def _members(cls: type) -> Mapping[str, Any]:
    results: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        if base.__module__.startswith("linkwork"):
            results |= {name: v.value() if isinstance(v, LazyAttribute) else v for name, v in vars(base).items()}
    return {name: v for name, v in results.items() if not name.startswith("_") or name == "__call__"}
