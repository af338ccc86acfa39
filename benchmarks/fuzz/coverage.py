"""Fuzzing of linkwork's readers by coverage, with atheris: `python -m benchmarks.fuzz.coverage FORMAT ...`.

Inputs that reach new lines of linkwork's code are changed further, beginning with a good file of the format.  The
outcomes of `benchmarks.fuzz.formats` count.  Models of MuJoCo run through the checks before its parser alone.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path

__all__ = ["main"]

_INSTRUMENTED = ("formats", "shapes", "_util", "motion.trajectory", "viewer.mesh_surfaces", "workspace")
_LIMITS = ("-rss_limit_mb=3000", "-timeout=60", "-max_len=20000", "-verbosity=0", "-print_final_stats=1")


def _checked(kind: str, path: Path) -> str:
    """Return the outcome of reading a file by linkwork's own code."""
    from benchmarks.fuzz.formats import outcome
    from linkwork.errors import Findings
    from linkwork.formats.mjcf.model_files import check_files

    if kind != "xml":
        return outcome(kind, path, True)
    try:
        check_files(path, (), Findings())
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "ok"


def _work(kind: str, folder: Path, options: Sequence[str]) -> None:
    """Fuzz the reader of a format, until an input is a fault."""
    import atheris

    with atheris.instrument_imports(include=[f"linkwork.{name}" for name in _INSTRUMENTED]):
        from benchmarks.fuzz.formats import fault, good_file

        _checked(kind, good_file(kind, folder))
    warnings.simplefilter("ignore")
    path = folder / f"case.{kind}"

    def test(data: bytes) -> None:
        path.write_bytes(data)
        if fault(kind, result := _checked(kind, path)):
            raise AssertionError(result)

    atheris.Setup([sys.argv[0], *options], test)
    atheris.Fuzz()


def main(arguments: Sequence[str] | None = None) -> int:
    """Fuzz each format; return 1 if there is a fault."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("formats", nargs="*", help="formats to change (all that linkwork reads by itself)")
    parser.add_argument("--seconds", type=int, default=120, help="time of a format [s] (120)")
    parser.add_argument("--keep", type=Path, required=True, help="folder of the inputs")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    chosen, options = parser.parse_known_args(arguments)
    if chosen.work:
        with tempfile.TemporaryDirectory() as folder:
            _work(chosen.formats[0], Path(folder), options)
    from benchmarks.fuzz.formats import FORMATS, good_file  # after the worker has prepared the import of linkwork

    bad = 0
    for kind in chosen.formats or sorted({*FORMATS} - {"usda", "usdc", "zarr"}):
        corpus = chosen.keep / kind
        corpus.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            (corpus / "good").write_bytes(good_file(kind, Path(folder)).read_bytes())
        command = [sys.executable, "-m", "benchmarks.fuzz.coverage", "--work", kind, "--keep", str(chosen.keep)]
        command += [*_LIMITS, f"-max_total_time={chosen.seconds}", f"-artifact_prefix={corpus}-", str(corpus)]
        print(f"{kind}:", flush=True)
        bad += subprocess.run(command, check=False).returncode != 0
    return min(bad, 1)


if __name__ == "__main__":
    sys.exit(main())
