"""Reference data: tables that are loaded, refreshed, and looked up as of a batch."""
