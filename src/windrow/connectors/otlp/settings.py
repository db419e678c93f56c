"""The options of an OTLP sink as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from windrow.connectors.otlp.spec import GRPC, OTLP
from windrow.connectors.times import duration_option
from windrow.errors import UsageError

BAD_OPTION = "WR887"
_HEADERS = "headers."
_DEFAULTS = {option.key: option.default for option in OTLP.sink or () if option.default is not None}


@dataclass(frozen=True)
class Settings:
    """Lengths of time are seconds. ``address`` is host and port for gRPC, the whole address for HTTP; headers may be secret."""

    signal: str
    protocol: str
    address: str
    is_encrypted: bool
    is_compressed: bool
    most_rows: int
    most_bytes: int
    request_seconds: float
    retry_seconds: float
    fails_if_rejected: bool
    sets_refused_aside: bool
    id_attribute: str | None
    certificates: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Settings:
        options = {**_DEFAULTS, **given}
        protocol, signal = options["protocol"].lower(), options["signal"].lower()
        policy = options["failure.policy"].lower()
        parts = _parts(options["endpoint"])
        return cls(
            signal=signal,
            protocol=protocol,
            address=parts.netloc if protocol == GRPC else _with_path(parts, signal),
            is_encrypted=parts.scheme == "https",
            is_compressed=options["compression"].lower() == "gzip",
            most_rows=_positive(options, "request.rows"),
            most_bytes=_positive(options, "request.bytes"),
            request_seconds=_seconds(options, "request.timeout"),
            retry_seconds=0.0 if policy == "fail" else _seconds(options, "retry.timeout"),
            fails_if_rejected=options["on.rejected"].lower() == "fail",
            sets_refused_aside=policy == "dead_letter",
            id_attribute=options.get("id.attribute"),
            certificates=_file(options["tls.ca"]) if "tls.ca" in options else None,
            headers={key[len(_HEADERS) :].lower(): value for key, value in options.items() if key.lower().startswith(_HEADERS)},
        )


def _parts(endpoint: str) -> SplitResult:
    """Without a scheme, as gRPC users write it, nothing is encrypted."""
    text = endpoint.strip()
    parts = urlsplit(text if "://" in text else f"http://{text}")
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        hint = "'endpoint' = 'http://localhost:4317'; credentials go into a header: 'headers.authorization' = '${TOKEN}'"
        raise UsageError(BAD_OPTION, "'endpoint' is no address of a collector", hint)
    return parts


def _with_path(parts: SplitResult, signal: str) -> str:
    """The path of the signal, where the address has none of its own."""
    path = parts.path if parts.path not in ("", "/") else f"/v1/{signal}"
    return parts._replace(path=path, fragment="").geturl()


def _file(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise UsageError(BAD_OPTION, f"'tls.ca' = '{path}' cannot be read: {error.strerror}", "'tls.ca' = 'ca.pem'") from error


def _positive(options: Mapping[str, str], key: str) -> int:
    text = options[key]
    if not text.strip().isdecimal() or int(text) < 1:
        raise UsageError(BAD_OPTION, f"'{key}' = '{text}' is not a whole number above 0", f"'{key}' = '{_DEFAULTS[key]}'")
    return int(text)


def _seconds(options: Mapping[str, str], key: str) -> float:
    return duration_option(options, key, _DEFAULTS[key], BAD_OPTION) / 1_000_000
