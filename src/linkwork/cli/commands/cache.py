"""`linkwork cache`: show the content of the disk cache of machine code, or clear it."""

from __future__ import annotations

import argparse
import math
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from linkwork import __version__
from linkwork.cli.arguments import FAILED, CommandError, add_json
from linkwork.cli.output import Terminal, escaped, label, number, quantity, table
from linkwork.kernels import Cache, cache_location

__all__ = ["add_arguments", "run"]

_MAX_SHOWN = 10
_KIB, _MIB = 1 << 10, 1 << 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = "show the content (default), or remove all of it"
    parser.add_argument("action", nargs="?", choices=("info", "clear"), default="info", help=actions)
    add_json(parser)


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    if arguments.action == "clear":
        return _clear(terminal, as_json=arguments.json)
    data = _data()
    if arguments.json:
        terminal.out.json({"linkwork": __version__, **data})
    else:
        terminal.out.lines(_text(data))
    return 0


def _clear(terminal: Terminal, *, as_json: bool) -> int:
    location = cache_location()
    if location.refused and not location.off:
        raise CommandError(FAILED, f"the cache is not cleared: {escaped(location.refused)}")
    count, size = (0, 0) if location.folder is None else Cache(location.folder, location.max_bytes).clear()
    if as_json:
        folder = None if location.folder is None else str(location.folder)
        terminal.out.json({"linkwork": __version__, "directory": folder, "removed": count, "bytes": size})
    elif location.folder is None:
        terminal.out.line(f"nothing to clear: {location.refused}")
    else:
        terminal.out.line(f"removed {_entries(count)}, {_size(size)}, from {escaped(str(location.folder))}")
    return 0


def _data() -> dict[str, Any]:
    """Return the state of the disk cache as data for JSON, with details of its largest entries."""
    location = cache_location()
    cache = None if location.folder is None or location.refused else Cache(location.folder, location.max_bytes)
    entries = [] if cache is None else cache.entries()
    largest = sorted(entries, key=lambda entry: -entry[1].st_size)[:_MAX_SHOWN]
    return {
        "directory": None if location.folder is None else str(location.folder),
        "in_use": location.refused is None,
        "refused": location.refused,
        "entries": len(entries),
        "bytes": sum(state.st_size for _, state in entries),
        "max_bytes": location.max_bytes,
        "oldest_use": _time(entries[0][1]) if entries else None,
        "newest_use": _time(entries[-1][1]) if entries else None,
        "largest": [_entry_data(cache, *entry) for entry in largest] if cache else [],
    }


def _entry_data(cache: Cache, path: Path, state: os.stat_result) -> dict[str, Any]:
    facts = cache.facts(path)
    known = facts or {}
    return {
        "file": path.name,
        "damaged": facts is None,
        "bytes": state.st_size,
        "last_use": _time(state),
        **{key: _plain(known.get(key)) for key in ("kernel", "robot", "lanes", "seconds")},
    }


def _plain(value: Any) -> Any:
    """Return a string or a finite number unchanged, None for other values."""
    return value if isinstance(value, str) or (isinstance(value, (int, float)) and math.isfinite(value)) else None


def _text(data: dict[str, Any]) -> list[str]:
    used = data["entries"] and f"{data['oldest_use']} .. {data['newest_use']}"
    lines = [
        f"directory  {escaped(data['directory'] or '-')}",
        f"in use     {'yes' if data['in_use'] else 'no: ' + escaped(data['refused'])}",
        f"holds      {_entries(data['entries'])}, {_size(data['bytes'])} of at most {_size(data['max_bytes'])}",
        f"last used  {used or '-'}",
    ]
    if data["largest"]:
        rows = [_row(entry) for entry in data["largest"]]
        lines += ["", *table(_HEADER, rows, left=(0, 1, 5))]
    return lines


_HEADER = ("largest entries", "robot", "lanes", "size", "compiled in [s]", "last used")


def _row(entry: dict[str, Any]) -> list[str]:
    name = "(damaged)" if entry["damaged"] else _cell(entry["kernel"])
    facts = [_cell(entry["robot"]), _cell(entry["lanes"]), _size(entry["bytes"]), _cell(entry["seconds"])]
    return [name, *facts, entry["last_use"]]


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return number(value) if isinstance(value, (int, float)) else label(str(value))


def _entries(count: int) -> str:
    return f"{count} entries" if count != 1 else quantity(count, "entry")


def _size(count: int) -> str:
    return f"{number(round(count / _MIB, 1))} MiB" if count >= _MIB else f"{number(round(count / _KIB, 1))} KiB"


def _time(state: os.stat_result) -> str:
    """Return the time (UTC) at which a file was last used, as text."""
    return datetime.fromtimestamp(int(state.st_mtime), UTC).isoformat().replace("+00:00", "Z")
