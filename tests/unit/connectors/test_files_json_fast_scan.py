"""Which files Spark's reader of JSON may read: told by their bytes, and the same as by their lines."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.connectors.files.json_fast_scan import is_plain, is_plain_file

PIECES = [b"{", b"}", b"\n", b"\r", b'"a": 1', b"[", b"]", b" ", b"\x00", b"{}", b'{"a": 1}\n', b'{"a": "x"}\n{"a": 2}']


def _by_lines(data: bytes) -> bool:
    lines = data.removesuffix(b"\n").split(b"\n")
    is_one_object = all(line.startswith(b"{") and line.endswith(b"}") and line.count(b"}") == 1 for line in lines)
    return data in (b"", b"\n") or (is_one_object and b"\x00" not in data)


@pytest.mark.parametrize(
    ("data", "plain"),
    [
        (b"", True),
        (b"{}", True),
        (b'{"a": 1}\n{"a": "\xc3\xb6"}\n', True),
        (b'{"a": 1}\n{"a": 2}', True),
        (b'{"a": 1} {"a": 2}\n', False),
        (b'{"a": 1}{"a": 2}\n', False),
        (b'{"a": {"b": 2}}\n', False),
        (b'{"a": "}"}\n', False),
        (b'[{"a": 1}]\n', False),
        (b'{"a": 1}\n\n{"a": 2}\n', False),
        (b'{"a": 1}\n\n', False),
        (b'{"a": 1}\r\n{"a": 2}\r\n', False),
        (b'{"a": 1}\n null\n{"a": 2}\n', False),
        (b'{"a": 1\n}\n', False),
        (b'\xef\xbb\xbf{"a": 1}\n', False),
        (b'{\x00"\x00a\x00"\x00}', False),
    ],
)
def test_is_plain(data: bytes, plain: bool) -> None:
    assert is_plain(pa.py_buffer(data)) is plain
    assert _by_lines(data) is plain


@given(st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join))
def test_by_bytes_as_by_lines(data: bytes) -> None:
    assert is_plain(pa.py_buffer(data)) is _by_lines(data)


@pytest.mark.parametrize("data", [b"", b'{"a": 1}\n', b'{"a": 1} 2\n'])
def test_files(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.json").write_bytes(data)
    assert is_plain_file(str(tmp_path / "a.json")) is _by_lines(data)
