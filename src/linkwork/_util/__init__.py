"""Small private modules that every room may use: messages, checks of arguments, files, threads, locks."""
