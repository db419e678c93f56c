"""The server's API, asked whatever its description admits and whatever it does not: no answer is a fault, or tells a secret.

``make fuzz-api`` asks 100,000 times.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn

from tests.integration.fuzz_checks import SECRETS
from tests.unit.server.conftest import ADA, SERVER_VARIABLES, SQL, Programs, make_server
from windrow.server.texts import Text

CHECKS = "not_a_server_error,content_type_conformance,response_schema_conformance,status_code_conformance,no_secret_is_told"
# Those that have no end, wait on purpose, or take the token away that asks.
LEFT_OUT = r"stream$|/live$|/wait$|/analyze$|/session$|/tokens/|/channels/"
EXAMPLES = os.environ.get("WINDROW_FUZZ_EXAMPLES", "")
# By default few, and none that starts a process.
LEFT_OUT_BY_DEFAULT = rf"{LEFT_OUT}|/replay$|/query$"


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """The address of a server and its token. Its jobs are programs that wait."""
    made = make_server(tmp_path, Programs(tmp_path))
    for name, env in (("orders", ""), ("orders", "dev"), ("other", "")):
        made.changing.deploy(Text(name, SQL.replace("k, COUNT(*)", "'${REGION}' AS r, k, COUNT(*)"), env=env), ADA, starts=False)
    made.registry.add_event("job.failed", "orders", f"cannot connect with {SERVER_VARIABLES['SECRET_X']}", "error")
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(128)
        server = uvicorn.Server(uvicorn.Config(made.client.app, log_level="error"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://localhost:{listener.getsockname()[1]}", made.tokens["admin"]
        finally:
            server.should_exit = True
            thread.join()
    made.changing.close()
    made.programs.end_all()
    made.registry.close()


@pytest.mark.integration
def test_whatever_is_asked_there_is_a_sound_answer(asked: tuple[str, str], tmp_path: Path) -> None:
    pytest.importorskip("schemathesis")
    url, token = asked
    words = ["run", f"{url}/api/v1/openapi.json", "-H", f"Authorization: Bearer {token}", "--checks", CHECKS, "--request-timeout", "240"]
    if EXAMPLES:
        words += ["--exclude-path-regex", LEFT_OUT, "--phases", "examples,coverage,fuzzing", "--max-examples", EXAMPLES]
    else:
        words += ["--exclude-path-regex", LEFT_OUT_BY_DEFAULT, "--phases", "fuzzing", "--max-examples", "2"]
    env = {
        **os.environ,
        "SCHEMATHESIS_HOOKS": "tests.integration.fuzz_checks",
        SECRETS: "\n".join((SERVER_VARIABLES["SECRET_X"], SERVER_VARIABLES["PG_PIN"])),
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).resolve().parents[2]), os.environ.get("PYTHONPATH", "")]),
    }
    done = subprocess.run(
        [sys.executable, "-m", "schemathesis.cli", *words], capture_output=True, text=True, env=env, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert "generated" in done.stdout
    print(done.stdout[-600:])
