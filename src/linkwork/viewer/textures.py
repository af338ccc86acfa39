"""Textures of mesh files: PNG and JPEG images within limits, decoded and encoded again."""

from __future__ import annotations

import io
from typing import Any

__all__ = ["check_decodes", "check_image", "encoded_texture"]

MAX_BYTES = 20_000_000  # of an image file
MAX_PIXELS = 4096 * 4096
_DRAWN_SIZE = 1024  # [pixels] larger textures are scaled down
_PNG = b"\x89PNG\r\n\x1a\n"
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  # markers of a frame header, with the size


def check_image(data: bytes, name: str) -> int:
    """Return the number of pixels of an image file, by its header.

    Raises ValueError for a file that is neither PNG nor JPEG, such as SVG, and for one that is too large or cut off.
    """
    if len(data) > MAX_BYTES:
        raise ValueError(f"{name}: too large: the limit of a texture is {MAX_BYTES} bytes")
    if data.startswith(_PNG):
        size = _png_size(data)
    elif data.startswith(b"\xff\xd8\xff"):
        size = _jpeg_size(data)
    else:
        raise ValueError(f"{name}: expected a texture of type PNG or JPEG")
    if size is None or min(size) == 0:
        raise ValueError(f"{name}: not a readable PNG or JPEG image, cut off or damaged")
    if size[0] * size[1] > MAX_PIXELS:
        raise ValueError(f"{name}: too large: {size[0]} x {size[1]} pixels, the limit is {MAX_PIXELS} in all")
    return size[0] * size[1]


def check_decodes(data: bytes, name: str) -> int:
    """Return the number of pixels of an image file that is PNG or JPEG and can be decoded.  Raises ValueError."""
    from PIL import Image

    pixels = check_image(data, name)
    try:
        Image.open(io.BytesIO(data)).load()
    except Exception as error:  # decoders may raise anything
        raise ValueError(f"{name}: not a readable image: {error}") from error
    return pixels


def encoded_texture(image: Any, is_checked: bool = False) -> bytes:
    """Return a Pillow image as PNG, or as JPEG if it is opaque, with at most 1024 pixels along each side.

    The result contains only decoded pixels, nothing else of the original file.  Raises ValueError for a broken image,
    and for another type unless `check_decodes` has accepted the file (``is_checked``).
    """
    if (image.format not in ("PNG", "JPEG") and not is_checked) or image.size[0] * image.size[1] > MAX_PIXELS:
        raise ValueError(f"texture: expected PNG or JPEG of at most {MAX_PIXELS} pixels, got {image.format}")
    try:
        image.load()
        has_alpha = "A" in image.getbands() or "transparency" in image.info
        pixels = image.convert("RGBA" if has_alpha else "RGB")
        pixels.thumbnail((_DRAWN_SIZE, _DRAWN_SIZE))
        result = io.BytesIO()
        pixels.info.clear()
        if has_alpha:
            pixels.save(result, "PNG", optimize=True)
        else:
            pixels.save(result, "JPEG", quality=88)
    except Exception as error:  # decoders may raise anything
        raise ValueError(f"texture: not a readable image: {error}") from error
    return result.getvalue()


def _png_size(data: bytes) -> tuple[int, int] | None:
    if data[12:16] != b"IHDR" or len(data) < 33:
        return None
    return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    """Return the size in the frame header of a JPEG file, or None without one."""
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF:  # padding
            at += 1
        elif marker in _JPEG_FRAMES:
            return int.from_bytes(data[at + 7 : at + 9], "big"), int.from_bytes(data[at + 5 : at + 7], "big")
        else:
            at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return None
