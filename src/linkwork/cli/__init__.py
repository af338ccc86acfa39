"""The command line: `linkwork demo`, `info`, `robots` and `bench`."""
