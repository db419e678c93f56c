"""Files on HDFS as the Python of Spark's workers reaches them: over HTTP, as every name node answers (WebHDFS)."""

from __future__ import annotations

import errno
import http.client
import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from windrow.storage.errors import read_error, write_error
from windrow.storage.files import NotForWorkers
from windrow.storage.filesystem import temporary_name

if TYPE_CHECKING:
    from windrow.storage.jvm import Hadoop

SCHEMES = frozenset({"hdfs"})
_SECONDS = 60.0
_PORT = 9870
# Of one name node that stands by: another one answers.
_STANDBY = "StandbyException"


def web_hdfs_files(hadoop: Hadoop, address: str) -> WebHdfsFiles | NotForWorkers:
    """Where the name node, or each of several, answers over HTTP, as the configuration has it (``dfs.namenode.http-address``)."""
    if (hadoop.setting("hadoop.security.authentication") or "simple").lower() != "simple":
        return NotForWorkers("HDFS asks for Kerberos there, for which workers have no ticket")
    if hadoop.setting("dfs.http.policy") == "HTTPS_ONLY":
        return NotForWorkers("the name node answers over HTTPS only")
    authority = urllib.parse.urlsplit(address).netloc
    several = hadoop.setting(f"dfs.ha.namenodes.{authority}")
    if several:
        keys = [f"dfs.namenode.http-address.{authority}.{one.strip()}" for one in several.split(",")]
        pages = [found for key in keys if (found := hadoop.setting(key))]
        if not pages:
            return NotForWorkers(f"nothing says where its name nodes answer over HTTP ({keys[0]})")
    else:
        pages = [_page(authority, hadoop.setting("dfs.namenode.http-address"))]
    return WebHdfsFiles(address.rstrip("/"), tuple(f"http://{page}" for page in pages), hadoop.user())


def _page(authority: str, configured: str | None) -> str:
    """
    >>> _page("nn:8020", "0.0.0.0:9870"), _page("nn:8020", "other:50070"), _page("nn", None)
    ('nn:9870', 'other:50070', 'nn:9870')
    """
    host, _, port = (configured or "").rpartition(":")
    # The default says no host, and is the port of the name node that the address names.
    named = host if host not in ("", "0.0.0.0") else authority.partition(":")[0]
    return f"{named}:{port or _PORT}"


class _Refusal(Exception):  # noqa: N818  # what the name node says, until it is known what it is said of
    def __init__(self, reason: str, kind: str) -> None:
        super().__init__(reason)
        self.kind = kind


@dataclass(frozen=True)
class WebHdfsFiles:
    path: str
    pages: tuple[str, ...]
    user: str

    def child(self, name: str, /) -> WebHdfsFiles:
        return WebHdfsFiles(f"{self.path}/{name}", self.pages, self.user)

    def names(self) -> list[str]:
        with self._failing_as(read_error, ""):
            try:
                found = json.loads(self._ask("GET", "", "LISTSTATUS"))["FileStatuses"]["FileStatus"]
            except _Refusal as refusal:
                if refusal.kind == "FileNotFoundException":
                    return []
                raise
        names = (entry["pathSuffix"] for entry in found if entry["type"] == "FILE")
        return sorted(name for name in names if not name.startswith("."))

    def read(self, name: str, /) -> bytes:
        with self._failing_as(read_error, name):
            return self._ask("GET", name, "OPEN")

    def replace_atomically(self, name: str, data: bytes, /) -> None:
        """Written beside its place and synced to the data nodes' disks, then renamed in one step."""
        temporary = temporary_name(name)
        with self._failing_as(write_error, name):
            try:
                self._ask("PUT", temporary, "CREATE", data=data, createflag="CREATE,OVERWRITE,SYNC_BLOCK")
                self._ask("PUT", temporary, "RENAME", destination=self._at(name), renameoptions="OVERWRITE")
            except Exception:
                # The target is as it was; what failed is told, not what failed in tidying up after it.
                with suppress(Exception):
                    self._ask("DELETE", temporary, "DELETE")
                raise

    def remove(self, name: str, /) -> None:
        with self._failing_as(write_error, name):
            self._ask("DELETE", name, "DELETE")

    def _at(self, name: str) -> str:
        place = urllib.parse.urlsplit(self.path).path
        return f"{place}/{name}" if name else place or "/"

    def _ask(self, method: str, name: str, operation: str, data: bytes | None = None, **parameters: str) -> bytes:
        """What the first name node that does not stand by answers."""
        query = urllib.parse.urlencode({"op": operation, "user.name": self.user, **parameters})
        last: Exception | None = None
        for page in self.pages:
            url = f"{page}/webhdfs/v1{urllib.parse.quote(self._at(name))}?{query}"
            try:
                return _answer(method, url) if data is None else _answer("PUT", _place_for(url), data)
            except _Refusal as refusal:
                if refusal.kind != _STANDBY:
                    raise
                last = refusal
            except OSError as error:
                last = error
        assert last is not None, "there is a name node"
        raise last

    @contextmanager
    def _failing_as(self, failure: Any, name: str) -> Iterator[None]:
        try:
            yield
        except (OSError, http.client.HTTPException, _Refusal) as error:
            number = errno.ENOENT if isinstance(error, _Refusal) and error.kind == "FileNotFoundException" else errno.EIO
            raise failure(f"{self.path}/{name}" if name else self.path, " ".join(str(error).split())[:300], number) from error


def _place_for(url: str) -> str:
    """The data node that takes a new file: the name node answers with its address."""
    return str(json.loads(_answer("PUT", f"{url}&noredirect=true"))["Location"])


def _answer(method: str, url: str, data: bytes | None = None) -> bytes:
    request = urllib.request.Request(url, method=method, data=data, headers={"Content-Type": "application/octet-stream"})
    try:
        # Machines of one cluster: what the environment says of proxies is for the world outside.
        with _DIRECT.open(request, timeout=_SECONDS) as answer:
            return bytes(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            raise _refusal(error.code, error.read()) from error
    except urllib.error.URLError as error:
        # A data node has an address of its own, which the name node has given.
        raise OSError(f"{urllib.parse.urlsplit(url).netloc} does not answer: {error.reason}") from error


_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def _refusal(status: int, body: bytes) -> _Refusal:
    """
    >>> _refusal(404, b'{"RemoteException": {"exception": "FileNotFoundException", "message": "File /a does not exist."}}')
    _Refusal('FileNotFoundException: File /a does not exist.')
    """
    try:
        told = json.loads(body)["RemoteException"]
        return _Refusal(f"{told['exception']}: {str(told['message']).partition(chr(10))[0]}", str(told["exception"]))
    except (ValueError, LookupError, TypeError):
        return _Refusal(f"the answer was {status}", "")
