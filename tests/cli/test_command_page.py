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

This page lists all commands of `linkwork`, their options and exit codes. It is generated from the parsers of the
commands. `linkwork COMMAND --help` prints the same text.

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

Options may stand before and after the files. An option with several values, such as `--q`, ends before a file. The
second file of `compare` and similar commands must stand before options whose values are folders. Pass a configuration
as all numbers of q, as `NAME=NUMBER` for some coordinates, or as the name of a named configuration. With `--json` a
command prints one JSON document to standard output. Warnings and errors go to standard error.

Numbers are in SI units, and angles in rad. A unit may follow a number: `rad`, `deg` or `°`, `m`, `cm` or `mm`, `rad/s`,
`deg/s` or `rpm`, `m/s` or `mm/s`, `kg` or `g`, such as `--q 30deg -90deg`, `--v crank=60rpm` and `--pose 300mm 0 0.5`.
A unit that does not fit the quantity is an error. Results are in SI units.

`--srdf` and `--joint-limits` read MoveIt's files beside a robot's file: pairs of links that do not collide, named
configurations, and limits. In all commands, `--payload FRAME MASS [X Y Z]` adds a load to a frame of the robot;
repeat the option for several loads.

In robots with loops, joints with `NAME=NUMBER` keep these values, and the other joints close the loops. If all numbers
of q are passed, four digits are sufficient: joints move by at most 1e-3 [rad, m] to close the loops.

`@FILE` stands for the numbers of a vector, a pose or limits. The file has the suffix `.json`, `.csv`, `.npz` or `.npy`.
It contains a list, an object with a number for each coordinate, or named arrays, as `--output` and `--json` write them.
`@FILE:NAME` selects an array. `@FILE:ROW` and `@FILE:NAME:ROW` select a row; the row `-1` is the last row.
`NAME=NUMBER` after a file changes coordinates. `@-` reads JSON
or a table of numbers from standard input.

```bash
linkwork ik robot.urdf --frame hand --pose @grasp.json --output grasp_q.json
linkwork plan robot.urdf --goal @grasp_q.json --output path.npz
linkwork simulate robot.urdf --q @run.npz:q:-1 --v @run.npz:v:-1
linkwork ik robot.urdf --frame hand --position 0.4 0.1 0.3 --json | linkwork jacobian robot.urdf --frame hand --q @-
```

Some commands take tables: files with a row for each configuration or state. `pose`, `jacobian`, `dynamics` and
`distances` compute all rows, and `--output` writes a table (`.csv`) or arrays (`.npz`):

```bash
linkwork pose robot.urdf --frame hand --q @rows.csv --output poses.csv
linkwork dynamics robot.urdf --q @run.npz --v @run.npz --a @a.csv --output torques.csv
```

`--output` writes a file in the format of its ending: tables (`.csv`), arrays (`.npz`), messages of ROS (`.yaml`,
`.json`), pages (`.html`), models (`.glb`), and pictures and films (`.png`, `.mp4`, extra `pictures`). `view --motion`
and `view --map` show files that other commands wrote; `view --motion path.csv --png path.png` draws the whole motion.

`convert` selects the format by the suffix of the second file. The output `-` is standard output, with `--to`:
`linkwork convert arm.urdf - --to xml`. `--hulls` replaces the mesh files of collision shapes by convex hulls, which all
formats can have.

`linkwork completion SHELL` prints a script for bash, zsh or fish, which completes commands, options, values, files and
names of built-in robots. If the command line contains a robot, the script also completes names of its frames, joints,
coordinates and named configurations. Xacro files are not expanded, so their names are not completed. For bash, put
`eval "$(linkwork completion bash)"` into `~/.bashrc`. For zsh, put `eval "$(linkwork completion zsh)"` into `~/.zshrc`,
after `compinit`. For fish, store the script as `~/.config/fish/completions/linkwork.fish`.

In continuous integration, `check` fails (exit code 1) for errors. With `--fail-on-warning` it also fails for warnings,
and with `--fail-on CODE ...` for findings with these codes, also notes such as `MESH_MISSING`. `--ignore CODE ...`
leaves out known findings. The [codes](robot_files.md#codes) are in the output.

```bash
linkwork check robots/*.urdf --fail-on-warning --fail-on MESH_MISSING --ignore LIMIT_MISSING
```

"""

ERRORS = """Errors are written to standard error. With `--json`, standard output also has a document: `error` is the
message, `exit_code` is the exit code, and `issues` lists the errors of a file with `code`, `message`, `hint`, `file`,
`line`, `column` and `element`. `warnings` lists the file's repairs and notes, with the same fields. Only documents of
errors have the key `error`."""


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
