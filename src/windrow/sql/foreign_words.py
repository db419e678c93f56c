"""What users of Flink SQL, ksqlDB, Spark, PostgreSQL and BigQuery write, and what it is here.

The first that fits a fault answers it, so that a longer pattern stands before a shorter one that begins alike. Spellings whose
meaning is exactly ours are not listed: the grammar reads them.
"""

from __future__ import annotations

from windrow.model.window_kinds import SPELLINGS
from windrow.sql.foreign import Foreign

_STATEMENTS = (
    Foreign(
        "ANTI JOIN <name> WITHIN <length>",
        "ANTI JOIN is for tables",
        "write LEFT JOIN {0} WITHIN {1} ON ... WHERE {0}.key IS NULL",
    ),
    Foreign(
        "SEMI JOIN <name> WITHIN <length>",
        "SEMI JOIN is for tables",
        "write JOIN {0} WITHIN {1} ON ..., and QUALIFY ROW_NUMBER() OVER (PARTITION BY id ORDER BY _event_time) = 1 for one row of each",
    ),
    *(
        Foreign(f"^ CREATE {words} VIEW <name>", "a view is a stream without a connector", "write CREATE STREAM {0} AS SELECT ...")
        for words in ("OR REPLACE TEMP", "OR REPLACE TEMPORARY", "OR REPLACE", "TEMP")
    ),
    Foreign(
        "^ CREATE TYPE <name> AS", "a struct is written where it is used", "write column STRUCT<a: INT, b: STRING>, without CREATE TYPE {0}"
    ),
    Foreign("^ CREATE INDEX <name>", "tables are looked up by what a join says is equal", "remove the statement"),
    *(
        Foreign(f"^ CREATE {thing} <name>", "who runs a job, and where, is said when it starts", "remove the statement")
        for thing in ("CLUSTER", "ROLE", "USER")
    ),
    Foreign("^ CREATE SECRET <name>", "secrets come from the environment", "write 'password' = '${{PASSWORD}}' where one is needed"),
    Foreign(
        "^ CREATE SUBSCRIPTION <name>",
        "what comes out is read from a sink",
        "write CREATE STREAM {0} AS SELECT ... WITH ('connector' = ...)",
    ),
    Foreign("^ CREATE OR REPLACE <name> <name>", "a file states what there is: nothing is replaced", "write CREATE {0} {1} ..."),
    Foreign("^ CREATE <name> IF NOT EXISTS <name>", "a file states what there is: IF NOT EXISTS says nothing", "write CREATE {0} {1} ..."),
    Foreign(
        "^ CREATE SINK <name> FROM <name>",
        "a sink is a stream with a query and a connector",
        "write CREATE STREAM {0} AS SELECT * FROM {1} WITH ('connector' = 'kafka', ...)",
    ),
    Foreign(
        "^ CREATE SINK <name>",
        "a sink is a stream with a query and a connector",
        "write CREATE STREAM {0} AS SELECT ... WITH ('connector' = 'kafka', ...)",
    ),
    Foreign(
        "^ CREATE MATERIALIZED VIEW <name>",
        "a materialized view is a table that a query fills",
        "write CREATE TABLE {0} AS SELECT ... for the latest row of each key, or CREATE STREAM {0} AS SELECT ... for every change",
    ),
    Foreign("^ CREATE VIEW <name>", "a view is a stream without a connector", "write CREATE STREAM {0} AS SELECT ..."),
    Foreign("^ CREATE TEMPORARY VIEW <name>", "a view is a stream without a connector", "write CREATE STREAM {0} AS SELECT ..."),
    Foreign("^ CREATE SOURCE TABLE <name>", "a source is a stream", "write CREATE STREAM {0} (...) WITH ('connector' = 'kafka', ...)"),
    Foreign("^ CREATE SOURCE STREAM <name>", "a source is a stream", "write CREATE STREAM {0} (...) WITH ('connector' = 'kafka', ...)"),
    Foreign("^ CREATE SOURCE <name>", "a source is a stream", "write CREATE STREAM {0} (...) WITH ('connector' = 'kafka', ...)"),
    Foreign(
        "^ CREATE <name> TABLE <name>",
        "every table is of this file, and a stream is read from outside",
        "write CREATE STREAM {1} (...) WITH (...) for rows that come in, CREATE TABLE {1} (...) WITH (...) for reference data",
    ),
    Foreign(
        "^ CREATE CONNECTOR",
        "a connector is an option of a stream",
        "write CREATE STREAM name (...) WITH ('connector' = 'kafka', ...)",
    ),
    Foreign(
        "^ CREATE CONNECTION",
        "a connection is made of the options of a stream",
        "write CREATE STREAM name (...) WITH ('connector' = 'kafka', 'bootstrap.servers' = 'localhost:9092', ...)",
    ),
    *(
        Foreign(f"^ {words}", "there are no databases, catalogs or schemas: names stand alone", "remove the statement")
        for words in ("CREATE DATABASE", "CREATE SCHEMA", "CREATE CATALOG", "USE")
    ),
    Foreign(
        "^ SET <s> = <s>",
        "settings belong to a stream or to a run, not to a statement",
        "write WITH ({0} = {1}) behind the stream that it is for, or windrow run --set key=value",
    ),
    Foreign(
        "^ SET",
        "settings belong to a stream or to a run, not to a statement",
        "write WITH ('key' = 'value') behind the stream that it is for, or windrow run --set key=value",
    ),
    Foreign("^ RESET", "settings belong to a stream or to a run, not to a statement", "remove the statement"),
    Foreign("^ UPDATE <name>", "rows of a stream are not changed", "write CREATE TABLE name AS SELECT ... for the latest row of each key"),
    Foreign("^ DELETE FROM <name>", "rows of a stream are not deleted", "write CREATE STREAM name AS SELECT * FROM {0} WHERE ..."),
    Foreign("^ MERGE", "rows are merged by the sink", "write 'write.mode' = 'upsert' into the WITH (...) of a PostgreSQL sink"),
    Foreign("^ ALTER", "a file states what there is: nothing is altered", "change the CREATE statement"),
    Foreign(
        "INSERT INTO <name> VALUES",
        "rows come from a source, not from a statement",
        "put them into a file of JSON lines and write CREATE STREAM {0} (...) WITH ('connector' = 'files', 'path' = 'rows.jsonl')",
    ),
    Foreign(
        "INSERT INTO <name> <(...)> VALUES",
        "rows come from a source, not from a statement",
        "put them into a file of JSON lines and write CREATE STREAM {0} (...) WITH ('connector' = 'files', 'path' = 'rows.jsonl')",
    ),
    Foreign("^ EXECUTE STATEMENT SET", "the statements of a file run together", "remove EXECUTE STATEMENT SET BEGIN and END"),
    Foreign("^ BEGIN", "the statements of a file run together", "remove BEGIN STATEMENT SET and END"),
    Foreign("^ END", "the statements of a file run together", "remove BEGIN STATEMENT SET and END"),
    Foreign("^ LIST <name>", "what there is, is shown", "write SHOW {0}"),
    Foreign("^ PRINT", "topics are printed on the command line", "windrow consume TOPIC"),
    Foreign("^ TERMINATE", "a job ends with its process", "press Ctrl-C, or stop the process of windrow run"),
    Foreign("^ PAUSE", "a job that is stopped goes on where it was", "press Ctrl-C; windrow run FILE goes on"),
    Foreign("^ RESUME", "a job that is stopped goes on where it was", "windrow run FILE"),
    Foreign("^ SUBSCRIBE", "what a query puts out is printed", "write SELECT * FROM name, or CREATE STREAM name AS SELECT ... WITH (...)"),
    Foreign(
        "^ DEFINE <name>", "there are no variables", "write ${{{0}:-value}} for what the environment variable {0} holds, else the value"
    ),
    Foreign("^ UNDEFINE <name>", "there are no variables", "remove the statement"),
    *(
        Foreign(f"^ {words}", "the engine sees to it", "remove the statement")
        for words in ("CACHE", "UNCACHE", "REFRESH", "ANALYZE", "VACUUM", "OPTIMIZE", "GRANT", "REVOKE", "ASSERT", "ADD JAR", "COMMIT")
    ),
    Foreign("DELETE TOPIC", "topics are the broker's", "remove DELETE TOPIC"),
    Foreign("^ SHOW QUERIES", "running queries are jobs", "write SHOW JOBS"),
    Foreign("^ SHOW TOPICS", "topics are the broker's", "write SHOW STREAMS for what this file reads and writes"),
    Foreign("^ SHOW CREATE <name> <name>", "columns and options are described", "write DESCRIBE {1}"),
    Foreign("^ DESCRIBE EXTENDED <name>", "DESCRIBE says all there is", "write DESCRIBE {0}"),
    Foreign("^ DESCRIBE FORMATTED <name>", "DESCRIBE says all there is", "write DESCRIBE {0}"),
    Foreign("^ VALUES", "rows come from a source, not from a statement", "write SELECT ... FROM the name of a stream"),
    Foreign("^ FROM <name>", "a query begins with SELECT", "write SELECT * FROM {0}, with WHERE, GROUP BY and the like behind it"),
    Foreign("^ PREPARE", "a statement has no parameters", "write ${{NAME}} for what the environment variable NAME holds"),
    Foreign(
        "^ DECLARE <name>", "there are no variables", "write ${{{0}:-value}} for what the environment variable {0} holds, else the value"
    ),
    Foreign("INSERT OVERWRITE <name>", "rows are added to an output", "write INSERT INTO {0}"),
    Foreign(
        "CREATE <name> <name> LIKE <name>",
        "the columns of a definition are written out",
        "write CREATE {0} {1} (...) WITH (...), with the columns that DESCRIBE {2} shows",
    ),
    Foreign(
        "CREATE FUNCTION <name> AS",
        "a function is written in Python, and says what it takes and gives",
        "write CREATE FUNCTION {0}(x STRING) RETURNS STRING LANGUAGE PYTHON AS 'module:function'",
    ),
    Foreign("^ EXPLAIN PLAN FOR", "a plan is explained without more words", "write EXPLAIN SELECT ..."),
    *(
        Foreign(f"^ EXPLAIN {word}", "a plan is explained without more words", "write EXPLAIN SELECT ...")
        for word in ("EXTENDED", "FORMATTED")
    ),
)

_COLUMNS = (
    Foreign(
        "WATERMARK <name> DELAY <length>",
        "a watermark is its column less a length of time",
        "write WATERMARK FOR {0} AS {0} - INTERVAL {1}",
        within="CREATE",
    ),
    Foreign(
        "WATERMARK FOR <name> )",
        "a watermark is its column less a length of time",
        "write WATERMARK FOR {0} AS {0} - INTERVAL '5' SECOND",
        within="CREATE",
    ),
    Foreign(
        "WATERMARK FOR <name> ,",
        "a watermark is its column less a length of time",
        "write WATERMARK FOR {0} AS {0} - INTERVAL '5' SECOND",
        within="CREATE",
    ),
    *(
        Foreign(
            f"{before} <name> AS PROCTIME ( )",
            "every row has its time of arrival: _timestamp",
            "remove {0}, and write WINDOW TUMBLING(1m) ON PROCESSING_TIME() for windows of that time",
            within="CREATE",
        )
        for before in ("(", ",")
    ),
    *(
        Foreign(
            f"{before} <name> AS",
            "a column of a source is read, not computed",
            "remove {0}, and compute it in a query: CREATE STREAM name AS SELECT *, ... AS {0} FROM ...",
            within="CREATE",
        )
        for before in ("(", ",")
    ),
    Foreign(
        "METADATA FROM <s>",
        "where a row comes from is in system columns",
        "remove this column, and read _timestamp, _partition, _offset, _topic or _headers",
        within="CREATE",
    ),
    Foreign(
        "METADATA",
        "where a row comes from is in system columns",
        "remove this column, and read _timestamp, _partition, _offset, _topic or _headers",
        within="CREATE",
    ),
    Foreign(
        "<name> <name> KEY",
        "the key of a record is the system column _key",
        "write {0} {1} where the column is in the value; else remove it, and read _key",
        within="CREATE",
    ),
    Foreign(
        "USING <name> LOCATION <s>",
        "where rows are is an option",
        "write WITH ('connector' = 'files', 'path' = {1}, 'format' = '{0}')",
        within="CREATE",
    ),
    Foreign("USING <name>", "where rows come from is an option", "write WITH ('connector' = 'kafka', ...) or another", within="CREATE"),
    Foreign("LOCATION <s>", "where rows are is an option", "write WITH ('connector' = 'files', 'path' = {0}, ...)", within="CREATE"),
    Foreign("HEADERS", "headers are read by a function", "remove this column, and write HEADER('name') in a query", within="CREATE"),
    Foreign("HEADER ( <s> )", "headers are read by a function", "remove this column, and write HEADER({0}) in a query", within="CREATE"),
    Foreign("DEFAULT", "a column has no default", "write COALESCE(column, value) in a query", within="CREATE"),
    Foreign("PARTITIONED BY", "how an output is laid out is an option of it", "remove PARTITIONED BY (...)", within="CREATE"),
    Foreign("COMMENT <s>", "a comment stands behind --", "write -- and the text of {0}", within="CREATE"),
    Foreign("FORMAT <name> ENCODE <name>", "the format is an option", "write 'format' = 'json' into WITH (...)", within="CREATE"),
    Foreign("FROM KAFKA", "where rows come from is an option", "write WITH ('connector' = 'kafka', 'topic' = '...', ...)", within="CREATE"),
)

_WINDOWS = (
    Foreign("TRIGGER AFTER WATERMARK", "a window emits on the watermark", "write TRIGGER ON WATERMARK"),
    Foreign("TRIGGER ON EVENT", "an emission for every row is EMIT CHANGES", "write EMIT CHANGES instead of TRIGGER ON EVENT"),
    Foreign("TRIGGER ON COUNT <n>", "a trigger of so many rows is EVERY", "write TRIGGER EVERY {0} RECORDS OR ON WATERMARK"),
    Foreign("TRIGGER ON COUNT ( <n> )", "a trigger of so many rows is EVERY", "write TRIGGER EVERY {0} RECORDS OR ON WATERMARK"),
    Foreign("TRIGGER ON PROCESSING_TIME", "a trigger of the clock is EVERY", "write TRIGGER EVERY 30s OR ON WATERMARK"),
    Foreign("TRIGGER PROCESSING TIME <length>", "a trigger of the clock is EVERY", "write TRIGGER EVERY {0} OR ON WATERMARK"),
    *(
        Foreign(f"{kind} WINDOW {length}", "the word WINDOW comes first", f"write WINDOW {kind}({{0}})")
        for kind in SPELLINGS
        for length in ("<length>", "<(...)>")
    ),
    Foreign("WITH LATENESS <length>", "how late rows may be is ALLOWED_LATENESS", "write ALLOWED_LATENESS {0}"),
    Foreign("WATERMARK DELAY <length>", "the watermark of a window has a kind", "write WITH WATERMARK BOUNDED_OUT_OF_ORDERNESS({0})"),
    Foreign(
        "WITHWATERMARK <name> <length>",
        "a watermark is stated with the stream",
        "write WITH ('event.time.field' = '{0}', 'watermark.delay' = '{1}') where the stream is created",
    ),
    Foreign("WATERMARK <length>", "the watermark of a window has a kind", "write WITH WATERMARK BOUNDED_OUT_OF_ORDERNESS({0})"),
    Foreign("LATE DATA STRATEGY <name>", "the words are joined by underscores", "write LATE_DATA_STRATEGY {0}"),
    Foreign("LATE_DATA <name>", "what becomes of late rows is LATE_DATA_STRATEGY", "write LATE_DATA_STRATEGY {0}"),
    Foreign("<name> ( SIZE <length> , SLIDE <length>", "a window that moves on is SLIDING(size, advance)", "write SLIDING({1}, {2})"),
    Foreign("<name> ( SIZE <length> , ADVANCE <length>", "a window that moves on is SLIDING(size, advance)", "write SLIDING({1}, {2})"),
    Foreign("<name> ( <length> BY <length>", "a window that moves on is SLIDING(size, advance)", "write SLIDING({1}, {2})"),
    Foreign(
        "TIMESTAMP BY <name>",
        "the event time is stated with the stream",
        "write WITH ('event.time.field' = '{0}') where the stream is created",
    ),
    Foreign(
        "RETENTION <length>",
        "a window is kept as long as late rows are taken: there is no RETENTION",
        "remove RETENTION {0}; GRACE PERIOD says how late rows may be",
    ),
    Foreign(
        "WITHIN <length> GRACE PERIOD <length>",
        "late rows of a join are the watermark's",
        "write WITHIN {0}, and 'watermark.delay' = '{1}' into the WITH (...) of both streams",
    ),
    Foreign(", GRACE <length> )", "how late rows may be is ALLOWED_LATENESS", "remove it, and write ALLOWED_LATENESS {0} behind the )"),
    Foreign("GRACE PERIOD <length>", "how late rows may be is ALLOWED_LATENESS", "write {window} ALLOWED_LATENESS {0}"),
    Foreign("GRACE <length>", "how late rows may be is ALLOWED_LATENESS", "write {window} ALLOWED_LATENESS {0}"),
    Foreign("LATENESS <length>", "how late rows may be is ALLOWED_LATENESS", "write {window} ALLOWED_LATENESS {0}"),
    Foreign(") WITHIN <length>", "WITHIN is the time bound of a join", "write {window} ALLOWED_LATENESS {0} for how late rows may be"),
    Foreign(
        "WITHIN <length>",
        "WITHIN is the time bound of a join",
        "write WHERE _event_time > NOW() - INTERVAL {0} for rows that are no older, or WINDOW TUMBLING({0})",
    ),
    Foreign("WINDOW <name> <length>", "the length of a window stands in parentheses", "write WINDOW {0}({1})"),
    Foreign("<name> ( <length> EVERY <length>", "a window that moves on is SLIDING(size, advance)", "write SLIDING({1}, {2})"),
    Foreign("<name> ( <length> ADVANCE BY <length>", "a window that moves on is SLIDING(size, advance)", "write SLIDING({1}, {2})"),
    Foreign(
        "EMIT FINAL AFTER <length>",
        "how long rows are waited for is the delay of the watermark",
        "write WITH WATERMARK BOUNDED_OUT_OF_ORDERNESS({0}) behind WINDOW ...(...), and EMIT FINAL",
    ),
    *(
        Foreign(f"EMIT {words}", "an emission for every row is EMIT CHANGES", "write EMIT CHANGES")
        for words in ("ON UPDATE", "ON CHANGE", "UPDATES", "CHANGE")
    ),
    Foreign(
        "<name> . WITHWATERMARK ( <s> , <s> )",
        "a watermark is stated with the stream",
        "write FROM {0}, and WITH ('event.time.field' = {1}, 'watermark.delay' = {2}) where {0} is created",
    ),
    Foreign(
        "WATERMARK <name> DELAY OF <length>",
        "a watermark is stated with the stream",
        "write WITH ('event.time.field' = '{0}', 'watermark.delay' = '{1}') where the stream is created",
    ),
    Foreign(
        "MATCH_RECOGNIZE (",
        "patterns of rows are not part of this dialect",
        "compare a row with those before it: LAG(price) OVER (PARTITION BY symbol ORDER BY ts), and filter with QUALIFY",
    ),
)

_SELECTS = (
    Foreign("SELECT TOP <n>", "the first rows are asked for with LIMIT", "remove TOP {0}, and end the query with LIMIT {0}"),
    Foreign("LIMIT <n> OFFSET <n>", "LIMIT counts over the life of a stream: there are no pages", "write LIMIT {0}"),
    Foreign("LIMIT <n> , <n>", "LIMIT counts over the life of a stream: there are no pages", "write LIMIT {1}"),
    Foreign(
        "DISTINCT ON <(...)>",
        "one row for each key is a window function",
        "write SELECT ..., and QUALIFY ROW_NUMBER() OVER (PARTITION BY {0} ORDER BY _event_time) = 1",
    ),
    Foreign("* EXCEPT <(...)>", "* stands for all columns", "name the columns that you want instead of * EXCEPT ({0})"),
    Foreign("* EXCLUDE <(...)>", "* stands for all columns", "name the columns that you want instead of * EXCLUDE ({0})"),
    Foreign("* REPLACE <(...)>", "* stands for all columns", "name the columns that you want, and write {0} among them"),
    Foreign("<name> ( <name> SEPARATOR <s>", "the separator of joined texts is an argument", "write STRING_AGG({1}, {2})"),
    *(
        Foreign(f"{name} ( <n> ) <(...)>", "a function has one list of arguments", f"write {ours}")
        for name, ours in (
            ("QUANTILE", "PERCENTILE_APPROX({1}, {0})"),
            ("MEDIAN", "PERCENTILE_APPROX({1}, 0.5)"),
            ("TOPK", "slice(sort_array(COLLECT_LIST({1}), false), 1, {0})"),
            ("GROUPARRAY", "slice(COLLECT_LIST({1}), 1, {0})"),
        )
    ),
    Foreign("BETWEEN <s> PRECEDING", "a length of time is an INTERVAL", "write BETWEEN INTERVAL {0} PRECEDING"),
    Foreign(
        "AS OF TIMESTAMP",
        "the version of a table is asked for by FOR SYSTEM_TIME AS OF",
        "write JOIN names FOR SYSTEM_TIME AS OF t._event_time AS n ON t.key = n.key",
    ),
    Foreign("<name> -> <name> -> <name>", "a field stands behind a point", "write {0}.{1}.{2}"),
    Foreign("<name> -> <name>", "a field stands behind a point", "write {0}.{1}"),
    Foreign("STRUCT ( <name> : =", "the fields of a struct get their names with AS", "write STRUCT(value AS {0})"),
    Foreign("MAP ( <s> : =", "keys and values of a map take turns", "write MAP({0}, value)"),
    Foreign("SAFE . <name> (", "what cannot be computed is NULL already", "write {0}(...)"),
    Foreign("= >", "greater or equal is >=", "write >="),
    Foreign("= <", "less or equal is <=", "write <="),
    Foreign("ARRAY ( SELECT", "an array of what a query finds is an aggregate", "write (SELECT ARRAY_AGG(x) FROM ...)"),
    Foreign("LIMIT ALL", "LIMIT takes a number", "remove LIMIT ALL"),
    Foreign("FROM <name> AS OF NOW", "a stream is read as it comes", "write FROM {0}"),
    Foreign(": <name>", "a statement has no parameters", "write ${{{0}}} for what the environment variable {0} holds"),
    Foreign("@ <name>", "there are no variables", "write ${{{0}}} for what the environment variable {0} holds"),
    Foreign("{ { <name> } }", "there are no templates", "write ${{{0}}} for what the environment variable {0} holds"),
    Foreign("* *", "a power is a function", "write POWER(x, 2) instead of x ** 2"),
    Foreign("/ /", "a whole division is a function", "write FLOOR(x / 2), or x DIV 2"),
    Foreign("AND WHERE", "WHERE is written once", "remove the second WHERE"),
    Foreign("& &", "both of two conditions is AND", "write AND instead of &&"),
    Foreign(
        "INTERVAL <s> <name> AT TIME ZONE <s>",
        "times are moved to a zone by a function",
        "write from_utc_timestamp(ts, {2}) around all of it",
    ),
    Foreign("<name> . <name> AT TIME ZONE <s>", "times are moved to a zone by a function", "write from_utc_timestamp({0}.{1}, {2})"),
    Foreign("<name> AT TIME ZONE <s>", "times are moved to a zone by a function", "write from_utc_timestamp({0}, {1})"),
    Foreign("<name> <(...)> AT TIME ZONE <s>", "times are moved to a zone by a function", "write from_utc_timestamp({0}({1}), {2})"),
    Foreign("AT TIME ZONE <s>", "times are moved to a zone by a function", "write from_utc_timestamp(ts, {0})"),
    Foreign("TABLESAMPLE <(...)>", "a sample is a condition", "write WHERE rand() < 0.1 for a tenth of the rows"),
    Foreign(
        "PIVOT (",
        "a pivot is made of aggregates with FILTER",
        "write SUM(x) FILTER (WHERE k = 'a') AS a, SUM(x) FILTER (WHERE k = 'b') AS b",
    ),
    Foreign(
        "PARTITION BY <name> . <name>",
        "the key of an output is marked in SELECT",
        "write {0}.{1} PRIMARY KEY in the SELECT list, and remove PARTITION BY {0}.{1}",
    ),
    Foreign(
        "PARTITION BY <name>",
        "the key of an output is marked in SELECT",
        "write {0} PRIMARY KEY in the SELECT list, and remove PARTITION BY {0}",
    ),
    Foreign("CLUSTER BY", "rows are distributed by the engine", "remove CLUSTER BY"),
    Foreign("DISTRIBUTE BY", "rows are distributed by the engine", "remove DISTRIBUTE BY"),
    Foreign("SORT BY", "rows of one emission are sorted by ORDER BY", "write ORDER BY"),
    Foreign("EXCEPT SELECT", "a difference is a condition over a table", "write WHERE NOT EXISTS (SELECT ... FROM a table WHERE ...)"),
    Foreign("EXCEPT ALL SELECT", "a difference is a condition over a table", "write WHERE NOT EXISTS (SELECT ... FROM a table WHERE ...)"),
    Foreign("MINUS SELECT", "a difference is a condition over a table", "write WHERE NOT EXISTS (SELECT ... FROM a table WHERE ...)"),
    Foreign("INTERSECT SELECT", "an intersection is a condition over a table", "write WHERE EXISTS (SELECT ... FROM a table WHERE ...)"),
    Foreign("FROM STREAM ( <name> )", "a stream is read by its name", "write FROM {0}"),
    *(
        Foreign(
            f"{word} <name> ( <s>",
            "what is read is a stream or a table with a connector",
            "write CREATE STREAM name (...) WITH ('connector' = 'files', 'path' = {1}), and read that",
        )
        for word in ("FROM", "JOIN")
    ),
    Foreign(
        "FROM <name> ( <n>",
        "what is read is a stream or a table with a connector",
        "write CREATE STREAM name (...) WITH ('connector' = 'generator') for made-up rows, and read that",
    ),
    Foreign("FROM <name> . <name> . <name>", "names have no database before them", "write FROM {2}"),
    Foreign("FROM <name> . <name>", "names have no database before them", "write FROM {1}"),
    Foreign("JOIN <name> . <name>", "names have no database before them", "write JOIN {1}"),
    Foreign("INTO <name> . <name>", "names have no database before them", "write INSERT INTO {1}"),
    Foreign("NATURAL", "the columns of a join are named", "write JOIN ... USING (column)"),
    Foreign("CROSS APPLY", "what each row holds is joined with UNNEST", "write CROSS JOIN UNNEST(items) AS u (item)"),
    Foreign("OUTER APPLY", "what each row holds is joined with UNNEST", "write LEFT JOIN UNNEST(items) AS u (item) ON TRUE"),
    Foreign("LATERAL TABLE (", "what each row holds is joined with UNNEST", "write CROSS JOIN UNNEST(items) AS u (item)"),
    Foreign(
        "ON CONFLICT",
        "what happens to a row with the same key is an option of the sink",
        "write 'write.mode' = 'upsert' into its WITH (...)",
    ),
    Foreign("WITH RECURSIVE <name>", "a query over a stream cannot read itself", "write WITH name AS (...)"),
    Foreign("STRUCT < <name> <name> >", "the fields of a struct get their names with AS", "write STRUCT(value AS {0})"),
    Foreign("TIME <s>", "there is no type for a time of day", "keep it as the text {0}"),
    Foreign("JSON <s>", "JSON is text here", "write {0}, or PARSE_JSON({0})"),
    Foreign(
        "LATERAL (",
        "a subquery that names columns of the row stands in the select list",
        "write (SELECT ... FROM table t WHERE t.key = s.key) AS name in SELECT",
    ),
    Foreign(
        "FROM ( VALUES",
        "rows come from a source, not from a query",
        "put them into a file of JSON lines and write CREATE TABLE name (...) WITH ('connector' = 'files', 'path' = 'rows.jsonl')",
    ),
    Foreign(
        "JOIN ( VALUES",
        "rows come from a source, not from a query",
        "put them into a file of JSON lines and write CREATE TABLE name (...) WITH ('connector' = 'files', 'path' = 'rows.jsonl')",
    ),
    Foreign(
        "JSON_OBJECTAGG ( KEY <name>", "an object is made of its entries", "write to_json(map_from_entries(ARRAY_AGG(STRUCT(key, value))))"
    ),
    Foreign("R <s>", "a backslash is an ordinary character in every string", "write {0}"),
    Foreign("E <s>", "a backslash is an ordinary character in every string", "write {0}, with chr(10) for a line end"),
    Foreign("B <s>", "bytes are made by a function", "write encode({0}, 'utf-8')"),
)

FOREIGN_WORDS: tuple[Foreign, ...] = (*_STATEMENTS, *_COLUMNS, *_WINDOWS, *_SELECTS)
