"""Every command by name: where it lives and what it does, in a line. Nothing is imported here: help must answer at once."""

from __future__ import annotations

TITLE = "Streaming SQL with event-time windows, on Apache Spark."
START = "Start with: windrow demo"

# Name to "module:function", below windrow.cli, and the sentence that the function's docstring begins with.
COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("run:run", "Run the jobs of a SQL file, until Ctrl-C unless an option says otherwise."),
    "init": ("init:init", "Make a project: sources, queries, cases, windrow.yaml and made-up rows."),
    "sql": ("shell:sql", "Type SQL and see what comes out."),
    "check": ("check:check_files", "Check SQL files: all that is wrong with each of them, without starting Spark."),
    "explain": ("explain:explain_file", "Show how a file would run, and why so, without starting Spark."),
    "advise": (
        "advise:advise",
        "Say what a job could do better, each with its figures and the line to write: lateness, partitions, state, sinks, filters.",
    ),
    "top": (
        "top:top",
        "Watch jobs as they run: rows a second, lag, watermark by partition, where the time goes, late and dead rows, state, alerts.",
    ),
    "lineage": ("lineage:show_lineage", "Show which columns follow from which, in one file or through several."),
    "group": (
        "group:show_group",
        "Show who reads and writes what in several files, what they share and could share, and where they do not fit together.",
    ),
    "impact": (
        "impact:show_impact",
        "Show who is affected by a change of a file, in it and in other files: none, values change, type widens, breaks.",
    ),
    "docs": ("docs:write_docs", "Write a page about files: sources, stages, sinks, lineage, schedules, owners, and a runbook."),
    "events": ("events:show_events", "Show what happened to the jobs of a file: states, tables, systems, late bursts, limits."),
    "ask": (
        "asking:ask_history",
        "Ask the history of a file's jobs: what their windows said, closed and open ones, by SELECT ... FROM HISTORY OF a statement.",
    ),
    "plan": ("changing:plan_change", "Show what a changed file would do to the state of its jobs, and change nothing."),
    "apply": (
        "changing:apply_change",
        "Carry the state of a file's jobs over to its present text and watch it work. A job that runs is stopped at a batch's end.",
    ),
    "history": ("going_back:show_history", "List the versions of a file's jobs: who changed what, when, and which batches each has run."),
    "rollback": (
        "going_back:roll_back",
        "Take a file's jobs back to an earlier version, as it stood when the next one took over. Rows read since then are read again.",
    ),
    "fmt": ("fmt:format_file", "Print a SQL file in canonical layout."),
    "test": ("test:run_cases", "Run case files: a query, its input rows, and what must come out."),
    "produce": ("kafka:produce", "Send a file of JSON lines to a topic, a record each."),
    "consume": ("kafka:consume", "Print the records of a topic as they come, until Ctrl-C."),
    "jars": ("jar_files:fetch_jars", "Fetch the jars that Kafka needs, so that later runs need no network for them."),
    "pack": ("pack:pack", "Make an archive of this Python with Windrow, for the workers of a cluster: windrow run --pack FILE ships it."),
    "submit": ("submit:submit", "Run a file on a cluster with its driver there, too, by spark-submit: YARN and Kubernetes."),
    "warm-up": ("warm_up:warm_up", "Keep what Java loads for Spark in an archive, so that later runs start sooner."),
    "serve": ("serve:serve", "Keep many jobs running, with a web page and an HTTP API."),
    "deploy": ("deployments:deploy", "Give a file to a server, as a new job or as a new version of one, and run it there."),
    "list": ("deployments:list_jobs", "List the jobs of a server."),
    "status": ("deployments:status", "Show how a job of a server is."),
    "stop": ("deployments:stop", "Stop a job of a server; it goes on from there when it is started again."),
    "start": ("deployments:start", "Start a job of a server that was stopped, has failed or has ended."),
    "pause": (
        "deployments:pause",
        "Stop a job of a server after its batch and keep its Spark ready; windrow start goes on at once.",
    ),
    "restart": ("deployments:restart", "Stop a job of a server and start it again."),
    "bundle": (
        "bundle:write_bundle",
        "Pack all that helps to understand a job into one zip, without secrets; the page of a server opens it.",
    ),
    "approve": ("governing:approve", "Approve a plan that somebody else has made."),
    "promote": ("governing:promote", "Plan to run a job's version in another environment."),
    "diff": (
        "governing:diff",
        "Show how a job differs between two environments, with a verdict for version, configuration and schema.",
    ),
    "logs": ("deployments:logs", "Print the end of the log of a server's job."),
    "demo": ("run:demo", "Watch it work: candles over made-up trades, some of them late, some broken."),
}

# Name to what it says of itself, and its own commands.
GROUPS: dict[str, tuple[str, dict[str, str]]] = {
    "dead-letters": (
        "The rows that a job set aside: look at them, keep them, feed them back.",
        {
            "list": "letters:list_letters",
            "show": "letters:show_letter",
            "export": "letters:export_letters",
            "replay": "letters:replay_letters",
        },
    ),
    "state": (
        "Look at the state of a job, and take it back to an earlier batch.",
        {"list": "states:list_versions", "show": "states:show_state", "restore": "states:restore_state"},
    ),
    "config": (
        "windrow.yaml: what holds in an environment, and where it comes from.",
        {"show": "config:show_config", "diff": "config:diff_config", "schema": "config:print_schema"},
    ),
    "why": (
        "Why a window is open, what became of a row, where the time goes: of a running job, or a stopped one.",
        {"window": "why:why_window", "row": "why:why_row", "lag": "why:why_lag"},
    ),
    "kafka": (
        "A Kafka broker on this machine, to try things with.",
        {"up": "kafka:up", "down": "kafka:down", "status": "kafka:status"},
    ),
    "otap": (
        "OpenTelemetry data as the OTAP exporter writes it.",
        {"generate": "otap:generate_files", "export": "exporting:export_messages"},
    ),
    "ops": (
        "What Prometheus and Grafana need to watch the jobs of a file.",
        {"rules": "ops:print_rules", "dashboards": "ops:print_dashboards"},
    ),
    "flags": (
        "The flags of a server: variables of texts, with a history.",
        {
            "list": "governing:list_flags",
            "set": "governing:set_flag",
            "unset": "governing:unset_flag",
            "approve": "governing:approve_flag",
        },
    ),
    "tokens": (
        "Who may ask a server, and for what.",
        {"list": "governing:list_tokens", "make": "governing:make_token", "remove": "governing:remove_token"},
    ),
    "environments": (
        "The environments of a server, and which are protected.",
        {"list": "governing:list_environments", "protect": "governing:protect", "unprotect": "governing:unprotect"},
    ),
    "alerts": (
        "The alerts of a server's jobs: look at them, take them on, silence them, try who is told.",
        {
            "list": "alerts:list_alerts",
            "ack": "alerts:acknowledge",
            "silence": "alerts:silence",
            "unsilence": "alerts:unsilence",
            "rules": "alerts:list_rules",
            "rule": "alerts:change_rule",
            "test": "alerts:try_channel",
        },
    ),
    "receiver": (
        "Look at the OTAP sources of a job, and read windows again.",
        {
            "status": "receiving:show_status",
            "late": "receiving:list_late",
            "reprocess": "receiving:reprocess_windows",
            "query": "window_queries:query_windows",
        },
    ),
}

# Groups of which ``list`` may be left out.
LISTED = frozenset({"dead-letters", "alerts", "flags", "tokens", "environments"})


def overview(width: int) -> str:
    """What ``windrow --help`` prints."""
    import textwrap

    entries = {**{name: text for name, (_, text) in COMMANDS.items()}, **{name: text for name, (text, _) in GROUPS.items()}}
    options = {"--version": "Print the version and leave.", "-h, --help": "Show this message, or that of a command."}
    column = max(map(len, (*entries, *options))) + 4

    def listed(rows: dict[str, str]) -> list[str]:
        return [
            textwrap.fill(text, width, initial_indent=f"  {name:<{column - 2}}", subsequent_indent=" " * column)
            for name, text in rows.items()
        ]

    lines = ["Usage: windrow COMMAND [OPTIONS] [ARGUMENTS]", "", TITLE, "", "Commands:", *listed(entries), "", "Options:", *listed(options)]
    return "\n".join([*lines, "", "windrow COMMAND --help says more of a command.", START])
