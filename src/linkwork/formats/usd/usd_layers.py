"""Layers of a USD stage, opened without access to files outside of given folders.

A layer refers to other layers: sublayers, references and payloads.  Each file is read with a limit and becomes an
anonymous layer in memory, whose references are replaced by references to other anonymous layers.  The composition of
the stage therefore opens no file at all.  Files outside of the folder of the model and of the given folders are
refused, by their real path, and so are addresses of networks and formats other than USD's own.
"""

from __future__ import annotations

import io
import os
import posixpath
import re
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from linkwork._util.file_access import MODEL, Budget
from linkwork._util.file_search import FileSearchError
from linkwork._util.messages import quoted
from linkwork.errors import Issue, Location, ModelError
from linkwork.formats.description import Findings
from linkwork.formats.file_reading import path_text, read_regular
from linkwork.formats.resource_paths import resource_paths, search_issue
from linkwork.formats.usd.crate_layers import layers_anew
from linkwork.formats.usd.stage_size import check_nesting, check_size, prim_specs

__all__ = ["diagnostics_collected", "opened_stage", "usd_error_text"]

_MAX_MEMBERS = 10_000  # of a usdz archive
_NUMBERS_OF_VALUE = 4  # as which a value of a text layer counts: USD's parser takes 200 bytes for it
_CRATE, _TEXT, _ZIP = b"PXR-USDC", b"#usda", b"PK\x03\x04"
_SUFFIXES = (".usd", ".usda", ".usdc", ".usdz")
_POSITION = re.compile(r"line (\d+)|:(\d+):(\d+):")


def opened_stage(path: str | os.PathLike[str], folders: Any = None, budget: Budget = MODEL) -> tuple[Any, list[Issue]]:
    """Return the stage of a file, with all of its payloads loaded, and warnings.

    ``folders`` are additional folders with files that layers may refer to: a list, or a dict by name. Raises
    ModelError: DATA_SYNTAX, DATA_ENCODING, DATA_DEPTH, TOO_LARGE, WRONG_FORMAT, PATH_ESCAPE, URI_SCHEME,
    LAYER_MISSING, COMPOSITION, UNSUPPORTED; and the errors of the operating system for the file itself.
    """
    from pxr import Usd

    layers = _Layers(path, folders, budget)
    with diagnostics_collected():
        root = layers.read_all()
        check_size(layers.by_identifier(), root, Location(path_text(path)), budget)
        stage = Usd.Stage.Open(root, Usd.Stage.LoadAll)
    findings = Findings()
    for error in stage.GetCompositionErrors():
        findings.error(Issue("COMPOSITION", _composition_text(error), Location(path_text(path))))
    findings.raise_errors()
    return stage, layers.warnings


@contextmanager
def diagnostics_collected() -> Iterator[Any]:
    """Collect the diagnostics of USD inside of a block, instead of printing them."""
    from pxr import UsdUtils

    delegate = UsdUtils.CoalescingDiagnosticDelegate()
    try:
        yield delegate
    finally:
        delegate.TakeUncoalescedDiagnostics()


def _composition_text(error: Any) -> str:
    text = re.sub(r"anon:0x[0-9a-f]+:", "", str(error))
    return f"the stage cannot be composed: {text[:500]}"


@dataclass(frozen=True)
class _File:
    """File of a layer: its real path, and for an archive the name of the layer's member in it."""

    path: str
    member: str = ""

    def __str__(self) -> str:
        return f"{self.path}[{self.member}]" if self.member else self.path


class _Layers:
    """Layers that a file refers to directly or indirectly, by file."""

    def __init__(self, path: str | os.PathLike[str], folders: Any, budget: Budget) -> None:
        self.budget = budget
        self.source = path_text(path)
        self.first = os.path.realpath(self.source)
        self.search = resource_paths(self.first, folders)
        self.archives: dict[str, dict[str, bytes]] = {}
        self.layers: dict[_File, Any] = {}
        self.bytes_left = budget.max_total_bytes
        self.warnings: list[Issue] = []

    def by_identifier(self) -> dict[str, Any]:
        return {layer.identifier: layer for layer in self.layers.values()}

    def read_all(self) -> Any:
        """Return the layer of the file, after reading all layers that it refers to and replacing its references."""
        first = self._member_of(self.first, "")
        wave = [first]
        self._open(wave)
        while wave:
            targets = {
                (file, reference): self._file_of(file, reference)
                for file in wave
                for reference in self._references(file)
            }
            new = [target for target in dict.fromkeys(targets.values()) if target not in self.layers]
            if len(self.layers) + len(new) > self.budget.max_files:
                message = f"the stage has more layers than the limit of {self.budget.max_files}"
                raise self._error(first, "TOO_LARGE", message, self.budget.remedy("max_files"))
            self._open(new)
            for (file, reference), target in targets.items():
                identifier = self.layers[target].identifier
                if not self.layers[file].UpdateCompositionAssetDependency(reference, identifier):
                    raise self._error(file, "UNSUPPORTED", f"USD cannot redirect the reference {quoted(reference)}")
            known = self.by_identifier()
            for file in wave:
                if not known.keys() >= {*self._references(file)}:
                    raise self._error(file, "UNSUPPORTED", "USD cannot redirect a reference of the layer")
            wave = new
        return self.layers[first]

    def _references(self, file: _File) -> list[str]:
        """Return the references of a layer to other layers, as stated in the file; without "", the layer itself."""
        return [name for name in self.layers[file].GetCompositionAssetDependencies() if name]

    # -- names of files

    def _file_of(self, file: _File, reference: str) -> _File:
        """Return the file of a reference, after checking that its path is in a permitted folder."""
        if reference.startswith("`"):
            raise self._error(file, "UNSUPPORTED", f"the reference {quoted(reference)} is an expression of variables")
        if "\0" in reference or ":SDF_FORMAT_ARGS:" in reference:
            raise self._error(file, "UNSUPPORTED", f"the reference {quoted(reference)} is not a path")
        outer, _, member = reference.partition("[")
        member = member.removesuffix("]")
        if file.member and not os.path.isabs(outer):
            inner = posixpath.normpath(posixpath.join(posixpath.dirname(file.member), outer))
            if inner.startswith(".."):
                raise self._error(file, "PATH_ESCAPE", f"the reference {quoted(reference)} leaves its archive")
            return self._member_of(file.path, inner)
        try:
            path = os.path.realpath(self.search.find(outer, near=[os.path.dirname(file.path)]))
        except FileSearchError as error:
            raise ModelError(search_issue(error, self._where(file), "LAYER_MISSING")) from None
        return self._member_of(path, member)

    def _member_of(self, path: str, member: str) -> _File:
        """Return the file of a layer; for an archive with its member ``member``, or its first member."""
        if os.path.splitext(path)[1].lower() != ".usdz":
            return _File(path)
        if path not in self.archives:
            self.archives[path] = self._archive(path)
        members = self.archives[path]
        if not member:
            return _File(path, next(iter(members)))
        if member not in members:
            raise self._error(_File(path), "LAYER_MISSING", f"the archive has no layer {quoted(member)}")
        return _File(path, member)

    # -- content

    def _read(self, path: str) -> bytes:
        shown = self.source if path == self.first else path
        try:
            data = read_regular(shown, replace(self.budget, max_bytes=self.bytes_left))
        except ModelError as error:
            if error.code == "TOO_LARGE":
                message = f"the stage has more bytes than the limit of {self.budget.max_total_bytes}"
                hint = self.budget.remedy("max_total_bytes")
                raise self._error(_File(path), "TOO_LARGE", message, hint) from None
            raise
        self.bytes_left -= len(data)
        return data

    def _archive(self, path: str) -> dict[str, bytes]:
        """Return the layers in a usdz archive by name, in the order of the archive."""
        data, file = self._read(path), _File(path)
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                entries = archive.infolist()
                if len(entries) > _MAX_MEMBERS:
                    raise self._error(
                        file, "TOO_LARGE", f"the archive has more members than the limit of {_MAX_MEMBERS}"
                    )
                result = {}
                for k, entry in enumerate(entries):
                    name = posixpath.normpath(entry.filename)
                    if name.startswith(("..", "/")) or "\\" in name:
                        message = f"a member's path is outside the archive: {quoted(entry.filename)}"
                        raise self._error(file, "PATH_ESCAPE", message)
                    is_layer = os.path.splitext(name)[1].lower() in _SUFFIXES[:3]
                    if k == 0 and not is_layer:
                        raise self._error(file, "DATA_SYNTAX", "the first member of the archive is not a USD layer")
                    if not is_layer:
                        continue
                    if entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & 1:
                        message = f"the member {quoted(entry.filename)} is compressed or encrypted, which usdz excludes"
                        raise self._error(file, "DATA_SYNTAX", message)
                    if name in result:
                        raise self._error(file, "DATA_SYNTAX", f"the archive has two members {quoted(name)}")
                    result[name] = archive.read(entry)  # stored: at most the archive's size
        except (
            zipfile.BadZipFile,
            NotImplementedError,
            RuntimeError,
            ValueError,
            OSError,
            EOFError,
            KeyError,
        ) as error:
            if isinstance(error, ModelError):
                raise
            raise self._error(file, "DATA_SYNTAX", f"not a usdz archive: {error}") from None
        if not result:
            raise self._error(file, "DATA_SYNTAX", "the archive has no USD layer")
        return result

    def _open(self, files: list[_File]) -> None:
        """Read layers into memory; all binary layers in one call of another process."""
        data = {file: self._content(file) for file in files}
        crates = {file: content for file, content in data.items() if not content.startswith(_TEXT)}
        layers = self._from_crates(crates) if crates else {}
        for file in files:
            layer = layers[file] if file in layers else self._from_text(file, data[file])
            self._remove_clips(file, layer)
            self.layers[file] = layer

    def _content(self, file: _File) -> bytes:
        """Return the bytes of a layer, after checking that it begins like a text layer or a binary layer."""
        suffix = os.path.splitext(file.member or file.path)[1].lower()
        if suffix not in _SUFFIXES and file.path != self.first:
            message = f"expected a layer ({', '.join(_SUFFIXES)}), got {quoted(os.path.basename(file.path))}"
            raise self._error(file, "WRONG_FORMAT", message)
        data = self.archives[file.path][file.member] if file.member else self._read(file.path)
        if data.startswith(_ZIP):
            raise self._error(file, "WRONG_FORMAT", "an archive whose name does not end in .usdz")
        if not data.startswith((_CRATE, _TEXT)):
            problem = "is empty" if not data.strip() else f"begins with {data[:8]!r}"
            message = f"expected a USD layer, which begins with '#usda' or 'PXR-USDC'; this {problem}"
            raise self._error(file, "DATA_SYNTAX", message)
        return data

    def _remove_clips(self, file: _File, layer: Any) -> None:
        """Remove value clips from a layer, because USD opens their files when values are read."""
        for path, spec in prim_specs(layer).items():
            for key in [key for key in spec.ListInfoKeys() if key.startswith("clip")]:
                spec.ClearInfo(key)
                where = Location(self._where(file).file, element=path)
                self.warnings.append(Issue("UNSUPPORTED", "value clips, files of animations, are not read", where))

    def _from_text(self, file: _File, data: bytes) -> Any:
        from pxr import Sdf

        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise self._error(file, "DATA_ENCODING", f"not UTF-8: {error}") from None
        if "\0" in text:
            raise self._error(file, "DATA_SYNTAX", "the text contains NUL")
        where = self._where(file)
        check_nesting(text, where)
        if _NUMBERS_OF_VALUE * text.count(",") > self.budget.max_numbers:
            message = f"a text layer with more than {self.budget.max_numbers // _NUMBERS_OF_VALUE} values"
            raise self._error(file, "TOO_LARGE", message, self.budget.remedy("max_numbers"))
        layer = Sdf.Layer.CreateAnonymous(f"{_plain(file)}.usda")
        try:
            read = layer.ImportFromString(text)
        except Exception as error:  # Tf.ErrorException, which lists the errors of the parser
            raise ModelError(_syntax_issue(str(error), where)) from None
        if not read:
            raise ModelError(Issue("DATA_SYNTAX", "the layer cannot be read", where))
        return layer

    def _from_crates(self, data: dict[_File, bytes]) -> dict[_File, Any]:
        """Return binary layers in memory, which another process has rewritten as safe copies."""
        from pxr import Sdf

        result = {}
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            for k, (file, content) in enumerate(zip(data, layers_anew([*data.values()], self.budget), strict=True)):
                if isinstance(content, str):
                    raise ModelError(_syntax_issue(content, self._where(file)))
                path = Path(folder, f"{k}.usdc")  # USD may keep it mapped
                path.write_bytes(content)
                layer = Sdf.Layer.CreateAnonymous(f"{_plain(file)}.usdc")
                layer.TransferContent(Sdf.Layer.OpenAsAnonymous(str(path)))
                result[file] = layer
        return result

    def _where(self, file: _File) -> Location:
        return Location(self.source if file.path == self.first and not file.member else str(file))

    def _error(self, file: _File, code: str, message: str, hint: str | None = None) -> ModelError:
        return ModelError(Issue(code, message, self._where(file), hint))


def _plain(file: _File) -> str:
    """Return a layer's name for messages of USD, without characters that have a meaning in USD's identifiers."""
    return re.sub(r"[^\w.-]", "_", os.path.splitext(os.path.basename(file.member or file.path))[0])


def usd_error_text(error: object) -> str:
    """Return the message in the text of a USD exception, without the position in USD's source code."""
    text = str(error)
    return (text.partition(" : '")[2].partition("'\n")[0].strip() or text.strip())[:500]


def _syntax_issue(text: str, where: Location) -> Issue:
    """Return the parser's first error and its line as an issue, from the text of USD's exception."""
    message = usd_error_text(text)
    match = _POSITION.search(message)
    line = int(match[1] or match[2]) if match else None
    column = int(match[3]) if match and match[3] else None
    message = " ".join(re.sub(r"^:\d+:\d+:|\bpxrInternal\S*.*", "", message).split())
    return Issue("DATA_SYNTAX", f"not a USD layer: {message[:300]}", Location(where.file, line, column))
