"""SQLite for Windrow: a connector, an aggregate and a function by entry points."""
