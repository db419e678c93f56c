"""What the files connector does: the two doors that the engine opens, and what users read back."""

from __future__ import annotations

from windrow.connectors.files.failures import explain_failure
from windrow.connectors.files.manifest import Manifest, committed_files, forget_after, read_manifest
from windrow.connectors.files.sink import open_sink
from windrow.connectors.files.source import open_source

__all__ = ["Manifest", "committed_files", "explain_failure", "forget_after", "open_sink", "open_source", "read_manifest"]
