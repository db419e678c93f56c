"""Rows held in the process: what cases feed in and read back."""
