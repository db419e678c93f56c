# Every target goes through bootstrap.py, which sets up what is missing first. `make` alone lists them.
PYTHON ?= python3
BOOT := $(PYTHON) bootstrap.py

.DEFAULT_GOAL := help
.PHONY: fuzz-api bench-against changes cluster docs help setup demo test lint types unit integration storage chaos slow test-random test-alone fuzz conformance-all test-spark42 bench bench-flink bench-joins bench-kafka bench-receiver soak format lock lock-check

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

storage:  ## the contract of storage on a local disk, on HDFS and on an S3 server
	@$(BOOT) python -- -m pytest -q -m "not chaos" tests/unit/storage tests/integration/storage

test-random:  ## the whole suite in an order by chance (WINDROW_TEST_SEED=7 repeats one); for the night
	@WINDROW_TEST_SEED=$${WINDROW_TEST_SEED:-$$(date +%s)} $(BOOT) python -- -m pytest -q src tests

# 5: every test of a file is for another target.
test-alone:  ## every file of tests that need Spark or a server, each in a process of its own; for the night
	@failed=; for file in $$(find tests/spark tests/property tests/integration tests/unit/spark -name 'test_*.py' | sort); do \
	  $(BOOT) python -- -m pytest -q -x $$file || [ $$? = 5 ] || failed="$$failed $$file"; done; \
	if [ -n "$$failed" ]; then echo "fail by themselves:$$failed"; exit 1; fi

fuzz:  ## 100,000 texts, wrong and right, for the parser, the checks and the formatter; takes half an hour
	@$(BOOT) python -- -m pytest -q -s -m slow -o faulthandler_timeout=0 tests/fuzz

conformance-all:  ## every case through Structured Streaming, from JSON lines and Parquet, with the fast paths on and off; takes an hour
	@$(BOOT) python -- -m pytest -q -m conformance_all -o faulthandler_timeout=0 tests/spark/test_cases.py

fuzz-api:  ## the server's API, asked 100,000 times whatever comes; takes half an hour
	@WINDROW_FUZZ_EXAMPLES=$${WINDROW_FUZZ_EXAMPLES:-1400} $(BOOT) python -- -m pytest -q -s -o faulthandler_timeout=0 tests/integration/test_fuzzed_api.py

chaos:  ## kills, restarts and torn files; takes minutes
	@$(BOOT) python -- -m pytest -q -s -m chaos -o faulthandler_timeout=0 tests/chaos

changes:  ## 4,000 random changes of queries with their state, in both homes of state and through restarts; takes half an hour
	@$(BOOT) python -- -m pytest -q -x -m slow -o faulthandler_timeout=0 tests/property/test_changed_queries.py tests/property/test_cut_over_queries.py

cluster:  ## a Spark cluster of machines that share nothing, made of namespaces (Linux, root): workers, examples, cases, faults
	@$(BOOT) python -- -m pytest -q -s -m cluster -o faulthandler_timeout=0 tests/cluster

docs:  ## the documentation site into build/site, every link checked
	@$(BOOT) python -- -m mkdocs build --strict --quiet
	@echo build/site/index.html

format:  ## rewrite the code in the project's format
	@$(BOOT) python -- -m ruff check --fix --quiet .
	@$(BOOT) python -- -m ruff format .

lock:  ## write the lock files from pyproject.toml
	@$(BOOT) lock

lock-check:  ## fail if the lock files do not match pyproject.toml
	@$(BOOT) lock-check

test-spark42:  ## the suite on the version of Spark before the pinned one, in an environment of its own; for the night
	@WINDROW_VENV=$${WINDROW_VENV:-.venv-spark42} $(BOOT) python -- tools/test_on_spark.py 4.2

bench:  ## throughput against hand-written Structured Streaming, as ratios; takes minutes
	@$(BOOT) python -- -m benchmarks

bench-against:  ## two checkouts in turn: make bench-against OTHER=path
	@$(BOOT) python -- -m benchmarks.checkouts $(OTHER)

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
