# Every target goes through bootstrap.py, which sets up what is missing first. `make` alone lists them.
PYTHON ?= python3
BOOT := $(PYTHON) bootstrap.py

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint types unit integration chaos slow fuzz bench bench-flink bench-joins bench-kafka bench-receiver soak format lock lock-check

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup:  ## make .venv, install the packages, find or install Java
	@$(BOOT) setup

demo:  ## run the demo
	@$(BOOT) demo

test:  ## every check and every test; what the CI runs
	@$(BOOT) test

lint:  ## style, format, types and import rules
	@$(BOOT) lint

types:  ## mypy alone
	@$(BOOT) python -- -m mypy

unit:  ## the tests that need no Spark, in seconds
	@$(BOOT) python -- -m pytest -q src tests/unit tests/fuzz

integration:  ## the tests that start a broker or a database
	@$(BOOT) python -- -m pytest -q tests/integration

fuzz:  ## 100,000 texts, wrong and right, for the parser, the checks and the formatter; takes half an hour
	@$(BOOT) python -- -m pytest -q -s -m slow -o faulthandler_timeout=0 tests/fuzz

chaos:  ## kills, restarts and torn files; takes minutes
	@$(BOOT) python -- -m pytest -q -s -m chaos -o faulthandler_timeout=0 tests/chaos

format:  ## rewrite the code in the project's format
	@$(BOOT) python -- -m ruff check --fix --quiet .
	@$(BOOT) python -- -m ruff format .

lock:  ## write the lock files from pyproject.toml
	@$(BOOT) lock

lock-check:  ## fail if the lock files do not match pyproject.toml
	@$(BOOT) lock-check

bench:  ## throughput against hand-written Structured Streaming, as ratios; takes minutes
	@$(BOOT) python -- -m benchmarks

bench-flink:  ## the same JSON through Flink SQL, in an environment of its own
	@$(BOOT) python -- -m benchmarks.flink

bench-joins:  ## two streams joined within a bound, against Spark's own stream-stream join; takes minutes
	@$(BOOT) python -- -m benchmarks.joins

bench-receiver:  ## the OTAP receiver over 5 GB of made-up logs; takes minutes
	@POLARS_MAX_THREADS=1 $(BOOT) python -- -m benchmarks.receiver

bench-kafka:  ## topic to topic, exactly once, against a hand-written job that is not; takes minutes
	@$(BOOT) python -- -m benchmarks.kafka

soak:  ## half an hour at a steady rate, drawn as a picture
	@$(BOOT) python -- -m benchmarks.soak --minutes 30 --picture docs/pictures/soak.png

slow:  ## the long property and growth tests
	@$(BOOT) python -- -m pytest -q -m slow tests
