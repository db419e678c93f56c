"""What the page costs the browser: first paint, 50 jobs that all change once a second, a job of 30 operators. Prints JSON.

    python benchmarks/page.py

The API is made up and answers at once, so that the figures are those of the page; the server's own are not in them.
"""

from __future__ import annotations

import copy
import json
import shutil
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from playwright.sync_api import Page, sync_playwright

from tests.page.conftest import FLAGS, NAMES, WIDE
from tests.page.fake_server import FakeServer

JOBS, OPERATORS, SECONDS = 50, 30, 15
_PAINT = "() => performance.getEntriesByType('paint').find((one) => one.name === 'first-contentful-paint')?.startTime"
# Time in which the page could not answer a key, and the frames that it drew.
_WATCH = """() => {
  window.found = { blocked: 0, longest: 0, frames: 0 };
  const long = (one) => { found.blocked += one.duration; found.longest = Math.max(found.longest, one.duration); };
  new PerformanceObserver((list) => list.getEntries().forEach(long)).observe({ entryTypes: ["longtask"] });
  const draw = () => { found.frames += 1; requestAnimationFrame(draw); };
  requestAnimationFrame(draw); }"""


def many(server: FakeServer) -> None:
    """Fifty jobs like the recorded one, each with thirty operators in five branches."""
    one = next(job for job in server.first["jobs"] if job["name"] == "shop")
    server.first["jobs"] = [{**copy.deepcopy(one), "name": f"job-{n:02d}"} for n in range(JOBS)]
    graph = server.answers["/deployments/shop/topology"]
    node = graph["nodes"][2]
    nodes = [{**copy.deepcopy(node), "name": f"operator_{n}", "title": f"operator_{n}"} for n in range(OPERATORS)]
    edges = [{"from": f"operator_{max(0, n - 5)}", "to": f"operator_{n}", "rows": 1000 * n} for n in range(1, OPERATORS)]
    server.answers["/deployments/job-07/topology"] = {"jobs": graph["jobs"], "nodes": nodes, "edges": edges}
    server.answers["/deployments/job-07"] = {**server.answers["/deployments/shop"], "name": "job-07"}


def first_paint(page: Page, server: FakeServer) -> list[float]:
    """Milliseconds to the first paint, and until the last job stands there; five times, the first one cold."""
    times = []
    for _ in range(5):
        started = time.perf_counter()
        page.goto(server.url)
        page.get_by_role("link", name="job-49").wait_for()
        times.append((page.evaluate(_PAINT), (time.perf_counter() - started) * 1000))
        page.goto("about:blank")
    return [round(value, 1) for pair in times for value in pair]


def moving(page: Page, server: FakeServer, view: str, ready: str, told: Any) -> dict[str, float]:
    """While every job changes once a second."""
    # Another address first: to go to another part of the same page does not load it again.
    page.goto("about:blank")
    page.goto(f"{server.url}/#/{view}")
    page.locator(ready).first.wait_for()
    page.evaluate(_WATCH)
    started = time.perf_counter()
    for second in range(SECONDS):
        server.tell({"seq": second + 1, "at": int(time.time() * 1000), **told(second)})
        page.wait_for_timeout(1000)
    found: dict[str, float] = page.evaluate("() => window.found")
    elapsed = time.perf_counter() - started
    return {
        "frames_per_second": round(found["frames"] / elapsed, 1),
        "blocked_ms_per_second": round(found["blocked"] / elapsed, 1),
        "longest_task_ms": round(found["longest"], 1),
    }


def main() -> None:
    program = next(found for name in NAMES if (found := shutil.which(name)) is not None)
    with FakeServer() as server, sync_playwright() as playwright:
        many(server)
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        page = browser.new_page(viewport=WIDE)  # type: ignore[arg-type]
        paints = first_paint(page, server)
        jobs = server.first["jobs"]

        def changed(second: int) -> dict[str, Any]:
            return {
                "jobs": [{**one, "rows_per_second": 100.0 + second * 7 + n, "rows_in": second * 1000 + n} for n, one in enumerate(jobs)]
            }

        def batch(second: int) -> dict[str, Any]:
            status = [{**one, "batch_id": second} for one in server.answers["/deployments/job-07"]["jobs"]]
            return {**changed(second), "watched": status}

        told = {
            "first_paint_ms": {"paint": paints[::2], "every_job_there": paints[1::2]},
            "overview": moving(page, server, "", "text=job-49", changed),
            "topology": moving(page, server, "jobs/job-07", "svg g[role=button]", batch),
        }
        browser.close()
    print(json.dumps({"jobs": JOBS, "operators": OPERATORS, **told}, indent=1))


if __name__ == "__main__":
    main()
