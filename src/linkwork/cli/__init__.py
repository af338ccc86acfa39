"""The command line: `linkwork demo`, `info`, `robots`, `bench` and `cache`."""
