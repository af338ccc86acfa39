"""XML parser: errors of bad documents, and the tree of a good document."""

from __future__ import annotations

import gzip

import pytest

from linkwork._util.file_access import Budget
from linkwork.errors import Issue, ModelError
from linkwork.formats.xml_document import Element, parse


def issue(document: bytes | str, budget: Budget | None = None) -> Issue:
    with pytest.raises(ModelError, match=r"\[[A-Z_]+\]") as caught:
        parse(document, "arm.urdf", budget=budget)
    (only,) = caught.value.issues
    assert only.where.file == "arm.urdf"
    return only


def outline(element: Element) -> object:
    return (element.tag, dict(element.attributes), [outline(child) for child in element.children])


# -- good documents


def test_parsed_xml_tree_has_tags_attributes_text_and_positions():
    root = parse('<robot name="r">\n  <joint name="elbow">\n    <axis xyz="1 0 0"/> hello <b/> you</joint>\n</robot>')
    assert root.tag == "robot" and root.attributes == {"name": "r"} and root.parent is None
    (joint,) = root.children
    axis, b = joint.children
    assert (joint.line, joint.column) == (2, 3)
    assert (axis.line, axis.column) == (3, 5)
    assert axis.path == "robot[r]/joint[elbow]/axis"
    assert joint.text.split() == ["hello", "you"] and root.text == "" and axis.text == ""
    assert joint.first("b") is b and joint.first("c") is None and list(joint.all("axis")) == [axis]
    assert axis.parent is joint
    assert "elbow" in repr(axis)


def test_element_names_in_printed_xml_paths_are_short_and_printable():
    root = parse(f'<a name="{"x" * 200}"><b name="&#10;&#9;x"/></a>')
    assert root.children[0].path == f"a[{'x' * 77}...]/b[\\n\\tx]"


@pytest.mark.parametrize(
    "document",
    [
        b'<?xml version="1.0"?><a b="\xc3\xa9"/>',
        b'\xef\xbb\xbf<?xml version="1.0" encoding="utf-8"?><a b="\xc3\xa9"/>',
        b'\xef\xbb\xbf<a b="\xc3\xa9"/>',
        '<a b="é"/>'.encode("utf-16"),
        b"\xff\xfe" + '<?xml version="1.0" encoding="UTF-16"?><a b="é"/>'.encode("utf-16-le"),
        b"\xfe\xff" + '<?xml version="1.0" encoding="UTF-16"?><a b="é"/>'.encode("utf-16-be"),
        b'<?xml version="1.0" encoding="ISO-8859-1"?><a b="\xe9"/>',
        b'<?xml version="1.0" encoding="windows-1252"?><a b="\xe9"/>',
        b'<?xml version="1.0"' + b" \n" * 500 + b'encoding="windows-1252"' + b" " * 500 + b'?><a b="\xe9"/>',
        b'<?xml version="1.0" encoding="US-ASCII"?><a b="&#233;"/>',
        "<?xml version='1.0' encoding='utf-16'?><a b='é'/>",
        "\ufeff<a b='é'/>",
        b"\r\n<!-- > -->\r\n<?pi?>\r\n<a\r\n b='\xc3\xa9'/>\r\n",
    ],
)
def test_xml_in_all_encodings_and_with_all_line_ends_is_read(document: bytes | str):
    assert outline(parse(document)) == ("a", {"b": "é"}, [])


def test_line_count_of_an_xml_file_with_crlf_is_correct():
    assert parse(b"<a>\r\n<b/>\r\n</a>").children[0].line == 2


@pytest.mark.parametrize(
    "document",
    [
        '<robot xmlns="http://www.ros.org" name="r"><link/></robot>',
        '<u:robot xmlns:u="http://www.ros.org" name="r"><u:link/></u:robot>',
        '<u:robot name="r"><u:link/></u:robot>',
        '<robot name="r" xmlns:xsi="x" xsi:noNamespaceSchemaLocation="y" xml:lang="en"><link/></robot>',
    ],
)
def test_xml_namespaces_of_the_root_element_are_stripped(document: str):
    assert outline(parse(document)) == ("robot", {"name": "r"}, [("link", {}, [])])


def test_xml_prefixes_of_other_namespaces_are_preserved():
    root = parse('<robot xmlns:a="x"><a:b c:d="1" d="2"/><drake:joint/></robot>')
    assert [child.tag for child in root.children] == ["a:b", "drake:joint"]
    assert root.children[0].attributes == {"c:d": "1", "d": "2"}


# -- bad documents


@pytest.mark.parametrize("document", [b"", b" \t\r\n ", "", "\n", b"\xef\xbb\xbf", b"\xff\xfe"])
def test_empty_xml_document_is_refused(document: bytes | str):
    assert issue(document).code == "XML_EMPTY"
    assert "empty" in issue(document).message


@pytest.mark.light
@pytest.mark.parametrize(
    ("document", "message"),
    [
        (b"hello", "expected '<', got 'hello'"),
        (b"\n  solid cube", "expected '<'"),
        (gzip.compress(b"<a/>", mtime=0), "gzip"),
        (b"PK\x03\x04abc", "zip"),
        (b"BZh91AY", "bzip2"),
        (b"\x7fELF\x02\x01\x01\0\0\0", "NUL"),
        (b"\x80\x04\x95", "binary data (80 04 95"),
        (b"<a>\n<b></a>", "mismatched tag"),
        (b"<a b=1/>", "not well-formed"),
        (b"<a/><b/>", "junk after document element"),
        (b"<a>\x01</a>", "not well-formed"),
        (b"<a>&foo;</a>", "undefined entity"),
        (b"\n<?xml version='1.0'?><a/>", "not at start"),
    ],
)
def test_text_that_is_not_xml_is_refused(document: bytes, message: str):
    result = issue(document)
    assert result.code == "XML_SYNTAX"
    assert message in result.message
    assert result.where.line is not None and result.where.column is not None


def test_mismatched_xml_tag_names_the_open_element():
    result = issue(b"<a>\n <b>\n  <c>\n </b>\n</a>")
    assert result.where.line == 4
    assert result.hint == "<c> opened on line 3 is still open here"
    assert result.where.element == "a/b/c"


@pytest.mark.light
@pytest.mark.parametrize("cut", range(1, 40))
def test_truncated_xml_is_refused(cut: int):
    document = b'<a b="1">\n<c d="2"><!-- e --></c><f/></a>'
    assert len(document) == 41
    result = issue(document[:cut])
    assert result.code == "XML_SYNTAX"
    assert result.where.line == (1 if cut < 10 else 2)


def test_truncated_xml_names_the_open_element():
    result = issue(b"<robot>\n<link name='a'>\n")
    assert "ends early" in result.message
    assert result.hint == "<link> opened on line 2 is not closed: is the file complete?"


LAUGHS = '<!DOCTYPE a [<!ENTITY l0 "ha">' + "".join(f'<!ENTITY l{i + 1} "{f"&l{i};" * 10}">' for i in range(12))


@pytest.mark.light
@pytest.mark.parametrize(
    "document",
    [
        "<!DOCTYPE a><a/>",
        "<?xml version='1.0'?>\n<!-- > <!x -->\n<?pi <a?>\n<!DOCTYPE a SYSTEM 'a.dtd'><a/>",
        LAUGHS + "]><a>&l12;</a>",
        LAUGHS + "]><a b='&l12;'/>",
        f'<!DOCTYPE a [<!ENTITY b "{"x" * 100_000}">]><a>{"&b;" * 100_000}</a>',
    ],
    ids=["bare", "after comments", "billion laughs", "in an attribute", "quadratic"],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_xml_doctype_is_refused(document: str, encoding: str):
    result = issue(document.encode(encoding))
    assert result.code == "XML_DTD" and "DOCTYPE is not allowed" in result.message
    assert result.where.line == (4 if document.startswith("<?xml") else 1)


def test_xml_parser_rejects_a_doctype_missed_by_the_first_check(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("linkwork.formats.xml_document._refuse_doctype", lambda text, file: None)
    assert issue("<!DOCTYPE a><a/>").code == "XML_DTD"


@pytest.mark.parametrize(
    "entity",
    [
        '<!ENTITY b SYSTEM "file:///etc/passwd">',
        '<!ENTITY b SYSTEM "http://example.com/">',
        '<!ENTITY % b SYSTEM "http://example.com/"> %b;',
        '<!ENTITY b PUBLIC "x" "relative.xml">',
    ],
)
def test_external_xml_entities_are_not_opened(entity: str, monkeypatch: pytest.MonkeyPatch):
    def never(*arguments: object, **options: object) -> object:
        raise AssertionError("something was opened")

    monkeypatch.setattr("socket.socket", never)
    monkeypatch.setattr("builtins.open", never)
    assert issue(f"<!DOCTYPE a [{entity}]><a>&b;</a>").code == "XML_DTD"


def test_xml_that_is_nested_too_deeply_is_refused():
    assert parse("<a>" * 256 + "</a>" * 256).tag == "a"
    result = issue("<a>" * 257 + "</a>" * 257)
    assert result.code == "XML_DEPTH" and "256" in result.message
    assert issue("<a>" * 1_000_000).code == "XML_DEPTH"
    deep = issue("<a><a><a/></a></a>", Budget(max_depth=2))
    assert deep.code == "XML_DEPTH" and "Budget(max_depth=...)" in str(deep.hint)


def test_deeply_nested_xml_is_parsed_without_recursion():
    depth = 50_000
    root = parse("<a>" * depth + "</a>" * depth, budget=Budget(max_depth=depth))
    inner = root
    for _ in range(depth - 1):
        (inner,) = inner.children
    assert inner.tag == "a" and not inner.children
    del root, inner  # nor does taking it apart


def test_xml_with_too_many_bytes_is_refused():
    assert issue(b"<a>" + b" " * 2000 + b"</a>", Budget(max_bytes=1000)).code == "TOO_LARGE"
    result = issue("<a>" + "é" * 600 + "</a>", Budget(max_bytes=1000))
    assert result.code == "TOO_LARGE" and "limit of 1000 bytes" in result.message
    assert parse("<a>" + "x" * 900 + "</a>", budget=Budget(max_bytes=1000)).tag == "a"
    assert issue(b" " * (64 * 2**20 + 1)).code == "TOO_LARGE"


def test_xml_with_too_many_elements_is_refused():
    result = issue("<a>\n" + "<b/>" * 10 + "</a>", Budget(max_elements=10))
    assert result.code == "TOO_LARGE" and "more than 10 elements" in result.message
    assert result.where.line == 2


@pytest.mark.parametrize("document", [b"<a b='1' b='2'/>", b"<a x:b='1' x:b='2'/>"])
def test_duplicate_xml_attribute_is_refused(document: bytes):
    result = issue(document)
    assert result.code == "XML_SYNTAX" and "duplicate attribute" in result.message


@pytest.mark.parametrize("document", [b"<a>\n \0</a>", "<a>\n \0</a>", "<a>\n \0</a>".encode("utf-16")])
def test_xml_with_nul_bytes_is_refused(document: bytes | str):
    result = issue(document)
    assert result.code == "XML_SYNTAX" and "NUL" in result.message
    assert (result.where.line, result.where.column) == (2, 2)


@pytest.mark.light
@pytest.mark.parametrize(
    ("document", "line"),
    [
        (b"<a>\n\xff</a>", 2),
        (b"<a>\n\n\xc3(</a>", 3),
        (b"<a>\xed\xa0\x80</a>", 1),
        (b'<?xml version="1.0" encoding="ascii"?>\n<a>\xc3\xa9</a>', 2),
        (b"\xff\xfe<\0a\0\n\0\0\xd8<\0", 2),
        (b'<?xml version="1.0" encoding="utf-7"?><a/>', 1),
        (b'<?xml version="1.0"' + b" " * 1000 + b'encoding="utf-7"?><a/>', 1),
        (b"\xff\xfe" + f'<?xml version="1.0"{" " * 1000}encoding="utf-8"?><a/>'.encode("utf-16-le"), 1),
        (b'<?xml version="1.0" encoding="rot13"?><a/>', 1),
        (b'<?xml version="1.0" encoding="no-such"?><a/>', 1),
        (b'<?xml version="1.0" encoding="utf-16"?><a/>', 1),
        (b'\xef\xbb\xbf<?xml version="1.0" encoding="iso-8859-1"?><a/>', 1),
        (b"\xff\xfe" + '<?xml version="1.0" encoding="utf-8"?><a/>'.encode("utf-16-le"), 1),
        ("<a/>".encode("utf-32"), 1),
    ],
)
def test_xml_in_an_invalid_encoding_is_refused(document: bytes, line: int):
    result = issue(document)
    assert result.code == "XML_ENCODING"
    assert result.where.line == line


def test_surrogate_characters_in_xml_text_are_refused():
    result = issue("<a>\n\ud800</a>")
    assert result.code == "XML_ENCODING" and result.where.line == 2
