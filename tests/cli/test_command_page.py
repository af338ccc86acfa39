"""The page of commands equals their parsers.

`python -m pytest tests/cli/test_command_page.py -n0 --update-golden` writes the page anew.
"""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path

from linkwork.cli.arguments import add_robot
from linkwork.cli.commands import COMMANDS
from linkwork.cli.output import EXIT_CODES
from linkwork.cli.parser import CommandParser

PAGE = Path(__file__).parents[2] / "docs" / "command_line.md"
BEGIN = """# Command line

This page lists all commands of `linkwork`, their options and exit codes. A program writes it from the parsers of the
commands. `linkwork COMMAND --help` prints the same.

```bash
linkwork info robot.urdf
linkwork pose robot.urdf --frame hand --q 0.1 0 0.4
linkwork ik --frame hand --pose 0.4 0.1 0.3 3.14 0 0 robot.urdf --json
xacro robot.xacro | linkwork check -
linkwork check-scene cell.yaml robot.urdf
linkwork plan robot.urdf --scene cell.yaml --pose hand 0.4 0.1 0.3 3.14 0 0 --acceleration 5 --output path.yaml
linkwork view robot.urdf --scene cell.yaml --motion path.yaml
eval "$(linkwork completion bash)"
```

Options may stand before and after the files. An option of several words, such as `--q`, ends before a file. An
optional second file, as of `compare`, must stand before options that take folders. A configuration is all numbers of q,
`NAME=NUMBER` for some coordinates, or the name of a named configuration. With `--json` a command prints one JSON
document to standard output. Warnings and errors go to standard error.

Numbers are in SI units, and angles in rad. A unit may follow a number: `rad`, `deg` or `°`, `m`, `cm` or `mm`, `rad/s`,
`deg/s` or `rpm`, `m/s` or `mm/s`, `kg` or `g`, such as `--q 30deg -90deg`, `--v crank=60rpm` and `--pose 300mm 0 0.5`.
A unit of another kind than that of the coordinate is an error. Results are in SI units.

`--srdf` and `--joint-limits` read MoveIt's files beside a robot's file: pairs of links that do not collide, named
configurations, and limits. `--payload FRAME MASS [X Y Z]` adds a load to a frame of the robot in all commands. It is
repeated for several loads.

In robots with loops, joints with `NAME=NUMBER` keep these values, and the others close the loops. Numbers for all of q
may have four digits: joints move by at most 1e-3 [rad, m] to close the loops.

`@FILE` stands for the numbers of a vector, a pose or limits. The file has the suffix `.json`, `.csv`, `.npz` or `.npy`,
as Python and other commands write it: a list, an object with a number for each coordinate, or arrays by name, as
`--output` and `--json` write them. `@FILE:NAME` selects an array. `@FILE:ROW` and `@FILE:NAME:ROW` select a row, and
`-1` the last one. `NAME=NUMBER` after a file changes coordinates. `@-` reads JSON
or a table of numbers from standard input.

```bash
linkwork ik robot.urdf --frame hand --pose @grasp.json --output grasp_q.json
linkwork plan robot.urdf --goal @grasp_q.json --output path.npz
linkwork simulate robot.urdf --q @run.npz:q:-1 --v @run.npz:v:-1
linkwork ik robot.urdf --frame hand --position 0.4 0.1 0.3 --json | linkwork jacobian robot.urdf --frame hand --q @-
```

`--output` writes a file in the format of its ending: tables (`.csv`), arrays (`.npz`), messages of ROS (`.yaml`,
`.json`), pages (`.html`), models (`.glb`), and pictures and films (`.png`, `.mp4`, extra `pictures`). `view --motion`
and `view --map` show files that commands wrote; `view --motion path.csv --png path.png` draws the whole motion.

`linkwork completion SHELL` prints the script with which bash, zsh or fish completes commands, options, values, files
and names of built-in robots. If a robot is on the line, it also completes names of its frames, joints, coordinates and
named configurations, but not those of xacro files, which it does not expand. Put `eval "$(linkwork completion bash)"`
into `~/.bashrc`, the same with zsh after `compinit` into `~/.zshrc`, and store the script of fish as
`~/.config/fish/completions/linkwork.fish`.

A script can select findings of `check` by their code, also notes such as `MESH_MISSING`, here with the program jq:

```bash
linkwork check robot.urdf --json | jq -e 'all(.model.findings[]; .code != "MESH_MISSING")'
```

"""

ERRORS = """An error goes to standard error. With `--json`, standard output has a document, too: `error` is the message,
`exit_code` its code, and `issues` the errors of a file with `code`, `message`, `hint`, `file`, `line`, `column` and
`element`; `warnings` are its repairs and notes, with the same fields. Other documents have no key `error`."""


def rows(parser: argparse.ArgumentParser, omitted: set[str]) -> list[str]:
    lines = []
    for action in parser._actions:
        name = (action.option_strings or [str(action.metavar or action.dest)])[0]
        if name == "-h" or name in omitted:
            continue
        metavar = action.metavar[-1] if isinstance(action.metavar, tuple) else action.metavar
        values = "\\|".join(map(str, action.choices)) if action.choices else str(metavar or "")
        words = [*action.option_strings] if action.nargs == 0 else [name]
        value = "" if action.nargs == 0 or not action.option_strings else f" {values}{' ...' * (action.nargs == '+')}"
        about = str(action.help or "").replace("|", "\\|")
        lines.append(f"| `{', '.join(words)}{value}` | {about}{'; required' if action.required and value else ''} |")
    return lines


def page() -> str:
    """Return the text of the page."""
    shared = CommandParser()
    add_robot(shared)
    names = {(action.option_strings or [action.dest])[0] for action in shared._actions} - {"file"}
    head = ["| option | meaning |", "| :-- | :-- |"]
    lines = ["## Commands", "", "| command | result |", "| :-- | :-- |"]
    lines += [f"| [`{name}`](#{name}) | {about} |" for name, about in COMMANDS.items()]
    lines += ["", "## Exit codes", "", "| code | meaning |", "| --: | :-- |"]
    lines += [f"| {code} | {about} |" for code, about in EXIT_CODES.items()]
    lines += ["", ERRORS]
    lines += ["", "## Options of all commands that read a robot", "", *head, *rows(shared, {"FILE"})]
    for name, about in COMMANDS.items():
        parser = CommandParser()
        import_module(f"linkwork.cli.commands.{name.replace('-', '_')}").add_arguments(parser)
        options = {(action.option_strings or [action.dest])[0] for action in parser._actions}
        table = rows(parser, names if names <= options else set())
        lines += ["", f"## {name}", "", f"{about[0].upper()}{about[1:]}.", "", *head, *table]
    return BEGIN + "\n".join(lines) + "\n"


def test_generated_page_of_commands_equals_the_command_line_parsers(update_golden):
    text = page()
    if update_golden:
        PAGE.write_text(text, encoding="utf-8")
    hint = "python -m pytest tests/cli/test_command_page.py -n0 --update-golden writes the page"
    assert PAGE.read_text(encoding="utf-8") == text, hint
