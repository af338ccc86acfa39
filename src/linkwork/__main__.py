"""`python -m linkwork` is the command line."""

from linkwork.cli.main import main

raise SystemExit(main())
