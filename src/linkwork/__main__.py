"""`python -m linkwork` is the command line."""

from .cli.main import main

raise SystemExit(main())
