"""The command `linkwork`: parses the arguments, runs a command, and converts errors to an exit code."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any, cast

from linkwork import __version__
from linkwork._util.messages import nearest
from linkwork.cli.commands import COMMANDS, OTHER_NAMES
from linkwork.cli.output import (
    BAD_MODEL,
    EXIT_CODES,
    FAILED,
    INTERRUPTED,
    NO_READER,
    USAGE,
    CommandError,
    Stream,
    Terminal,
    UsageExit,
    as_options,
    error_data,
    escaped,
    with_options,
)
from linkwork.cli.parser import CommandParser
from linkwork.errors import (
    CacheWarning,
    ConfigurationWarning,
    ModelWarning,
    SimulationWarning,
    SingularInertiaError,
    TraceWarning,
)

__all__ = ["main"]

_WARNINGS = (CacheWarning, ConfigurationWarning, SimulationWarning, TraceWarning)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line (``sys.argv`` without arguments) and return the exit code."""
    words = [*(sys.argv[1:] if arguments is None else arguments)]
    terminal = Terminal(Stream(sys.stdout), Stream(sys.stderr), is_quiet="--quiet" in words)
    try:
        with _warnings_logged(terminal):
            code = _run(words, terminal)
        terminal.out.flush()
        return code
    except CommandError as error:
        terminal.error(str(error))
        return _reported(words, terminal, error)
    except SingularInertiaError as error:
        terminal.error(escaped(str(error)))
        return _reported(words, terminal, CommandError(BAD_MODEL, escaped(str(error))))
    except KeyboardInterrupt:
        terminal.log.line("linkwork: interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        _discard_output()
        return NO_READER
    except OSError as error:  # standard output is full or closed
        _discard_output()
        terminal.error(f"cannot write: {error.strerror or error}")
        return FAILED


def _run(words: Sequence[str], terminal: Terminal) -> int:
    if words[:2] == ["completion", "names"]:  # called by the scripts of completion
        from linkwork.cli.commands.completion import names_on_line

        terminal.out.lines([*names_on_line(words[2:])])
        return 0
    words = ["--version"] if words[:1] == ["version"] else words
    is_help = words[:1] == ["help"]
    words = words[1:] if is_help else words
    if words[:2] == ["check", "scene"] and not os.path.exists("scene"):
        words = ["check-scene", *words[2:]]
    words = [*words[:1], "--help"] if is_help else words
    parser = _parser(next((word for word in words if not word.startswith("-")), ""))
    if words and not words[0].startswith("-") and words[0] not in COMMANDS:
        terminal.log.write(parser.format_usage())
        known = OTHER_NAMES.get(words[0].lower())
        hint = f"the command is {known}" if known else nearest(words[0], [*COMMANDS])
        raise CommandError(USAGE, f"unknown command {escaped(repr(words[0]))}; {hint}")
    try:
        parsed = parser.parse_args(words)
    except UsageExit as end:
        return _reported(words, terminal, CommandError(USAGE, end.message))
    except SystemExit as end:  # after help or a version, or for wrong usage
        return end.code if isinstance(end.code, int) else USAGE
    if parsed.run is None:
        terminal.log.write(parser.format_help())
        return USAGE
    try:
        code: int = parsed.run(parsed, terminal)
    except CommandError as error:  # of Python code, about arguments that are options here
        message = with_options(as_options(str(error)), parsed.options)
        raise CommandError(error.code, message, error.issues, error.warnings) from error
    return code


def _reported(words: Sequence[str], terminal: Terminal, error: CommandError) -> int:
    """Report an error: print its JSON document (with ``--json``) or log its warnings; return the exit code."""
    if "--json" in words:
        terminal.out.json({"linkwork": __version__, **error_data(error)})
        terminal.out.flush()
    else:
        terminal.issues(error.warnings)
    return error.code


def _parser(command: str) -> argparse.ArgumentParser:
    """Return the parser of all commands; only the module of ``command`` is imported, for its arguments."""
    codes = "Exit codes: " + "; ".join(f"{code} {meaning}" for code, meaning in EXIT_CODES.items()) + "."
    about = "Robots as compiled mechanics: inspect, check and measure them."
    parser = argparse.ArgumentParser(prog="linkwork", description=about, epilog=codes, allow_abbrev=False)
    parser.add_argument("--version", "-V", "-v", action="version", version=f"linkwork {__version__}")
    parser.set_defaults(run=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=CommandParser)
    for name, about in COMMANDS.items():
        subparser = commands.add_parser(name, help=about, description=f"{about[0].upper()}{about[1:]}.")
        if name == command:
            module = import_module(f"linkwork.cli.commands.{name.replace('-', '_')}")
            module.add_arguments(subparser)
            options = {x.dest: x.option_strings[-1] for x in subparser._actions if x.option_strings}
            subparser.set_defaults(run=module.run, options=options)
    return parser


@contextlib.contextmanager
def _warnings_logged(terminal: Terminal) -> Iterator[None]:
    """Log linkwork's Python warnings like warnings of a command, each text once.

    Logged texts have no position in Python code, and name options instead of Python arguments.
    """
    logged: set[str] = set()
    with warnings.catch_warnings():
        for category in (*_WARNINGS, UserWarning):
            warnings.simplefilter("always", category)
        warnings.simplefilter("ignore", ModelWarning)  # commands list all problems of a robot
        otherwise = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *position: Any, **more: Any) -> None:
            if category is UserWarning or issubclass(category, _WARNINGS):
                text = as_options(str(message))
                if text not in logged:
                    terminal.warning(escaped(text))
                logged.add(text)
            else:
                otherwise(message, category, *position, **more)

        warnings.showwarning = cast(Any, show)
        yield


def _discard_output() -> None:
    """Discard further standard output, so that Python's last flush does not fail again."""
    with contextlib.suppress(OSError, ValueError, AttributeError):  # it is not a file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
