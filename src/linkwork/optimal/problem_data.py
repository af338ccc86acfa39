"""The immutable fields of a trajectory problem, and the programs that solvers derive from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, NoReturn, Self

from linkwork._util.cached_properties import cached_property
from linkwork.expr.scalar.symbol import Graph
from linkwork.model.kernel_parameters import Parameter
from linkwork.model.tree import Tree
from linkwork.model.tree_attachments import check_references
from linkwork.optimal.algorithms.path_nlp import PathProgram, PathTerm
from linkwork.optimal.algorithms.path_window import PathWindow
from linkwork.optimal.features import ConstraintForce, Feature, PathContact, UnactuatedFeature
from linkwork.optimal.features.feature import DEEPEST
from linkwork.optimal.problem_terms import LIMITS, DecisionVariable, ProblemTerm

__all__ = ["ProblemData", "bind_feature"]


class ProblemData:
    """Data of a `TrajectoryProblem`: its immutable fields, the programs for its kernels, and binding of features."""

    robot: Any
    num_steps: int
    phases: Mapping[str, range]
    durations: Mapping[str, Any]
    terms: tuple[ProblemTerm, ...]
    variables: Mapping[str, DecisionVariable]
    parameters: Mapping[str, DecisionVariable]
    contacts: tuple[PathContact | ConstraintForce, ...]
    _controller_class: ClassVar[Any]  # `linkwork.control.ModelPredictiveController`, which assigns itself
    _programs: dict[Any, PathProgram]
    _prepared: dict[Any, Any]  # data that solvers derive from the problem

    def _set(self, **fields: Any) -> None:
        for name, value in fields.items():
            self.__dict__[name] = MappingProxyType(value) if isinstance(value, dict) else value
        self.__dict__["_programs"], self.__dict__["_prepared"] = {}, {}

    def _replaced(self, **fields: Any) -> Self:
        """Return a problem with new values of the named fields."""
        problem = object.__new__(type(self))
        problem.__dict__.update(self.__dict__)
        problem._set(**fields)
        return problem

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(
            f"TrajectoryProblem: {name}: a problem does not change; its methods return a new one: "
            f"problem = problem.add(...)"
        )

    def __delattr__(self, name: str) -> NoReturn:
        self.__setattr__(name, None)

    @property
    def _free_durations(self) -> int:
        """Number of parameters that are free durations."""
        return sum(isinstance(x, tuple) for x in self.durations.values())

    @property
    def _unactuated(self) -> set[int]:
        """Indices in v of the joints without motors: those with an `UnactuatedFeature` as an equality in all steps."""
        features = (
            term.feature for term in self.terms if term.kind == "equality" and len(term.steps) == self.num_steps
        )
        return {k for feature in features if isinstance(feature, UnactuatedFeature) for k in feature.indices}

    @property
    def _names(self) -> set[str]:
        return {term.name for term in self.terms}

    def _with_external_force(self, contact: PathContact | ConstraintForce) -> Self:
        """Return the problem with a contact whose force is the decision variable of the same name."""
        return self._replaced(contacts=(*self.contacts, contact))

    def _bound(self, caller: str, feature: Feature, empty: bool = False) -> Feature:
        """Return a feature bound to the robot.  Raises ValueError for no components, unless ``empty``."""
        variables, parameters = (
            {name: x.size for name, x in unknowns.items()} for unknowns in (self.variables, self.parameters)
        )
        bound = bind_feature(caller, self.robot, feature, variables, parameters, self.contacts)
        if not bound.component_names and not empty:
            raise ValueError(f"{caller}: {feature.name!r}: the feature has no components for this robot")
        return bound

    def _limits_left_out(self) -> list[str]:
        """Return the names of limits (arguments of `add_limits`) that the robot has but the problem does not impose."""
        known = {type(term.feature) for term in self.terms}
        left = [(kind, argument) for kind, argument in LIMITS.items() if kind not in known]
        return [argument for kind, argument in left if self._bound("add_limits", kind(), empty=True).component_names]

    def _program(
        self, started: bool, moves_at_start: bool = False, robot_parameters: tuple[Parameter, ...] = ()
    ) -> PathProgram:
        """Return the structure of the problem, without numerical values, for which kernels are compiled.

        ``started`` is True for a path with a start, and ``moves_at_start`` for a path with an initial velocity and free
        durations. ``robot_parameters`` are inputs of each call.
        """
        key = (started, moves_at_start, robot_parameters)
        if key not in self._programs:
            uniform = started and len(self.durations) == 1
            self._programs[key] = PathProgram(
                self.robot.tree,
                self.num_steps,
                tuple(_path_term(term) for term in self.terms),
                started,
                tuple((name, x.size) for name, x in self.variables.items()),
                tuple((name, x.size) for name, x in self.parameters.items()),
                self._free_durations,
                uniform,
                self.contacts,
                moves_at_start,
                robot_parameters,
            )
        return self._programs[key]

    def __getstate__(self) -> dict[str, Any]:
        fields = {name: value for name, value in self.__dict__.items() if name not in ("_programs", "_prepared")}
        return {name: dict(x) if isinstance(x, MappingProxyType) else x for name, x in fields.items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._set(**state)  # programs and kernels are not pickled

    def __repr__(self) -> str:
        terms = ", ".join(f"{term.kind} {term.name!r}" for term in self.terms)
        return f"<TrajectoryProblem of {self.robot.name!r}, {self.num_steps} steps: {terms or 'no terms'}>"


def bind_feature(
    caller: str,
    robot: Any,
    feature: Feature,
    variables: Mapping[str, int],
    parameters: Mapping[str, int],
    contacts: Sequence[PathContact | ConstraintForce],
) -> Feature:
    """Return a feature bound to a robot, with variables and parameters by name and size.

    Raises UnknownNameError for names that the robot does not have, and ValueError for a feature that does not fit the
    robot.
    """
    tree = robot.tree
    check_references(tree, feature.references)
    for reason in feature.checked(tree):
        raise ValueError(f"{caller}: {feature.name!r}: {reason}")

    def window() -> PathWindow:
        graph, count = Graph(f"{caller}: {feature.name!r}"), DEEPEST + 1

        def fresh(name: str, size: int) -> list[Any]:
            return list(graph.inputs(name, (size,)))

        return PathWindow(
            tree,
            [fresh(f"q{back}", tree.nq) for back in range(count)],
            [graph.input("step")] * count,
            graph.input("time"),
            [{name: fresh(f"{name}{back}", n) for name, n in variables.items()} for back in range(count)],
            {name: fresh(name, n) for name, n in parameters.items()},
            contacts=contacts,
        )

    lazy: Any = _LazyWindow(tree, window)
    return feature.bind(robot, lazy)


class _LazyWindow:
    """Window of symbols that is built only if a feature reads more of it than the robot.

    Most features read only the robot when they are bound.
    """

    def __init__(self, tree: Tree, make: Callable[[], PathWindow]) -> None:
        self.tree, self._make = tree, make

    @cached_property
    def _window(self) -> PathWindow:
        return self._make()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._window, name)


def _path_term(term: ProblemTerm) -> PathTerm:
    """Return the part of a term that its kernel depends on."""
    step = term.steps[0] if term.single else None
    bounded = term.lower is not None
    return PathTerm(term.feature, term.kind, term.name, step, bounded, term.has_target_per_step)
