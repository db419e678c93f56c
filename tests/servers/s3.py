"""A server with the API of S3 on this machine, and what Spark has to be told to reach it as ``s3a://``."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from moto.server import ThreadedMotoServer

from windrow.jars import S3A, jar_files


@dataclass(frozen=True)
class S3:
    endpoint: str

    @property
    def settings(self) -> dict[str, str]:
        """Settings of Spark's."""
        return {
            "spark.jars": ",".join(map(str, jar_files(S3A))),
            "spark.hadoop.fs.s3a.endpoint": self.endpoint,
            "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
            "spark.hadoop.fs.s3a.path.style.access": "true",
            "spark.hadoop.fs.s3a.access.key": "test",
            "spark.hadoop.fs.s3a.secret.key": "test",
            "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
            "spark.hadoop.fs.s3a.attempts.maximum": "2",
        }

    def make_bucket(self, name: str) -> str:
        urllib.request.urlopen(urllib.request.Request(f"{self.endpoint}/{name}", method="PUT")).close()
        return f"s3a://{name}"


@contextmanager
def s3(address: str = "127.0.0.1") -> Iterator[S3]:
    server = ThreadedMotoServer(ip_address=address, port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield S3(f"http://{host}:{port}")
    finally:
        server.stop()
