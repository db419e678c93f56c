"""What a change does to a job, and which versions the job has had, as plain values: for ``--format json`` and for the server."""

from __future__ import annotations

from typing import Any

from windrow.jobs.job_versions import JobText, versions_of
from windrow.jobs.switching import JobSwitch, Review


def review_record(review: Review) -> dict[str, Any]:
    return {
        "job": review.job,
        "version": review.version,
        "batch": review.batch,
        "class": review.klass.value if review.changes else None,
        "can_apply": review.can_apply,
        "obstacles": review.obstacles,
        "open_windows": dict(review.open_windows),
        "what_stays": review.lasting,
        "strategy": review.strategy.value,
        "rows_read_again": review.rows_read if review.changes and review.strategy.builds else 0,
        "rows_read_so_far": review.rows_read,
        "load_seconds": round(review.load_seconds, 3),
        "is_final": review.is_final,
        "cut": None
        if review.cut is None
        else {
            "at_us": review.cut.at,
            "statements": list(review.cut.stages),
            "earlier_version": review.cut.version,
            "watermark_us": review.watermark,
            "done_at_us": review.cut_until,
        },
        # The cut that the present version came with, while its old windows are still open.
        "closing": None
        if review.closing is None or review.cut_until is None
        else {"at_us": review.closing.at, "earlier_version": review.closing.version, "done_at_us": review.cut_until},
        "changes": [
            {
                "statement": change.statement,
                "what": change.what,
                "class": change.klass.value,
                "reason": change.reason,
                "state": change.state,
                "is_cut": change.is_cut,
                "is_mixed": change.is_mixed,
                "refused": change.refused or None,
            }
            for change in review.changes
        ],
    }


def version_records(switch: JobSwitch) -> list[dict[str, Any]]:
    """Oldest first."""
    known = versions_of(switch.folder)
    ends = [later.since for later in known[1:]] + [None]
    return [_version(switch.job.name, one, end) for one, end in zip(known, ends, strict=True)]


def _version(job: str, one: JobText, end: int | None) -> dict[str, Any]:
    switch = one.switch
    return {
        "job": job,
        "version": one.number,
        "from_batch": one.since + 1,
        "to_batch": end,
        "class": switch.get("class", ""),
        "at": switch.get("at", ""),
        "by": switch.get("by", ""),
        "commit": switch.get("commit", ""),
        "strategy": switch.get("strategy", ""),
        "is_final": bool(one.card.get("is_final", True)),
        "message": switch.get("message") or (f"back to version {switch['rolled_back_to']}" if "rolled_back_to" in switch else ""),
        "changes": switch.get("changes", []),
    }
