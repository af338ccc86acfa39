"""Limits of a USD stage: nesting of its text, and prims after composition, counted before it is composed."""

from __future__ import annotations

import re
from typing import Any

from linkwork._util.file_access import Budget
from linkwork._util.messages import quoted
from linkwork.errors import Issue, Location, ModelError

__all__ = ["MAX_DEPTH", "check_nesting", "check_size", "is_deep", "prim_specs"]

MAX_DEPTH = 512  # levels of nested prims, lists and dictionaries: the parser of USD recurses
_MAX_EXPRESSION, _MAX_VARIABLE = 4096, 256  # characters of an expression, and of the value of a variable
_TOKENS = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*+"""'
    r"|'''(?:[^'\\]|\\.|'(?!''))*+'''"
    r'|"(?:[^"\\\n]|\\.)*+"'
    r"|'(?:[^'\\\n]|\\.)*+'"
    r"|@@@(?:[^@]|@(?!@@))*+@@@|@[^@\n]*+@"
    r"|#[^\n]*+"
    r"|<[^<>\n]*+>"
    r"|[{}()\[\]]",
    re.DOTALL,
)


def check_nesting(text: str, where: Location) -> None:
    """Raise ModelError (DATA_DEPTH) for a text layer whose brackets nest more deeply than `MAX_DEPTH`.

    Brackets of expressions in strings, and names in a path, count as levels too.
    """
    depth = 0
    for match in _TOKENS.finditer(text):
        token = match[0]
        if token in "{([":
            depth += 1
        elif token in "})]":
            depth -= 1
        if depth > MAX_DEPTH or (len(token) > MAX_DEPTH and token[0] != "#" and is_deep(token)):
            line = text.count("\n", 0, match.start()) + 1
            message = f"prims, values, expressions or names of a path are nested more than {MAX_DEPTH} levels deep"
            raise ModelError(Issue("DATA_DEPTH", message, Location(where.file, line)))


def is_deep(text: str) -> bool:
    """Return True for a path or an expression with more than `MAX_DEPTH` levels of names or brackets."""
    if max((word[0].count("/") for word in _WORDS.finditer(text)), default=0) > MAX_DEPTH:
        return True
    depth = 0
    for bracket in _BRACKETS.finditer(text):
        depth += 1 if bracket[0] in "([{" else -1
        if depth > MAX_DEPTH:
            return True
    return False


def check_expressions(paths: dict[str, Any], layer: Any, where: Location) -> None:
    """Raise ModelError for expressions of variables that USD would evaluate with much memory, time or recursion.

    Variables of a layer must be short values, not expressions (UNSUPPORTED); ``paths`` are the prim specs by path.
    """
    variables = layer.expressionVariables if layer.HasExpressionVariables() else {}
    for name, value in variables.items():
        if isinstance(value, str) and (value.startswith("`") or len(value) > _MAX_VARIABLE):
            message = f"the variable {quoted(name)} is an expression, or has more than {_MAX_VARIABLE} characters"
            raise ModelError(Issue("UNSUPPORTED", message, where))
    for path, spec in paths.items():
        for text in () if path == "/" or not spec.HasInfo("variantSelection") else spec.variantSelections.values():
            if len(text) > _MAX_EXPRESSION or is_deep(text):
                message = "the expression of a variant is longer, or nested more deeply, than the limits"
                raise ModelError(Issue("DATA_DEPTH", message, Location(where.file, element=path)))


_BRACKETS = re.compile(r"[()\[\]{}]")
_WORDS = re.compile(r"\S+")
Node = tuple[str, str]  # identifier of a layer, path of a prim


def check_size(layers: dict[str, Any], root: Any, where: Location, budget: Budget) -> None:
    """Raise ModelError (TOO_LARGE, DATA_DEPTH) for a stage whose composition has more prims than the budget.

    ``layers`` are all layers by identifier.  References multiply prims: a prim counts once for each path of references
    that leads to it, which bounds the composed prims from above.
    """
    specs, stacks = {name: prim_specs(layer) for name, layer in layers.items()}, _stacks(layers)
    for name, paths in specs.items():
        check_expressions(paths, layers[name], where)
        if any(path.count("/") > MAX_DEPTH for path in paths):
            raise ModelError(Issue("DATA_DEPTH", f"prims are nested more than {MAX_DEPTH} levels deep", where))
    graph: dict[Node, list[Node]] = {}
    for name, paths in specs.items():
        for path, spec in paths.items():
            targets = [(name, child) for child in _children(spec)]
            for layer, target in _arcs(name, spec, layers):
                at = next(
                    (p for p in _ancestors(target) if any(p in specs[sublayer] for sublayer in stacks[layer])), ""
                )
                targets += [(sublayer, at) for sublayer in stacks[layer] if at in specs[sublayer]]
            graph[name, path] = [node for node in targets if node in graph or node[1] in specs[node[0]]]
    starts = [(sublayer, "/") for sublayer in stacks[root.identifier]]
    total = sum(_counts(graph, starts)[start] for start in starts)
    if total > budget.max_prims:
        message = f"the composed stage may have more prims than the limit of {budget.max_prims}"
        raise ModelError(Issue("TOO_LARGE", message, where, budget.remedy("max_prims")))


def _counts(graph: dict[Node, list[Node]], starts: list[Node]) -> dict[Node, int]:
    """Return the number of prims that each node expands to, without recursion; a cycle counts once."""
    counts: dict[Node, int] = {}
    for start in starts:
        stack = [(start, False)]
        active: set[Node] = set()
        while stack:
            node, is_done = stack.pop()
            if is_done:
                counts[node] = min(1 + sum(counts.get(child, 0) for child in graph[node]), 1 << 60)
                active.discard(node)
            elif node not in counts and node not in active:
                active.add(node)
                stack.append((node, True))
                stack += [(child, False) for child in graph[node] if child not in counts and child not in active]
    return counts


def prim_specs(layer: Any) -> dict[str, Any]:
    """Return the prim specs of a layer by path, including prim specs in variants."""
    result: dict[str, Any] = {}
    waiting = [layer.pseudoRoot]
    while waiting:
        spec = waiting.pop()
        result[str(spec.path)] = spec
        waiting += [layer.GetPrimAtPath(path) for path in _children(spec)]
    return result


def _children(spec: Any) -> list[str]:
    paths = [str(child.path) for child in spec.nameChildren]
    for variants in spec.variantSets.values() if str(spec.path) != "/" else ():
        paths += [str(variant.primSpec.path) for variant in variants.variants.values()]
    return paths


def _arcs(name: str, spec: Any, layers: dict[str, Any]) -> list[Node]:
    """Return the references of a prim spec, each as the identifier of a layer and the path of a prim in that layer."""
    if str(spec.path) == "/":
        return []
    result = []
    for arc in (*_items(spec, "references", "referenceList"), *_items(spec, "payload", "payloadList")):
        layer = layers.get(arc.assetPath) if arc.assetPath else layers[name]
        if layer is None:
            continue
        target = str(arc.primPath) if arc.primPath else f"/{layer.defaultPrim}"
        result.append((layer.identifier, target))
    classes = (*_items(spec, "inheritPaths", "inheritPathList"), *_items(spec, "specializes", "specializesList"))
    return result + [(name, str(path)) for path in classes]


def _items(spec: Any, key: str, name: str) -> list[Any]:
    """Return the items of a prim spec's list of references under ``key``; empty if the key is missing."""
    if not spec.HasInfo(key):
        return []
    edits = getattr(spec, name)
    return [*edits.explicitItems, *edits.prependedItems, *edits.addedItems, *edits.appendedItems]


def _ancestors(path: str) -> list[str]:
    """Return a path and the paths of all its ancestors, from the lowest upwards."""
    result = [path]
    while path.count("/") > 1:
        path = path.rpartition("/")[0]
        result.append(path)
    return result


def _stacks(layers: dict[str, Any]) -> dict[str, list[str]]:
    """Return, for each layer, its identifier and those of its direct and indirect sublayers."""
    result = {}
    for name in layers:
        identifiers, waiting = [], [name]
        while waiting:
            layer = waiting.pop()
            if layer in layers and layer not in identifiers:
                identifiers.append(layer)
                waiting += [*layers[layer].subLayerPaths]
        result[name] = identifiers
    return result
