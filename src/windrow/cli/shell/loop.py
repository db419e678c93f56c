"""Read, answer, run, and back to the prompt."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, assert_never

from windrow.cli.analyzing import answered
from windrow.cli.app import FAILED, WRONG, report, report_unexpected
from windrow.cli.session import RunRequest, run_jobs, watching_console
from windrow.cli.shell.commands import COMMANDS
from windrow.cli.shell.session import Done, Query, ShellSession
from windrow.cli.shell.system import WORDS, Outside
from windrow.cli.spark_start import start_spark
from windrow.cli.stopping import StopWish
from windrow.compiler import compile_sql
from windrow.errors import JobError, SparkLostError, WindrowError
from windrow.introspection import Answer
from windrow.jobs import RunOptions, start
from windrow.jobs.options import Mode
from windrow.plan.stages import Job
from windrow.settings import environment, load_settings
from windrow.spark.internals.java_process import stop_session
from windrow.sql import ends_statement

LEAVE = "\\q"


class Shell:
    """``is_watched``: somebody sits at a terminal. A SELECT then runs until Ctrl-C; from a pipe it takes in what is there and ends."""

    def __init__(self, session: ShellSession, master: str, *, is_watched: bool, state: str = "", outside: Outside | None = None) -> None:
        self._outside = outside or Outside(None, Path(load_settings().state))
        self._session = session
        self._master = master
        self._is_watched = is_watched
        # Where the jobs of the file that was loaded have their state, and what these are: EXPLAIN ANALYZE looks at them.
        self._state = state
        self._jobs: tuple[Job, ...] = ()
        self._spark: Any = None
        self._code = 0

    def __enter__(self) -> Shell:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._spark is not None:
            stop_session(self._spark)

    def load(self, text: str, name: str) -> None:
        """The definitions of a file; its queries are left for the user to ask. What is wrong with it is an error."""
        self._jobs = compile_sql(text, name, environment()).plan.jobs
        for reply in self._session.submit(text, name):
            if isinstance(reply, Done) and self._is_watched:
                print(reply.text)

    def talk(self) -> int:
        """The prompt, until \\q or Ctrl-D. Its errors are part of the talk: the exit code is 0."""
        from windrow.cli.shell.prompt import make_prompt
        from windrow.settings import user_folder

        prompt = make_prompt(self._session.catalog, user_folder() / "history")
        print(f"Statements end with ;   {LEAVE} leaves, \\? lists the commands.")
        while True:
            try:
                text = prompt.prompt()
            except KeyboardInterrupt:
                continue
            except EOFError:
                return 0
            if text.strip() == LEAVE:
                return 0
            self._do(text)

    def read(self, lines: Iterable[str]) -> int:
        """Statements from a pipe or file, one after another. Gives the exit code: what was wrong, if anything was."""
        gathered = ""
        for line in lines:
            if not gathered.strip() and line.strip() == LEAVE:
                return self._code
            gathered += line
            if gathered.lstrip().startswith("\\") or ends_statement(gathered):
                self._do(gathered)
                gathered = ""
        self._do(gathered)
        return self._code

    def _do(self, text: str) -> None:
        try:
            for each in self._statements(text.strip()):
                if (told := self._outside.answer(each)) is not None:
                    print(f"{told}\n")
                    continue
                for reply in self._session.submit(each):
                    self._reply(reply)
        except WindrowError as error:
            # At a prompt everybody knows which text is meant; in a pipe the code is remembered for the end.
            self._code = FAILED if isinstance(error, JobError) else WRONG
            report(error)
        except Exception as error:
            self._code = report_unexpected(error)

    def _statements(self, text: str) -> Iterable[str]:
        """The SQL that a text or command stands for."""
        command, _, rest = text.partition(" ")
        argument = rest.strip().rstrip(";").strip()
        match command:
            case "":
                return ()
            case "\\d":
                return (f"DESCRIBE {argument}",) if argument else ("SHOW STREAMS", "SHOW TABLES")
            case "\\explain" if argument:
                return (f"EXPLAIN {argument}",)
            case _ if command.startswith("\\"):
                if command not in COMMANDS:
                    print(f"there is no command {command}")
                print("\n".join(f"{name.ljust(10)}{meaning}" for name, meaning in COMMANDS.items()))
                print("\n".join(f"{name.ljust(38)}{meaning}" for name, meaning in WORDS.items()))
                return ()
            case _:
                return (text,) if text.strip(";").strip() else ()

    def _reply(self, reply: Done | Answer | Query) -> None:
        match reply:
            case Done(text=text):
                print(text)
            case Answer():
                print(f"{answered(reply, self._jobs, self._state)}\n")
            case Query():
                self._run(reply)
            case _:
                assert_never(reply)

    def _run(self, query: Query) -> None:
        if self._spark is None:
            self._spark = start_spark(self._master)
        mode: Mode = "continuous" if self._is_watched else "until_end"
        with tempfile.TemporaryDirectory(prefix="windrow-shell-", ignore_cleanup_errors=True) as state, StopWish() as wish:
            request = RunRequest(mode, str(Path(state)), self._master, {}, is_quiet=not self._is_watched, has_report=False)
            jobs = start(query.compiled, RunOptions(mode, state, self._master), self._spark)
            limit = query.limit

            def is_over() -> bool:
                account = jobs.status()[0].ledger.statements.get(query.name)
                return limit is not None and account is not None and account.emitted >= limit

            try:
                run_jobs(jobs, wish, request, watching_console(), is_over)
            except SparkLostError:
                # The next query starts another.
                stop_session(self._spark)
                self._spark = None
                if wish.is_for_all:
                    raise SystemExit(wish.exit_code) from None
                raise
            if wish.is_for_all:
                raise SystemExit(0)
