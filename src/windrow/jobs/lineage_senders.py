"""The two ways of an event of lineage: a POST to a consumer, or a line of a file."""

from __future__ import annotations

import http.client
import json
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from windrow.settings import load_settings

Sender = Callable[[Mapping[str, Any]], None]
# Where consumers take events, if the address names no path.
ENDPOINT = "/api/v1/lineage"
_SECONDS = 5.0
# Jobs of one file write into one file.
_FILE_LOCK = threading.Lock()


def sender_to(url: str) -> Sender:
    """What delivers one event or raises an OSError. The token for a consumer comes from ``WINDROW_LINEAGE_TOKEN``."""
    parts = urlsplit(url)
    if parts.scheme in ("http", "https"):
        address = url if parts.path.strip("/") else f"{url.rstrip('/')}{ENDPOINT}"
        return lambda event: _post(address, event, load_settings().lineage_token)
    path = Path(unquote(parts.path) if parts.scheme == "file" else url)
    return lambda event: _append(path, event)


def _post(address: str, event: Mapping[str, Any], token: str | None) -> None:
    headers = {"content-type": "application/json", **({"authorization": f"Bearer {token}"} if token else {})}
    request = urllib.request.Request(address, json.dumps(event, ensure_ascii=False).encode(), headers, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS) as response:
            response.read()
    except urllib.error.HTTPError as error:
        with error:
            raise OSError(f"{address} answers {error.code} {error.reason}") from None
    except http.client.HTTPException as error:
        raise OSError(f"{address}: {type(error).__name__}: {error}") from error


def _append(path: Path, event: Mapping[str, Any]) -> None:
    line = json.dumps(event, separators=(",", ":"), ensure_ascii=False) + "\n"
    with _FILE_LOCK:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as out:
            out.write(line)
