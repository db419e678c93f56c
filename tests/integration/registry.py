"""A schema registry of a few lines: it knows schemas by number, and asks for a user and a password.

A schema is one of Avro, or a ``ProtobufSchema``, which other ones refer to by its subject.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

USER = "user:secret"


@dataclass(frozen=True)
class ProtobufSchema:
    """``refers`` has the subjects of the files that it imports, by the names that it imports them by."""

    file: bytes
    refers: Mapping[str, str] = field(default_factory=dict)
    subject: str = ""

    def answer(self, number: int) -> dict[str, Any]:
        references = [{"name": name, "subject": subject, "version": 1} for name, subject in self.refers.items()]
        told = {"schema": base64.b64encode(self.file).decode(), "schemaType": "PROTOBUF", "references": references}
        return {**told, "id": number, "version": 1, "subject": self.subject}


@contextmanager
def registry(schemas: Mapping[int, Any], *, fails_on_schemas: bool = False) -> Iterator[str]:
    """Its address. ``fails_on_schemas``: it lets everybody in, and then has no schema to give to anyone."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, answer = self._answer()
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def _answer(self) -> tuple[int, dict[str, Any]]:
            if self.headers.get("Authorization") != f"Basic {base64.b64encode(USER.encode()).decode()}":
                return 401, {"error_code": 401, "message": "Unauthorized"}
            path = self.path.partition("?")[0].split("/")
            if path[1:3] == ["schemas", "ids"] and fails_on_schemas:
                return 403, {"error_code": 403, "message": "closed"}
            if path[1:3] == ["schemas", "ids"] and int(path[3]) in schemas:
                found = schemas[int(path[3])]
                if not isinstance(found, ProtobufSchema):
                    return 200, {"schema": json.dumps(found)}
                # The text of a .proto file is what it says where nobody asks for the descriptor.
                return 200, found.answer(int(path[3])) if "format=serialized" in self.path else {
                    "schema": "syntax",
                    "schemaType": "PROTOBUF",
                }
            for number, schema in schemas.items() if path[1] == "subjects" else ():
                if isinstance(schema, ProtobufSchema) and schema.subject == path[2]:
                    return 200, schema.answer(number)
            return 404, {"error_code": 40403, "message": "not found"}

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name it has in the library
            """Not on the terminal."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
