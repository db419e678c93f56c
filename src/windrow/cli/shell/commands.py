"""The commands of the shell itself."""

COMMANDS = {
    "\\d": "list streams and tables; \\d NAME describes one",
    "\\explain": "how a statement would run: \\explain SELECT ...",
    "\\q": "leave (or Ctrl-D)",
    "\\?": "this list",
}
