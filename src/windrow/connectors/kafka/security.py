"""How a client is let in: TLS and SASL settings in the words of both clients that ask a broker.

Spark reads by Java's client; everything else is librdkafka's. Users write either's names, and each client gets its own.
Certificates are PEM, as a file or as text: librdkafka takes no other trusted ones.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path

from windrow.errors import UsageError

BAD_OPTION = "WR867"

_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_FAMILIES = ("security.", "ssl.", "sasl.")
_LOGIN = re.compile(r"\b(username|password)\s*=\s*(\"(?:[^\"\\]|\\.)*\"|'[^']*'|[^\s;]+)")
# Every setting by the name that it has here: librdkafka's, but for those that only Java knows.
_OWN_NAMES = {
    "sasl.mechanisms": "sasl.mechanism",
    "ssl.truststore.location": "ssl.ca.location",
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
}
_KNOWN = frozenset(
    (
        *("security.protocol", "sasl.mechanism", "sasl.username", "sasl.password"),
        *("ssl.ca.location", "ssl.ca.pem", "ssl.certificate.location", "ssl.certificate.pem", "ssl.key.location", "ssl.key.pem"),
        *("ssl.key.password", "ssl.endpoint.identification.algorithm", "ssl.cipher.suites"),
    )
)
# Given to Java's client alone, or used to find out what is meant.
_OF_JAVA = frozenset(("ssl.protocol", "ssl.enabled.protocols", "ssl.truststore.type", "ssl.keystore.type", "ssl.keystore.location"))
_JAVA_NAMES = {
    "ssl.ca.location": "ssl.truststore.location",
    "ssl.ca.pem": "ssl.truststore.certificates",
    "ssl.certificate.pem": "ssl.keystore.certificate.chain",
    "ssl.key.pem": "ssl.keystore.key",
}


def for_librdkafka(given: Mapping[str, str]) -> dict[str, str]:
    """The settings with those that let a client in by librdkafka's names; the others stay as they are.

    >>> for_librdkafka({"sasl.jaas.config": 'a.PlainLoginModule required username="me" password="it;s";', "acks": "all"})
    {'acks': 'all', 'sasl.username': 'me', 'sasl.password': 'it;s'}
    """
    own, others = _sorted_out(given)
    return {**others, **{key: value for key, value in own.items() if key in _KNOWN}}


def for_java(given: Mapping[str, str]) -> dict[str, str]:
    """The same for Java's client.

    >>> for_java({"ssl.ca.location": "ca.pem", "fetch.min.bytes": "1"})
    {'fetch.min.bytes': '1', 'ssl.truststore.location': 'ca.pem', 'ssl.truststore.type': 'PEM'}
    """
    own, others = _sorted_out(given)
    made = {_JAVA_NAMES.get(key, key): value for key, value in own.items() if key not in ("sasl.username", "sasl.password")}
    for name, inline in (("ssl.certificate.location", "ssl.keystore.certificate.chain"), ("ssl.key.location", "ssl.keystore.key")):
        # Java wants both in one store; as text they may be apart.
        if name in made:
            made[inline] = _text_of(name, made.pop(name))
    if made.get("ssl.endpoint.identification.algorithm") == "none":
        made["ssl.endpoint.identification.algorithm"] = ""
    for store in ("truststore", "keystore"):
        if any(key.startswith(f"ssl.{store}.") for key in made):
            made[f"ssl.{store}.type"] = "PEM"
    if "sasl.username" in own:
        made["sasl.jaas.config"] = _jaas(own)
    return {**others, **made}


def is_of_security(key: str) -> bool:
    return key.startswith(_FAMILIES)


def lets_in(given: Mapping[str, str]) -> dict[str, str]:
    """Only what librdkafka needs to be let in."""
    return {key: value for key, value in for_librdkafka(given).items() if key in _KNOWN}


def _sorted_out(given: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Settings of this module by their own names, and all others."""
    own: dict[str, str] = {}
    others: dict[str, str] = {}
    for key, value in given.items():
        if key == "sasl.jaas.config":
            own.update(_login(value))
        elif not is_of_security(key):
            others[key] = value
        elif (name := _OWN_NAMES.get(key, key)) in _KNOWN or name in _OF_JAVA:
            own[name] = value
        else:
            raise _unknown(key)
    _check_store_types(own)
    if "ssl.keystore.location" in own:
        # One PEM file with both, as Java has it.
        file = own.pop("ssl.keystore.location")
        own.update({"ssl.certificate.location": file, "ssl.key.location": file})
    own.pop("ssl.truststore.type", None)
    own.pop("ssl.keystore.type", None)
    if "ssl.endpoint.identification.algorithm" in own:
        own["ssl.endpoint.identification.algorithm"] = own["ssl.endpoint.identification.algorithm"].strip().lower() or "none"
    _one_of(own, "security.protocol", _PROTOCOLS)
    _one_of(own, "sasl.mechanism", _MECHANISMS)
    return own, others


def _one_of(own: dict[str, str], key: str, known: tuple[str, ...]) -> None:
    if key not in own:
        return
    own[key] = own[key].strip().upper()
    if own[key] not in known:
        raise UsageError(BAD_OPTION, f"'kafka.{key}' is none of {', '.join(known)}", f"'kafka.{key}' = '{known[-1]}'")


def _check_store_types(own: Mapping[str, str]) -> None:
    for store, location in (("truststore", "ssl.ca.location"), ("keystore", "ssl.keystore.location")):
        file, kind = own.get(location, ""), own.get(f"ssl.{store}.type", "PEM").upper()
        if kind != "PEM" or file.lower().endswith((".jks", ".p12", ".pfx")):
            raise UsageError(
                BAD_OPTION,
                f"'kafka.ssl.{store}.location' must be a PEM file: one of the clients that ask the broker knows no other form",
                f"make one: keytool -exportcert -rfc -keystore {store}.jks -alias ca -file {store}.pem, "
                f"then 'kafka.ssl.{store}.location' = '{store}.pem'",
            )


def _login(jaas: str) -> dict[str, str]:
    found = {f"sasl.{name}": _unquoted(text) for name, text in _LOGIN.findall(jaas)}
    if len(found) != 2:
        # The text holds a password, so nothing of it is shown.
        hint = "'kafka.sasl.username' = 'app', 'kafka.sasl.password' = '${KAFKA_PASSWORD}'"
        raise UsageError(BAD_OPTION, "'kafka.sasl.jaas.config' does not name a username and a password", hint)
    return found


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if text[0] in "\"'" else text


def _jaas(own: Mapping[str, str]) -> str:
    kind = "scram.Scram" if own.get("sasl.mechanism", "").startswith("SCRAM") else "plain.Plain"
    user, password = (own.get(f"sasl.{name}", "").replace("\\", "\\\\").replace('"', '\\"') for name in ("username", "password"))
    return f'org.apache.kafka.common.security.{kind}LoginModule required username="{user}" password="{password}";'


def _text_of(key: str, file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise UsageError(BAD_OPTION, f"'kafka.{key}': {file} cannot be read: {reason}", "name a PEM file that this user may read") from None


def _unknown(key: str) -> UsageError:
    names = (*sorted(_KNOWN), *_OWN_NAMES, "sasl.jaas.config")
    near = get_close_matches(key, names, 1, 0.6)
    hint = f"did you mean 'kafka.{near[0]}'?" if near else f"there are: {', '.join(sorted(_KNOWN))}"
    return UsageError(BAD_OPTION, f"'kafka.{key}' is not known", hint)
