"""The page in a browser, over recorded answers: what it shows, what it asks, and what it says where something is wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from tests.page.conftest import axe, opened
from tests.page.fake_server import Answer, FakeServer
from windrow.server.api.alerts import AlertShape

VIEWS = ["", "map", "lineage", "deploy", "events", "tokens"]
PARTS = ["", "windows", "batches", "letters", "state", "sql", "lineage", "systems", "advice", "runs", "events"]
EVERY = [*VIEWS, *(f"jobs/shop/{part}".rstrip("/") for part in PARTS)]
SHOP = "/deployments/shop"


def go(page: Page, server: FakeServer, view: str) -> None:
    page.goto(f"{server.url}/#/{view}")
    page.locator("main h1, main .card, main h2").first.wait_for()
    expect(page.locator(".loading")).to_have_count(0)


def asked(server: FakeServer, method: str, path: str) -> list[Any]:
    return [body for verb, at, body in server.asked if (verb, at) == (method, path)]


def noting(seen: list[dict[str, list[str]]], told: Any) -> Answer:
    """Answers the same to every query, and keeps the queries."""

    def answer(_method: str, query: dict[str, list[str]], _body: Any) -> tuple[int, Any]:
        seen.append(query)
        return 200, told

    return answer


# All jobs


def test_numbers_move_by_the_stream_and_no_request(page: Page, server: FakeServer) -> None:
    go(page, server, "")
    row = page.locator("tbody tr").filter(has_text="shop")
    expect(row).to_contain_text("running")
    before = len(server.asked)
    server.tell({"seq": 1, "at": server.first["at"], "jobs": [server.changed("shop", rows_per_second=4321.0, dead_letters=77)]})
    expect(row).to_contain_text("4,321")
    expect(row).to_contain_text("77")
    assert len(server.asked) == before


def test_a_gap_in_the_stream_begins_with_a_snapshot_again(page: Page, server: FakeServer) -> None:
    go(page, server, "")
    row = page.locator("tbody tr").filter(has_text="shop")
    changed = server.changed("shop", observed="failed", why="[WR860] a broker does not answer")
    server.tell({"seq": 7, "at": 0, "jobs": []})
    expect(row).to_contain_text("a broker does not answer")
    assert changed["observed"] == "failed"
    expect(page.locator("tbody tr").first).to_contain_text("shop")
    expect(page.locator(".tile").filter(has_text="need attention")).to_contain_text("1")


def test_a_lost_connection_is_said_and_mends_itself(page: Page, server: FakeServer) -> None:
    go(page, server, "")
    expect(page.locator(".pulse")).to_have_text("live")
    server.is_away = True
    server.end_streams()
    expect(page.locator(".pulse")).to_contain_text("numbers are old")
    server.is_away = False
    expect(page.locator(".pulse")).to_have_text("live")


def test_no_job_yet_says_how_to_make_one(page: Page, server: FakeServer) -> None:
    server.first["jobs"] = []
    go(page, server, "")
    expect(page.locator("main")).to_contain_text("windrow deploy FILE")


def test_whoever_is_not_signed_in_gives_a_token(page: Page, server: FakeServer) -> None:
    me = server.answers["/me"]
    server.answers["/me"] = lambda *_: (401, {"title": "a token is needed", "code": "WR928"})
    server.answers["/session"] = lambda _method, _query, body: (
        (422, {"title": "the token is unknown", "code": "WR928", "hint": "see the file"}) if body["token"] == "no" else (204, None)
    )
    page.goto(server.url)
    page.get_by_label("Token").fill("no")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("the token is unknown")
    server.answers["/me"] = me
    page.get_by_label("Token").fill("yes")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Jobs")).to_be_visible()


# One job


def test_a_box_shows_rows_that_add_up_and_its_sql(page: Page, server: FakeServer) -> None:
    found = server.answers[f"{SHOP}/topology"]
    found["nodes"][2] |= {"is_cause": True, "share": 0.72}
    go(page, server, "jobs/shop")
    box = page.locator("svg g[role=button]").filter(has_text="revenue").first
    expect(box.locator("rect.cause")).to_have_count(1)
    box.focus()
    page.keyboard.press("Enter")
    facts = page.get_by_label("Facts of revenue")
    node = found["nodes"][2]
    expect(facts).to_contain_text(f"{node['rows_in']:,} rows in = {node['passed']:,} passed + {node['dead']['WR705']:,} dead letters")
    expect(facts.locator(".chip").first).to_have_text("adds up")
    expect(facts).to_contain_text("CREATE STREAM revenue AS")
    expect(facts).to_contain_text("Most of the time goes here: 72 %")
    node["passed"] -= 1
    page.get_by_label("Rows of").select_option("1")
    expect(facts.locator(".chip").first).to_have_text("does not add up")


def test_a_new_batch_asks_for_the_numbers_once_more(page: Page, server: FakeServer) -> None:
    go(page, server, "jobs/shop")
    before = len(asked(server, "GET", f"{SHOP}/topology"))
    server.answers[f"{SHOP}/topology"]["nodes"][0]["rows_in"] = 123_456_789
    jobs = [{**one, "batch_id": one["batch_id"] + 1} for one in server.answers[SHOP]["jobs"]]
    server.tell({"seq": 1, "at": server.first["at"], "watched": jobs})
    expect(page.locator("svg")).to_contain_text(["123.5 M"])
    assert len(asked(server, "GET", f"{SHOP}/topology")) == before + 1


def test_why_a_window_is_open(page: Page, server: FakeServer) -> None:
    seen: list[dict[str, list[str]]] = []
    told = server.answers[f"{SHOP}/windows/why"]
    server.answers[f"{SHOP}/windows/why"] = noting(seen, told)
    go(page, server, "jobs/shop/windows")
    page.locator("details summary").first.click()
    page.get_by_role("button", name="Why open? The window of country = IT").first.click()
    expect(page.locator("main")).to_contain_text(told["windows"][0]["why"][0])
    held = server.answers[f"{SHOP}/windows"][0]["held"]
    start = next(one["start"] for one in held if one["key"] == {"country": "IT"})
    assert (seen[0]["statement"], seen[0]["key"], seen[0]["start"]) == (["revenue"], ["IT"], [str(start)])


def test_what_is_not_known_is_said_in_words(page: Page, server: FakeServer) -> None:
    server.changed("shop", watermark=None, lag_seconds=None, backlog=None)
    for one in server.answers[f"{SHOP}/windows"]:
        one["watermark"] = None
        one["sources"][0]["partitions"][0] |= {"reached": None, "watermark": None, "seen_at": None}
    go(page, server, "jobs/shop/windows")
    expect(page.locator(".tile").filter(has_text="watermark")).to_contain_text("no watermark yet")
    expect(page.locator("table").first).to_contain_text("nothing yet")
    assert "NaN" not in page.locator("body").inner_text()


def test_phases_of_a_batch_by_keyboard(page: Page, server: FakeServer) -> None:
    go(page, server, "jobs/shop/batches")
    last = server.answers[f"{SHOP}/batches"][0]["batches"][-1]
    page.locator(f"g[aria-label^='batch {last['batch_id']}:']").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=f"Batch {last['batch_id']:,}")).to_be_visible()
    expect(page.locator("main")).to_contain_text(f"{last['rows_in']:,} in")
    expect(page.locator(".uplot")).to_have_count(4)


# Dead letters


def test_letters_by_facet_tried_and_replayed(page: Page, server: FakeServer) -> None:
    seen: list[dict[str, list[str]]] = []
    found = server.answers[f"{SHOP}/dead-letters"]
    server.answers[f"{SHOP}/dead-letters"] = noting(seen, found)

    def replay(_method: str, _query: Any, body: Any) -> tuple[int, Any]:
        if body["dry_run"]:
            one = {"id": "440-2", "code": "WR701", "would": "fail", "again": "WR701", "why": "the row could not be decoded"}
            return 200, {"dry_run": True, "jobs": [{"job": "shop", "letters": [one]}]}
        return 200, {"dry_run": False, "jobs": [{"job": "shop", "replayed": 1, "stay": 2, "reasons": [{"why": "gone", "count": 2}]}]}

    server.answers[f"{SHOP}/dead-letters/replay"] = replay
    go(page, server, "jobs/shop/letters")
    expect(page.locator(".letter pre").first).to_have_text(found["letters"][0]["raw"])
    page.get_by_role("button", name=re.compile("^WR701")).click()
    expect(page.locator("h2").filter(has_text="like this")).to_be_visible()
    assert seen[-1]["code"] == ["WR701"]
    page.locator(".letter button").first.click()
    expect(page.locator("main")).to_contain_text("a replay would set it aside again unless")
    page.get_by_label(f"Choose letter {found['letters'][0]['id']}").check()
    page.get_by_text("Feed the 1 chosen letter").click()
    page.get_by_label("Repair first").fill("SET amount = 0")
    page.get_by_role("button", name="Try it (dry run)").click()
    expect(page.get_by_role("dialog")).to_contain_text("1 would fail again")
    page.get_by_role("dialog").get_by_role("button", name="Close").click()
    page.get_by_label("Repair first").fill("")
    page.get_by_role("button", name="Replay 1").click()
    expect(page.get_by_role("dialog")).to_contain_text("1 letter")
    bodies = asked(server, "POST", f"{SHOP}/dead-letters/replay")
    assert bodies == [{"ids": ["440-2"], "repair": "SET amount = 0", "dry_run": True}, {"ids": ["440-2"], "dry_run": False}]


# State


def test_state_is_restored_while_the_job_does_not_run(page: Page, server: FakeServer) -> None:
    versions = server.answers[f"{SHOP}/state/versions"][0]["versions"]
    go(page, server, "jobs/shop/state")
    expect(page.get_by_role("button", name="Restore").first).to_be_disabled()
    server.tell({"seq": 1, "at": 0, "jobs": [server.changed("shop", observed="stopped", desired="stopped")]})
    operation = {"id": "o1", "state": "running", "step": "taking the state back", "content": {}}
    server.answers[f"{SHOP}/restore"] = lambda *_: (202, operation)
    server.answers["/operations/o1"] = {**operation, "state": "succeeded"}
    page.get_by_role("button", name="Restore").first.click()
    page.get_by_role("dialog").get_by_role("button", name="Restore").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("button", name="Restore").first).to_be_enabled()
    assert asked(server, "POST", f"{SHOP}/restore") == [{"batch": versions[1]["batch_id"], "job": "shop"}]


# SQL


def wrong(sql: str) -> dict[str, Any]:
    start = sql.index("amuont")
    line = sql[:start].count("\n") + 1
    one = {
        "code": "WR214",
        "message": 'unknown column "amuont"',
        "hint": 'did you mean "amount"?',
        "severity": "error",
        "line": line,
        "column": start - sql.rfind("\n", 0, start),
        "start": start,
        "end": start + 6,
    }
    return {"title": one["message"], "status": 422, "code": "WR214", "diagnostics": [one]}


def checked(_method: str, _query: Any, body: Any) -> tuple[int, Any]:
    return (422, wrong(body["sql"])) if "amuont" in body["sql"] else (200, {"ok": True, "warnings": []})


def test_a_mistake_is_shown_in_place_and_a_plan_is_applied(page: Page, server: FakeServer) -> None:
    server.answers["/check"] = checked
    change = {"statement": "revenue", "what": "SELECT gives more", "class": "B", "reason": "the state has it", "state": "stays"}
    review = {"job": "shop", "version": 1, "batch": 440, "class": "B", "can_apply": True, "open_windows": {"revenue": 8}}
    content = {"jobs": [{**review, "obstacles": [], "what_stays": [], "changes": [{**change, "refused": None}]}], "can_apply": True}
    plan = {"id": "p1", "from_version": 1, "to_version": 2, "content": content, "created_by": "admin", "approved_by": ""}
    reader = {"job": "clicks", "owner": "grace", "team": "", "verdict": "values change", "columns": {"revenue": "values change"}}
    server.answers["/impact"] = {"outputs": {"file/out": {"revenue": "values change"}}, "readers": [reader]}
    server.answers["/pipelines/shop/plans"] = lambda method, *_: (201, plan) if method == "POST" else (200, [])
    server.answers["/plans/p1/apply"] = lambda *_: (202, {"id": "o2", "state": "running", "step": "stopping", "content": {}})
    server.answers["/operations/o2"] = {"id": "o2", "state": "succeeded", "step": "done", "content": {}}
    go(page, server, "jobs/shop/sql")
    editor = page.get_by_role("textbox", name="SQL")
    text = server.answers["/pipelines/shop/versions"][0]["sql"]
    expect(page.locator("main")).to_contain_text("The text is that of the version that runs.")
    editor.fill(text.replace("SUM(amount) AS revenue", "SUM(amuont) AS revenue"))
    expect(page.locator(".sql-bad")).to_have_text("amuont")
    expect(page.locator(".found")).to_contain_text('did you mean "amount"?')
    expect(page.get_by_role("button", name="Plan")).to_be_disabled()
    page.locator(".found button").click()
    assert page.evaluate("() => { const e = document.activeElement; return e.value.slice(e.selectionStart, e.selectionEnd); }") == "amuont"
    page.keyboard.type("amount * 2")
    expect(page.locator(".diff .add")).to_contain_text("SUM(amount * 2)")
    page.get_by_role("button", name="Plan").click()
    expect(page.locator("main")).to_contain_text("can be applied, the state stays")
    expect(page.locator("main")).to_contain_text("clicks of grace: values change")
    page.get_by_role("button", name="Apply").click()
    expect(page.get_by_role("button", name="Apply")).to_have_count(0)
    (made,) = asked(server, "POST", "/pipelines/shop/plans")
    assert "SUM(amount * 2)" in made["sql"]
    assert asked(server, "POST", "/plans/p1/apply") == [{}]


def test_in_a_protected_environment_somebody_else_approves(page: Page, server: FakeServer) -> None:
    server.first["jobs"].append({**server.changed("shop"), "name": "shop@prod"})
    content: dict[str, Any] = {"jobs": [], "can_apply": True}
    plan = {"id": "p2", "deployment": "shop@prod", "from_version": 1, "to_version": 2, "content": content, "created_by": "bob"}
    plan |= {"approved_by": "", "operation": "", "expires_at": 9e15}
    server.answers["/environments"] = [{"name": "prod", "is_protected": True}]
    server.answers["/pipelines/shop/plans"] = [plan]
    server.answers["/plans/p2/approve"] = lambda *_: (200, {**plan, "approved_by": "admin"})
    go(page, server, "jobs/shop%40prod/sql")
    expect(page.locator("main")).to_contain_text("it waits for an approval")
    expect(page.get_by_role("button", name="Apply")).to_be_disabled()
    page.get_by_role("button", name="Approve").click()
    expect(page.locator("main")).to_contain_text("approved by admin")
    expect(page.get_by_role("button", name="Apply")).to_be_enabled()


def test_names_are_completed_by_keyboard(page: Page, server: FakeServer) -> None:
    server.answers["/complete"] = {"word": "cou", "words": [{"text": "COUNT(", "kind": "aggregate"}, {"text": "country", "kind": "STRING"}]}
    go(page, server, "deploy")
    editor = page.get_by_role("textbox", name="SQL")
    editor.fill("SELECT cou")
    page.keyboard.press("Control+Space")
    expect(page.get_by_role("listbox", name="Completions").get_by_role("option")).to_have_count(2)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(editor).to_have_value("SELECT country")
    assert asked(server, "POST", "/complete")[-1] == {"sql": "SELECT cou", "at": 10}


def test_a_new_job_is_deployed_when_nothing_is_wrong(page: Page, server: FakeServer) -> None:
    server.answers["/check"] = checked
    versions = server.answers["/pipelines"]
    server.answers["/pipelines"] = lambda method, _query, _body: (202, {}) if method == "POST" else (200, versions)
    go(page, server, "deploy")
    page.get_by_label("Name").fill("1shop")
    expect(page.locator("#name-help")).to_contain_text("A letter first")
    page.get_by_label("Name").fill("shop")
    page.get_by_role("textbox", name="SQL").fill("SELECT amuont FROM t")
    deploy = page.get_by_role("button", name="Deploy and run")
    expect(page.locator(".found")).to_be_visible()
    expect(deploy).to_be_disabled()
    page.get_by_role("textbox", name="SQL").fill("SELECT amount FROM t")
    deploy.click()
    page.wait_for_url("**/#/jobs/shop")
    assert asked(server, "POST", "/pipelines") == [{"name": "shop", "sql": "SELECT amount FROM t", "message": ""}]


# The rest


def test_a_column_shows_what_it_is_made_of_and_used_for(page: Page, server: FakeServer) -> None:
    go(page, server, "jobs/shop/lineage")
    page.get_by_role("group", name="revenue", exact=True).get_by_role("button", name="revenue").click()
    expect(page.locator("main")).to_contain_text("SUM(amount)")
    page.get_by_role("button", name="big.amount").first.click()
    expect(page.get_by_role("heading", name="big.amount")).to_be_visible()


def an_alert(**more: Any) -> dict[str, Any]:
    """As the API has one: every field of its shape, and no other."""
    told = {"id": "a1", "rule": "WindrowNoProgress", "job": "shop", "labels": {"job_name": "shop"}, "level": "critical", "value": 1.0}
    told |= {"summary": "nothing was committed for 4 minutes", "what_to_do": "/health/ready says why", "state": "firing"}
    told |= {"is_silenced": False, "is_inhibited": False, "since": 0, "changed_at": 0, "acknowledged_by": ""}
    assert set(told) == set(AlertShape.model_fields)
    return {**told, **more}


def test_an_alert_is_acknowledged_and_silenced(page: Page, server: FakeServer) -> None:
    alert = an_alert()
    server.answers["/alerts"] = [alert]
    server.answers["/alerts/a1/ack"] = lambda *_: (alert.update(acknowledged_by="admin"), (200, alert))[1]
    server.answers["/silences"] = lambda method, _query, _body: (
        (alert.update(is_silenced=method == "POST"), (201, {}))[1] if method == "POST" else (200, [])
    )
    go(page, server, "events")
    row = page.locator("tr").filter(has_text="WindrowNoProgress")
    expect(row).to_contain_text("/health/ready says why")
    row.get_by_role("button", name="Acknowledge").click()
    expect(row).to_contain_text("taken on by admin")
    row.get_by_role("button", name="Silence").click()
    page.get_by_label("Because").fill("upgrade")
    page.get_by_role("button", name="Silence it").click()
    expect(row).to_contain_text("silenced")
    assert asked(server, "POST", "/silences") == [{"rule": "WindrowNoProgress", "job": "shop", "minutes": 60, "reason": "upgrade"}]


def test_alerts_that_fire_are_on_the_first_page(page: Page, server: FakeServer) -> None:
    server.answers["/alerts"] = [an_alert(), an_alert(id="a2", is_silenced=True)]
    go(page, server, "")
    tile = page.locator("a.tile")
    expect(tile).to_contain_text("1")
    expect(tile).to_contain_text("WindrowNoProgress of shop")


def test_an_event_appears_when_it_happens(page: Page, server: FakeServer) -> None:
    go(page, server, "events")
    one = {"seq": 10_000, "at": 1795069000000, "level": "error", "type": "job.failed", "pipeline": "shop", "message": "it fell over"}
    server.tell({"seq": 1, "at": 0, "events": [one]})
    expect(page.locator("tbody tr").first).to_contain_text("it fell over")


def test_a_token_is_shown_once_and_removed_after_a_question(page: Page, server: FakeServer) -> None:
    tokens = server.answers["/tokens"]
    server.answers["/tokens"] = lambda method, *_: (201, {"id": "t", "token": "wdr_secret"}) if method == "POST" else (200, tokens)
    server.answers[f"/tokens/{tokens[0]['id']}"] = lambda *_: (204, None)
    go(page, server, "tokens")
    page.get_by_label("Name").fill("ci")
    page.get_by_role("button", name="Make it").click()
    expect(page.locator("main")).to_contain_text("wdr_secret")
    assert asked(server, "POST", "/tokens") == [{"name": "ci", "scopes": ["read"], "days": 90}]
    page.get_by_role("button", name="Remove").first.click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    assert asked(server, "DELETE", f"/tokens/{tokens[0]['id']}") == []
    page.get_by_role("button", name="Remove").first.click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("button", name="Remove").first).to_be_enabled()
    assert asked(server, "DELETE", f"/tokens/{tokens[0]['id']}") == [None]


def test_stopping_asks_first(page: Page, server: FakeServer) -> None:
    go(page, server, "jobs/shop")
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("dialog").get_by_role("button", name="Stop").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("button", name="Stop")).to_be_enabled()
    assert asked(server, "PATCH", SHOP) == [{"desired": "stopped"}]


@pytest.mark.parametrize("part", [part for part in PARTS if part not in ("systems", "events")])
def test_every_view_says_what_the_server_refuses(page: Page, server: FakeServer, part: str) -> None:
    def refused(*_: Any) -> tuple[int, Any]:
        return 403, {"title": "this token may not", "code": "WR929", "hint": "ask for the scope data"}

    paths = [path for path in server.answers if path.startswith((f"{SHOP}/", "/pipelines/shop/"))]
    server.answers |= dict.fromkeys(paths, refused)
    page.goto(f"{server.url}/#/jobs/shop/{part}")
    expect(page.get_by_role("alert").first).to_contain_text("[WR929] this token may not")


@pytest.fixture(params=["light", "dark phone"])
def shown(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    yield from opened(browser, is_dark="dark" in request.param, is_phone="phone" in request.param)


def test_every_view_fits_and_can_be_used_by_everybody(shown: Page, server: FakeServer) -> None:
    """axe finds nothing, and nothing has to be moved sideways, at 1280 pixels in light colours and on a phone in dark ones."""
    found: dict[str, list[str]] = {}
    for view in EVERY:
        go(shown, server, view)
        # Charts take the width of their cards once these have theirs.
        with suppress(PlaywrightTimeout):
            shown.wait_for_function("() => document.documentElement.scrollWidth <= innerWidth", timeout=5_000)
        wide = shown.evaluate("() => document.documentElement.scrollWidth - innerWidth")
        told = [f"{wide} pixels too wide"] if wide > 0 else []
        # By way of the debugger: what the policy of the page forbids, a test may.
        shown.evaluate(axe() + "\n; undefined")
        result = shown.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
        told += [f"{one['id']}: {one['nodes'][0]['html'][:160]}" for one in result["violations"]]
        if told:
            found[view] = told
    assert found == {}, json.dumps(found, indent=1)
