"""The HTTP API: what is asked at which path, who may, and how errors are told."""
