"""Every example through the cluster, with rows, outputs and state on HDFS: what comes out is what comes out on one machine."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from pathlib import Path

from tests.cluster.driving import Driver
from tests.cluster.namespaces import ROOT
from tests.cluster.stores import put, read
from tests.servers.hdfs import Hdfs

FOLDERS = sorted(path.parent for path in (ROOT / "examples").glob("*/query.sql"))
INPUTS = {str(path.relative_to(ROOT)): path for folder in FOLDERS for path in folder.rglob("*") if path.suffix in (".json", ".csv")}
_CONSOLE = re.compile(r"'connector' = 'console'")


def _write(driver: Driver, place: str, root: str) -> str:
    """A project of all examples that read and write below a folder: where there was a console, there are files."""
    for folder in FOLDERS:
        number = itertools.count()
        text = (folder / "query.sql").read_text(encoding="utf-8").replace("'examples/", f"'{root}/examples/")
        text = _CONSOLE.sub(lambda _: f"'connector' = 'files', 'path' = '{root}/out/{folder.name}/{next(number)}'", text)  # noqa: B023  # at once
        driver.write(f"{place}/queries/{folder.name}.sql", text)
    driver.write(f"{place}/windrow.yaml", "files: [queries/*.sql]\n")
    return f"/tmp/{place}"


def _rows(files: Mapping[str, str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path, text in files.items():
        found.setdefault(str(Path(path).parent), []).extend(text.splitlines())
    return {place: sorted(lines) for place, lines in found.items()}


def test_every_example_gives_what_it_gives_on_one_machine(driver: Driver, hdfs_server: Hdfs) -> None:
    """With all state in the driver, and with that of windows and groups on the executors."""
    hdfs = hdfs_server.address
    here = driver.host.folder / "tmp" / "examples-here"
    for name, path in INPUTS.items():
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_bytes(path.read_bytes())
    local = _write(driver, "local-examples", "file:/tmp/examples-here")
    driver.run("run", local, "--until-end", "--quiet", "--state", "/tmp/state/examples", "--master", "local[2]")
    expected = _rows({str(path.relative_to(here)): path.read_text() for path in here.glob("out/*/*/batch-*.json")})
    assert {place.split("/")[1] for place in expected} == {folder.name for folder in FOLDERS}

    for home in ("resident", "distributed"):
        root = f"{hdfs}/{home}"
        put(root, INPUTS)
        spread = _write(driver, f"{home}-examples", root)
        settings = {**hdfs_server.settings, "state.home": home, "state.buckets": "3"}
        driver.run("run", spread, "--until-end", "--quiet", "--state", f"{root}/state", settings=settings)
        assert _rows(read(root, "out")) == expected, home


def test_a_path_without_a_scheme_is_on_the_clusters_file_system_for_everybody(driver: Driver, hdfs: str) -> None:
    """Rows, output and state by plain paths: none of them is on a disk of the driver's."""
    put(f"{hdfs}/user/root", INPUTS)
    driver.write("plain/candles.sql", (ROOT / "examples/candles/query.sql").read_text(encoding="utf-8"))
    settings = {"spark.hadoop.fs.defaultFS": hdfs}
    said = driver.run("run", "/tmp/plain/candles.sql", "--until-end", "--state", "plain-state", settings=settings)
    assert "The ledger adds up" in said
    assert any(name.startswith("plain-state/candles/") for name in read(f"{hdfs}/user/root", "plain-state"))
    assert driver.host.call("find", "/tmp", "-name", "plain-state*") == ""
