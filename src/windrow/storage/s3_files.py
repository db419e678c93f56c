"""Files on S3 as the Python of Spark's workers reaches them, by Arrow's own client: the executors' Java is not theirs to ask."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from windrow.storage.errors import read_error, write_error
from windrow.storage.files import NotForWorkers

if TYPE_CHECKING:
    from windrow.storage.jvm import Hadoop

_READS = 20
SCHEMES = frozenset({"s3a", "s3", "s3n"})
_ANONYMOUS = "AnonymousAWSCredentialsProvider"
# Providers that only say where a key stands which is looked up here, or where Arrow's client looks by itself.
_KNOWN_PROVIDERS = (
    "TemporaryAWSCredentialsProvider",
    "SimpleAWSCredentialsProvider",
    "EnvironmentVariableCredentialsProvider",
    "IAMInstanceCredentialsProvider",
    "InstanceProfileCredentialsProvider",
    "ProfileAWSCredentialsProvider",
    "ProfileCredentialsProvider",
    "DefaultCredentialsProvider",
    "WebIdentityTokenFileCredentialsProvider",
    "ContainerCredentialsProvider",
    _ANONYMOUS,
)


@dataclass(frozen=True)
class S3Access:
    """How a bucket is reached. Without a key, Arrow's client looks where those of AWS look: variables, profiles, the machine's role."""

    key: str | None = None
    secret: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    region: str | None = None
    endpoint: str | None = None
    scheme: str = "https"
    is_anonymous: bool = False
    has_bucket_in_path: bool = False


def s3_files(hadoop: Hadoop, address: str) -> S3Files | NotForWorkers:
    """With the settings that Hadoop's own client has (``fs.s3a.*``), those of one bucket before those of all."""
    bucket = address.partition("://")[2].partition("/")[0]

    def setting(name: str, *, is_secret: bool = False) -> str | None:
        for key in (f"fs.s3a.bucket.{bucket}.{name}", f"fs.s3a.{name}"):
            found = hadoop.secret(key) if is_secret else hadoop.setting(key)
            if found is not None and found.strip():
                return found.strip()
        return None

    provider = setting("aws.credentials.provider") or ""
    unknown = [name for name in provider.replace("\n", ",").split(",") if name.strip() and not name.strip().endswith(_KNOWN_PROVIDERS)]
    if unknown:
        return NotForWorkers(f"its credentials come from {unknown[0].strip()}, which only Java can ask")
    if setting("encryption.algorithm") not in (None, "SSE_S3", "AES256"):
        return NotForWorkers(f"what is written there is encrypted by {setting('encryption.algorithm')}, which Arrow's client is not told")
    endpoint = setting("endpoint")
    is_plain = setting("connection.ssl.enabled") == "false"
    scheme = "http" if is_plain else "https"
    if endpoint is not None and "://" in endpoint:
        scheme, _, endpoint = endpoint.partition("://")
    access = S3Access(
        key=setting("access.key", is_secret=True),
        secret=setting("secret.key", is_secret=True),
        token=setting("session.token", is_secret=True),
        region=setting("endpoint.region"),
        # The address of all regions: the client finds its region's own.
        endpoint=None if endpoint in (None, "s3.amazonaws.com") else endpoint,
        scheme=scheme,
        is_anonymous=provider.strip().endswith(_ANONYMOUS),
        has_bucket_in_path=setting("path.style.access") == "true",
    )
    return S3Files(address.rstrip("/"), access)


@dataclass(frozen=True)
class S3Files:
    """An upload appears when it is complete, in the place of what was there."""

    path: str
    access: S3Access

    def child(self, name: str, /) -> S3Files:
        return S3Files(f"{self.path}/{name}", self.access)

    def names(self) -> list[str]:
        from pyarrow.fs import FileSelector, FileType

        with self._failing_as(read_error, ""):
            found = _filesystem(self.access).get_file_info(FileSelector(self._at(""), allow_not_found=True))
        return sorted(info.base_name for info in found if info.type == FileType.File and not info.base_name.startswith("."))

    def read(self, name: str, /) -> bytes:
        """All of one version: Arrow's client asks for the size and then for so many bytes, between which a file may be replaced."""
        failed = OSError(errno.EBUSY, "it is being replaced all the time")
        with self._failing_as(read_error, name):
            for _ in range(_READS):
                stream = self._open(name)
                version = stream.metadata()["ETag"]
                try:
                    data = bytes(stream.read())
                except OSError as error:
                    # Of the version before, there may have been more bytes to ask for.
                    failed = error
                    continue
                if self._open(name).metadata()["ETag"] == version:
                    return data
            raise failed

    def _open(self, name: str) -> Any:
        return _filesystem(self.access).open_input_stream(self._at(name))

    def replace_atomically(self, name: str, data: bytes, /) -> None:
        # What fails before the stream is closed leaves the old object: an upload that is not completed is none.
        with self._failing_as(write_error, name):
            stream = _filesystem(self.access).open_output_stream(self._at(name))
            stream.write(data)
            stream.close()

    def remove(self, name: str, /) -> None:
        with self._failing_as(write_error, name):
            try:
                _filesystem(self.access).delete_file(self._at(name))
            except FileNotFoundError:
                return

    def _at(self, name: str) -> str:
        place = self.path.partition("://")[2]
        return f"{place}/{name}" if name else place

    @contextmanager
    def _failing_as(self, failure: Any, name: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            reason = " ".join(str(error).split())[:300]
            raise failure(f"{self.path}/{name}" if name else self.path, reason, error.errno or errno.EIO) from error


@lru_cache(maxsize=4)
def _filesystem(access: S3Access) -> Any:
    from pyarrow.fs import S3FileSystem

    return S3FileSystem(
        access_key=access.key,
        secret_key=access.secret,
        session_token=access.token,
        anonymous=access.is_anonymous,
        region=access.region,
        endpoint_override=access.endpoint,
        scheme=access.scheme,
        force_virtual_addressing=access.endpoint is not None and not access.has_bucket_in_path,
        # A small file is one request.
        allow_delayed_open=True,
    )
