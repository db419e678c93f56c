"""What a run shows and how it stops, without Spark."""

from __future__ import annotations

import os
import signal
from collections import Counter
from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from windrow.cli.live import Drawn, Plain, status_line
from windrow.cli.report import Finish, left_out, print_report
from windrow.cli.stopping import StopWish
from windrow.observe.ledger import Account, Ledger
from windrow.observe.status import ENDED, FAILED, STOPPED, WAITING, Holder, JobStatus, WindowCounts
from windrow.resilience import CLOSED, OPEN, SystemState

LEDGER = Ledger(
    {"trades": Account(rows_in=100, passed=95, dead=Counter({"WR701": 5}))},
    {
        "candles": Account(
            rows_in=95, passed=80, filtered=10, dead=Counter({"WR705": 4}), dropped=Counter({"WR706": 1}), late_corrected=2, emitted=7
        )
    },
)
STATUS = JobStatus("candles", ENDED, 3, 100, 50.4, 1_767_225_600_000_000, 3.0, 2, 0, 6, 9, 7, 0.5, ledger=LEDGER)


def text_console(*, terminal: bool = False) -> tuple[Console, StringIO]:
    out = StringIO()
    return Console(file=out, width=160, force_terminal=terminal, color_system=None), out


def report(status: JobStatus, mode: str = "until_end") -> str:
    console, out = text_console()
    print_report(Finish((status,), {"candles": "/state/candles"}, mode, "windrow run x.sql", "windrow dead-letters x.sql"), console)
    return out.getvalue()


def test_the_report_accounts_for_every_row() -> None:
    shown = report(STATUS)
    rows = {" ".join(line.split()) for line in shown.splitlines()}
    numbers = ["rows in 100 95", "= aggregated or passed on 95 80", "+ filtered out 0 10", "+ dead letters 5 4", "+ dropped 0 1"]
    assert {*numbers, "of these late, as corrections 0 2", "rows emitted 0 7", "adds up yes yes"} <= rows
    assert "WR701 5 trades the row could not be decoded" in rows
    assert "dead letters: 9, kept in /state/candles/dead_letters, listed by: windrow dead-letters x.sql" in rows
    assert "dropped, as the options say: 1" in rows
    assert "The ledger adds up: each of 100 rows" in shown


def test_a_ledger_that_does_not_add_up_is_said() -> None:
    ledger = Ledger({"t": Account(rows_in=3, passed=2)})
    shown = report(JobStatus("candles", ENDED, 0, ledger=ledger))
    assert "NO: +1" in shown
    assert "DOES NOT ADD UP" in shown


@pytest.mark.parametrize(
    ("state", "mode", "said"),
    [
        (ENDED, "until_end", "reached the end of its input after batch 3; every window is closed"),
        (ENDED, "once", "windows stay open"),
        (STOPPED, "continuous", "stopped after batch 3; windows stay open, and the same command goes on from there: windrow run x.sql"),
        (FAILED, "continuous", "failed after batch 3"),
    ],
)
def test_the_report_says_how_it_ended(state: str, mode: str, said: str) -> None:
    assert said in report(JobStatus("candles", state, 3, ledger=LEDGER), mode)


def test_the_status_line_says_how_far_telemetry_is() -> None:
    status = JobStatus("a", "running", windows=(WindowCounts("logs", 2, 1_200, 3),))
    assert status_line(status).endswith(" · logs: 2 windows safe, 1,200 waiting, 3 rows late")
    assert status.to_json()["windows"] == [{"source": "logs", "safe": 2, "waiting": 1_200, "late_rows": 3}]


def test_the_status_line_says_whom_a_job_waits_for() -> None:
    away = replace(STATUS, state=WAITING, error="waits: the broker does not answer\nsince")
    assert status_line(away).endswith(" · waits: the broker does not answer")
    failing = replace(STATUS, systems=(SystemState("kafka a:1", OPEN, 6, "refused", 0.0), SystemState("kafka b:1", CLOSED, 0, None, None)))
    assert status_line(failing).endswith(" · kafka a:1 open, 6 failures: refused")
    slow = replace(STATUS, batch_seconds=4.0, sink_seconds={"a": 0.5, "b": 3.25})
    assert status_line(slow).endswith(" · b takes 3.2 s of 4.0 s a batch")


def test_the_status_line_has_everything() -> None:
    assert status_line(STATUS) == (
        "candles ended · batch 3 · 100 rows · 50 rows/s · last batch 0.5 s · "
        "watermark 2026-01-01 00:00:00 (event time is 3.0 s behind the wall clock) · open windows 2 · late 6 · dead letters 9 · emitted 7"
    )
    assert "no batch yet" in status_line(JobStatus("x", "starting"))


def test_plain_status_comes_every_ten_seconds_and_only_when_it_changed() -> None:
    clock = iter([0.0, 5.0, 11.0, 11.0, 22.0, 22.0])
    console, out = text_console()
    view = Plain(console, lambda: next(clock))
    view.show([STATUS])
    assert out.getvalue() == ""
    view.show([STATUS])
    view.show([STATUS])
    assert out.getvalue().count("candles ended") == 1


def test_the_drawn_line_vanishes_and_rows_stay() -> None:
    console, out = text_console(terminal=True)
    with Drawn(console) as view:
        view.show([STATUS])
        view.say("a row")
    assert "rows/s" in out.getvalue()
    assert "a row" in out.getvalue()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_is_a_wish_to_stop(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []
    monkeypatch.setattr(os, "_exit", ended.append)
    now = iter([0.0, 0.5, 2.0])
    monkeypatch.setattr("windrow.cli.stopping.time.monotonic", lambda: next(now))
    # Whoever runs the tests may ignore signals, as nohup does.
    signal.signal(number, signal.SIG_DFL if number != signal.SIGINT else signal.default_int_handler)
    before = signal.getsignal(number)
    with StopWish() as wish:
        os.kill(os.getpid(), number)
        assert wish.asked
        os.kill(os.getpid(), number)
        assert ended == []
        os.kill(os.getpid(), number)
        assert ended == [128 + number]
    assert signal.getsignal(number) == before


def test_the_status_line_of_an_ended_input_has_no_watermark_that_is_unset() -> None:
    line = status_line(replace(STATUS, watermark=None, lag_seconds=None, has_ended=True))
    assert "· input ended ·" in line
    assert "unset" not in line


@pytest.mark.parametrize(
    ("held", "said"),
    [
        (Holder("trades", 2, None, 0.0), "watermark unset (partition 2 of trades has sent nothing yet and holds it back)"),
        (Holder("quotes", None, None, 0.0), "watermark unset (quotes has sent nothing yet and holds it back)"),
        (Holder("trades", 1, 5, 3_600.0), "watermark unset (partition 1 of trades holds it back by 1h 0m)"),
        (Holder("trades", 1, 5, 2.0), "watermark unset ·"),
    ],
)
def test_the_status_line_says_what_holds_the_watermark_back(held: Holder, said: str) -> None:
    status = replace(STATUS, watermark=None, lag_seconds=None, held_by=held)
    assert said in status_line(status)
    assert status.to_json()["held_by"]["source"] == held.source


def test_the_ledger_of_many_statements_keeps_its_labels_on_a_narrow_screen() -> None:
    statements = {f"statement_number_{n}": Account(rows_in=1000 + n, passed=1000 + n, emitted=7) for n in range(12)}
    out = StringIO()
    console = Console(file=out, width=80, force_terminal=True, color_system=None)
    status = JobStatus("many", ENDED, 3, ledger=Ledger({"trades": Account(rows_in=9, passed=9)}, statements))
    print_report(Finish((status,), {"many": "/state"}, "until_end", "", ""), console)
    lines = out.getvalue().splitlines()
    assert max(map(len, lines[:-1])) <= 80
    rows_in = [line for line in lines if line.startswith("rows in")]
    assert len(rows_in) > 1
    assert sorted(int(word.replace(",", "")) for line in rows_in for word in line.split()[2:]) == [9, *range(1000, 1012)]
    for name in statements:
        assert name in out.getvalue()


def test_the_report_names_what_was_left_out_although_the_ledger_adds_up() -> None:
    status = JobStatus(
        "candles",
        STOPPED,
        stale_tables={"rates": "no server answers"},
        held_by=Holder("trades", 3, 5_000_000, 720.0),
        windows=(WindowCounts("logs", safe=2, waiting=1, late_rows=4),),
    )
    assert left_out(status) == [
        "table rates was not refreshed, the rows of its last load were used: no server answers",
        "logs: 1 windows with data still wait, 4 rows came after theirs was taken",
        "partition 3 of trades holds the watermark back by 12m 0s: windows up to there stay open",
    ]
    assert left_out(replace(status, stale_tables={}, windows=(), held_by=Holder("trades", 1, None, 0.0))) == [
        "partition 1 of trades has sent nothing, so no window could close"
    ]
    assert left_out(JobStatus("candles", ENDED, has_ended=True, held_by=Holder("trades", 3, 5_000_000, 720.0))) == []
