"""Going back: what a job whose state is restored to an earlier batch may do with a table it has written to since."""

from __future__ import annotations

from windrow.connectors.postgres.commits import Commits
from windrow.connectors.postgres.failures import classify, explain
from windrow.connectors.postgres.settings import SinkSettings
from windrow.connectors.postgres.sink import key_of
from windrow.connectors.runtime import SinkRequest
from windrow.errors import UsageError
from windrow.resilience import Guard, RetryRule

_SECONDS = 30.0


def forget_after(request: SinkRequest, batch_id: int) -> None:
    """Let the batches after ``batch_id`` be written again. Rows with a key will be replaced by themselves; others cannot be told apart."""
    settings = SinkSettings.of(request.options)
    server = settings.server
    commits = Commits(settings.commits, request.job, request.statement)
    guard = Guard(server.system, classify, lambda error, what: explain(error, what, server), RetryRule(give_up_after=_SECONDS))

    def forget() -> None:
        with server.connect() as connection:
            last = commits.batch_in(connection)
            if last <= batch_id:
                return
            if not key_of(request):
                raise _cannot(settings, commits, last, batch_id)
            commits.note(connection, batch_id)

    guard.call(f"take {settings.table} back to batch {batch_id}", forget)


def _cannot(settings: SinkSettings, commits: Commits, last: int, batch_id: int) -> UsageError:
    where = f"job = '{commits.job}' AND statement = '{commits.statement}'"
    return UsageError(
        "WR879",
        f"rows are only added to {settings.table}, so those of batches {batch_id + 1} to {last} cannot be taken back",
        f"delete them yourself, then: UPDATE {commits.table} SET batch_id = {batch_id} WHERE {where}",
    )
