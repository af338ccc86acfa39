"""Interface of backends: the CPU's fulfils it, reports name faults of others, and kernels need nothing else."""

from __future__ import annotations

from importlib import import_module
from typing import ClassVar

import numpy as np
import pytest

from compiler.knobs import LEVELS
from linkwork.compiler import backends
from linkwork.compiler.build import Recipe, Source
from linkwork.compiler.checks import check_backend
from linkwork.compiler.checks.sample_programs import programs
from linkwork.compiler.codegen import cpu_backend
from linkwork.compiler.codegen.cpu_backend import CPUBackend, host_backend
from linkwork.compiler.codegen.float_type import DOUBLE, SINGLE
from linkwork.compiler.codegen.target import EFFORT, host
from linkwork.compiler.kernel import Kernel
from linkwork.compiler.kernel_code import KernelCode
from linkwork.compiler.trace.trace import trace
from linkwork.expr.scalar import functions as f
from linkwork.expr.scalar.operations import BY_NAME


def test_available_backends_are_listed_by_name():
    assert [make().name for make in backends.ALL.values()] == list(backends.ALL)
    assert backends.default_backend() == host_backend() and repr(host_backend()) == "<backend cpu>"


def check(backend, monkeypatch, which):
    """Check a backend with some of the sample programs."""
    monkeypatch.setattr(import_module(check_backend.__module__), "programs", lambda: iter(which))
    return check_backend(backend)


@pytest.fixture
def quick(monkeypatch):
    """Code of little effort, where reports do not depend on it."""
    monkeypatch.setenv(EFFORT, "0")


FEW = [case for case in programs() if case[0].name in ("add", "sin", "shapes", "choice", "sum", "root")]


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("level", [None, next(iter(LEVELS))])
def test_cpu_backend_fulfils_the_backend_contract(level, drawn, monkeypatch):
    backend = host_backend() if level is None else CPUBackend(LEVELS[level])
    report = check(backend, monkeypatch, drawn(programs()))
    report.raise_if_failed()
    assert "refused: no program" in report.lines[0].statement


def test_sample_programs_of_the_backend_check_contain_every_operation():
    names = {program.name for program, _ in programs()}
    assert names >= {o.name for o in BY_NAME.values() if o.arity > 0}


def test_backend_functions_can_compute_in_float32():
    program = trace(lambda x, y: (x @ y, f.sin(x) * y), "both", {"x": 3, "y": 3})
    x = np.random.default_rng(0).normal(size=(2, 50, 3))
    single, double = (host_backend().function(program, real)(x) for real in (SINGLE, DOUBLE))
    for got, expected, port in zip(single, double, program.outputs, strict=True):
        assert got.dtype == np.float32 and got.shape == (50, *port.shape)
        assert np.allclose(got, expected, atol=1e-5)


def test_functions_compiled_by_a_backend_equal_kernels():
    program = trace(lambda x: x * x[0] + 1.0, "scaled", {"x": 3})
    x = np.random.default_rng(0).normal(size=(40, 3))
    (got,) = host_backend().function(program)([x])
    assert np.array_equal(got, Kernel(program, backend=host_backend())(x))


class Reported(CPUBackend):
    """The CPU, which notes what is calls of it."""

    name = "reported"
    calls: ClassVar[list[str]] = []

    @property
    def target(self):
        return ("reported", *super().target)

    def emit(self, texts, waiting=lambda: None):
        self.calls.append("emit")
        return super().emit(texts, waiting)

    def load(self, objects, name, entry):
        self.calls.append(f"load {entry}")
        return super().load(objects, name, entry)


def test_kernels_and_the_disk_cache_call_the_methods_of_the_backend(cache_folder):
    recipe = Recipe.of(trace(lambda x: x * 2.0, "twice", {"x": 3}))
    Reported.calls.clear()
    for times in (1, 2):  # the second finds objects in the cache, under the backend's own target
        code = KernelCode(Source(recipe, Reported(host())))
        code.make(["loop"])
        assert Reported.calls == ["emit", "load loop"][: 2 if times == 1 else None] + ["load loop"] * (times - 1)
    Kernel(recipe, backend=CPUBackend(host()))
    assert Reported.calls.count("emit") == 1


def test_entry_points_compiled_together_are_linked_together(monkeypatch, cache_folder):
    """Shared parts are loaded once, and each entry point has its own address."""
    links, link = [], cpu_backend.link
    monkeypatch.setattr(
        cpu_backend, "link", lambda objects, *options: links.append([*objects]) or link(objects, *options)
    )
    kernel = Kernel(Recipe.of(trace(lambda x: x * 2.0, "twice", {"x": 3})), later=True)
    names = [name for name in ("fast", "loop", "few") if kernel._source.backend.parts(name, DOUBLE)]
    kernel._code.make(names)
    assert len({kernel._code.entry(name).address for name in names}) == len(names)
    for x in (np.ones(3), np.ones((2, 3)), np.ones((50, 3))):
        assert (kernel(x) == 2.0).all()
    (objects,) = links
    assert len(objects) == len(set(objects)) > 2


class Changed(CPUBackend):
    """The CPU, whose answers are changed."""

    def __init__(self, change):
        super().__init__(host())
        object.__setattr__(self, "change", change)

    def call(self, code, program, inputs, outputs):
        super().call(code, program, inputs, outputs)
        self.change(outputs)


def scaled(outputs):
    for x in outputs:
        x *= 1.0 + 1e-9


def by_size(outputs):
    for x in outputs:
        x *= 1.0 + 1e-15 * len(x)


def nan(outputs):
    outputs[0][-1] = np.nan


@pytest.mark.slow(every=5)
@pytest.mark.parametrize(
    ("change", "requirement", "message"),
    [
        (scaled, "interpreter", "the interpreter's"),
        (by_size, "batches", "a batch of 1 differs"),
        (nan, "cpu", "is nan"),
    ],
)
def test_backend_check_reports_wrong_results(change, requirement, message, quick, monkeypatch):
    failures = {line.name: line.problem for line in check(Changed(change), monkeypatch, FEW).failures}
    assert message in failures[requirement]


class Unsteady(CPUBackend):
    """The CPU, whose objects are others each time."""

    count: ClassVar[list[int]] = [0]

    def emit(self, texts, waiting=lambda: None):
        self.count[0] += 1
        return [code + bytes(self.count[0]) for code in super().emit(texts, waiting)]


def test_backend_check_reports_machine_code_that_differs_between_compilations(quick, monkeypatch):
    failures = {line.name: line.problem for line in check(Unsteady(host()), monkeypatch, FEW).failures}
    assert (
        "expected the same object code each time `emit` gets the same text; got different object code"
        in failures["emit"]
    )


class StraightLine(CPUBackend):
    def refuse(self, program):
        return "it has loops" if any(i.operation.arity < 0 for i in program.instructions) else None


def test_backend_check_names_the_programs_that_a_backend_rejects(quick, monkeypatch):
    backend = StraightLine(host())
    program = next(p for p, _ in programs() if p.name == "root")
    with pytest.raises(ValueError, match="cpu: program 'root' cannot be compiled: it has loops"):
        backend.function(program)
    with pytest.raises(ValueError, match="kernel 'root': backend 'cpu' cannot compile it: it has loops"):
        Kernel(program, backend=backend)
    report = check(backend, monkeypatch, FEW)
    report.raise_if_failed()
    assert "refused: choice, sum, root" in report.lines[0].statement
