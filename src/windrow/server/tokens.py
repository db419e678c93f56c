"""Bearer tokens: what each may do, how they are made, and the first one."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Sequence
from pathlib import Path

from windrow.errors import UsageError
from windrow.server.registry import Registry, Token, now_millis

READ, DATA, OPERATE, DEPLOY, ADMIN = "read", "data", "operate", "deploy", "admin"
SCOPES = {
    READ: "see jobs, their status, SQL and events",
    DATA: "see rows: dead letters hold what came in",
    OPERATE: "stop, start and restart jobs, replay dead letters",
    DEPLOY: "deploy SQL, which is to run code as the server's user",
    ADMIN: "everything, tokens and the audit included",
}
ADMIN_FILE = "admin-token"
_PREFIX, _LEAST = "wdr_", 40


def digest(token: str) -> str:
    """Only this is kept: a copy of the registry opens nothing."""
    return hashlib.sha256(token.encode()).hexdigest()


def new_token(registry: Registry, name: str, scopes: Sequence[str], expires_at: int | None = None) -> tuple[str, str]:
    """Id and token. The token is shown this once."""
    unknown = [scope for scope in scopes if scope not in SCOPES]
    if unknown or not scopes:
        raise UsageError("WR925", f"a token has some of the scopes {', '.join(SCOPES)}, not {', '.join(unknown) or 'none'}", "--scope read")
    token, id_ = _PREFIX + secrets.token_urlsafe(32), secrets.token_hex(6)
    ordered = [scope for scope in SCOPES if scope in scopes]
    registry.add_token(id_, name, digest(token), ordered, expires_at)
    return id_, token


def find_token(registry: Registry, token: str) -> Token | None:
    """None where it is unknown or has expired."""
    found = registry.token_of(digest(token))
    if found is None or (found.expires_at is not None and found.expires_at <= now_millis()):
        return None
    registry.note_use(found)
    return found


def may(token: Token, scope: str) -> bool:
    """
    >>> token = Token("1", "ci", ("read", "deploy"), 0, None, None)
    >>> may(token, "deploy"), may(token, "admin")
    (True, False)
    """
    return scope in token.scopes or ADMIN in token.scopes


def admin_token(registry: Registry, folder: Path) -> Path:
    """The file with the token of whoever started the server, for its owner's eyes; made where it is missing or no longer good."""
    path = folder / ADMIN_FILE
    known = path.read_text(encoding="utf-8").strip() if path.exists() else ""
    if known and find_token(registry, known) is not None:
        return path
    if known.startswith(_PREFIX) and len(known) >= _LEAST and registry.token_of(digest(known)) is None:
        # A registry that is new knows no token; whoever reads this file has the one of before.
        registry.add_token(secrets.token_hex(6), "admin", digest(known), (ADMIN,), None)
        return path
    _, token = new_token(registry, "admin", (ADMIN,))
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(token + "\n")
    return path
