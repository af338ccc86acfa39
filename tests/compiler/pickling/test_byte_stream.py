"""Numbers and texts as bytes: the largest values, the bytes themselves, and each refusal of damaged bytes."""

from __future__ import annotations

import zlib

import pytest

from linkwork.compiler.pickling.byte_stream import ByteReader, ByteWriter, DamagedBytesError, compressed, decompressed

LARGEST = 1 << 62


def written(method: str, value: object) -> bytes:
    writer = ByteWriter()
    getattr(writer, method)(value)
    return bytes(writer.data)


def test_integers_floats_and_texts_are_read_as_they_were_written() -> None:
    assert written("unsigned", 127) == b"\x7f" and written("unsigned", 128) == b"\x80\x01"
    assert written("unsigned", 300) == b"\xac\x02" and written("signed", -3) == b"\x07"
    for method, values in {
        "unsigned": (0, 127, 128, 16383, 16384, LARGEST - 1, LARGEST),
        "signed": (0, 1, -1, 63, -64, LARGEST >> 1, 1 - (LARGEST >> 1)),
        "double": (0.0, -0.0, 1e-320, -1.7e308, float("inf")),
        "text": ("", "τ [N·m]", "\udc80"),
        "block": (b"", bytes(range(200))),
    }.items():
        for value in values:
            reader = ByteReader(written(method, value))
            result = getattr(reader, method)()
            assert (result, type(result)) == (value, type(value)) and str(result) == str(value), (method, value)
            reader.end()


@pytest.mark.light
@pytest.mark.parametrize(
    ("data", "method", "message"),
    [
        (written("unsigned", LARGEST + 1), "unsigned", "an integer is too large"),
        (b"\xff" * 9 + b"\x7f", "unsigned", "an integer is too large"),
        (b"\xff" * 10 + b"\x01", "unsigned", "an integer is too long"),
        (b"\x80", "unsigned", "they end too early"),
        (b"\0" * 7, "double", "they end too early"),
        (b"\x05abcd", "block", "the data state 5 items, but only 4 bytes follow"),
        (b"\x01\xff", "text", "a text is not UTF-8"),
        (b"\0\0", "end", "2 bytes are left over"),
    ],
)
def test_damaged_bytes_are_refused(data: bytes, method: str, message: str) -> None:
    with pytest.raises(DamagedBytesError, match=message):
        getattr(ByteReader(data), method)()


def test_item_counts_beyond_the_number_of_following_bytes_are_refused() -> None:
    assert ByteReader(b"\x04" + b"\0" * 8).count(2) == 4
    with pytest.raises(DamagedBytesError, match="the data state 4 items, but only 7 bytes follow"):
        ByteReader(b"\x04" + b"\0" * 7).count(2)
    reader = ByteReader(b"abc")
    assert reader.taken(3) == b"abc" and reader.left == 0
    with pytest.raises(DamagedBytesError, match="they end too early"):
        reader.taken(1)


def test_compressed_bytes_of_another_length_or_content_are_refused() -> None:
    content = bytes(range(256)) * 40
    packed = compressed(content)
    assert decompressed(packed) == content and len(packed) < len(content)
    zeros = b"\0" * (1 << 20)
    assert decompressed(compressed(zeros)) == zeros  # within the ratio of sizes that is read
    head, body = written("unsigned", len(content)), zlib.compress(content)
    for damaged, message in (
        (written("unsigned", len(content) - 1) + body, "the length of the content is wrong"),
        (written("unsigned", len(content) + 1) + body, "the length of the content is wrong"),
        (head + body + b"\0", "the length of the content is wrong"),
        (head + body[:-1], "the length of the content is wrong"),
        (head + b"\0" + body, "they cannot be decompressed"),
        (written("unsigned", (1 << 16) + 1) + b"\0" * 10, "10 bytes would have a content of 65537 bytes"),
        (written("unsigned", 200 * 400 + 1) + b"\0" * 400, "400 bytes would have a content of 80001 bytes"),
    ):
        with pytest.raises(DamagedBytesError, match=message):
            decompressed(damaged)
