"""The modules of the package, and what each imports by the text of its file."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import linkwork

__all__ = ["SOURCE", "defining_module", "imports_of", "modules", "tables"]

SOURCE = Path(linkwork.__file__).parent


def modules() -> dict[str, Path]:
    """All modules and packages by name."""
    results = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE.parent).with_suffix("").parts
        results[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return results


@cache
def imports_of(path: Path) -> tuple[tuple[str, str], ...]:
    """Each import of a file, wherever it stands: the module, and the name that is imported from it or ""."""
    result: list[tuple[str, str]] = []
    for node in _statements(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.module and not node.level, f"{path}: imports are absolute"
            result += ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            result += ((alias.name, "") for alias in node.names)
    return tuple(result)


def defining_module(module: str, name: str) -> str:
    """Return the module from which a public package imports a name at first access, or the module itself."""
    homes = tables().get(module, {})
    return defining_module(homes[name], name) if homes.get(name, module) != module else module


@cache
def tables() -> dict[str, dict[str, str]]:
    """Return the module of each name in the tables of public names, by package."""
    return {
        package: {name: module for module, name in imports_of(path)}
        for package, path in modules().items()
        if "public_names(" in path.read_text(encoding="utf-8")
    }


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield all statements below a module or statement, without their expressions: most of a file is these."""
    for field in ("body", "orelse", "handlers", "finalbody", "cases"):
        for child in getattr(node, field, ()):
            yield child
            yield from _statements(child)
