"""Two checkouts in turn: is the code of one slower than that of the other?

    python -m benchmarks.checkouts OTHER_CHECKOUT [--rounds 3] [--rows 4000000] [--queries tumbling,sliding,session]

Each round runs ``python -m benchmarks.side`` once in each checkout, a process of its own with that checkout's environment, one after
the other, so that a machine which is slow for a minute is slow for both. The best rate of each side counts.
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
    best: dict[str, dict[str, float]] = {"this": {}, "other": {}}
    for _ in range(options.rounds):
        for side, checkout in (("other", options.other), ("this", HERE)):
            for query, rate in _measure(checkout, options).items():
                best[side][query] = max(rate, best[side].get(query, 0.0))
    print(f"{'query':<24} {'other':>8} {'this':>8}  ratio   (million rows a second, best of {options.rounds})")
    for query, rate in best["this"].items():
        print(f"{query:<24} {best['other'][query]:>8.2f} {rate:>8.2f}  {rate / best['other'][query]:>5.2f}")


def _measure(checkout: Path, options: argparse.Namespace) -> dict[str, float]:
    python = checkout / ".venv" / "bin" / "python"
    command = [str(python), str(HERE / "benchmarks" / "side.py"), str(options.rows), options.queries, options.formats]
    done = subprocess.run(command, cwd=checkout, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"the benchmark failed in {checkout}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    main()
