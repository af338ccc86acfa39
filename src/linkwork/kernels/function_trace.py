"""Tracing of requested functions: algorithms run on symbols, and joints define guards."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from linkwork._util.collection_pauses import without_collections
from linkwork._util.lazy_imports import LazyModule
from linkwork.compiler.port import Port
from linkwork.expr.scalar.symbol import Graph, Symbol
from linkwork.joints.base.checks import MIN_REGULARITY, SILENT_MANIFOLD_DISTANCE, call_joint
from linkwork.kernels.function_request import Request
from linkwork.kernels.operation_attribution import marked
from linkwork.kernels.owners import KernelOwner, RobotOwner, configurations, shape_of
from linkwork.model.function_spec import PASSIVE, QUANTITIES, FunctionSpec, quantity_of
from linkwork.spatial import Vec3

if TYPE_CHECKING:
    from linkwork.compiler import program as programs
    from linkwork.model import kernel_parameters
    from linkwork.model.kernel_parameters import Parameter
else:
    kernel_parameters = LazyModule("linkwork.model.kernel_parameters")
    programs = LazyModule("linkwork.compiler.program")

__all__ = [
    "Traced",
    "elements_of",
    "input_ports",
    "is_ruled",
    "output_ports",
    "parameter_ports",
    "run",
    "trace_requests",
    "trace_ruled",
    "traced",
]


class Traced(NamedTuple):
    """The expressions of a trace of several functions: inputs, results, and guards.

    A guard is a hidden result that is positive for a configuration that is invalid or singular.
    """

    inputs: list[tuple[Port, list[Symbol]]]
    outputs: list[tuple[Port, Sequence[Any]]]
    guards: list[Any]


def input_ports(subject: KernelOwner, requests: Mapping[str, Request]) -> tuple[Port, ...]:
    """Return the inputs of all functions, without duplicates.

    Inputs of a single function are in the order of its arguments.  Inputs of several functions are in the order of the
    table of quantities.
    """
    by_input = {name: request for request in requests.values() for name in request.inputs}
    if len(requests) > 1:
        known = list(QUANTITIES)
        by_input = dict(
            sorted(by_input.items(), key=lambda item: known.index(item[0]) if item[0] in known else len(known))
        )
    acting: dict[str, tuple[str, str]] = {}
    for request in requests.values():
        for name, wrench in zip(request.wrench_inputs, request.wrenches, strict=True):
            if acting.setdefault(name, wrench) != wrench:
                first_axes, second_axes = (f"{frame!r} (in {axes!r})" for frame, axes in (acting[name], wrench))
                raise ValueError(
                    f"compile: {name} would act on {first_axes} and on {second_axes}: "
                    "compile these functions one by one"
                )
    result = [(name, shape_of(subject, quantity_of(name).shape, request.sizes)) for name, request in by_input.items()]
    for request in requests.values():
        for name, shape in result:
            if name in request.inputs and shape != shape_of(subject, quantity_of(name).shape, request.sizes):
                raise ValueError(
                    f"compile: {name} has a different size in each function: compile these functions one by one"
                )
    parameters = [port for port in parameter_ports(subject, requests).values() if port.name not in by_input]
    return (*(Port(name, shape) for name, shape in result), *parameters)


def parameter_ports(subject: KernelOwner, requests: Mapping[str, Request]) -> dict[Parameter, Port]:
    """Return the inputs of a kernel that replace parameters of the robot (such as masses), by parameter."""
    parameters = next((request.parameters for request in requests.values()), ())
    if not (parameters and isinstance(subject, RobotOwner)):
        return {}
    return {
        parameter: Port(name, parameter.shape(subject.tree))
        for parameter, name in kernel_parameters.inputs_of(parameters).items()
    }


def output_ports(subject: KernelOwner, requests: Mapping[str, Request]) -> tuple[Port, ...]:
    """Return the outputs of a kernel of several functions, with names and shapes.

    The outputs of a function with several results have names that begin with the function's name, unless it is the only
    function.
    """
    return tuple(port for key, request in requests.items() for port in _outputs(subject, key, request, len(requests)))


def _outputs(subject: KernelOwner, key: str, request: Request, count: int) -> list[Port]:
    outputs = request.outputs
    shapes = [shape_of(subject, out.shape, request.sizes) for out in outputs]
    if len(outputs) == 1:
        return [Port(key, shapes[0])]
    names = [out.name if count == 1 else f"{key}_{out.name}" for out in outputs]
    return [Port(name, shape) for name, shape in zip(names, shapes, strict=True)]


def run(request: Request, walked: Any, values: Mapping[str, Sequence[Any]]) -> Any:
    """Run the algorithm of a requested function on scalars, and return its result.

    ``values`` has the scalars of each input by name. ``walked`` is the first argument of the algorithm: the robot's
    tree, or the joint.
    """
    row, options = request.spec, dict(request.options)
    for name in request.optional_inputs:
        if name == "gravity":
            walked = walked.with_gravity(Vec3.of(values[name]))
        else:
            options[name] = values[name]
    if request.wrenches:
        inputs = zip(request.wrenches, request.wrench_inputs, strict=True)
        options[row.wrench_argument] = [(frame, axes, values[name]) for (frame, axes), name in inputs]
    _refuse_loops_that_resist(request, walked)
    return _computing(row, walked)(walked, *(values[name] for name in row.inputs), **options)


def _refuse_loops_that_resist(request: Request, walked: Any) -> None:
    """Raise ValueError if a function would ignore passive forces of force elements or loop joints.

    Functions that include no passive forces are accepted.
    """
    row = request.spec
    if not (request.option("passive") or row.needs_passive_forces):
        return
    elements: Any = getattr(walked, "force_elements", ())
    if row.joint_forces_only and elements:
        raise ValueError(
            f"{row.name}: it includes passive joint forces, but not the force element "
            f"{elements[0].name!r}: use robot.without_force_elements()"
        )
    if not row.tree_forces_only:
        return
    for constraint in getattr(walked, "constraints", ()):
        if getattr(constraint, "resists", False):
            raise ValueError(
                f"{row.name}: it includes passive forces of the tree's joints, but not of the loop joint "
                f"{constraint.name!r}: `loop_passive_force` returns those, and functions that begin with constrained_ "
                f"include both"
            )


def _computing(row: FunctionSpec, walked: Any) -> Callable[..., Any]:
    """Return the algorithm of a function; a robot with constraints may have another one.

    Raises ValueError for constraints that depend on time if the function does not.
    """
    if not getattr(walked, "constraints", ()) or row.constrained is None:
        return row.compute
    timed = next((constraint.name for constraint in walked.constraints if constraint.time_dependent), None)
    if timed is not None and "time" not in row.optional:
        remedy = f"{row.with_time} with time=t" if row.with_time else f"robot.without_constraints({timed!r})"
        raise ValueError(f"{row.name}: constraint {timed!r} depends on time, and the function does not: use {remedy}")
    return row.constrained


def is_in_double(subject: KernelOwner, row: FunctionSpec) -> bool:
    """Return True if the function is computed in float64 for arguments of any type."""
    constrained = isinstance(subject, RobotOwner) and bool(subject.tree.constraints)
    return row.float64_only or (constrained and row.constrained is not None)


def is_ruled(subject: KernelOwner, request: Request) -> bool:
    """Return True if the request's derivatives are computed by the function's rule of differentiation.

    This requires default options, no optional inputs, wrenches or parameters as inputs, and a robot without
    constraints.
    """
    if isinstance(subject, RobotOwner) and subject.tree.constraints:
        return False
    unusual = request.options or request.optional_inputs or request.wrenches or request.parameters
    return request.spec.derivative_rule is not None and not unusual


def traced(
    subject: KernelOwner,
    requests: Mapping[str, Request],
    watched: Callable[[Any, Graph], Any] | None = None,
    by_rules: bool = False,
) -> Traced:
    """Run the algorithms of the requested functions on symbols; return the symbols, the results and the guards.

    ``watched`` may replace the tree or joint that an algorithm walks over, to record its walks. With ``by_rules``,
    results have the rules of differentiation of their functions.
    """
    graph = Graph()
    inputs = [(port, graph.inputs(port.name, port.shape)) for port in input_ports(subject, requests)]
    symbols = {port.name: values for port, values in inputs}
    parameters = {parameter: symbols[port.name] for parameter, port in parameter_ports(subject, requests).items()}
    outputs: list[tuple[Port, Sequence[Any]]] = []
    with_parameters: dict[bool, Any] = {}
    for key, request in requests.items():
        row = request.spec
        if row.inertia_check is not None:
            row.inertia_check.refuse(subject, request)
        walked = with_parameters.get(row.joint_space) if parameters else None
        if walked is None:
            walked = with_parameters[row.joint_space] = subject.algorithm_input(row, parameters)
        plain = walked
        if watched is not None:
            walked = watched(walked, graph)
        if by_rules and row.derivative_rule is not None and is_ruled(subject, request):
            from linkwork.expr.autodiff.custom_derivative import apply_rule

            result = apply_rule(row.derivative_rule(plain, marked), [x for name in row.inputs for x in symbols[name]])
        else:
            result = run(request, walked, symbols)
        ports = _outputs(subject, key, request, len(requests))
        for port, part in zip(ports, result if len(ports) > 1 else (result,), strict=True):
            elements = elements_of(part)
            if len(elements) != port.size:
                raise ValueError(
                    f"{subject.message_prefix}{row.name}: "
                    f"expected {port.size} elements of {port.name}, got {len(elements)}"
                )
            outputs.append((port, elements))
    _refuse_unused(requests, parameters, [x for _, values in outputs for x in values])
    return Traced(inputs, outputs, _guards(subject, requests, symbols))


def _refuse_unused(
    requests: Mapping[str, Request], parameters: Mapping[Parameter, list[Symbol]], results: list[Any]
) -> None:
    """Raise ValueError for a parameter that no result depends on and that was requested by its own name."""
    if not parameters:
        return
    from linkwork.expr.scalar.interpreter import reachable

    used = {node.index for node in reachable(results)}
    named = [(parameter, symbols) for parameter, symbols in parameters.items() if not parameter.fitting]
    unused = [parameter for parameter, symbols in named if not any(x.index in used for x in symbols)]
    if unused:
        names = [request.spec.name for request in requests.values()]
        depends = f"{names[0]} does" if len(names) == 1 else f"these {len(names)} functions do"
        takes = [
            (name, r)
            for name, r in zip(names, requests.values(), strict=True)
            if any(option.name == PASSIVE.name for option in r.spec.options)
        ]
        passive = [name for name, r in takes if not r.option("passive")]
        remedy = f': request ("{passive[0]}", {{"passive": True}}) for effects in joints' if passive else ""
        if takes and not passive and unused[0].kind in ("damping", "friction"):
            remedy = ": it has no effect if the joint's dynamics are 'none'"
        in_joints = isinstance(kernel_parameters.KINDS[unused[0].kind].size, str)
        advice = remedy if in_joints and remedy else "; leave it out, or use robot.with_parameters, which takes all"
        raise ValueError(f"compile: parameters: {depends} not depend on {unused[0]}{advice}")


def _guards(subject: KernelOwner, requests: Mapping[str, Request], symbols: Mapping[str, list[Symbol]]) -> list[Any]:
    """Return the guards, which are positive for invalid or singular configurations.

    Guards compare the distance from the manifold with its tolerance, elements with the bounds of their quantity, and,
    for functions that need regular coordinates, regularity with its threshold.
    """
    checked = dict.fromkeys(name for r in requests.values() if not r.spec.any_configuration for name in r.inputs)
    singular = {name for r in requests.values() if r.spec.requires_regular_coordinates for name in r.inputs}
    result = []
    for name, part in configurations(subject, checked):
        coordinates = symbols[name][part.indices]
        result.append(call_joint(part.joint, part.type, "distance", coordinates) - SILENT_MANIFOLD_DISTANCE)
        if name in singular:  # float32 is checked again in float64, so the guard allows for its rounding
            result.append(10.0 * MIN_REGULARITY - call_joint(part.joint, part.type, "regularity", coordinates))
    for name in dict.fromkeys(name for r in requests.values() for name in r.inputs):
        bounds = quantity_of(name)
        result += [bounds.least - x for x in symbols[name] if bounds.least is not None]
        result += [x - bounds.most for x in symbols[name] if bounds.most is not None]
    for request in requests.values():
        check = request.spec.inertia_check
        if check is not None and not request.parameters:  # only methods check the reason of a guard
            result += check.guards(subject, request, subject.algorithm_input(request.spec), symbols.get("q", ()))
    return [guard for guard in result if isinstance(guard, Symbol)]


@without_collections
def trace_requests(subject: KernelOwner, name: str, requests: Mapping[str, Request]) -> programs.Program:
    """Return the program of several functions, traced together, with marks at steps of walks over bodies."""
    result = traced(subject, requests, marked)
    for guard in result.guards:
        guard.graph.marks.append(guard.index + 1)
    program = programs.Program.of(name, *result)
    for graph in {symbol.graph for _, symbols in result.inputs for symbol in symbols}:
        graph.clear()
    return program


@without_collections
def trace_ruled(subject: KernelOwner, name: str, requests: Mapping[str, Request]) -> programs.Program:
    """Return the program to be differentiated: without guards, and with rules of differentiation."""
    result = traced(subject, requests, marked, by_rules=True)
    return programs.Program.of(name, result.inputs, result.outputs)


def elements_of(result: Any) -> Sequence[Any]:
    """Return the scalars of an algorithm's result, row by row, as a flat sequence."""
    if hasattr(result, "elements"):
        return list(result.elements())
    if isinstance(result, (list, tuple)):
        return [x for part in result for x in elements_of(part)]
    return [result]
