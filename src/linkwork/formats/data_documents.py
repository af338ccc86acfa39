"""Reading of a JSON or YAML file as a tree of values, also of an untrusted file, and writing of YAML.

PyYAML reads a file that is not trusted in another process.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from linkwork._util.file_access import MODEL, Budget
from linkwork._util.reader_process import ReaderEnded, ReaderError, read_isolated
from linkwork.errors import Findings, Issue, Location, ModelError
from linkwork.formats.data_values import Value, values_of
from linkwork.formats.file_reading import path_text, process_failed, read_regular
from linkwork.formats.json_and_yaml import parse_json, parse_yaml

__all__ = ["YAML", "document_of_request", "plain_data", "prepare_process", "read_document", "yaml_text"]

YAML = (".yaml", ".yml")
_TASKS = "linkwork.formats.data_documents"


def read_document(path: str | os.PathLike[str], findings: Findings, budget: Budget, *, trusted: bool = True) -> Value:
    """Return the content of a file: YAML if its name ends in .yaml or .yml, else JSON.

    Raises ModelError, the operating system's error if the file cannot be read, and ImportError for YAML without PyYAML.
    """
    data, file = read_regular(path, budget), path_text(path)
    if os.path.splitext(file)[1].lower() not in YAML:
        return parse_json(data, file, findings, budget)
    if trusted:
        return parse_yaml(data, file, findings, budget)
    limits = {"bytes": budget.max_bytes, "elements": budget.max_elements, "depth": budget.max_depth}
    try:
        answer = read_isolated(
            (_TASKS, "yaml"), f"{_TASKS}:document_of_request", {"file": file, **limits}, budget=MODEL, data=data
        )
    except ReaderEnded as ended:
        raise process_failed(ended, Location(file)) from None
    except ReaderError as error:
        if error.kind == "ModelError":
            issues = [Issue(str(code), str(message), Location(file)) for code, message, *_ in error.issues]
            raise ModelError(issues) from None
        raise error.of(ImportError, TypeError) from None
    return values_of(answer.data["document"], file, findings, budget)


def prepare_process() -> None:
    """Import the modules that reading of YAML needs, before a process reads an untrusted file."""
    parse_yaml("version: 1", None, Findings(), MODEL)


def document_of_request(request: dict[str, Any], data: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the content of the YAML text ``data`` as {"document": plain data}, and no arrays.

    ``request`` contains the limits: "bytes", "elements" and "depth".
    """
    findings = Findings()
    budget = Budget(
        max_bytes=int(request["bytes"]), max_elements=int(request["elements"]), max_depth=int(request["depth"])
    )
    root = parse_yaml(data, str(request["file"]), findings, budget)
    findings.raise_errors()
    return {"document": plain_data(root)}, {}


def plain_data(value: Value) -> Any:
    """Return a value of a document as dicts, lists, strings, numbers, bools and None."""
    content = value.content
    if isinstance(content, dict):
        return {key: plain_data(item) for key, item in content.items()}
    return [plain_data(item) for item in value.items] if isinstance(content, list) else content


def yaml_text(document: Mapping[str, Any]) -> str:
    """Return a document as YAML: each key and each list entry is on a separate line, other values are on one line."""
    return "\n".join([*_yaml_lines(document), ""])


def _yaml_lines(document: Mapping[str, Any]) -> Iterator[str]:
    for key, value in document.items():
        if isinstance(value, dict) and any(_has_lines(item) for item in value.values()):
            yield f"{key}:"
            yield from (f"  {line}" for line in _yaml_lines(value))
        elif _has_lines(value):
            yield f"{key}:"
            for entry in value:
                items = [f"{name}: {_flow(item)}" for name, item in entry.items()]
                yield from (f"  {'-' if k == 0 else ' '} {item}" for k, item in enumerate(items))
        else:
            yield f"{key}: {_flow(value)}"


def _has_lines(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def _flow(value: Any) -> str:
    """Return a value on one line, as every version of YAML reads it."""
    match value:
        case dict():
            return "{" + ", ".join(f"{key}: {_flow(item)}" for key, item in value.items()) + "}"
        case list() | tuple():
            return "[" + ", ".join(map(_flow, value)) + "]"
        case bool() | None | str():
            return json.dumps(value, ensure_ascii=False)
        case int():
            return str(value)
    digits, e, exponent = json.dumps(float(value), allow_nan=False).partition("e")
    sign = "" if exponent[:1] in ("", "-", "+") else "+"  # YAML 1.1 requires a point, and a sign of the exponent
    return f"{digits}{'' if '.' in digits else '.0'}{e}{sign}{exponent}"
