"""Two checkouts in turn: is the code of one slower than that of the other?

    python -m benchmarks.checkouts OTHER_CHECKOUT [--rounds 3] [--rows 4000000] [--queries tumbling,sliding,session]

Each round runs ``python -m benchmarks.side`` once in each checkout, a process of its own with that checkout's environment, one after
the other, so that a machine which is slow for a minute is slow for both. The best figure of each side counts. Seconds of processors
change less than seconds of the clock where other programs run.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, help="a checkout whose environment is set up (python3 bootstrap.py setup)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--queries", default="tumbling,sliding,session")
    parser.add_argument("--formats", default="parquet,json")
    options = parser.parse_args()
    best: dict[str, dict[str, list[float]]] = {"this": {}, "other": {}}
    for _ in range(options.rounds):
        for side, checkout in (("other", options.other), ("this", HERE)):
            for query, costs in _measure(checkout, options).items():
                best[side][query] = [min(pair) for pair in zip(costs, best[side].get(query, costs), strict=True)]
    print(f"seconds a million rows, best of {options.rounds}: by the clock, of processors (a ratio below 1: this checkout is slower)")
    print(f"{'query':<20} {'other':>7} {'this':>7}  ratio {'other':>9} {'this':>7}  ratio")
    for query, (clock, busy) in best["this"].items():
        other_clock, other_busy = best["other"][query]
        by_clock = f"{other_clock:>7.3f} {clock:>7.3f} {other_clock / clock:>6.2f}"
        print(f"{query:<20} {by_clock} {other_busy:>9.3f} {busy:>7.3f} {other_busy / busy:>6.2f}")


def _measure(checkout: Path, options: argparse.Namespace) -> dict[str, list[float]]:
    python = checkout / ".venv" / "bin" / "python"
    command = [str(python), str(HERE / "benchmarks" / "side.py"), str(options.rows), options.queries, options.formats]
    done = subprocess.run(command, cwd=checkout, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"the benchmark failed in {checkout}")
    found: dict[str, list[float]] = json.loads(done.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    main()
