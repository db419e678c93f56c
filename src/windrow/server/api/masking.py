"""Answers without secrets, whatever made them."""

from __future__ import annotations

from typing import Any

from fastapi.responses import JSONResponse

from windrow.server.secrets import Secrets


def masked_json(secrets: Secrets) -> type[JSONResponse]:
    """A class of answers that have no value of these."""

    class MaskedJSON(JSONResponse):
        def render(self, content: Any) -> bytes:
            return super().render(secrets.without(content))

    return MaskedJSON
