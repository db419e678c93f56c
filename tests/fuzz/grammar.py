"""Scripts written from the grammar: every form of statement, clause, window and expression, nested at random.

Expressions are made by the kind of value they have, so that most of what is written also passes the checks.
"""

from __future__ import annotations

from random import Random

SOURCES = """
CREATE STREAM trades (symbol STRING, price DOUBLE, volume BIGINT, ts TIMESTAMP, tags ARRAY<STRING>, attrs MAP<STRING, STRING>,
  place STRUCT<city: STRING, floor: INT>, doc STRING) WITH ('connector' = 'memory', 'event.time.field' = 'ts', 'headers' = 'true');
CREATE STREAM quotes (symbol STRING, price DOUBLE, volume BIGINT, ts TIMESTAMP, tags ARRAY<STRING>, attrs MAP<STRING, STRING>,
  place STRUCT<city: STRING, floor: INT>, doc STRING) WITH ('connector' = 'memory', 'event.time.field' = 'ts', 'watermark.delay' = '5s');
CREATE TABLE names (symbol STRING, label STRING, volume BIGINT, since TIMESTAMP, PRIMARY KEY (symbol))
  WITH ('connector' = 'memory', 'event.time.field' = 'since');
"""
_STREAMS = ("trades", "quotes")
_COLUMNS = {
    "number": ("price", "volume", "_offset", "_partition", "place.floor"),
    "text": ("symbol", "doc", "place.city", "tags[0]", "attrs['k']", "`symbol`", '"doc"'),
    "time": ("ts", "_event_time", "_timestamp"),
}
_DURATIONS = ("500ms", "1s", "30s", "5m", "1h", "2d", "1w", "INTERVAL '5' MINUTE", "INTERVAL 5 MINUTES", "90", "1.5h")
_COMPARED = ("=", "<>", "!=", "<", "<=", ">", ">=", "<=>", "IS DISTINCT FROM", "IS NOT DISTINCT FROM")


class Writer:
    """``depth`` is how many levels of nesting are left; ``made`` are the streams that the script has made so far."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.made: list[str] = []

    def pick(self, *choices: str) -> str:
        return self.rng.choice(choices)

    def maybe(self, text: str, chance: float = 0.3) -> str:
        return f" {text}" if self.rng.random() < chance else ""

    # Expressions

    def value(self, depth: int) -> str:
        return self.rng.choice((self.number, self.text, self.time, self.condition))(depth)

    def leaf(self, kind: str) -> str:
        column = self.rng.choice(_COLUMNS[kind])
        literals = {
            "number": ("0", "1", "42", "2.50", "1e3", ".5", "NULL", "9223372036854775807"),
            "text": ("'x'", "'it''s'", "''", "NULL", "'$${x}'", "'é'"),
            "time": ("TIMESTAMP '2026-01-05 10:00:00'", "current_timestamp()", "CAST(DATE '2026-01-05' AS TIMESTAMP)"),
        }
        return column if self.rng.random() < 0.7 else self.rng.choice(literals[kind])

    def number(self, depth: int) -> str:
        if depth <= 0:
            return self.leaf("number")
        a, b, d = self.number, self.condition, depth - 1
        return self.rng.choice((
            lambda: f"({a(d)} {self.pick('+', '-', '*', '/', '%')} {a(d)})",
            lambda: f"{a(d)} {self.pick('+', '-', '*', '/', '%', 'DIV')} {a(d)}",
            lambda: f"-{a(d)}",
            lambda: f"- (-{a(d)})",
            lambda: f"abs({a(d)})",
            lambda: f"ROUND({a(d)}, {self.pick('0', '2', '-1')})",
            lambda: f"COALESCE({a(d)}, {a(d)})",
            lambda: f"IF({b(d)}, {a(d)}, {a(d)})",
            lambda: f"CASE WHEN {b(d)} THEN {a(d)} ELSE {a(d)} END",
            lambda: f"CASE {a(d)} WHEN 1 THEN {a(d)} WHEN 2 THEN NULL END",
            lambda: f"CAST({self.value(d)} AS {self.pick('DOUBLE', 'BIGINT', 'INT', 'DECIMAL(10, 2)')})",
            lambda: f"TRY_CAST({self.text(d)} AS INT)",
            lambda: f"length({self.text(d)})",
            lambda: f"EXTRACT({self.pick('HOUR', 'MINUTE', 'EPOCH')} FROM {self.time(d)})",
            lambda: f"TIMESTAMPDIFF({self.pick('SECOND', 'HOUR')}, {self.time(d)}, {self.time(d)})",
            lambda: f"size(FILTER(tags, x -> x {self.pick('=', '<>')} {self.text(0)}))",
            lambda: f"AGGREGATE(array({a(0)}, {a(0)}), CAST(0 AS DOUBLE), (acc, x) -> acc + CAST(x AS DOUBLE))",
            lambda: "(SELECT MAX(volume) FROM names)",
            lambda: f"{self.text(0)}::DOUBLE",
        ))()  # fmt: skip

    def text(self, depth: int) -> str:
        if depth <= 0:
            return self.leaf("text")
        d = depth - 1
        return self.rng.choice((
            lambda: f"({self.text(d)} || {self.text(d)})",
            lambda: f"UPPER({self.text(d)})",
            lambda: f"TRIM({self.maybe('BOTH', 0.3)} 'x' FROM {self.text(d)})",
            lambda: f"SUBSTRING({self.text(d)} FROM 1 FOR 2)",
            lambda: f"CONCAT({self.text(d)}, {self.text(d)}, '-')",
            lambda: f"CAST({self.value(d)} AS STRING)",
            lambda: f"doc:{self.pick('a', 'a.b[0]', 'a[0].b')}",
            lambda: "JSON_VALUE(doc, '$.a')",
            lambda: "PARSE_JSON(doc):a.b::STRING",
            lambda: f"HEADER({self.pick(chr(39) + 'k' + chr(39), 'symbol')})",
            lambda: f"CASE WHEN {self.condition(d)} THEN {self.text(d)} ELSE {self.text(d)} END",
            lambda: f"NULLIF({self.text(d)}, {self.text(d)})",
            lambda: "concat_ws(',', TRANSFORM(tags, t -> upper(t)))",
        ))()  # fmt: skip

    def time(self, depth: int) -> str:
        if depth <= 0:
            return self.leaf("time")
        d = depth - 1
        length = self.pick("5m", "INTERVAL '5' MINUTE", "INTERVAL 1 HOUR", "INTERVAL '1 02:03:04' DAY TO SECOND", "INTERVAL '3' MONTH")
        unit = self.pick("HOUR", "DAY", "MINUTE")
        return self.rng.choice((
            lambda: f"({self.time(d)} {self.pick('+', '-')} {length})",
            lambda: f"DATE_TRUNC('{unit}', {self.time(d)})",
            lambda: f"DATEADD({unit}, {self.pick('1', '-1', 'volume')}, {self.time(d)})",
            lambda: f"COALESCE({self.time(d)}, {self.time(d)})",
        ))()  # fmt: skip

    def condition(self, depth: int) -> str:
        if depth <= 0:
            return self.pick("price > 1", "symbol IS NOT NULL", "TRUE", "volume = 2", "symbol LIKE 'A%'", "HAS_HEADER('k')")
        d = depth - 1
        a = self.rng.choice((self.number, self.text, self.time))
        inside = self.rng.choice((self.number, self.text))
        negated = self.maybe("NOT")
        return self.rng.choice((
            lambda: f"{a(d)} {self.pick(*_COMPARED)} {a(d)}",
            lambda: f"({self.condition(d)} {self.pick('AND', 'OR')} {self.condition(d)})",
            lambda: f"{self.condition(d)} {self.pick('AND', 'OR')} {self.condition(d)}",
            lambda: f"NOT {self.condition(d)}",
            lambda: f"{a(d)}{negated} BETWEEN {a(d)} AND {a(d)}",
            lambda: f"{inside(d)}{negated} IN ({inside(d)}, {inside(d)})",
            lambda: f"{self.text(d)}{negated} {self.pick('LIKE', 'ILIKE', 'RLIKE')} 'a%'",
            lambda: f"({self.value(d)}) IS{negated} NULL",
            lambda: f"symbol{negated} IN (SELECT symbol FROM names WHERE volume > {self.number(0)})",
            lambda: f"{self.pick('', 'NOT ')}EXISTS (SELECT 1 FROM names n WHERE n.label = 'x')",
            lambda: f"EXISTS(tags, t -> t = {self.text(0)})",
        ))()  # fmt: skip

    def aggregate(self, depth: int) -> str:
        number = self.number(min(depth, 1))
        call = self.rng.choice((
            lambda: "COUNT(*)",
            lambda: f"COUNT({self.maybe('DISTINCT')} {self.value(0)})",
            lambda: f"{self.pick('SUM', 'AVG', 'MIN', 'MAX', 'STDDEV', 'VARIANCE')}({number})",
            lambda: f"{self.pick('FIRST', 'LAST', 'EARLIEST', 'LATEST', 'ARRAY_AGG', 'COLLECT_SET')}({self.text(0)})",
            lambda: f"{self.pick('MIN_BY', 'MAX_BY')}({self.text(0)}, {number})",
            lambda: "STRING_AGG(symbol, ',' ORDER BY price DESC)",
            lambda: f"PERCENTILE_CONT({self.pick('0.5', '0.95', '1')}) WITHIN GROUP (ORDER BY {number})",
            lambda: f"APPROX_{self.pick('COUNT_DISTINCT(symbol)', 'PERCENTILE(price, 0.9)')}",
            lambda: "MODE(symbol)",
        ))()  # fmt: skip
        call += self.maybe(f"FILTER (WHERE {self.condition(min(depth, 1))})", 0.2)
        return call if depth <= 1 else self.pick(call, f"ROUND({call}, 2)", f"COALESCE({call}, NULL)")

    def over(self) -> str:
        call = self.pick("SUM(price)", "AVG(volume)", "LAG(price, 1, 0)", "ROW_NUMBER()", "RANK()", "FIRST_VALUE(symbol)", "COUNT(*)")
        buffer = self.maybe("ROWS WINDOW BUFFER 10 ROWS", 0.4)
        order = " ORDER BY ts" + self.maybe("DESC", 0.2) if self.rng.random() < 0.8 else ""
        takes_frame = call.startswith(("SUM", "AVG", "COUNT", "FIRST"))
        frame = self.maybe(self.pick("ROWS BETWEEN 2 PRECEDING AND CURRENT ROW", "ROWS 3 PRECEDING"), 0.4) if order and takes_frame else ""
        return f"{call} OVER ({buffer}{self.maybe('PARTITION BY symbol', 0.6)}{order}{frame})"

    # Queries

    def window(self) -> str:
        length = self.rng.choice(_DURATIONS)
        kind = self.pick(
            f"TUMBLING({length})", f"TUMBLE(ts, {length})", f"TUMBLING({length}, ts)", f"TUMBLING({length}) OFFSET 10s",
            f"SLIDING({self.pick('10m', '2h')}, {self.pick('1m', '5m')})", "HOP(ts, 10m, 1m)", "HOPPING(10m, INTERVAL '1' MINUTE)",
            f"SESSION({length})", "SESSION(30m, MAX 4h)", "SESSION(30m TIMEOUT)", f"ROWS({self.pick('1', '100')})",
        )  # fmt: skip
        has_time = "ts" in kind
        return (
            f"WINDOW {kind}"
            + ("" if has_time else self.maybe(self.pick("ON EVENT_TIME(ts)", "ON PROCESSING_TIME()"), 0.15))
            + self.maybe(f"WITH WATERMARK {self.watermark()}", 0.15)
            + self.maybe(f"TRIGGER {' OR '.join(self.triggers(kind))}", 0.2)
            + self.maybe(f"ALLOWED_LATENESS {self.rng.choice(_DURATIONS)}", 0.2)
            + self.maybe(
                f"LATE_DATA_STRATEGY {self.pick('DEAD_LETTER', 'DROP', 'INCLUDE_IN_NEXT', 'UPDATE_PREVIOUS', 'DEAD_LETTER INTO late')}", 0.2
            )
        )

    def watermark(self) -> str:
        return self.pick(
            "BOUNDED_OUT_OF_ORDERNESS(10s)", "ASCENDING_TIMESTAMPS", "ASCENDING_TIMESTAMPS()", f"PUNCTUATED({self.condition(1)})"
        )

    def triggers(self, kind: str) -> list[str]:
        some = ["ON WATERMARK", "EVERY 30s", "EVERY 1000 RECORDS", f"WHEN {self.condition(1)}", f"WHEN price > 1 OR {self.condition(0)}"]
        if kind.startswith("SESSION"):
            some.append("ON SESSION_END")
        return self.rng.sample(some, self.rng.randrange(1, 4))

    def source(self, depth: int) -> str:
        name = self.rng.choice((*_STREAMS, *self.made))
        if depth > 0 and self.rng.random() < 0.25:
            return f"({self.plain(depth - 1)}) {self.pick('', 'AS ')}d"
        return name + self.maybe(self.pick("t", "AS t", "AS `odd name`"), 0.2)

    def clauses(self, clauses: list[str]) -> str:
        """The clauses after FROM, in any order."""
        kept = [clause.strip() for clause in clauses if clause.strip()]
        if self.rng.random() < 0.4:
            self.rng.shuffle(kept)
        return " ".join(kept)

    def plain(self, depth: int) -> str:
        """All columns of a stream go on, so that whatever reads it finds them."""
        return f"SELECT * FROM {self.source(depth)}{self.maybe(f'WHERE {self.condition(depth)}', 0.5)}"

    def projected(self, depth: int) -> str:
        makers = (self.value, self.value, lambda _: self.over()) if self.rng.random() < 0.4 else (self.value,)
        items = [f"{self.rng.choice(makers)(depth)} AS c{i}" for i in range(self.rng.randrange(1, 4))]
        if self.rng.random() < 0.1:
            items.append(f"{self.time(1)} AS _event_time")
        view = self.maybe(self.pick("LATERAL VIEW explode(tags) e AS tag", "LATERAL VIEW OUTER posexplode(tags) AS pos, tag"), 0.15)
        rest = [
            self.maybe(f"WHERE {self.condition(depth)}", 0.5),
            self.maybe("LIMIT 5", 0.1),
            self.maybe("QUALIFY ROW_NUMBER() OVER (ORDER BY ts) < 3", 0.05),
        ]
        head = f"SELECT{self.maybe('DISTINCT', 0.1)} {', '.join(items)}"
        return f"{head} FROM {self.source(depth)}{view} {self.clauses(rest)}"

    def grouped(self, depth: int) -> str:
        keys = [self.rng.choice((self.text, self.number))(self.rng.randrange(2)) for _ in range(self.rng.randrange(3))]
        items = [f"{key} AS k{i}" for i, key in enumerate(keys)] + [
            f"{self.aggregate(depth)} AS a{i}" for i in range(self.rng.randrange(1, 4))
        ]
        has_window = self.rng.random() < 0.7
        if has_window and self.rng.random() < 0.4:
            items.append(self.pick("_window_start AS s", "TUMBLE_END() AS e", "_window_end", "_emission", "_revision AS r"))
        ranked = f"QUALIFY ROW_NUMBER() OVER (PARTITION BY _window_end ORDER BY a0 DESC) <= {self.rng.randrange(1, 4)}"
        rest = [
            self.maybe(f"WHERE {self.condition(depth)}", 0.4),
            f"GROUP BY {', '.join(keys)}" if keys else "",
            self.window() if has_window else "",
            self.maybe(f"HAVING {self.aggregate(0)} IS NOT NULL", 0.3),
            self.maybe(ranked, 0.1) if has_window else "",
            self.maybe(f"ORDER BY {self.pick('1', 'a0 DESC', 'a0 NULLS LAST')}", 0.2),
            self.maybe("LIMIT 10", 0.1),
            self.maybe(f"EMIT {self.pick('FINAL', 'CHANGES', 'CHANGES PER BATCH')}", 0.3),
        ]
        return f"SELECT {', '.join(items)} FROM {self.source(depth)} {self.clauses(rest)}"

    def joined(self, depth: int) -> str:
        kind = self.pick("JOIN", "INNER JOIN", "LEFT JOIN", "LEFT OUTER JOIN")
        where = self.maybe(f"WHERE a.price > {self.pick('1', 'a.volume', '2.5')}", 0.4)
        if self.rng.random() < 0.4:
            table = self.pick("names b", "names AS b", "names FOR SYSTEM_TIME AS OF a.ts AS b")
            return f"SELECT a.symbol, b.label, a.price FROM trades a {kind} {table} ON a.symbol = b.symbol{where}"
        kind = self.pick(kind, "RIGHT JOIN", "FULL JOIN", "FULL OUTER JOIN")
        bound = self.pick(
            "WITHIN 10m ON a.symbol = b.symbol", "WITHIN (1 HOUR, 5m) ON a.symbol = b.symbol", "WITHIN 5s USING (symbol)",
            "ON a.symbol = b.symbol AND b.ts BETWEEN a.ts - INTERVAL '5' MINUTE AND a.ts + INTERVAL '1' MINUTE",
        )  # fmt: skip
        if self.rng.random() < 0.3:
            return f"SELECT a.symbol AS s, COUNT(*) AS n FROM trades a JOIN quotes b {bound}{where} GROUP BY a.symbol {self.window()}"
        third = self.pick("a.volume", "_event_time AS at", "a.ts")
        return f"SELECT a.symbol AS s, b.price AS p, {third} FROM trades a {kind} quotes b {bound}{where}"

    def union(self, depth: int) -> str:
        parts = [f"SELECT symbol AS s, {self.number(depth)} AS n FROM {self.rng.choice(_STREAMS)}" for _ in range(self.rng.randrange(2, 4))]
        return self.pick(" UNION ALL ", " UNION ").join(f"({part})" if self.rng.random() < 0.2 else part for part in parts)

    def query(self, depth: int) -> str:
        make = self.rng.choice((self.projected, self.grouped, self.grouped, self.joined, self.union))
        if self.rng.random() < 0.85:
            return make(depth)
        tables = f"WITH w AS ({self.plain(1)}), v AS (SELECT * FROM w)"
        self.made.append("v")
        query = make(depth)
        self.made.remove("v")
        return f"{tables} {query}"

    # Statements

    def statement(self) -> str:
        depth = self.rng.choice((0, 1, 1, 2, 2, 3, 5))
        number = len(self.made)
        sink = self.maybe(f"WITH ('connector' = 'console'{self.maybe(', ' + repr('error.policy') + ' = ' + repr('fail'))})", 0.3)
        form = self.rng.randrange(10)
        if form < 4:
            return self.query(depth)
        if form == 4:
            self.made.append(f"s{number}")
            return f"CREATE STREAM s{number} AS {self.plain(depth)}"
        if form == 5:
            return f"CREATE STREAM q{self.rng.randrange(10**6)} AS {self.query(depth)}{sink}"
        if form == 6:
            return (
                f"CREATE TABLE t{self.rng.randrange(10**6)} AS SELECT symbol PRIMARY KEY, {self.number(depth)} AS v FROM {self.source(0)}"
            )
        if form == 7:
            name = f"i{self.rng.randrange(10**6)}"
            listed = self.pick("", " (b, a)")
            items = f"{self.number(depth)}, {self.text(depth)}" if listed else f"{self.text(depth)}, {self.number(depth)}"
            target = f"CREATE STREAM {name} (a STRING, b DOUBLE) WITH ('connector' = 'memory')"
            return f"{target}; INSERT INTO {name}{listed} SELECT {items} FROM trades"
        if form == 8:
            return f"EXPLAIN {self.pick('', f'CREATE STREAM e{number} AS ')}{self.query(depth)}"
        return self.pick(
            "SHOW STREAMS",
            "SHOW TABLES LIKE 'n%'",
            "SHOW FUNCTIONS LIKE 'to%'",
            "SHOW JOBS",
            "DESCRIBE trades",
            "DESC names",
            "DROP STREAM IF EXISTS gone",
        )


def written(rng: Random) -> str:
    """Some sources and one to four statements that read them."""
    writer = Writer(rng)
    notes = ("", "", "-- @owner: me\n", "-- @metric: n\n-- @metric_type: counter\n", "/* a comment */ ", "-- a comment\n")
    statements = [rng.choice(notes) + writer.statement() for _ in range(rng.randrange(1, 5))]
    text = SOURCES + ";\n".join(statements)
    return text.lower() if rng.random() < 0.05 else text
