"""``windrow approve``, ``promote``, ``diff``, ``flags``, ``tokens``, ``environments``: who may change what, on a server."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from windrow.cli.deployments import LOCAL, AsJson, Name, Server, TokenFile, client_of

Plan = Annotated[str, typer.Argument(help="The id of a plan.", show_default=False)]
To = Annotated[str, typer.Argument(metavar="ENV", help="The environment to run it in.", show_default=False)]
Flag = Annotated[str, typer.Argument(help="The name of a flag, such as NEW_RULES.", show_default=False)]
Env = Annotated[str, typer.Option("--env", help="One environment; everywhere where left out.", metavar="NAME", show_default=False)]
EnvName = Annotated[str, typer.Argument(metavar="ENV", help="An environment.", show_default=False)]
Scopes = Annotated[list[str], typer.Option("--scope", help="read, data, operate, deploy or admin; repeatable.", metavar="SCOPE")]
_ID = Annotated[str, typer.Argument(metavar="ID", help="As the list has it.", show_default=False)]


def approve(
    plan: Plan,
    server: Server = LOCAL,
    token_file: TokenFile = None,
    apply: Annotated[bool, typer.Option("--apply", help="And apply it at once.")] = False,
) -> None:
    """Approve a plan that somebody else has made."""
    client = client_of(server, token_file)
    found = client.approve(plan)
    print(f"plan {plan}: {found['deployment']}, version {found['from_version'] or 'none'} -> {found['to_version']}, is approved")
    if apply:
        print(f"{found['deployment']}: {client.apply(plan, key=plan)['step']}")


def promote(
    name: Name,
    to: To,
    server: Server = LOCAL,
    token_file: TokenFile = None,
    apply: Annotated[bool, typer.Option("--apply", help="And apply the plan at once, where nobody has to approve it.")] = False,
) -> None:
    """Plan to run a job's version in another environment."""
    client = client_of(server, token_file)
    plan = client.promote(name, to)
    print(f"plan {plan['id']}: {plan['deployment']}, version {plan['from_version'] or 'none'} -> {plan['to_version']}")
    if apply:
        print(f"{plan['deployment']}: {client.apply(plan['id'], key=plan['id'])['step']}")


def diff(
    name: Annotated[str, typer.Argument(metavar="JOB", help="A job, without an environment.", show_default=False)],
    env1: EnvName,
    env2: EnvName,
    server: Server = LOCAL,
    token_file: TokenFile = None,
    as_json: AsJson = False,
) -> None:
    """Show how a job differs between two environments, with a verdict for version, configuration and schema."""
    found = client_of(server, token_file).diff(name, env1, env2)
    if as_json:
        print(json.dumps(found))
        return
    print(f"{found['from']} and {found['to']}: {found['verdict']}")
    for part in ("version", "configuration", "schema"):
        print(f"  {part}: {found[part]['verdict']}")
        values = found[part]["values"]
        pairs = values.items() if isinstance(values, dict) else [("", values)] if found[part]["verdict"] != "same" else []
        for key, (one, two) in [*pairs, *found[part].get("flags", {}).items()]:
            print(f"    {key + ': ' if key else ''}{'-' if one is None else one} -> {'-' if two is None else two}")


# Flags


def list_flags(server: Server = LOCAL, token_file: TokenFile = None, as_json: AsJson = False) -> None:
    """List every value that flags had, newest first, and those that wait for an approval."""
    client = client_of(server, token_file)
    flags, waiting = client.flags(), client.flags_waiting()
    if as_json:
        print(json.dumps({"flags": flags, "waiting": waiting}))
        return
    _rows(("name", "env", "value", "since", "by"), [_flag(one) for one in flags])
    for one in waiting:
        print(f"waits for an approval: {one['id']}  {one['name']} in {one['env'] or 'every environment'}, asked for by {one['author']}")


def _flag(one: dict[str, Any]) -> tuple[str, ...]:
    return one["name"], one["env"] or "(all)", "removed" if one["value"] is None else one["value"], _at(one["at"]), one["author"]


def set_flag(
    flag: Flag,
    value: Annotated[str, typer.Argument(help="Its value.", show_default=False)],
    env: Env = "",
    secret: Annotated[bool, typer.Option("--secret", help="Show the value to nobody.")] = False,
    server: Server = LOCAL,
    token_file: TokenFile = None,
) -> None:
    """Set a flag, which texts name as ${NAME}."""
    _told_of(flag, client_of(server, token_file).set_flag(flag, value, env, is_secret=secret))


def unset_flag(flag: Flag, env: Env = "", server: Server = LOCAL, token_file: TokenFile = None) -> None:
    """Take a flag away."""
    _told_of(flag, client_of(server, token_file).set_flag(flag, None, env))


def approve_flag(wish: _ID, server: Server = LOCAL, token_file: TokenFile = None) -> None:
    """Approve a flag of a protected environment that somebody else has asked for."""
    _told_of("the flag", client_of(server, token_file).approve_flag(wish))


def _told_of(flag: str, told: dict[str, Any]) -> None:
    if told["waits_for"] is not None:
        print(f"{flag} waits for an approval by somebody else: windrow flags approve {told['waits_for']}")
        return
    print(f"{flag} is set" + (f"; restart to take it up: {', '.join(told['restart_to_take_up'])}" if told["restart_to_take_up"] else ""))


# Tokens


def list_tokens(server: Server = LOCAL, token_file: TokenFile = None, as_json: AsJson = False) -> None:
    """List the tokens of a server, without their secrets."""
    found = client_of(server, token_file).tokens()
    if as_json:
        print(json.dumps(found))
        return
    rows = [(t["id"], t["name"], ", ".join(t["scopes"]), _at(t["expires_at"], "never"), _at(t["last_used"], "never")) for t in found]
    _rows(("id", "name", "may", "expires", "last used"), rows)


def make_token(
    name: Annotated[str, typer.Argument(help="What it is called in the audit.", show_default=False)],
    scope: Scopes,
    days: Annotated[int | None, typer.Option("--days", min=1, max=3650, help="How long it is good for.", show_default=False)] = None,
    server: Server = LOCAL,
    token_file: TokenFile = None,
) -> None:
    """Make a token and print it; it is shown this once."""
    print(client_of(server, token_file).make_token(name, scope, days)["token"])


def remove_token(token: _ID, server: Server = LOCAL, token_file: TokenFile = None) -> None:
    """Remove a token: it opens nothing any more."""
    client_of(server, token_file).remove_token(token)
    print(f"token {token} is removed")


# Environments


def list_environments(server: Server = LOCAL, token_file: TokenFile = None) -> None:
    """List the environments of a server, and which are protected."""
    found = client_of(server, token_file).environments()
    _rows(("environment", ""), [(one["name"], "protected" if one["is_protected"] else "") for one in found])


def protect(env: EnvName, server: Server = LOCAL, token_file: TokenFile = None) -> None:
    """Protect an environment: what runs there is planned by one and approved by another."""
    client_of(server, token_file).protect(env)
    print(f"{env} is protected")


def unprotect(env: EnvName, server: Server = LOCAL, token_file: TokenFile = None) -> None:
    """Lift the protection of an environment."""
    client_of(server, token_file).protect(env, is_protected=False)
    print(f"{env} is not protected any more")


def _rows(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from windrow.introspection.answer import aligned

    print("\n".join(aligned(columns, rows)) if rows else "there is none")


def _at(millis: int | None, otherwise: str = "") -> str:
    return otherwise if millis is None else datetime.fromtimestamp(millis / 1000, UTC).strftime("%Y-%m-%d %H:%M")
