"""Parser of a command's arguments: options of several words end before files, and unknown options are explained."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from linkwork._util.messages import did_you_mean, escaped
from linkwork.cli.number_texts import DEGREES, UNITS, is_number
from linkwork.cli.output import UsageExit

__all__ = ["FRAME_AND_NUMERIC", "NUMERIC", "PAIRS", "CommandParser", "WordForm"]

# Python before 3.14 takes -1e-3 and -1. for options, and every version -0,1, whose comma has its own message.
_UNIT = f"({'|'.join(map(re.escape, UNITS))})?"
_NEGATIVE_NUMBER = re.compile(rf"-([\d.,_]*\d[.,]?(e[-+]?[\d.,]+)?{_UNIT}|inf(inity)?|nan)$", re.IGNORECASE)


_OTHER_NAMES = {  # names by former ones and by usual words; a command has at most one of them
    "--budget": ("--time-limit",),
    "--edges": ("--collision-check",),
    "--iterations": ("--max-iterations",),
    "--limits": ("--position-limits",),
    "--hull-vertices": ("--max-vertices",),
    "--convex-decomposition": ("--decompose",),
    "--from": ("--start", "--q"),
    "--to": ("--goal", "--target-q"),
    "--velocity": ("--v",),
    "--q": ("--start",),
    "--q-init": ("--start", "--q"),
    "--q-start": ("--start", "--q"),
    "--q0": ("--start", "--q"),
    **dict.fromkeys(("--init", "--initial", "--initial-q", "--q-initial"), ("--start", "--q")),
    **dict.fromkeys(("--initial-v", "--v0", "--qd", "--dq"), ("--v",)),
    **dict.fromkeys(("--obstacles", "--obstacle", "--environment", "--world"), ("--scene",)),
    **dict.fromkeys(("--torque", "--torques", "--forces"), ("--tau",)),
    **dict.fromkeys(("--ee", "--end-effector", "--tip", "--tool", "--tcp"), ("--frame",)),
    **dict.fromkeys(("--pos", "--xyz", "--point"), ("--position",)),
    **dict.fromkeys(("--waypoint", "--way-points", "--waypoints"), ("--goal",)),
    "--q-goal": ("--goal", "--target-q"),
    "--target": ("--goal", "--target-q", "--pose"),
    "--picture": ("--output",),
    "--image": ("--output",),
    "--film": ("--output",),
    "--video": ("--output",),
    "--out": ("--output",),
    "--csv": ("--output",),
    "--npz": ("--output",),
    "--save": ("--output",),
    "--time": ("--duration", "--time-limit"),
    "--t": ("--duration",),
    "--seconds": ("--duration", "--time-limit"),
    "-o": ("--output",),
    "-t": ("--duration",),
    "-f": ("--frame",),
    "-q": ("--q",),
    **dict.fromkeys(("--png", "--html", "--glb", "--mp4"), ("--output",)),
    "--timestep": ("--dt",),
    "--step": ("--dt", "--resolution"),
    "--integrator": ("--method",),
    "--link": ("--frame",),
    "--configuration": ("--q",),
    "--joints": ("--q",),
    **dict.fromkeys(("--load", "--mass", "--object", "--tool-mass"), ("--payload",)),
}
_INSTEAD = {  # of options that no command has
    **dict.fromkeys(("--joint", "--joints", "--links"), "linkwork info lists joints, limits and links"),
    **dict.fromkeys(("--package", "--packages", "--package-path"), "its name is --package-dirs"),
    "--local": "--expressed-in FRAME selects the axes",
    **dict.fromkeys(("--tau", "--torque", "--torques"), "--controller selects forces; Python's simulate has others"),
    **dict.fromkeys(
        ("--function", "--functions"), "the command has no choice of functions; explain and precompile have"
    ),
    "--group": "--lock JOINT ... fixes the joints that are not in a group",
    **dict.fromkeys(
        ("--gravity-torques", "--gravity-force", "--gravity-forces"),
        "linkwork dynamics prints gravity forces as they are",
    ),
    "--only": "--ignore leaves out the others",
    "--steps": "--duration states seconds, --dt the time step",
    **dict.fromkeys(("--svg", "--pdf"), 'robot.plot(q).figure.savefig("robot.svg") of Python writes vector graphics'),
    "--gif": '--output writes .mp4, .png and .html; animation().save("motion.gif") of Python writes a GIF',
    **dict.fromkeys(("--degrees", "--deg"), "write deg after numbers that are degrees: --q 90deg 0 -45deg"),
}


@dataclass(frozen=True, slots=True)
class WordForm:
    """Pattern of the words of an option, as ``type`` of argparse; a word with another pattern ends the option.

    The first ``free`` words of the option may be any text.
    """

    fits: Callable[[str], bool]
    free: int = 0

    def __call__(self, text: str) -> str:
        return text


def _numeric(word: str) -> bool:
    """Return True for numbers, NAME=NUMBER and NAME=LOW:HIGH, separated by blanks or commas, and for @FILE."""
    if word.startswith("@"):
        return True
    parts = [part for text in re.split(r"[\s,\[\]()]+", word) for part in text.rpartition("=")[2].split(":") if part]
    return bool(parts) and all(map(is_number, parts))


NUMERIC = WordForm(_numeric)
FRAME_AND_NUMERIC = WordForm(_numeric, free=1)
PAIRS = WordForm(lambda word: "=" in word)


class CommandParser(argparse.ArgumentParser):
    """Parser of one command's arguments, in any order."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, **options)
        self._negative_number_matcher = _NEGATIVE_NUMBER

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse the words; print the usage and exit for an option that the command does not have."""
        parsed, unread = super().parse_known_args(self._in_order(list(args or ())), namespace)
        if unread:
            word = next((word for word in unread if word != "--"), "--")
            hint = "; numbers of a configuration follow --q" if is_number(word) and self._has("--q") else ""
            name, sets, value = word.partition(":=")
            if not hint and self._has("--format"):  # of a command that reads one robot
                hint = "; the command reads one file; check reads several, and compare two"
            hint = f"; an argument of a xacro file is --argument {escaped(f'{name}={value}')}" if sets else hint
            self.error(f"unexpected argument {escaped(repr(word))}{hint}")
        return parsed, unread

    def _has(self, option: str) -> bool:
        return option in self._option_string_actions

    def format_help(self) -> str:
        """Return the help: a short line of usage, and the options of the command before those of the robot's file."""
        self.usage = self._short_usage()
        return super().format_help()

    def _short_usage(self) -> str:
        slots = [action for action in self._actions if not action.option_strings]
        required = [action for action in self._actions if action.option_strings and action.required]
        words = [f"{x.option_strings[0]} {x.metavar or x.dest.upper()}" for x in required]
        return " ".join([self.prog, *map(_slot_text, slots), *words, "[options]"])

    def error(self, message: str) -> NoReturn:
        """Print a line of usage and the error, and end with code 2; ``--help`` lists the options."""
        slots = [action for action in self._actions if not action.option_strings]
        files = "".join(f" {_slot_text(action)}" for action in slots)
        usage = f"usage: {self.prog}{files} [options]; {self.prog} --help lists the options\n"
        if message.endswith("required: OUTPUT"):
            message += "; the suffix of the output selects its format: linkwork convert robot.urdf robot.xml"
        self._print_message(f"{usage}{self.prog}: error: {message}\n", sys.stderr)
        raise UsageExit(message)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Raise ArgumentError for a value that is not among the choices of an option, with the nearest one."""
        if action.choices is not None and value not in action.choices:
            known = [str(choice) for choice in action.choices]
            hint = did_you_mean(str(value), known)
            expected = " or ".join(filter(None, (", ".join(known[:-1]), *known[-1:])))
            got = escaped(repr(value))
            raise argparse.ArgumentError(action, f"expected {expected}, got {got}{hint and '; '}{hint}")

    def _in_order(self, words: Sequence[str]) -> list[str]:
        """Return the words with all positional arguments moved to the end, after ``--``."""
        positional: list[str] = []
        groups: list[tuple[argparse.Action | None, list[str], list[str]]] = []  # options, their words, files among them
        queue = list(words)
        while queue:
            word = queue.pop(0)
            if word == "--":
                positional += queue
                break
            if not self._is_option(word):
                positional.append(word)
                continue
            option, equals, _ = word.partition("=")
            action = self._option_string_actions.get(option)
            if action is None and "-h" not in words and "--help" not in words:
                hint = self._option_hint(option)
                self.error(f"unknown option {escaped(repr(option))}{hint and '; '}{hint}")
            count = 0 if action is None or equals or action.nargs == 0 else 1
            if count and action is not None and isinstance(action.nargs, int):
                count = action.nargs
            if action is not None and action.nargs == "+" and not equals:
                count = next((k for k, next_word in enumerate(queue) if self._is_option(next_word)), len(queue))
            chosen = queue[:count]
            if action is not None and action.choices is not None and action.nargs == "+":  # "limits,visuals"
                chosen = [part for text in chosen for part in text.split(",") if part or text == ""]
            groups.append((action, [word, *chosen], []))
            del queue[:count]
        slots = [action for action in self._actions if not action.option_strings]
        for action, chosen, files in reversed(groups):
            if action is None or action.nargs != "+":
                continue
            missing = len(slots) - len(positional) - sum(len(beside) for _, _, beside in groups)
            needed = missing - sum(slot.nargs == "?" for slot in slots)
            takes_several = any(slot.nargs == "+" for slot in slots)
            length = _words_of(action, chosen, len(chosen) if takes_several else missing, needed)
            files += chosen[length:]
            del chosen[length:]
        positional = [*(word for *_, files in groups for word in files), *positional]
        frame = self._option_string_actions.get("--frame")
        is_missing = frame is not None and frame.required and all(action is not frame for action, *_ in groups)
        if is_missing and len(positional) > len(slots):
            word = escaped(positional[-1])
            self.error(f"the following arguments are required: --frame; a frame is an option: --frame {word}")
        return [*(word for _, chosen, _ in groups for word in chosen), *(["--", *positional] if positional else [])]

    def _option_hint(self, name: str) -> str:
        """Return the option that replaces a former or another usual name, or the option with the nearest name."""
        if name in ("-o", "--output", "--out", "--output-format", "--to-format") and self.prog.endswith("convert"):
            return "the second file is the output, and its suffix the format: linkwork convert robot.urdf robot.xml"
        present = [new for new in _OTHER_NAMES.get(name, ()) if new in self._option_string_actions]
        if present:
            return f"its name is {present[0]}"
        if name in _INSTEAD or DEGREES.fullmatch(name):
            return _INSTEAD.get(name, _INSTEAD["--degrees"])
        return did_you_mean(name, [text for text in self._option_string_actions if text.startswith("--")])

    def _is_option(self, word: str) -> bool:
        known = word.partition("=")[0] in self._option_string_actions
        return known or (word[:1] == "-" and word != "-" and " " not in word and not _NEGATIVE_NUMBER.match(word))


def _slot_text(action: argparse.Action) -> str:
    """Return the text of a positional argument in a line of usage."""
    return f"{action.metavar or action.dest.upper()}{' ...' if action.nargs == '+' else ''}"


def _words_of(action: argparse.Action, words: Sequence[str], missing: int, needed: int) -> int:
    """Return the number of words, including the option's name, that belong to an option if files are missing.

    The remaining words are files, at most ``missing`` of them. Words of options without a pattern are files only if
    ``needed``.
    """
    form, choices = action.type, action.choices
    if isinstance(form, WordForm) or choices is not None:
        fits = form.fits if isinstance(form, WordForm) else lambda word: word in (choices or ())
        free = form.free if isinstance(form, WordForm) else 0
        length = next((k for k, word in enumerate(words) if k > max(free, 1) and not fits(word)), len(words))
        return length if len(words) - length <= missing else len(words)
    return max(min(2, len(words)), len(words) - max(needed, 0))
