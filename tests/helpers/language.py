"""The checks of the project's language: first lines of docstrings, headings, names and phrases of messages.

`python tests/helpers/language.py [path ...]` lists what they find, by default in the whole project.
"""

from __future__ import annotations

import ast
import functools
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
# First words of a clause that does not name its subject.
CLAUSES = frozenset(
    {
        "of",
        "by",
        "whether",
        "what",
        "where",
        "which",
        "those",
        "as",
        "with",
        "in",
        "how",
        "from",
        "when",
        "that",
        "if",
        "to",
        "whose",
        "who",
        "why",
        "because",
        "so",
    }
)
# Words that say nothing about what a file, class, function or parameter is.
RETIRED_WORDS = frozenset(
    {
        "way",
        "ways",
        "told",
        "asked",
        "asking",
        "held",
        "holding",
        "kept",
        "given",
        "meant",
        "wanted",
        "found",
        "looked",
        "looking",
        "seen",
        "whose",
        "what",
        "nothing",
        "numbers",
        "beneath",
        "odd",
        "made",
        "place",
        "places",
        "piece",
        "pieces",
        "still",
        "among",
    }
)
# Words that refer to a noun instead of naming it: a variable of these words alone names nothing.
PRONOUNS = RETIRED_WORDS - {"odd"} | {
    "one",
    "ones",
    "own",
    "other",
    "others",
    "some",
    "rest",
    "there",
    "here",
    "this",
    "that",
    "it",
}
# Words that name no quantity as the whole name of a variable.
VAGUE = frozenset({"none", "good", "but", "also", "thing"})
WORD = re.compile(r"[A-Z]?[a-z]+")
KINDS = {
    ast.Module: "module",
    ast.ClassDef: "class",
    ast.FunctionDef: "function",
    ast.arg: "parameter",
    ast.Constant: "constant",
}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)
ASSIGNED = (ast.Name, ast.Attribute, ast.arguments, ast.arg)
TERMS = (
    "in_place",
    "InPlace",
    "out_of_place",
    "last_place",
    "piecewise",
    "held_out",
    "HeldOut",
    "dual_numbers",
)  # of the field
RETIRED_PHRASES = re.compile(
    r"\bwhole numbers?\b"
    r"|\bnumbers? above zero\b"
    r"|(?<!there )\b(?:is|are) no (?!longer|more|less|solution)"
    r"|\bbeyond all measure\b"
    r"|\bleaves? nothing\b"
    r"|\baims? at nothing\b"
    r"|\bexpected texts?\b"
    r"|\bis asked for\b"
)

# A first line that announces a clause instead of the value: "Return how far" for "Return the distance".
CLAUSE_AS_OBJECT = re.compile(
    r"(?:Check|Compute|Decide|Determine|Emit|Print|Record|Return|Say|Set|Show|State|Store|Yield) "
    r"(?:how|if|what|when|where|whether|which|why)\b"
)


def first_word(text: str) -> str:
    """Return the first word of a text in lower case, without markup."""
    word = re.search(r"[A-Za-z']+", text)
    return word.group().lower() if word and not text.startswith("`") else ""


@functools.cache
def retired_words(name: str) -> list[str]:
    """Return the retired words of an identifier."""
    for term in TERMS:
        name = name.replace(term, "")
    return [word for word in WORD.findall(name) if word.lower() in RETIRED_WORDS]


def variable(node: ast.AST) -> str:
    """Return the name of the variable or parameter that a node assigns to, or "" for another node.

    A method may call a parameter ``other``, as Python's operators do.
    """
    if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Store):
        return node.id if isinstance(node, ast.Name) else node.attr
    if isinstance(node, ast.arguments):
        first, *arguments = [*node.posonlyargs, *node.args, *node.kwonlyargs] or [None]
        for argument in arguments if first and first.arg in ("self", "cls") else ():
            argument.arg = argument.arg.removeprefix("other")
    return node.arg if isinstance(node, ast.arg) else ""


@functools.cache
def is_pronoun(name: str) -> bool:
    """Return True if all words of a name are pronouns."""
    return all(word in PRONOUNS for word in name.lower().strip("_").split("_"))


def nodes_of(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a tree, a body before its statements; faster than `ast.walk`, without operators."""
    nodes = [tree]
    for node in nodes:  # which grow
        yield node
        for field in node._fields:
            value = getattr(node, field, None)
            if value.__class__ is list:
                nodes += [x for x in value if isinstance(x, ast.AST)]
            elif field not in ("ctx", "op") and isinstance(value, ast.AST):
                nodes.append(value)


def findings_in_module(path: Path) -> Iterator[str]:
    """Yield a line for each finding in a module's docstrings, names and messages."""
    where = path.relative_to(ROOT).as_posix()
    for word in retired_words(path.stem):
        yield f"{where}: file: {word!r}"
    docstrings = set()
    for node in nodes_of(ast.parse(path.read_text(encoding="utf-8"))):
        kind = KINDS.get(type(node))
        name = variable(node) if isinstance(node, ASSIGNED) else ""
        if name and (name in VAGUE or is_pronoun(name)):
            yield f"{where}:{node.lineno}: variable: {name!r}"
        if kind is None:
            continue
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str) and node not in docstrings:
                for phrase in RETIRED_PHRASES.findall(node.value):
                    yield f"{where}:{node.lineno}: message: {phrase!r} in {node.value[:100]!r}"
            continue
        name = getattr(node, "arg", getattr(node, "name", ""))
        for word in retired_words(name):
            yield f"{where}:{node.lineno}: {kind} {name}: {word!r}"
        if isinstance(node, DOCUMENTED):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                docstrings.add(first.value)
            line = (ast.get_docstring(node) or "").split("\n")[0]
            if first_word(line) in CLAUSES or CLAUSE_AS_OBJECT.match(line):
                yield f"{where}:{getattr(node, 'lineno', 1)}: docstring: {line[:80]!r}"


def findings_in_page(path: Path) -> Iterator[str]:
    """Yield a line for each heading of a page that begins with a clause."""
    code = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        code ^= line.startswith("```")
        heading = re.match(r"#+ (.*)", line)
        if heading and not code and first_word(heading.group(1)) in CLAUSES:
            yield f"{path.relative_to(ROOT).as_posix()}:{number}: heading: {heading.group(1)!r}"


def findings(*paths: Path) -> Iterator[str]:
    """Yield the findings in all modules and pages under some paths."""
    for path in paths:
        files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.suffix in (".py", ".md"))
        for file in files:
            yield from findings_in_module(file) if file.suffix == ".py" else findings_in_page(file)


if __name__ == "__main__":
    paths = [Path(argument).resolve() for argument in sys.argv[1:]]
    for finding in findings(*(paths or (ROOT / "src", ROOT / "docs", ROOT / "README.md"))):
        print(finding)
