"""Strict and safe reading of XML into a tree of elements with their positions in the file.

The parser is the standard library's expat, which opens no files and fetches nothing.  Constructs that untrusted
documents could misuse are refused: a document type (and with it all custom entities), a document beyond the budget of
bytes, elements or depth, and bytes that are invalid in the declared encoding.  There is no error recovery: a document
is well formed or an error.  Every error is a `ModelError` with file, line and column (counted from 1).
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NoReturn
from xml.parsers import expat

from linkwork._util.file_access import MODEL, Budget
from linkwork._util.messages import printable
from linkwork.errors import Issue, Location, ModelError

__all__ = ["Element", "parse"]


class Element:
    """An XML element: its tag, attributes, children and position in the file.

    Tags are local names: the prefix of the root element, if it has one, is removed from every tag.  A tag with another
    prefix keeps it (``"drake:joint"``), even if no namespace is declared for it.  Attributes keep their prefixes;
    namespace declarations and the attributes of XML itself are left out.
    """

    __slots__ = ("_text", "attributes", "children", "column", "line", "parent", "tag")

    def __init__(
        self, tag: str, attributes: Mapping[str, str], parent: Element | None, line: int | None, column: int | None
    ) -> None:
        self.tag = tag
        self.attributes = attributes
        self.children: Sequence[Element] = ()
        self.parent = parent
        self.line = line
        self.column = column
        self._text: list[str] | None = None

    @property
    def text(self) -> str:
        """The text directly inside of the element; empty if it is only white space."""
        return "".join(self._text) if self._text else ""

    @property
    def path(self) -> str:
        """Path in the document, for messages: ``robot/joint[elbow]/axis``."""
        steps = []
        element: Element | None = self
        while element is not None:
            name = element.attributes.get("name")
            tag = printable(element.tag)
            steps.append(f"{tag}[{printable(name)}]" if name else tag)
            element = element.parent
        return "/".join(reversed(steps))

    def all(self, tag: str) -> Iterator[Element]:
        """Return the children with this tag."""
        return (child for child in self.children if child.tag == tag)

    def first(self, tag: str) -> Element | None:
        """Return the first child with this tag, or None."""
        for child in self.children:
            if child.tag == tag:
                return child
        return None

    def __repr__(self) -> str:
        return f"<{self.path} at line {self.line}>"


def parse(document: bytes | str, file: str | None = None, *, budget: Budget | None = None) -> Element:
    """Return the root element of an XML document, from its bytes or a string.

    For a string the encoding that it declares is ignored.  ``file`` is the name used in messages.  Raises ModelError:
    XML_EMPTY, XML_SYNTAX, XML_ENCODING, XML_DTD, XML_DEPTH or TOO_LARGE.
    """
    budget = budget or MODEL
    if isinstance(document, str):
        text = document.removeprefix("\ufeff")
        size = len(text)
        if size > budget.max_bytes // 4:  # only then can its bytes be too many
            size = len(text.encode("utf-8", "surrogatepass"))
        _within(size, budget, file)
    else:
        _within(len(document), budget, file)
        text = _decoded(document, file)
    if not text or text.isspace():
        _fail("XML_EMPTY", "the file is empty", Location(file))
    _require_xml(text, file)
    _refuse_doctype(text, file)
    return _Builder(file, budget).build(text)


class _Builder:
    """Builder of the tree of elements from the events of the parser expat, without recursion."""

    def __init__(self, file: str | None, budget: Budget) -> None:
        self.file, self.budget = file, budget
        self.root: Element | None = None
        self.open: Element | None = None  # the innermost open element
        self.depth = self.count = 0
        self.prefix = ""  # of the root, with its colon
        self.parser = parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.characters
        parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = self.refuse

    def build(self, text: str) -> Element:
        problem: expat.ExpatError | UnicodeEncodeError | None = None
        try:
            self.parser.Parse(text, True)
        except (expat.ExpatError, UnicodeEncodeError) as error:
            problem = error
        if isinstance(problem, expat.ExpatError):
            self.explain(problem)
        if problem is not None:  # a lone surrogate in text
            message = f"the text contains a surrogate code point, {text[problem.start]!r}"
            _fail("XML_ENCODING", message, _location(text, problem.start, self.file))
        assert self.root is not None
        return self.root

    def start(self, name: str, attributes: dict[str, str]) -> None:
        parent, line, column = self.open, self.parser.CurrentLineNumber, self.parser.CurrentColumnNumber + 1
        self.count += 1
        self.depth += 1
        if self.count > self.budget.max_elements:
            message, hint = f"more than {self.budget.max_elements} elements", self.budget.remedy("max_elements")
            _fail("TOO_LARGE", message, Location(self.file, line, column), hint)
        if self.depth > self.budget.max_depth:
            message = f"elements nested more than {self.budget.max_depth} deep"
            _fail("XML_DEPTH", message, Location(self.file, line, column), self.budget.remedy("max_depth"))
        if parent is None:
            prefix, colon, _ = name.rpartition(":")
            self.prefix = prefix + colon
        tag = name.removeprefix(self.prefix) or name
        for key in list(attributes):
            if key[0] == "x" and key.startswith(_OF_XML):
                del attributes[key]
        element = Element(tag, attributes or _NO_ATTRIBUTES, parent, line, column)
        if parent is None:
            self.root = element
        elif isinstance(parent.children, list):
            parent.children.append(element)
        else:
            parent.children = [element]
        self.open = element

    def end(self, name: str) -> None:
        assert self.open is not None
        self.open = self.open.parent
        self.depth -= 1

    def characters(self, text: str) -> None:
        if self.open is None:
            return
        if self.open._text is not None:
            self.open._text.append(text)
        elif not text.isspace():
            self.open._text = [text]

    def refuse(self, *_: object) -> None:
        _refuse_dtd(Location(self.file, self.parser.CurrentLineNumber, self.parser.CurrentColumnNumber + 1))

    def explain(self, error: expat.ExpatError) -> NoReturn:
        """Raise a ModelError that describes expat's error."""
        message, hint = expat.ErrorString(error.code) or "not well formed", None
        inside = self.open
        if error.code in _TRUNCATED:
            message = f"the file ends early ({message})"
            if inside is not None:
                hint = f"<{printable(inside.tag)}> opened on line {inside.line} is not closed: is the file complete?"
        elif error.code == _MISMATCH and inside is not None:
            hint = f"<{printable(inside.tag)}> opened on line {inside.line} is still open here"
        elif error.code == _MISPLACED_DECLARATION:
            hint = "<?xml ... ?> must be first, without white space before it"
        elif error.code == _UNDEFINED_ENTITY:
            hint = "only &amp; &lt; &gt; &quot; &apos; and &#...; are defined in XML"
        path = inside.path if inside is not None else None
        _fail("XML_SYNTAX", message, Location(self.file, error.lineno, error.offset + 1, path), hint)


# -- from bytes to text


def _decoded(data: bytes, file: str | None) -> str:
    """Return the document as a string, without its byte-order mark."""
    for magic, kind in _MAGIC:
        if data.startswith(magic):
            message = f"not XML: the file is {kind}"
            _fail("XML_SYNTAX", message, Location(file, 1, 1), "unpack the XML file")
    mark, encoding = next(((mark, name) for mark, name in _MARKS if data.startswith(mark)), (b"", "utf-8"))
    body = data[len(mark) :]
    if encoding == "utf-32":
        _fail("XML_ENCODING", "UTF-32 is not supported", Location(file, 1, 1), "save the file as UTF-8")
    if not mark and b"\0" in data:
        at = data.index(b"\0")
        where = Location(file, data.count(b"\n", 0, at) + 1, at - data.rfind(b"\n", 0, at))
        _fail("XML_SYNTAX", "not XML: NUL byte", where, "the file is binary, or UTF-16 without its byte-order mark")
    if declared := _DECLARED.search(_declaration(body, encoding)):
        encoding = _agreed(declared[1].decode("ascii"), encoding if mark else "", file)
    try:
        return body.decode(encoding)
    except UnicodeDecodeError as error:
        at = error.start
    return _refuse_bytes(body, at, encoding, file)


def _declaration(body: bytes, encoding: str) -> bytes:
    """Return the XML declaration at the beginning of a document, in ASCII; empty if there is none."""
    end = "?>".encode(encoding)
    if not body.startswith("<?xml".encode(encoding)):
        return b""
    declaration = body[: body.find(end) + len(end)]  # part of the document if unterminated
    return declaration.replace(b"\0", b"") if encoding.startswith("utf-16") else declaration


def _refuse_bytes(body: bytes, at: int, encoding: str, file: str | None) -> NoReturn:
    """Raise ModelError for the bytes at position ``at``, which are invalid in the encoding."""
    before = body[:at].decode(encoding, "replace")
    shown = body[at : at + 4].hex(" ")
    where = _location(before, len(before), file)
    if not before.lstrip(" \t\r\n").startswith("<"):
        _fail("XML_SYNTAX", f"not XML: binary data ({shown} ...)", where)
    _fail("XML_ENCODING", f"not valid {encoding.upper()}: bytes {shown}", where, "save the file as UTF-8")


def _agreed(declared: str, marked: str, file: str | None) -> str:
    """Return the encoding that the XML declaration names.

    Raises ModelError if it is not supported, or contradicts the byte-order mark of the encoding ``marked``.
    """
    name, problem = declared.lower(), ""
    if name not in _ENCODINGS:
        problem = "which is not supported"
    elif name == "utf-16" and not marked:
        problem = "but the byte-order mark is missing"
    elif marked and not marked.startswith(name.replace("utf8", "utf-8")):
        problem = f"but the byte-order mark is that of {marked.upper()}"
    if problem:
        hint = "save the file as UTF-8"
        _fail("XML_ENCODING", f"encoding {declared!r} is declared, {problem}", Location(file, 1, 1), hint)
    return marked or name


def _require_xml(text: str, file: str | None) -> None:
    start = len(text) - len(text.lstrip(" \t\r\n"))
    if text[start] != "<":
        shown = text[start : start + 30]
        _fail("XML_SYNTAX", f"not XML: expected '<', got {shown!r}", _location(text, start, file))
    at = text.find("\0")
    if at >= 0:
        _fail("XML_SYNTAX", "NUL character", _location(text, at, file))


def _refuse_doctype(text: str, file: str | None) -> None:
    """Raise ModelError for a document type declaration.

    It is called before parsing, because expat continues after a handler has raised.
    """
    at = 0
    while space := _SPACES.match(text, at):
        at = space.end()
        if text.startswith("<?", at):
            end = text.find("?>", at)
        elif text.startswith("<!--", at):
            end = text.find("-->", at + 4) + 1
        elif text.startswith("<!DOCTYPE", at):
            _refuse_dtd(_location(text, at, file))
        else:
            return
        if end <= 0:
            return
        at = end + 2


def _refuse_dtd(where: Location) -> NoReturn:
    _fail("XML_DTD", "DOCTYPE is not allowed", where, "remove the document type and the entities it declares")


def _within(size: int, budget: Budget, file: str | None) -> None:
    if size > budget.max_bytes:
        message = f"{size} bytes, more than the limit of {budget.max_bytes} bytes"
        _fail("TOO_LARGE", message, Location(file), budget.remedy("max_bytes"))


def _location(text: str, at: int, file: str | None) -> Location:
    return Location(file, text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at))


def _fail(code: str, message: str, where: Location, hint: str | None = None) -> NoReturn:
    raise ModelError(Issue(code, message, where, hint))


_SPACES = re.compile(r"[ \t\r\n]*")
_NO_ATTRIBUTES: Mapping[str, str] = MappingProxyType({})
_OF_XML = ("xmlns", "xml:", "xsi:")  # names that begin with xml are reserved
_CODES = expat.errors.codes
_TRUNCATED = {
    _CODES[getattr(expat.errors, f"XML_ERROR_{name}")]
    for name in ("NO_ELEMENTS", "UNCLOSED_TOKEN", "PARTIAL_CHAR", "UNCLOSED_CDATA_SECTION")
}
_MISMATCH = _CODES[expat.errors.XML_ERROR_TAG_MISMATCH]
_MISPLACED_DECLARATION = _CODES[expat.errors.XML_ERROR_MISPLACED_XML_PI]
_UNDEFINED_ENTITY = _CODES[expat.errors.XML_ERROR_UNDEFINED_ENTITY]
_MAGIC = (
    (b"\x1f\x8b", "gzip-compressed"),
    (b"BZh", "bzip2-compressed"),
    (b"\xfd7zXZ\0", "xz-compressed"),
    (b"PK\x03\x04", "a zip archive"),
)
_MARKS = (
    (b"\xff\xfe\0\0", "utf-32"),
    (b"\0\0\xfe\xff", "utf-32"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_DECLARED = re.compile(rb"[ \t\r\n]encoding[ \t\r\n]*=[ \t\r\n]*[\"']([A-Za-z][\w.-]*)[\"']")
_ENCODINGS = {
    *("utf-8", "utf8", "utf-16", "us-ascii", "ascii", "iso-8859-1", "latin-1", "iso-8859-15", "windows-1252"),
}
