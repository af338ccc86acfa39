"""Commands of the command line, one file each; a file's name is the command's."""
