"""A folder of the driver's own disk on a cluster: refused with the machine that does not have it, before rows are lost."""

from __future__ import annotations

from tests.cluster.driving import Driver
from tests.cluster.standalone import Standalone
from tests.cluster.test_workers import GENERATED, WINDOWS


def _names_a_worker(said: str, cluster: Standalone) -> bool:
    return any(f"is not the same folder on {host.address} as on the driver" in said for host in cluster.workers.values())


def test_rows_that_executors_would_write_to_their_own_disks_are_refused(driver: Driver, cluster: Standalone) -> None:
    file = driver.write(
        "loses.sql", f"{GENERATED} CREATE STREAM o AS SELECT k, v FROM clicks WITH ('connector' = 'files', 'path' = '/tmp/out/loses')"
    )
    said = driver.fail("run", file, "--until-end", "--state", "/tmp/state/loses")
    assert "[WR514] the output o is written by the executors: /tmp/out/loses is not the same folder" in said
    assert _names_a_worker(said, cluster), said
    assert driver.host.call("ls", "-A", "/tmp/out/loses/_manifest") == ""


def test_files_that_executors_cannot_read_are_refused(driver: Driver, cluster: Standalone) -> None:
    driver.write("in/a.json", '{"v": 1}\n')
    stream = "CREATE STREAM s (v INT) WITH ('connector' = 'files', 'path' = '/tmp/in')"
    file = driver.write("unread.sql", f"{stream}; SELECT v FROM s")
    said = driver.fail("run", file, "--until-end", "--state", "/tmp/state/unread")
    assert "[WR514] the source s is read by the executors: /tmp/in is not the same folder" in said
    assert _names_a_worker(said, cluster), said


def test_windows_of_the_driver_may_be_written_to_its_own_disk(driver: Driver) -> None:
    """What the driver writes itself, and state that it holds, need no shared folder."""
    to = "WITH ('connector' = 'files', 'path' = '/tmp/out/kept')"
    file = driver.write("kept.sql", f"{GENERATED} CREATE STREAM o AS {WINDOWS} {to}")
    said = driver.run("run", file, "--until-end", "--state", "/tmp/state/kept")
    assert "state stays in the driver: /tmp/state/kept/" in said
    assert '"n":' in driver.host.call("sh", "-c", "cat /tmp/out/kept/batch-*.json")


def test_state_on_executors_in_a_folder_of_the_drivers_own_is_refused(driver: Driver, cluster: Standalone) -> None:
    file = driver.write("spread.sql", f"{GENERATED} {WINDOWS}")
    said = driver.fail("run", file, "--until-end", "--state", "/tmp/state/spread", settings={"state.home": "distributed"})
    assert "[WR806] state on the executors needs a folder that all of them can write; /tmp/state/spread/" in said
    assert _names_a_worker(said, cluster), said
