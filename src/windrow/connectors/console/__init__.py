"""Rows printed for people (tables) or for other programs (JSON lines), batch by batch."""
