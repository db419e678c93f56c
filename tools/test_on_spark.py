"""Run the test suite on another version of Spark than the pinned one: ``python tools/test_on_spark.py 4.2 [arguments for pytest]``.

For an environment of its own (``WINDROW_VENV``): it replaces pyspark there, and puts nothing back.
"""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys

# The one before the pinned version. Held to its checksum, as the lock holds the others.
VERSIONS = {"4.2": ("4.2.1", "d79b7c8ee41e66a9202fe6f600ca90b931ca571ae9dbdf31c58d2672e5102da0")}

# All that can tell versions apart. The browser's tests start no Spark, and the example package is installed with the pinned one.
SUITE = ("src", "tests/unit", "tests/spark", "tests/property", "tests/integration", "--ignore=tests/integration/test_plugin.py")


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0] not in VERSIONS:
        print(f"usage: test_on_spark.py {'|'.join(VERSIONS)} [arguments for pytest]", file=sys.stderr)
        return 2
    if os.environ.get("WINDROW_VENV") is None:
        print("set WINDROW_VENV to a folder for an environment of its own: pyspark is replaced there", file=sys.stderr)
        return 2
    version, digest = VERSIONS[arguments[0]]
    if importlib.metadata.version("pyspark") != version:
        wanted = f"pyspark=={version} --hash=sha256:{digest}\n"
        command = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", sys.executable, "--no-deps", "--require-hashes"]
        subprocess.run([*command, "-r", "-"], input=wanted, text=True, check=True)
    return subprocess.run([sys.executable, "-m", "pytest", "-q", *(arguments[1:] or SUITE)], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
