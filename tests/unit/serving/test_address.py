"""Where a job may listen: what is understood, and what is refused before anything opens."""

from __future__ import annotations

from pathlib import Path

import pytest

from windrow.errors import UsageError
from windrow.serving import parse_listen

TOKEN = "0123456789abcdef0123"


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [("127.0.0.1:9464", "127.0.0.1", 9464), ("localhost:0", "localhost", 0), ("[::1]:80", "::1", 80)],
)
def test_loopback_needs_no_token(text: str, host: str, port: int) -> None:
    found = parse_listen(text)
    assert (found.host, found.port, found.token) == (host, port, None)


def test_a_socket_is_named_by_its_path() -> None:
    assert parse_listen("unix:/tmp/job.sock").path == "/tmp/job.sock"


@pytest.mark.parametrize("text", ["9464", ":9464", "127.0.0.1", "http://127.0.0.1:9464", "127.0.0.1:99999", "unix:", "::1:80", ""])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_listen(text)
    assert refused.value.code == "WR631"
    assert "127.0.0.1:9464" in str(refused.value.hint)


@pytest.mark.parametrize("text", ["0.0.0.0:9464", "[::]:9464", "example.org:9464"])
def test_an_address_that_others_reach_needs_a_token(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_listen(text)
    assert refused.value.code == "WR633"
    assert parse_listen(text, TOKEN).token == TOKEN


def test_a_token_is_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    assert parse_listen("0.0.0.0:1", None, file).token == TOKEN
    assert TOKEN not in repr(parse_listen("0.0.0.0:1", None, file))


@pytest.mark.parametrize("content", [None, "short", "a token with spaces in it", ""])
def test_a_token_that_is_none_is_refused(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "token"
    if content is not None:
        file.write_text(content)
    with pytest.raises(UsageError) as refused:
        parse_listen("0.0.0.0:1", None, file)
    assert refused.value.code == "WR634"
