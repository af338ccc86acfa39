"""Every module of the package is in an import contract, so that a new room does not stand outside of all rules."""

import ast
import pkgutil
import tomllib
from collections import Counter
from pathlib import Path

import linkwork

PROJECT = Path(__file__).parents[1] / "pyproject.toml"


def bound():
    """The modules and packages that contracts bind: layers, and those for which imports are forbidden."""
    contracts = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    layers = [name for contract in contracts for layer in contract.get("layers", ()) for name in layer.split()]
    sources = [name for contract in contracts for name in contract.get("source_modules", ())]
    return {name for name in (*layers, *sources) if name not in "|:"}


def uncovered(modules):
    names = bound()
    return [m for m in modules if not any(m == name or m.startswith(f"{name}.") for name in names)]


def all_modules():
    return [module.name for module in pkgutil.walk_packages(linkwork.__path__, "linkwork.")]


def test_no_two_classes_have_one_name():
    """But for those that a file keeps to itself, and for an ellipsoid, which is a joint and a shape in every book: who
    reads of a class knows which is meant."""
    root = Path(linkwork.__path__[0])
    parts = [node for path in root.rglob("*.py") for node in ast.parse(path.read_text(encoding="utf-8")).body]
    names = Counter(node.name for node in parts if isinstance(node, ast.ClassDef) and not node.name.startswith("_"))
    assert len(names) > 100
    assert [name for name, count in names.items() if count > 1] == ["Ellipsoid"] and names["Ellipsoid"] == 2


def test_every_module_is_in_a_contract():
    assert uncovered(all_modules()) == []


def test_a_module_in_none_is_noticed():
    new = ["linkwork.fronts", "linkwork.fronts.jax", "linkwork.manifold", "linkwork.errors_of_mine"]
    assert uncovered([*new, "linkwork.compiler.new", "linkwork.errors"]) == new


def test_contracts_name_only_what_there_is():
    """A contract about a module that is gone holds of nothing."""
    assert bound() <= {*all_modules()}
