"""Import cycles: no module imports itself through others, at the top, in a function, or for types only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from helpers.source_imports import defining_module, imports_of, modules

# Imports that close a circle, and why they stay: nearly all are for types only.
_PART = "for types only: a part of the contract in a file of its own"
_BASE = "linkwork.joints.base"
ALLOWED = {
    (f"{_BASE}.checks", f"{_BASE}.joint_type"): _PART,
    (f"{_BASE}.from_transform", f"{_BASE}.joint_type"): _PART,
    (f"{_BASE}.generic_rank", f"{_BASE}.joint_type"): _PART,
    (f"{_BASE}.pose_inversion", f"{_BASE}.joint_type"): _PART,
    (f"{_BASE}.joint_type", "linkwork.joints.reversed"): "a method returns the joint of the opposite direction",
    (
        "linkwork.mechanisms.assembly.result",
        "linkwork.mechanisms.assembly.assembly_branches",
    ): "for types only: its branches",
    ("linkwork.compiler.kernel", "linkwork.compiler.pickling.kernel_pickle"): "pickle calls a method of the class",
    ("linkwork.compiler.kernel", "linkwork.compiler.pickling.kernel_file"): "a method writes the file",
    ("linkwork.compiler.derivatives.tangent_spaces", "linkwork.compiler.pickling.space_values"): (
        "pickle calls a method of the class"
    ),
}


def imported(path: Path, known: Mapping[str, Path]) -> Iterator[str]:
    """The modules of the package that a file imports: for a public name, the module that defines it."""
    for module, member in imports_of(path):
        home = defining_module(module, member)
        yield from [result for result in (f"{home}.{member}", home) if result in known][:1]


def circle(graph: Mapping[str, set[str]]) -> list[str]:
    """A way from a module back to itself, or nothing."""
    done: set[str] = set()

    def search(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name not in done:
            for imported in sorted(graph.get(name, ())):
                if result := search(imported, [*path, name]):
                    return result
            done.add(name)
        return []

    return next((result for name in graph if (result := search(name, []))), [])


def test_modules_of_linkwork_have_no_import_cycles() -> None:
    known = modules()
    graph = {name: set(imported(path, known)) - {name} for name, path in known.items()}
    assert len(graph) > 100
    for importer, imported_module in ALLOWED:
        assert imported_module in graph[importer], f"{importer} does not import {imported_module}: the exception can go"
        assert circle(graph), "no circle is left: the exceptions can go"
        graph[importer].remove(imported_module)
    assert circle(graph) == []


def test_check_for_import_cycles_detects_a_cycle() -> None:
    assert circle({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
