"""No module imports itself by way of others, wherever the imports stand: at the top, in a function, for types only."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import linkwork

SOURCE = Path(linkwork.__file__).parents[1]

# Imports for types only that close a circle, and why they stay.
_PART = "for types only: a part of the contract in a file of its own"
_BASE = "linkwork.joints.base"
ALLOWED = {
    (f"{_BASE}.error_context", f"{_BASE}.joint_type"): "for types only: it tells what a type raised",
    (f"{_BASE}.configuration_check", f"{_BASE}.joint_type"): _PART,
    (f"{_BASE}.from_transform", f"{_BASE}.joint_type"): _PART,
    (f"{_BASE}.generic_rank", f"{_BASE}.joint_type"): _PART,
    (f"{_BASE}.pose_inversion", f"{_BASE}.joint_type"): _PART,
    (
        "linkwork.mechanisms.assembly.result",
        "linkwork.mechanisms.assembly.assembly_branches",
    ): "for types only: its branches",
}


def modules() -> dict[str, Path]:
    """All modules and packages by name."""
    found = {}
    for path in sorted(SOURCE.glob("linkwork/**/*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(name: str, path: Path, known: Mapping[str, Path]) -> Iterator[str]:
    """The modules that a module imports by name."""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            candidates = [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*start, *(node.module or "").split(".")]).strip(".")
            candidates = [(base, alias.name) for alias in node.names]
        else:
            continue
        for base, member in candidates:
            yield from [found for found in (f"{base}.{member}", base) if found in known][:1]


def circle(graph: Mapping[str, set[str]]) -> list[str]:
    """A way from a module back to itself, or nothing."""
    done: set[str] = set()

    def search(name: str, way: list[str]) -> list[str]:
        if name in way:
            return [*way[way.index(name) :], name]
        if name not in done:
            for other in sorted(graph.get(name, ())):
                if found := search(other, [*way, name]):
                    return found
            done.add(name)
        return []

    return next((found for name in graph if (found := search(name, []))), [])


def test_no_import_closes_a_circle() -> None:
    known = modules()
    graph = {name: set(imported(name, path, known)) - {name} for name, path in known.items()}
    assert len(graph) > 100
    for importer, other in ALLOWED:
        assert other in graph[importer], f"{importer} does not import {other}: the exception can go"
        assert circle(graph), "no circle is left: the exceptions can go"
        graph[importer].remove(other)
    assert circle(graph) == []


def test_circles_are_found() -> None:
    assert circle({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
