"""`linkwork completion`: print the script with which a shell completes commands, options and their values."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass
from importlib import import_module
from io import StringIO

from linkwork import Robot, robots
from linkwork.cli.commands import COMMANDS
from linkwork.cli.output import CommandError, Stream, Terminal
from linkwork.cli.parser import CommandParser

__all__ = ["add_arguments", "names_on_line", "run"]

_FILES = ("FILE", "FOLDER", "SCENE")  # metavars of paths
_MAX_HELP = 70  # characters of a description
_NAMES: dict[str, Callable[[Robot], Sequence[str]]] = {  # of the robot on the line, by metavar
    "FRAME": lambda robot: robot.frames,
    "JOINT": lambda robot: [joint.name for joint in robot.joints],
    "CONFIGURATION": lambda robot: [state.name for state in robot.named_configurations],
    "Q": lambda robot: [f"{name}=" for name in robot.q_names],
    "NAME=LOW:HIGH": lambda robot: [f"{name}=" for name in robot.q_names],
    "V": lambda robot: [f"{name}=" for name in robot.v_names],
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "shell",
        metavar="SHELL",
        choices=[*_SCRIPTS],
        help="bash, zsh or fish: eval the output in its startup file, or store it as a file",
    )


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    commands = [_command(name, about) for name, about in COMMANDS.items()]
    terminal.out.lines([*_SCRIPTS[arguments.shell](commands)])
    return 0


@dataclass(frozen=True, slots=True)
class _Option:
    """An option of a command for shell completion: name, help, possible values, and whether it takes a path.

    ``takes_names`` is True if its values are names of the robot.
    """

    name: str
    about: str
    values: tuple[str, ...]
    takes_path: bool
    takes_value: bool
    takes_values: bool
    takes_names: bool


@dataclass(frozen=True, slots=True)
class _Command:
    """A command for shell completion: its options, and the possible words of its positional arguments."""

    name: str
    about: str
    options: tuple[_Option, ...]
    words: tuple[str, ...]
    takes_path: bool


def names_on_line(words: Sequence[str]) -> list[str]:
    """Return the names in a robot that can complete the command line at the cursor.

    ``words`` has the index of the word at the cursor (0: "linkwork"), followed by all words of the line. The list is
    empty if no name is expected, if the robot cannot be read, and for xacro, which could run code.
    """
    command, *line = words[2:] or [""]
    if command not in COMMANDS or not words[0].isdecimal():
        return []
    cursor = int(words[0]) - 2
    parser = _parser(command)
    for part in parser._actions:
        part.required = part.required and not part.option_strings
    for group in parser._mutually_exclusive_groups:
        group.required = False
    options = [k for k in range(cursor) if parser._is_option(line[k])]
    action = parser._option_string_actions.get(line[options[-1]]) if options else None
    if action is None:
        return []
    position = cursor - options[-1]  # of the word among the values of the option, from 1
    end = next((k for k in range(cursor, len(line)) if parser._is_option(line[k])), cursor + 1)
    names = _NAMES.get(action.metavar[0] if isinstance(action.metavar, tuple) else str(action.metavar))
    if names is None or (position > 1 and (action.nargs != "+" or isinstance(action.metavar, tuple))):
        return []
    beside = line[cursor + 1 :] if action.nargs != "+" else [*line[cursor + 1 : end][-1:], *line[end:]]
    try:
        with redirect_stderr(StringIO()):
            arguments = parser.parse_args([*line[: options[-1]], *beside])
        if arguments.file in (None, "-") or arguments.xacro:
            return []
        from linkwork.cli.arguments import robot_of

        robot = robot_of(arguments, Terminal(Stream(None), Stream(None), is_quiet=True))
        return [name for name in names(robot) if name.isprintable()]
    except (CommandError, SystemExit):
        return []


def _parser(command: str) -> CommandParser:
    parser = CommandParser(prog=command)
    import_module(f"linkwork.cli.commands.{command.replace('-', '_')}").add_arguments(parser)
    return parser


def _command(name: str, about: str) -> _Command:
    parser = _parser(name)
    options, words, takes_path = [], list[str](), False
    for action in parser._actions:
        metavar = action.metavar if isinstance(action.metavar, str) else (action.metavar or ("",))[0]
        values = tuple(map(str, action.choices or ()))
        if action.option_strings:
            takes_path = metavar in _FILES
            help_text = _short(str(action.help or ""))
            option_names = [option for option in action.option_strings if option.startswith("--")]
            form = values, takes_path, action.nargs != 0, action.nargs == "+", metavar in _NAMES
            options += [_Option(x, help_text, *form) for x in option_names]
        else:
            words += values or (robots.names() if metavar in _FILES and metavar != "SCENE" else ())
    takes_path = any(not x.option_strings and x.metavar in _FILES for x in parser._actions)
    return _Command(name, _short(about), tuple(options), tuple(dict.fromkeys(words)), takes_path)


def _short(about: str) -> str:
    """Return the beginning of a help text, without characters that are special in shells."""
    text = re.sub(r"[\"`$\\\[\]]", "", about.replace("%%", "%").replace("'", "’").replace(":", ","))
    text = re.split(r"[;(]", text)[0].strip()
    return text if len(text) <= _MAX_HELP else text[: _MAX_HELP - 3] + "..."


def _bash(commands: list[_Command]) -> Iterator[str]:
    names = " ".join([*(command.name for command in commands), "--help", "--version"])
    yield '# bash completion of linkwork: eval "$(linkwork completion bash)"'
    yield "_linkwork() {"
    yield "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} options= words= paths="
    yield "    local option= k"
    yield "    COMPREPLY=()"
    yield '    if [ "$COMP_CWORD" -eq 1 ]; then'
    yield f"        COMPREPLY=($(compgen -W '{names}' -- \"$word\"))"
    yield "        return"
    yield "    fi"
    yield '    case "${COMP_WORDS[1]} $before" in'
    for command in commands:
        for option in command.options:
            values = " ".join(option.values)
            label = f"        '{command.name} {option.name}')"
            if values:
                yield f"{label} COMPREPLY=($(compgen -W '{values}' -- \"$word\")); return;;"
            elif option.takes_path:
                yield f"{label} _linkwork_paths; return;;"
            elif option.takes_names and not option.takes_values:
                yield f"{label} _linkwork_names; return;;"
    yield "    esac"
    yield "    for ((k = COMP_CWORD - 1; k > 1; k--)); do"
    yield '        case "${COMP_WORDS[k]}" in --*) option=${COMP_WORDS[k]}; break;; esac'
    yield "    done"
    yield '    case "${COMP_WORDS[1]} $option" in'
    for command in commands:
        for option in command.options:
            if option.takes_names and option.takes_values:
                yield f"        '{command.name} {option.name}') _linkwork_names;;"
    yield "    esac"
    yield '    if [ "${#COMPREPLY[@]}" -gt 0 ]; then return; fi'
    yield '    case "${COMP_WORDS[1]}" in'
    for command in commands:
        names = " ".join(option.name for option in command.options)
        paths = "yes" if command.takes_path else ""
        yield f"        {command.name}) options='{names}' words='{' '.join(command.words)}' paths='{paths}';;"
    yield "    esac"
    yield '    case "$word" in'
    yield '        -*) COMPREPLY=($(compgen -W "$options" -- "$word"));;'
    yield "        *)"
    yield '            COMPREPLY+=($(compgen -W "$words" -- "$word"))'
    yield '            if [ -n "$paths" ]; then _linkwork_paths; fi;;'
    yield "    esac"
    yield "}"
    yield "_linkwork_paths() {"
    yield "    local IFS=$'\\n'"
    yield "    compopt -o filenames"
    yield '    COMPREPLY+=($(compgen -f -- "$word"))'
    yield "}"
    yield "_linkwork_names() {  # names of a file are not expanded, as compgen -W would do"
    yield "    local name"
    yield "    while IFS= read -r name; do"
    yield '        if [[ $name != "$word"* ]]; then continue; fi'
    yield "        if [[ $name == *= ]]; then compopt -o nospace; fi"
    yield '        COMPREPLY+=("$(printf %q "${name%=}")${name##*[!=]}")'
    yield '    done < <(linkwork completion names "$COMP_CWORD" "${COMP_WORDS[@]}" 2>/dev/null)'
    yield "}"
    yield "complete -F _linkwork linkwork"


def _zsh(commands: list[_Command]) -> Iterator[str]:
    yield "#compdef linkwork"
    yield '# zsh completion of linkwork: eval "$(linkwork completion zsh)", or a file _linkwork in $fpath'
    yield "_linkwork() {"
    yield "    local -a commands"
    yield "    commands=("
    for command in commands:
        yield f"        '{command.name}:{command.about}'"
    yield "    )"
    yield "    if (( CURRENT == 2 )); then"
    yield "        _describe -t commands 'command' commands"
    yield "        return"
    yield "    fi"
    yield "    local command=$words[2]"
    yield "    shift words"
    yield "    (( CURRENT-- ))"
    yield "    case $command in"
    for command in commands:
        yield f"        {command.name})"
        yield "            _arguments \\"
        for option in command.options:
            dynamic = "_linkwork_names" if option.takes_names else " "
            action = f"({' '.join(option.values)})" if option.values else "_files" if option.takes_path else dynamic
            value = f":value:{action}" if option.takes_value else ""
            yield f"                '*{option.name}[{option.about}]{value}' \\"
        words = f"({' '.join(command.words)})" if command.words else " "
        action = "_files" if command.takes_path else words
        if command.takes_path and command.words:
            action = f'{{_alternative "words:word:{words}" "files:file:_files"}}'
        yield f"                '*:argument:{action}'"
        yield "            ;;"
    yield "    esac"
    yield "}"
    yield "_linkwork_names() {"
    yield "    local -a names values"
    yield '    names=(${(f)"$(linkwork completion names $CURRENT linkwork $words 2>/dev/null)"})'
    yield "    values=(${(M)names:#*=})"
    yield "    names=(${names:#*=})"
    yield "    compadd -a -- names"
    yield "    compadd -S '' -a -- values"
    yield "}"
    yield 'if [ "$funcstack[1]" = _linkwork ]; then _linkwork "$@"; else compdef _linkwork linkwork; fi'


def _fish(commands: list[_Command]) -> Iterator[str]:
    yield "# fish completion of linkwork: linkwork completion fish > ~/.config/fish/completions/linkwork.fish"
    yield "function __linkwork_names"
    yield "    linkwork completion names (count (commandline -opc)) (commandline -o) 2>/dev/null"
    yield "end"
    yield "complete -c linkwork -f"
    for command in commands:
        yield f"complete -c linkwork -n __fish_use_subcommand -a {command.name} -d '{command.about}'"
        condition = f"-n '__fish_seen_subcommand_from {command.name}'"
        if command.words:
            yield f"complete -c linkwork {condition} -a '{' '.join(command.words)}'"
        if command.takes_path:
            yield f"complete -c linkwork {condition} -F"
        for option in command.options:
            value = ""
            if option.values:
                value = f" -x -a '{' '.join(option.values)}'"
            elif option.takes_names:
                value = " -x -a '(__linkwork_names)'"
            elif option.takes_value:
                value = " -r -F" if option.takes_path else " -x"
            yield f"complete -c linkwork {condition} -l {option.name[2:]}{value} -d '{option.about}'"


_SCRIPTS = {"bash": _bash, "zsh": _zsh, "fish": _fish}
