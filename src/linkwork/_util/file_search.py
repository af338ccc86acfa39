"""Search, inside allowed folders only, of files by the names and URIs that other files contain.

A name is a relative path, an absolute path, or a URI: ``package://arm/hand.stl``, ``model://hand``, ``file://...``.
A path is used only if it is inside one of the allowed folders after all symbolic links are resolved.  Nothing is
opened here and nothing is fetched: URIs of other schemes are refused.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from linkwork._util.cached_properties import cached_property
from linkwork._util.lazy_dataclass import dataclass
from linkwork._util.messages import escaped, nearest, quoted

__all__ = ["FileSearch", "FileSearchError", "Folders", "joined_searches", "read_folders"]

Folder = str | os.PathLike[str]
Folders = Folder | Sequence[Folder] | Mapping[str, Folder]
"""One folder, or several, that contain packages, or the folder of each package by its name."""


class FileSearchError(Exception):
    """A file that is not found, or must not be used.

    ``code`` is FILE_MISSING, PACKAGE_UNKNOWN, PATH_ESCAPE (outside of the folders), URI_SCHEME (another scheme) or
    BAD_NAME.  ``searched`` are the paths that do not exist.
    """

    def __init__(self, code: str, message: str, hint: str | None = None, searched: Collection[str] = ()) -> None:
        super().__init__(message)
        self.code, self.message, self.hint, self.searched = code, message, hint, (*searched,)

    def __str__(self) -> str:
        paths = "".join(f"\n    {escaped(path)}" for path in islice(self.searched, _MOST_PATHS))
        more = len(self.searched) - _MOST_PATHS
        searched = f"; paths searched:{paths}" if self.searched else ""
        return f"{self.message}{searched}" + (f"\n    ... and {more} more" if more > 0 else "")


@dataclass(frozen=True)
class FileSearch:
    """Search of files in ``folders``, which contain packages or are packages, and in ``packages`` by their names.

    ``packages`` are pairs (name, folder); a name may occur more than once.  All of these folders are allowed.  If the
    search is not ``trusted``, other libraries parse its files only in a separate process.
    """

    folders: tuple[str, ...]
    packages: tuple[tuple[str, str], ...] = ()
    trusted: bool = True

    def find(self, name: str, near: Sequence[str] = ()) -> str:
        """Return the path of an existing file or folder by its name or URI.  Raises FileSearchError.

        A relative path is searched in the folders ``near`` first, then in `folders`.  A path from ``near`` must also be
        inside the allowed folders.
        """
        candidates = [*dict.fromkeys(self._candidates(name, near))]
        if not candidates:
            raise FileSearchError("FILE_MISSING", f"{quoted(name)} was not found: there are no folders to search")
        tried, escaped = [], []
        for candidate in candidates:
            if not self.allows(candidate):
                escaped.append(candidate)
            elif os.path.exists(candidate):
                return candidate
            else:
                tried.append(candidate)
        if not tried or any(map(os.path.exists, escaped)):
            folders = ", ".join(islice(dict.fromkeys((*self.folders, *(path for _, path in self.packages))), _SHOWN))
            raise FileSearchError("PATH_ESCAPE", f"{quoted(name)}: the path leads out of the folders {folders}")
        raise FileSearchError("FILE_MISSING", f"{quoted(name)} was not found", None, tried)

    def package(self, name: str) -> str:
        """Return the folder of a package.  Raises FileSearchError (PACKAGE_UNKNOWN, PATH_ESCAPE)."""
        candidates = [*dict.fromkeys(self._of_package(name, f"package://{name}"))]
        for candidate in candidates:
            if os.path.isdir(candidate) and self.allows(candidate):
                return candidate
        raise self._unknown_package(name, f"package://{name}", candidates)

    def allows(self, path: str) -> bool:
        """Return True if a path is inside one of the allowed folders when all symbolic links are resolved."""
        real = os.path.realpath(path)
        return any(real == root or real.startswith(root.rstrip(os.sep) + os.sep) for root in self.allowed)

    @cached_property
    def allowed(self) -> tuple[str, ...]:
        """The real paths of all folders in which files may be."""
        paths = (*self.folders, *(folder for _, folder in self.packages))
        return tuple(dict.fromkeys(os.path.realpath(path) for path in paths))

    def _candidates(self, name: str, near: Sequence[str]) -> Iterator[str]:
        try:
            os.fsencode(name)
        except UnicodeEncodeError:
            raise FileSearchError("BAD_NAME", f"expected the name or URI of a file, got {quoted(name)}") from None
        if not name.strip() or "\0" in name or "\0" in unquote(name):
            raise FileSearchError("BAD_NAME", f"expected the name or URI of a file, got {quoted(name)}")
        if "\\" in name and "://" not in name:
            yield from self._of_path(name, name, near)
        if os.name != "nt":
            name = name.replace("\\", "/")  # a file that was written on Windows
        scheme, colon, location = name.partition("://")
        if not colon:
            yield from self._of_path(name, name, near)
        elif scheme.lower() in ("package", "model"):
            for text in dict.fromkeys((unquote(location), location)):  # also a file whose name contains a percent sign
                package, _, path = text.partition("/")
                folders = [*self._of_package(package, name)]
                if not any(map(os.path.isdir, folders)):
                    raise self._unknown_package(package, name, folders)
                yield from (os.path.join(folder, *path.split("/")) if path else folder for folder in folders)
        elif scheme.lower() == "file":
            path = location.removeprefix("localhost") if location.startswith("localhost/") else location
            for text in dict.fromkeys((unquote(path), path)):
                has_drive = os.name == "nt" and text.startswith("/") and _DRIVE.match(text, 1)
                yield from self._of_path(text[1:] if has_drive else text, name, near)  # file:///C:/...
        else:
            message = f"{quoted(name)}: expected package://, model://, file:// or a path"
            raise FileSearchError(
                "URI_SCHEME",
                message,
                "files are not downloaded: save the file in the folder of the model or in package_dirs",
            )

    def _of_path(self, path: str, name: str, near: Sequence[str]) -> Iterator[str]:
        if _SHARE.match(path) or (os.name != "nt" and _DRIVE.match(path)):
            message = f"{quoted(name)}: a path on a drive or on another computer leads out of the folders"
            raise FileSearchError("PATH_ESCAPE", message, "write a relative path")
        if os.path.isabs(path):
            yield path
        else:
            yield from (os.path.join(folder, path) for folder in (*near, *self.folders))

    def _of_package(self, package: str, name: str) -> Iterator[str]:
        """Yield the paths at which a package's folder may be, whether they exist or not."""
        if package in ("", ".", "..") or "/" in package or "\\" in package or "\0" in package:
            message = f"{quoted(name)}: expected the name of a package, got {quoted(package)}"
            raise FileSearchError("PATH_ESCAPE" if package else "BAD_NAME", message)
        yield from (folder for known, folder in self.packages if known == package)
        for folder in self.folders:
            yield os.path.join(folder, package)
            if os.path.basename(os.path.realpath(folder)) == package:
                yield folder

    def _unknown_package(self, package: str, name: str, searched: Sequence[str]) -> FileSearchError:
        known = dict.fromkeys(name for name, _ in self.packages)
        for folder in self.folders:
            try:
                with os.scandir(folder) as entries:
                    inside = sorted(entry.name for entry in islice(entries, _MOST_ENTRIES) if entry.is_dir())
            except OSError:
                continue
            known |= dict.fromkeys(x for x in inside if not x.startswith("."))
        message = f"{quoted(name)}: package {quoted(package)} was not found"
        return FileSearchError("PACKAGE_UNKNOWN", message, nearest(package, known) if known else None, searched)


def joined_searches(a: FileSearch | None, b: FileSearch | None) -> FileSearch | None:
    """Return a search of the folders of ``a``, then of ``b``; None if both are None."""
    if a is None or b is None:
        return b if a is None else a
    folders = tuple(dict.fromkeys((*a.folders, *b.folders)))
    return FileSearch(folders, (*a.packages, *b.packages), a.trusted and b.trusted)


def read_folders(caller: str, folders: Any) -> FileSearch:
    """Return a search in folders that a user passes: one folder, several, or a dict from package name to folder.

    A search is returned unchanged.  Raises ValueError, which begins with ``caller``, for anything that is not a folder.
    """
    if isinstance(folders, FileSearch):
        return folders
    packages: list[tuple[str, str]] = []
    paths: list[str] = []
    try:
        if isinstance(folders, Mapping):
            packages = [(str(name), _folder(path)) for name, path in folders.items()]
        else:
            paths = [_folder(path) for path in ([folders] if isinstance(folders, (str, os.PathLike)) else folders)]
    except TypeError:
        raise ValueError(f"{caller}: expected paths of folders, got {folders!r}") from None
    for path in (*paths, *(path for _, path in packages)):
        if not os.path.isdir(path):
            raise ValueError(f"{caller}: {path!r} is not a folder")
    return FileSearch(tuple(paths), tuple(packages))


def _folder(path: Any) -> str:
    return str(Path(path).expanduser())


_MOST_PATHS, _SHOWN = 20, 10
_MOST_ENTRIES = 1000  # of a folder, in the search for a similar name
_SHARE = re.compile(r"[\\/]{2}")  # \\server\share
_DRIVE = re.compile(r"[A-Za-z]:")
