"""The files that MuJoCo's compiler would open for a model, checked before it opens them.

MuJoCo opens included files, other models and assets (meshes, height fields, textures, skins) itself.  All of them must
be inside the folder of the model, its package or a folder that the caller names, also behind symbolic links.  A
document that would make the compiler allocate very much is refused, too.  MuJoCo's parser accepts some documents that
are not well-formed XML. They are read as MuJoCo reads them, with a warning. Unlike an XML parser, MuJoCo takes all
bytes as UTF-8 and keeps line breaks in attributes. A file name that the two would read differently is an error.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NoReturn

from linkwork._util.file_access import MODEL, Budget
from linkwork._util.messages import listed, nearest, quoted
from linkwork.errors import Issue, Location, ModelError
from linkwork.formats.description import Findings
from linkwork.formats.file_reading import path_text, read_regular, read_start
from linkwork.formats.mjcf.model_size import ModelSize
from linkwork.formats.resource_paths import packages_around
from linkwork.formats.xml_document import Element, parse

__all__ = ["ModelFiles", "check_files", "every_element"]

_MOST_NESTED = 64  # documents that include or attach each other
_DEEPEST = 500  # nested elements, as deep as MuJoCo reads them: bodies are nested in MJCF
_FINITE = frozenset(  # attributes whose numbers are finite; bounds may be infinite
    (
        *("anchor", "axis", "axisangle", "euler", "fromto", "pos", "quat", "relpose", "vertex", "xyaxes", "zaxis"),
        *("density", "diaginertia", "fullinertia", "gravity", "mass", "scale", "size", "timestep"),
        *("armature", "damping", "frictionloss", "ref", "springref", "stiffness", "qpos", "qvel"),
        *("biasprm", "coef", "gainprm", "gear", "kp", "kv", "polycoef"),
    )
)
_SUSPECT = re.compile(r"inf|nan|e\+?\d{3}", re.IGNORECASE)
_NO_FILE = re.compile(r"[^./\\]*|[\s\deE.+-]*")  # texts that name no file, in attributes other than `_FILES`
_FILES = ("file", "filename", "fileright", "fileleft", "fileup", "filedown", "filefront", "fileback")  # filename: URDF
_ROOTS = ("mujoco", "robot")  # MuJoCo reads URDF, too
_DIRECTORIES = ("meshdir", "texturedir", "assetdir")
_BROKEN = re.compile(  # a name with a line break or a tab, which XML turns into blanks
    rb"""\b(?:%s)\s*=\s*(?:"[^"\t\r\n]*|'[^'\t\r\n]*)[\t\r\n]""" % "|".join((*_FILES, *_DIRECTORIES)).encode()
)


@dataclass(slots=True)
class ModelFiles:
    """Documents and other files of a model: texts, elements and referenced files.

    It also has the errors that a change of an attribute's value removes.
    """

    lines: dict[tuple[str, str], Location] = field(default_factory=dict)
    displaced: set[str] = field(default_factory=set)  # meshes with a reference pose, which the compiled model forgets
    missing: dict[str, Location] = field(default_factory=dict)  # files that are not found, by their names
    documents: int = 0
    assets: int = 0
    asset_bytes: int = 0
    texts: dict[str, bytes] = field(default_factory=dict)  # documents by file, that of the model first
    roots: dict[str, Element] = field(default_factory=dict)  # root elements by file
    faults: list[tuple[Element, str]] = field(default_factory=list)  # elements and attributes with invalid values


def check_files(
    path: str | os.PathLike[str], roots: Iterable[str], findings: Findings, budget: Budget = MODEL
) -> ModelFiles:
    """Read the documents of a model; check every file that they name, and the memory that MuJoCo would allocate.

    ``roots`` are folders besides that of the model and its package in which files may be.  Errors: PATH_ESCAPE,
    URI_SCHEME, BAD_NAME, TOO_LARGE, CYCLE, WRONG_FORMAT, and those of reading XML.  Errors of values (NOT_FINITE,
    LIMIT_ORDER, LIMIT_FINITE) are only recorded, with `ModelFiles.faults`.  Files that do not exist are only listed.
    """
    checker = _Checker(path_text(path), [*roots], findings, budget)
    checker.documents()
    return checker.result


class _Checker:
    """Checker of all files that an MJCF model refers to."""

    def __init__(self, main: str, roots: list[str], findings: Findings, budget: Budget) -> None:
        self.budget, self.content = budget, ModelSize(budget, findings)
        self.folder, self.findings = os.path.dirname(os.path.abspath(main)), findings
        permitted = (self.folder, *packages_around(self.folder), *roots)
        self.roots = [*dict.fromkeys(map(os.path.realpath, permitted))]
        self.result, self.bytes = ModelFiles(), 0
        self.main = main
        self.waiting = [(main, self.folder)]  # documents, each with the folder of its model
        self.known: set[str] = set()
        self.parts: dict[str, dict[str, Location]] = {}  # documents that each document includes or attaches
        self.named: list[tuple[Element, str, str, str, str, bool]] = []  # element, file, folders, name, is an asset
        self.directories = {""}
        self.files = 0

    def documents(self) -> None:
        budget = replace(self.budget, max_depth=max(_DEEPEST, self.budget.max_depth))
        while self.waiting:
            file, folder = self.waiting.pop()
            if (true := os.path.realpath(file)) in self.known:
                continue
            self.known.add(true)
            data = read_regular(file, budget)
            self.count(len(data), Location(file))
            root = self.parsed(data, file, budget)
            if not self.result.documents and root.tag not in _ROOTS:
                message = f"expected the root element <mujoco>, got <{root.tag}>"
                self.findings.error(Issue("WRONG_FORMAT", message, _where(root, file), nearest(root.tag, _ROOTS)))
                self.findings.raise_errors()
            self.result.documents += 1
            self.result.texts[file], self.result.roots[file] = data, root
            for element in every_element(root):
                self.look_at(element, file, folder)
                self.content.add(element, true, partial(_where, element, file))
        self.check_nesting()
        for element, file, file_folder, folder, name, is_asset in self.named:
            self.asset(element, file, file_folder, folder, name, is_asset)
        self.content.check({file: [*parts] for file, parts in self.parts.items()}, partial(Location, self.main))
        if len(self.findings.errors) > len(self.result.faults):
            self.findings.raise_errors()

    def parsed(self, data: bytes, file: str, budget: Budget) -> Element:
        """Parse a document and return its root element.

        If only MuJoCo's parser accepts the document, a warning is added.
        """
        if broken := _BROKEN.search(data):
            where = Location(file, data.count(b"\n", 0, broken.start()) + 1)
            self.findings.error(Issue("BAD_NAME", "a name of a file or folder contains a line break or a tab", where))
            self.findings.raise_errors()
        try:
            root = parse(data, file, budget=budget)
            return root if data.isascii() else parse(data.decode("utf-8", "replace"), file, budget=budget)
        except ModelError as caught:
            error = caught
        issue = error.issues[0]
        repaired = _TOKENS.sub(_well_formed, data.decode("utf-8", "replace")) if issue.code == "XML_SYNTAX" else ""
        if not repaired:
            raise error
        try:
            root = parse(repaired, file, budget=budget)
        except ModelError:
            raise error from None
        message = f"not well formed ({issue.message}), but MuJoCo takes it"
        hint = 'separate attributes by blanks, write &amp; and &lt; in values, and no "--" inside of comments'
        self.findings.warn(Issue(issue.code, message, issue.where, hint))
        return root

    def check_nesting(self) -> None:
        """Record an error for documents that include or attach each other in a cycle or too deep.

        MuJoCo reads them by recursion.
        """
        left = {file: {part for part in parts if part in self.parts} for file, parts in self.parts.items()}
        depth = 0
        while left:
            done = {file for file, parts in left.items() if not parts}
            depth += 1
            if not done or depth > _MOST_NESTED:
                file = next(iter(left))
                where = self.parts[file][next(iter(left[file]))]
                names = listed(map(os.path.basename, left))
                code, problem = (
                    ("TOO_LARGE", f"nested more than {_MOST_NESTED} deep") if done else ("CYCLE", "nested in a cycle")
                )
                self.findings.error(Issue(code, f"included or attached files are {problem}: {names}", where))
                return
            left = {file: parts - done for file, parts in left.items() if file not in done}

    def look_at(self, element: Element, file: str, folder: str) -> None:
        attributes = element.attributes
        if name := attributes.get("name"):
            self.result.lines.setdefault((element.tag, name), Location(file, element.line, element.column))
        self.check_finite(element, file)
        self.check_range(element, file)
        if element.tag == "mesh" and ("refpos" in attributes or "refquat" in attributes):
            stem = os.path.splitext(os.path.basename(attributes.get("file", "")))[0]
            self.result.displaced.add(attributes.get("name", stem))
        self.directories.update(_path(attributes[key]) for key in _DIRECTORIES if key in attributes)
        file_folder = os.path.dirname(os.path.abspath(file))
        for key, value in attributes.items():
            target, states_file = _path(value), key in _FILES
            if not target or (not states_file and (key in _DIRECTORIES or _NO_FILE.fullmatch(value))):
                continue
            if not states_file:  # MuJoCo may have attributes for files that are unknown here
                self.named.append((element, file, file_folder, folder, target, False))
                continue
            where = _where(element, file)
            if (scheme := target.partition("://"))[1] and scheme[0].lower() not in ("file", "model", "package"):
                message = f"{quoted(target)}: files are not downloaded"
                self.findings.error(Issue("URI_SCHEME", message, where, "save the file in the folder of the model"))
            elif "\ufffd" in target:
                message = f"{quoted(target)}: the name is not valid UTF-8, as which MuJoCo reads it"
                self.findings.error(Issue("BAD_NAME", message, where, "save the document as UTF-8"))
            elif element.tag in ("include", "model") and key == "file":
                existing = self.existing((target,), (folder, file_folder), ("",))
                if not existing:
                    self.result.missing.setdefault(target, where)
                for k, candidate in enumerate(existing):
                    if self.inside(candidate, target, where):
                        if k == 0:  # which MuJoCo opens
                            self.parts.setdefault(os.path.realpath(file), {})[os.path.realpath(candidate)] = where
                        self.parts.setdefault(os.path.realpath(candidate), {})
                        new = os.path.dirname(candidate) if element.tag == "model" else folder
                        self.waiting.append((candidate, new))
                        if element.tag == "model":
                            key_of_model = os.path.realpath(file), attributes.get("name", "")
                            self.content.models.setdefault(key_of_model, set()).add(os.path.realpath(candidate))
            else:
                self.named.append((element, file, file_folder, folder, target, True))
                self.files += 1
        if len(self.known) + len(self.waiting) + self.files > self.budget.max_files:
            message = f"the model names more than {self.budget.max_files} files"
            self.refuse_size(message, "max_files", _where(element, file))

    def asset(self, element: Element, file: str, file_folder: str, folder: str, target: str, is_asset: bool) -> None:
        """Check the file ``target`` that an attribute names.

        ``is_asset`` is False if the attribute may be no file name.
        """
        where = _where(element, file)
        names = dict.fromkeys((target, os.path.basename(target)))  # with the option strippath
        existing = self.existing(names, (folder, file_folder), sorted(self.directories))
        if not is_asset:
            existing = [path for path in existing if os.path.isfile(path)]
        elif not existing:
            self.result.missing.setdefault(target, where)
        for candidate in existing:
            if not self.inside(candidate, target, where) or not is_asset:
                continue
            self.count_asset(candidate, element.tag, where)
            if (true := os.path.realpath(candidate)) not in self.known:
                self.known.add(true)
                self.result.assets += 1
                size = os.path.getsize(candidate)
                self.result.asset_bytes += size
                self.count(size, where)

    def existing(self, names: Iterable[str], folders: Iterable[str], directories: Iterable[str]) -> list[str]:
        """Return the existing files that MuJoCo would try for ``names``, without repetition, in MuJoCo's order."""
        paths = [os.path.join(folder, between, name) for folder in folders for between in directories for name in names]
        return [
            path for path in dict.fromkeys(map(os.path.normpath, paths)) if "\0" not in path and os.path.exists(path)
        ]

    def inside(self, path: str, target: str, where: Location) -> bool:
        """Return True if a path is inside a permitted folder; else record the error PATH_ESCAPE."""
        true = os.path.realpath(path)
        if any(true == root or true.startswith(root.rstrip(os.sep) + os.sep) for root in self.roots):
            return True
        message = f"the file {quoted(target)} is outside of the model's folder {quoted(self.folder)}: not opened"
        hint = f"permit its folder: load(path, package_dirs=[{os.path.dirname(true)!r}])"
        self.findings.error(Issue("PATH_ESCAPE", message, where, hint))
        return False

    def check_finite(self, element: Element, file: str) -> None:
        """Record the error NOT_FINITE for NaN or infinity in a physical quantity.

        MuJoCo might not terminate with such a value.
        """
        for key in _FINITE.intersection(element.attributes):
            text = element.attributes[key]
            if _SUSPECT.search(text) and any(not math.isfinite(x) for x in _floats(text)):
                message = f"{key}: expected finite numbers, got {quoted(text)}"
                self.fault(element, key, Issue("NOT_FINITE", message, _where(element, file)))

    def check_range(self, element: Element, file: str) -> None:
        """Record findings about a joint's range; MuJoCo treats a range with its bounds out of order as no range."""
        text = element.attributes.get("range", "") if element.tag == "joint" else ""
        bounds = [*_floats(text)] if element.attributes.get("limited") != "false" else []
        where = _where(element, file)
        if any(map(math.isnan, bounds)):
            self.fault(element, "range", Issue("LIMIT_FINITE", f"range: expected numbers, got {quoted(text)}", where))
        elif any(map(math.isinf, bounds)):
            message = f"range: {quoted(text)} has an infinite bound: no limit on this side"
            self.findings.warn(Issue("LIMIT_FINITE", message, where, "leave out the range of a joint without limits"))
        elif len(bounds) == 2 and bounds[0] > bounds[1]:
            message = f"range: the lower limit {bounds[0]:g} is above the upper limit {bounds[1]:g}"
            self.fault(element, "range", Issue("LIMIT_ORDER", message, where))

    def fault(self, element: Element, key: str, issue: Issue) -> None:
        """Record an error of the value of attribute ``key``, which a change of the attribute can remove."""
        self.result.faults.append((element, key))
        self.findings.error(issue)

    def count_asset(self, path: str, tag: str, where: Location) -> None:
        """Add the pixels of a PNG picture, or the numbers of a height field's file, to the totals that are limited.

        Few bytes of a file can state a very large picture.
        """
        start = read_start(path, 24)
        if start.startswith(b"\x89PNG"):
            width, height = int.from_bytes(start[16:20], "big"), int.from_bytes(start[20:24], "big")
            self.content.count("max_pixels", "pixels", width * height, lambda: where)
        elif tag == "hfield":
            rows, columns = int.from_bytes(start[:4], "little"), int.from_bytes(start[4:8], "little")
            self.content.count("max_numbers", "numbers of height fields and arrays", rows * columns, lambda: where)

    def refuse_size(self, message: str, limit: str, where: Location) -> NoReturn:
        """Raise ModelError (TOO_LARGE), which names the option that raises a limit."""
        self.findings.error(Issue("TOO_LARGE", message, where, self.budget.remedy(limit)))
        self.findings.raise_errors()
        raise AssertionError

    def count(self, size: int, where: Location) -> None:
        self.bytes += size
        if self.bytes > self.budget.max_total_bytes:
            message = f"the files of the model have more than {self.budget.max_total_bytes} bytes"
            self.refuse_size(message, "max_total_bytes", where)


_TOKENS = re.compile(  # each alternative matches at its first characters: hostile text takes linear time
    r"""<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<\?.*?(?:\?>|\Z)|<(?:[^"'<>]+|"[^"]*"|'[^']*')*+>?""", re.DOTALL
)
_VALUE = re.compile(r"""("[^"]*"|'[^']*')(?=([^\s/>?])?)""")
_AMPERSAND = re.compile(r"&(?!(?:amp|lt|gt|quot|apos|#\d+|#x[0-9A-Fa-f]+);)")


def _well_formed(token: re.Match[str]) -> str:
    """Return a token of MuJoCo's XML made well-formed.

    A comment loses each "--"; a tag gets spaces between attributes and escaped values.
    """
    text = token[0]
    if text.startswith("<!--") and text.endswith("-->"):
        return f"<!--{text[4:-3].replace('-', ' ')}-->"
    return text if text.startswith(("<!", "<?")) else _VALUE.sub(_value, text)


def _value(match: re.Match[str]) -> str:
    blank = " " if match[2] else ""
    return _AMPERSAND.sub("&amp;", match[1]).replace("<", "&lt;") + blank


def _path(name: str) -> str:
    """Return ``name`` with slashes in place of backslashes, as MuJoCo reads paths."""
    return name.replace("\\", "/")


def _where(element: Element, file: str) -> Location:
    return Location(file, element.line, element.column, element.path)


def every_element(root: Element) -> Iterator[Element]:
    stack = [root]
    while stack:
        element = stack.pop()
        yield element
        stack.extend(reversed(element.children))


def _floats(text: str) -> Iterator[float]:
    for word in re.finditer(r"\S+", text):  # a list of all would take fifty times the memory of the text
        try:
            yield float(word[0])
        except ValueError:  # which MuJoCo reports
            continue
