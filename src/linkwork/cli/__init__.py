"""The command line: `linkwork COMMAND`, a file for each command in `commands`."""
