"""One set of TLS and SASL settings, in the words of both clients."""

from __future__ import annotations

from pathlib import Path

import pytest

from windrow.connectors.kafka.client import translate
from windrow.connectors.kafka.security import for_java, lets_in
from windrow.connectors.kafka.source_settings import SourceSettings
from windrow.connectors.runtime import SourceRequest
from windrow.errors import UsageError

LOGIN = {"security.protocol": "sasl_ssl", "sasl.mechanisms": "scram-sha-256", "sasl.username": 'a"b', "sasl.password": "c\\d"}


def test_names_of_librdkafka_reach_java() -> None:
    assert for_java({**LOGIN, "ssl.ca.location": "ca.pem", "ssl.endpoint.identification.algorithm": "none"}) == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-256",
        "ssl.truststore.location": "ca.pem",
        "ssl.truststore.type": "PEM",
        "ssl.endpoint.identification.algorithm": "",
        "sasl.jaas.config": ('org.apache.kafka.common.security.scram.ScramLoginModule required username="a\\"b" password="c\\\\d";'),
    }


def test_names_of_java_reach_librdkafka() -> None:
    java = for_java({**LOGIN, "ssl.ca.location": "ca.pem", "ssl.endpoint.identification.algorithm": ""})
    assert translate({**java, "max.request.size": "9"}) == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-256",
        "ssl.ca.location": "ca.pem",
        "ssl.endpoint.identification.algorithm": "none",
        "sasl.username": 'a"b',
        "sasl.password": "c\\d",
        "message.max.bytes": "9",
    }
    assert "message.max.bytes" not in lets_in({"max.request.size": "9"})


def test_a_certificate_and_its_key(tmp_path: Path) -> None:
    both, certificate, key = (tmp_path / name for name in ("both.pem", "me.crt", "me.key"))
    both.write_text("both")
    certificate.write_text("certificate")
    key.write_text("key")
    apart = {"ssl.certificate.location": str(certificate), "ssl.key.location": str(key), "ssl.key.password": "p"}
    inline = {
        "ssl.keystore.certificate.chain": "certificate",
        "ssl.keystore.key": "key",
        "ssl.key.password": "p",
        "ssl.keystore.type": "PEM",
    }
    assert for_java(apart) == inline
    assert translate(inline) == {"ssl.certificate.pem": "certificate", "ssl.key.pem": "key", "ssl.key.password": "p"}
    store = {"ssl.keystore.location": str(both), "ssl.keystore.type": "PEM"}
    assert translate(store) == {"ssl.certificate.location": str(both), "ssl.key.location": str(both)}
    assert for_java(store)["ssl.keystore.key"] == "both"


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ({"ssl.trustsore.location": "x"}, "did you mean 'kafka.ssl.truststore.location'?"),
        ({"sasl.zzz": "x"}, "sasl.username"),
        ({"security.protocol": "TLS"}, "'kafka.security.protocol' = 'SASL_SSL'"),
        ({"sasl.mechanism": "GSSAPI"}, "'kafka.sasl.mechanism' = 'SCRAM-SHA-512'"),
        ({"ssl.truststore.location": "trust.jks"}, "keytool -exportcert -rfc"),
        ({"ssl.keystore.location": "me.pem", "ssl.keystore.type": "PKCS12"}, "keytool -exportcert -rfc"),
        ({"sasl.jaas.config": 'x required token="hush";'}, "'kafka.sasl.username' = 'app'"),
        ({"ssl.certificate.location": "/nowhere.pem"}, "PEM file"),
    ],
)
def test_what_cannot_be_meant_is_refused(given: dict[str, str], hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        for_java(given)
    assert caught.value.code == "WR867"
    assert hint in str(caught.value)
    assert "hush" not in str(caught.value)


def test_a_setting_that_the_consumer_does_not_know_is_refused() -> None:
    options = {"topic": "t", "bootstrap.servers": "b:1", "kafka.max.pol.records": "5"}
    with pytest.raises(UsageError, match=r"did you mean 'kafka\.max\.poll\.records'"):
        SourceSettings.of(SourceRequest("s", (), options, is_bounded=True))
