"""Numbers and texts as bytes, and a reader of bytes that may be damaged or hostile."""

from __future__ import annotations

import struct
import zlib

__all__ = ["ByteReader", "ByteWriter", "DamagedBytesError", "compressed", "decompressed"]

_MOST = 1 << 62  # of an integer
_RATIO = 200  # of the sizes of a content and of its compressed bytes
_SMALL = 1 << 16  # [bytes] that any content may have


class DamagedBytesError(ValueError):
    """Bytes were not written by this version of linkwork, or are damaged."""


class ByteWriter:
    """Bytes to which numbers and texts are added."""

    def __init__(self) -> None:
        self.data = bytearray()

    def unsigned(self, number: int) -> None:
        """Add an integer >= 0: seven bits in each byte, the lowest first."""
        while number >= 0x80:
            self.data.append(number & 0x7F | 0x80)
            number >>= 7
        self.data.append(number)

    def signed(self, number: int) -> None:
        """Add an integer: a sign in the lowest bit, then the magnitude."""
        self.unsigned(number << 1 if number >= 0 else (-number << 1) | 1)

    def double(self, number: float) -> None:
        self.data += struct.pack("<d", number)

    def block(self, data: bytes | bytearray) -> None:
        """Add bytes with their length."""
        self.unsigned(len(data))
        self.data += data

    def text(self, text: str) -> None:
        self.block(text.encode("utf-8", "surrogatepass"))


class ByteReader:
    """Reader of the bytes of a `ByteWriter`.  Its methods raise DamagedBytesError at the end of the bytes."""

    def __init__(self, data: bytes) -> None:
        self.data, self.position = data, 0

    @property
    def left(self) -> int:
        """Number of bytes that were not read yet."""
        return len(self.data) - self.position

    def unsigned(self) -> int:
        result = shift = 0
        data, position = self.data, self.position
        try:
            while True:
                byte = data[position]
                position += 1
                result |= (byte & 0x7F) << shift
                if byte < 0x80:
                    break
                shift += 7
                if shift > 63:
                    raise DamagedBytesError("an integer is too long")
        except IndexError:
            raise DamagedBytesError("they end too early") from None
        self.position = position
        if result > _MOST:
            raise DamagedBytesError("an integer is too large")
        return result

    def signed(self) -> int:
        number = self.unsigned()
        return -(number >> 1) if number & 1 else number >> 1

    def count(self, least: int = 1) -> int:
        """Read a number of items.  Raises DamagedBytesError if fewer than ``least`` bytes follow for each item."""
        result = self.unsigned()
        if result * least > self.left:
            raise DamagedBytesError(f"the data state {result} items, but only {self.left} bytes follow")
        return result

    def taken(self, size: int) -> bytes:
        """Return the next bytes."""
        if size > self.left:
            raise DamagedBytesError("they end too early")
        self.position += size
        return self.data[self.position - size : self.position]

    def double(self) -> float:
        return float(struct.unpack("<d", self.taken(8))[0])

    def block(self) -> bytes:
        return self.taken(self.count())

    def text(self) -> str:
        try:
            return self.block().decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            raise DamagedBytesError("a text is not UTF-8") from None

    def end(self) -> None:
        """Raise DamagedBytesError unless all bytes were read."""
        if self.left:
            raise DamagedBytesError(f"{self.left} bytes are left over")


def compressed(data: bytes | bytearray) -> bytes:
    """Return the compressed data, which begins with the length of the content."""
    writer = ByteWriter()
    writer.unsigned(len(data))
    packed = zlib.compress(data, 9)
    if len(data) > _largest(len(packed)):
        packing = zlib.compressobj(9, strategy=zlib.Z_HUFFMAN_ONLY)  # at most eight times shorter
        packed = packing.compress(data) + packing.flush()
    return bytes(writer.data) + packed


def _largest(size: int) -> int:
    """Return the largest content [bytes] that ``size`` compressed bytes may have."""
    return max(_SMALL, size * _RATIO)


def decompressed(data: bytes) -> bytes:
    """Return the content of `compressed` bytes.  Raises DamagedBytesError before much memory is used."""
    reader = ByteReader(data)
    size = reader.unsigned()
    if size > _largest(reader.left):
        raise DamagedBytesError(f"{reader.left} bytes would have a content of {size} bytes")
    unpacking = zlib.decompressobj()
    try:
        result = unpacking.decompress(reader.taken(reader.left), size + 1)
    except zlib.error as error:
        raise DamagedBytesError(f"they cannot be decompressed: {error}") from None
    if len(result) != size or not unpacking.eof or unpacking.unused_data:
        raise DamagedBytesError("the length of the content is wrong")
    return result
