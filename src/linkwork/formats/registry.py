"""Registry of the robot file formats that linkwork reads, and the choice of a file's format.

A format is one entry in `FORMATS`, with the name of its reader's module, which is imported when a file is read.
`find_format` chooses by the suffix of the path.  If no format or several have the suffix, the content decides: the root
element of XML, or the first bytes.  A file whose content and suffix are of different formats is an error, and so is a
xacro file, which is a program that writes a robot file.
"""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from linkwork._util.lazy_dataclass import dataclass
from linkwork._util.lazy_imports import ImportedFunction
from linkwork._util.messages import nearest, quoted
from linkwork.errors import Issue, Location, ModelError, UnknownNameError
from linkwork.formats.file_reading import XACRO_HINT, path_text, read_start, require_path
from linkwork.formats.xml_document import parse
from linkwork.model.description import Description
from linkwork.model.tree import Tree

__all__ = [
    "FOREIGN_ROOTS",
    "FORMATS",
    "Format",
    "describe_mujoco",
    "find_format",
    "format_named",
    "format_of_text",
    "mujoco_sensors",
]

_START = 1 << 20  # [bytes] of a file that are searched for its root element
_HEAD = 1 << 12  # [bytes] of a file that are searched for the first bytes of a format


Reader = Callable[..., Description | Tree]


@dataclass(frozen=True, slots=True)
class Format:
    """A format of robot files."""

    name: str  # as in ``load(path, format=name)``
    title: str  # in messages, with its article: "an MJCF file (MuJoCo)"
    reader: str | Reader  # a function (path, *, strict, **options) -> Description or Tree, or "module:function"
    suffixes: tuple[str, ...] = ()  # in lower case, with the dot
    roots: tuple[str, ...] = ()  # root elements of XML documents, without a prefix of a namespace
    starts: tuple[bytes, ...] = ()  # first bytes of files that are not XML, without blanks
    options: tuple[str, ...] = ()  # options of `linkwork.load` that the reader takes, besides ``strict``
    package: str = ""  # a package outside of linkwork that the reader imports
    extra: str = ""  # the extra of linkwork that installs the package

    def read(self, path: str | os.PathLike[str], **options: Any) -> Description | Tree:
        """Read a robot file. Raises ImportError if the format's package is not installed, ModelError for a bad file."""
        if self.package and find_spec(self.package) is None:
            raise ImportError(
                f'load: {self.title} needs the package {self.package}: pip install "linkwork[{self.extra}]"',
                name=self.package,
            )
        return self.function()(path, **options)

    def function(self) -> Reader:
        """Return the function that reads files of this format, after importing its module if necessary."""
        if not isinstance(self.reader, str):
            return self.reader
        module, _, name = self.reader.partition(":")
        reader: Reader = getattr(import_module(module), name)
        return reader

    @property
    def module(self) -> str:
        """Name of the module with the reading function; the module is not imported."""
        return self.reader.partition(":")[0] if isinstance(self.reader, str) else self.reader.__module__

    def __str__(self) -> str:
        marks = [*self.suffixes, *(f"<{root}>" for root in self.roots)]
        return f"{self.name} ({', '.join(marks)})"


FORMATS: tuple[Format, ...] = (
    Format(
        name="urdf",
        title="a URDF file",
        reader="linkwork.formats.urdf.urdf_reader:read_urdf",
        suffixes=(".urdf",),
        roots=("robot",),
        options=("continuous", "inertia", "budget"),
    ),
    Format(
        name="mjcf",
        title="an MJCF file (MuJoCo)",
        reader="linkwork.formats.mjcf.mjcf_reader:read_mjcf",
        suffixes=(".mjcf", ".mjb"),
        roots=("mujoco",),
        options=("floating_base", "package_dirs", "budget"),
        package="mujoco",
        extra="mujoco",
    ),
    Format(
        name="sdf",
        title="an SDF file",
        reader="linkwork.formats.sdf.sdf_reader:read_sdf",
        suffixes=(".sdf", ".world"),
        roots=("sdf",),
        options=("continuous", "inertia", "floating_base", "package_dirs", "model", "budget"),
    ),
    Format(
        name="usd",
        title="a USD stage",
        reader="linkwork.formats.usd.usd_reader:read_usd",
        suffixes=(".usd", ".usda", ".usdc", ".usdz"),
        starts=(b"#usda", b"PXR-USDC"),
        options=("package_dirs", "floating_base", "budget"),
        package="pxr",
        extra="usd",
    ),
    Format(
        name="linkwork",
        title="a robot file of linkwork (JSON)",
        reader="linkwork.formats.linkwork_json.robot_reader:read_robot",
        suffixes=(".json",),
        starts=(b'{"linkwork":',),
        options=("budget",),
    ),
    Format(
        name="cell",
        title="a cell of robots (JSON or YAML)",
        reader="linkwork.robot.construction.cell_file:read_cell",
        suffixes=(".yaml", ".yml"),
        starts=(b'{"cell":',),
        options=("gravity", "package_dirs", "trusted", "budget"),
    ),
)

describe_mujoco = ImportedFunction("linkwork.formats.mjcf.mjcf_reader.describe_model")
"""The reader of compiled models of MuJoCo."""
mujoco_sensors = ImportedFunction("linkwork.formats.mjcf.further_content.listed_sensors")
"""The reader of their sensors."""

FOREIGN_ROOTS = {
    "mujoco": "an MJCF file (MuJoCo)",
    "sdf": "an SDF file",
    "collada": "a COLLADA mesh",
    "opensimdocument": "an OpenSim model",
    "html": "a web page",
    "svg": "a drawing (SVG)",
    "package": "a package.xml",
    "launch": "a ROS launch file",
}
"""Root elements of files that a user may take for a robot's, in lower case, and what such a file is."""


def format_named(name: str | Format) -> Format:
    """Return the format with this name; a `Format` is returned unchanged.

    Raises UnknownNameError for an unknown name, and TypeError for a value of another type.
    """
    if isinstance(name, Format):
        return name
    if not isinstance(name, str):
        raise TypeError(f"load: format: expected the name of a format, got {name!r}")
    for candidate in FORMATS:
        if candidate.name == name:
            return candidate
    raise UnknownNameError("format", name, [candidate.name for candidate in FORMATS], where="load: format")


def find_format(path: str | os.PathLike[str]) -> Format:
    """Return the format of a file, by its suffix and its content.

    Raises ModelError for a file of unknown format (UNKNOWN_FORMAT), for one whose content and suffix are of different
    formats (WRONG_FORMAT), and for a file named .xacro (XACRO), and the errors of opening the file.
    """
    require_path(path)
    suffix = os.path.splitext(path_text(path))[1].lower()
    by_suffix = [candidate for candidate in FORMATS if suffix in candidate.suffixes]
    start = read_start(path, _START)
    if suffix == ".xacro":
        message = "a xacro file is a program that writes a robot file, and is not read as one"
        raise ModelError(Issue("XACRO", message, Location(path_text(path)), XACRO_HINT))
    root = _root_element(start)
    dense = b"".join(start[:_HEAD].removeprefix(codecs.BOM_UTF8).split())  # as JSON permits blanks
    dense = _SCHEMA.sub(b"{", dense)
    by_content = [
        candidate
        for candidate in FORMATS
        if root in candidate.roots or (candidate.starts and dense.startswith(candidate.starts))
    ]
    both = [candidate for candidate in by_suffix if candidate in by_content]
    if both:
        return both[0]
    if suffix == ".json" and by_content and not by_content[0].roots:  # a cell in JSON
        return by_content[0]
    if by_suffix and by_content:
        raise _contradiction(Location(path_text(path)), suffix, root, by_suffix[0], by_content[0])
    if by_content:
        return by_content[0]
    if len(by_suffix) == 1:
        return by_suffix[0]  # whose reader says what is wrong with the content
    raise _unknown_format(Location(path_text(path)), suffix, start, root)


def format_of_text(text: str) -> Format | None:
    """Return the format of an XML text, found from its root element; None if no format has this element."""
    root = _root_element(text[:_START].encode("utf-8", "replace"))
    return next((candidate for candidate in FORMATS if root in candidate.roots), None)


def _root_element(start: bytes) -> str:
    """Return the tag of the root element, without namespace prefix, from the first bytes of an XML document.

    It is "" if there is none.
    """
    for mark, encoding in _MARKS:
        if start.startswith(mark):
            text = start.decode(encoding, "replace").removeprefix("\ufeff")
            break
    else:
        text = start.decode("latin-1")  # tags of known formats are ASCII in every encoding without a mark
    result = _ROOT.match(text)
    return result[1].rpartition(":")[2] if result else ""


def _contradiction(where: Location, suffix: str, root: str, named: Format, content: Format) -> ModelError:
    subject = f"the root element <{root}>" if root else "the content"
    message = f"the suffix {suffix} is that of {named.title}, but {subject} is that of {content.title}"
    hint = f'rename the file, or read it by load(path, format="{content.name}")'
    return ModelError(Issue("WRONG_FORMAT", message, where, hint))


def _unknown_format(where: Location, suffix: str, start: bytes, root: str) -> ModelError:
    if not root and (not start.strip() or start.lstrip(_BLANK).startswith(b"<")):
        parse(start, where.file)  # raises ModelError with the position of the syntax error
    formats = "; ".join(map(str, FORMATS))
    hint = None
    if root.lower() in FOREIGN_ROOTS:
        got = f"the root element <{root}>: this looks like {FOREIGN_ROOTS[root.lower()]}"
    elif root:
        got, close = (
            f"the root element {quoted(root)}",
            nearest(root, [tag for candidate in FORMATS for tag in candidate.roots]),
        )
        hint = close if close.startswith("did") else None
    else:
        close = nearest(suffix, [end for candidate in FORMATS for end in candidate.suffixes])
        got = f"the suffix {quoted(suffix)}" if suffix else "no suffix"
        got += f" and content that begins with {start[:16]!r}"
        hint = close if close.startswith("did") else "name the format: load(path, format=...)"
    message = f"expected a robot file, {formats}, got {got}"
    return ModelError(Issue("UNKNOWN_FORMAT", message, where, hint))


_SCHEMA = re.compile(rb'\A\{"\$schema":"[^"\\]*",')  # which editors expect as the first key of a JSON document
_BLANK = b" \t\r\n"
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_ROOT = re.compile(r"(?>\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>\[]*(?:\[.*?\])?\s*>)*+<([^\s<>/!?]+)", re.DOTALL)
"""What may stand before the root element, and its tag.  The groups are atomic: a hostile file takes linear time."""
