"""Equivalent forms of a valid argument: a NumPy integer, a tuple, an array of names.

`python -m benchmarks.fuzz.callable_forms` calls every public callable with each form.
It prints the forms that are rejected although the original argument is accepted: there, an annotation or a check is
narrower than necessary.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from benchmarks.fuzz.callable_subjects import Subject, subjects
from benchmarks.tables.rows import require

__all__ = ["forms_of", "main", "tried_forms"]


def forms_of(value: Any) -> dict[str, Any]:
    """Return the same value in other forms, by their names."""
    if isinstance(value, bool):
        return {"np.bool": np.bool_(value)}
    if isinstance(value, int):
        return {"np.int64": np.int64(value), "np.int32": np.int32(value)} if abs(value) < 2**31 else {}
    if isinstance(value, float):
        results: dict[str, Any] = {"np.float64": np.float64(value)}
        results |= {"int": int(value), "np.int64": np.int64(value)} if value.is_integer() else {}
        return results | ({"np.float32": np.float32(value)} if float(np.float32(value)) == value else {})
    if isinstance(value, str):
        return {"np.str": np.str_(value)}
    if isinstance(value, Path):
        return {"text": str(value)}
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return {"list": value.tolist(), "by columns": np.asfortranarray(value)}
    if isinstance(value, dict):
        return {"mapping": MappingProxyType(value)}
    if isinstance(value, (list, tuple)) and value and not hasattr(value, "_fields"):  # a record is no list
        results = {"tuple": tuple(value), "list": list(value)}
        if all(isinstance(x, str) for x in value):
            results |= {"array of names": np.array(value), "keys": dict.fromkeys(value).keys()}
        elif all(isinstance(x, (int, float)) for x in value):
            results |= {"array": np.array(value)}
        return results
    return {}


def tried_forms(subject: Subject) -> Iterator[tuple[str, str, str | None]]:
    """Yield an argument, a form, and its error or None, for each form of a value that a callable accepts."""
    for argument in subject.arguments:
        name = argument.lstrip("*")
        if argument.startswith("*") or name in ("out", "axes"):
            continue
        default = subject.signature.parameters[name].default
        known = subject.prepared()[1]
        value = known.get(name, None if default is subject.signature.empty else default)
        for form, form_value in forms_of(value).items():
            if subject.passes_nan and form in ("list", "tuple"):
                continue  # lists are nested structures to functions of scalars, and no arrays
            if form == type(value).__name__ or _error(subject, name, value) is not None:
                continue
            yield argument, form, _error(subject, name, form_value)


def _error(subject: Subject, argument: str, value: Any) -> str | None:
    call, arguments = subject.prepared()
    try:
        call(argument, value, arguments)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the rejected forms; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--only", default="", help="callables whose name this expression matches")
    chosen = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    tried = count = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for subject in subjects():
            if re.search(chosen.only, subject.name):
                for argument, form, error in tried_forms(subject):
                    tried += 1
                    if error is None:
                        continue
                    count += 1
                    print(f"{subject.name}({argument} as {form}): {error[:160]}", flush=True)
        os.chdir("/")
    require(tried, f"no form of an argument of {chosen.only!r}")
    print(f"{count} of {tried} forms refused")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
