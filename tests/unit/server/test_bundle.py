"""The support bundle: what is in it, what is not, and for whom."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import pytest

from tests.unit.server.conftest import Server
from windrow.server import job_views
from windrow.storage import StorageError

SECRET = "hunter2-hunter2"
SQL = """CREATE STREAM t (k STRING, v INT) WITH ('connector' = 'generator', 'rows.per.second' = '1');
SELECT k, COUNT(*) AS n FROM t GROUP BY k
WITH ('connector' = 'postgres', 'url' = 'postgresql://me@db/x', 'password' = '${DB_PASSWORD}', 'table' = 'n', 'key' = 'k');
"""


@pytest.fixture
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DB_PASSWORD", SECRET)


def opened(server: Server, scope: str) -> zipfile.ZipFile:
    answer = server.client.get("/api/v1/deployments/orders/bundle.zip", headers=server.auth(scope))
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/zip"
    return zipfile.ZipFile(io.BytesIO(answer.content))


def read(packed: zipfile.ZipFile, name: str) -> Any:
    return json.loads(packed.read(name))


@pytest.mark.usefixtures("_secret")
def test_a_bundle_holds_what_the_api_says_and_no_secret(server: Server) -> None:
    server.deploy(sql=SQL, starts=False)
    log = server.service.folder("orders").log("run1")
    log.parent.mkdir(parents=True)
    log.write_text(f"connected with {SECRET}\n")
    server.registry.begin_run("run1", "orders", 1, 4711)
    packed = opened(server, "admin")
    note = read(packed, "bundle.json")
    assert (note["format"], note["job"], note["has_rows"], note["missing"]) == (1, "orders", True, {})
    assert read(packed, "api/deployments/orders.json")["version"] == 1
    assert [one["to"] for one in read(packed, "api/deployments/orders/topology.json")["edges"]]
    assert read(packed, "api/live.json")["jobs"][0]["name"] == "orders"
    assert "${DB_PASSWORD}" in packed.read("sql/000001.sql").decode()
    assert packed.read("logs/run1.log") == b"connected with ***"
    for name in packed.namelist():
        assert SECRET.encode() not in packed.read(name), name


def test_who_may_not_see_data_gets_no_rows(server: Server) -> None:
    server.deploy(starts=False)
    packed = opened(server, "read")
    assert not read(packed, "bundle.json")["has_rows"]
    assert not [name for name in packed.namelist() if name.startswith("logs/") or name.endswith("/logs.json")]
    letters = read(packed, "api/deployments/orders/dead-letters.json")
    assert (letters["letters"], letters["total"]) == ([], 0)
    assert next(one.verb for one in server.registry.audit()) == "bundle"


def test_a_part_that_cannot_be_read_keeps_no_other_away(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    def torn(_: object) -> None:
        raise StorageError("WR803", "the state is torn: password=hush", None)

    monkeypatch.setattr(job_views, "windows", torn)
    server.deploy(starts=False)
    packed = opened(server, "admin")
    assert read(packed, "bundle.json")["missing"]["/deployments/orders/windows"].endswith("password=***")
    assert "api/deployments/orders.json" in packed.namelist()
