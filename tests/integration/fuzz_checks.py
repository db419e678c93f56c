"""What every answer of the server is held to while it is fuzzed: read by schemathesis as its hooks."""

from __future__ import annotations

import os
from typing import Any

import schemathesis

# Values of the server's environment, with newlines between.
SECRETS = "WINDROW_FUZZ_SECRETS"


def no_secret_is_told(_context: Any, response: Any, case: Any) -> None:
    told = [secret for secret in os.environ[SECRETS].split("\n") if secret in response.text]
    assert not told, f"{case.method} {case.path} tells {told}"


schemathesis.check(no_secret_is_told)
