"""The same JSON through Flink SQL and through Windrow, each in a warm process: ``python -m benchmarks.flink``."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.data import write_trades
from benchmarks.sides import QUERIES, run_windrow
from windrow.spark.session import make_session

FLINK = "apache-flink==2.3.0"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repeat", type=int, default=3, help="runs of each side; the first warms it up")
    parser.add_argument("--files", type=int, default=5, help="files a batch, half a million rows each")
    parser.add_argument("--folder", default=str(Path(tempfile.gettempdir()) / "windrow-bench"))
    parser.add_argument("--flink", default=None, help=f"a Python that has {FLINK}; else an environment is made in the folder")
    options = parser.parse_args()
    folder = Path(options.folder)
    python = options.flink or _environment(folder / "flink")
    spark = make_session(f"local[{os.cpu_count() or 2}]", {"spark.driver.memory": "4g"})
    source = write_trades(spark, folder, options.rows, 1000, "json")
    ours = min(run_windrow(spark, QUERIES["tumbling"], source, "json", options.files, folder / "work") for _ in range(options.repeat))
    spark.stop()
    script = Path(__file__).with_name("flink_side.py")
    done = subprocess.run(
        [python, str(script), str(source), str(folder / "flink-out"), str(options.repeat)], capture_output=True, text=True, check=True
    )
    theirs = min(float(line) for line in done.stdout.split())
    rates = {"Flink SQL": options.rows / theirs / 1e6, "Windrow": options.rows / ours / 1e6}
    print(f"{options.rows:,} rows of JSON, tumbling 1 min: " + ", ".join(f"{name} {rate:.2f} M rows/s" for name, rate in rates.items()))
    print(f"{theirs / ours:.2f} x Flink")


def _environment(folder: Path) -> str:
    """An environment of its own: Flink pins other versions of what we use too."""
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", FLINK], check=True)
    return str(python)


if __name__ == "__main__":
    main()
