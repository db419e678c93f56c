"""Write the checksums of ``jars.lock.toml`` anew: fetches every jar that stands there and notes what it got. Review the diff."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from windrow.jars import Jar, fetch, jar_groups, locked_jars, sha256_of

LOCK = Path(__file__).parents[1] / "src/windrow/jars.lock.toml"


def main() -> None:
    text = LOCK.read_text(encoding="utf-8")
    for group in jar_groups():
        jars = locked_jars(group)
        with tempfile.TemporaryDirectory() as folder:
            fetch(jars, Path(folder), Path(folder, "ivy"))
            for jar in jars:
                text = _with_checksum(text, jar, sha256_of(Path(folder, jar.file_name)))
    LOCK.write_text(text, encoding="utf-8")


def _with_checksum(text: str, jar: Jar, sha256: str) -> str:
    return re.sub(rf'^"{re.escape(jar.coordinates)}" = ".*"$', f'"{jar.coordinates}" = "{sha256}"', text, flags=re.MULTILINE)


if __name__ == "__main__":
    main()
