"""Every error code there is, in one list: what the documentation is written from, and what a test compares the source with.

Packages with many codes declare their own; those that are raised in one or two places only are declared here. A code is never
used again for something else.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from windrow.check.codes import CODES as CHECK_CODES
from windrow.cli.codes import CODES as CLI_CODES
from windrow.config.codes import CODES as CONFIG_CODES
from windrow.connectors.codes import CODES as CONNECTOR_CODES
from windrow.model.fate import FATE_CODES
from windrow.sql.codes import SYNTAX_CODES

ROW_CODES: dict[str, str] = {code: meaning for code, meaning in FATE_CODES.values() if code}

OTHER_CODES: dict[str, str] = {
    "WR548": "windrow init would have to write over a file",
    "WR549": "windrow init was not told which preset, or one that there is not",
    "WR550": "the memory connector was opened outside of a case or test",
    "WR562": "windrow init cannot write its files",
    "WR601": "Spark needs Java, and no Java of a version it runs on was found",
    "WR602": "a jar could not be fetched",
    "WR603": "a jar is not the file that was expected",
    "WR604": "the folder that keeps jars cannot be written",
    "WR605": "Windrow does not run on Spark Connect",
    "WR606": "settings of the given session are not those that results depend on",
    "WR608": "the Python of Spark's workers lacks a package that the job needs there",
    "WR609": "the Python of Spark's workers does not start",
    "WR626": "a line to be sent to a topic is not JSON",
    "WR627": "records were not taken by a topic",
    "WR628": "batches are to be traced, and the OpenTelemetry SDK is not installed",
    "WR630": "an environment variable of Windrow has a value that makes no sense",
    "WR631": "an address to listen on cannot be understood or opened",
    "WR632": "an address to listen on is in use",
    "WR633": "an address that others can reach needs a token",
    "WR634": "the token of an address cannot be read, or is too short",
    "WR635": "a log file cannot be written",
    "WR640": "rows of a job were asked for that kept none",
    "WR641": "rows were asked for of a statement that has no output",
    "WR642": "a library that rows should become a frame of is not installed",
    "WR643": "there is no Spark session in which rows could become a DataFrame",
    "WR650": "an installed package brings a connector, an aggregate or a function that cannot be used",
    "WR670": "a column was asked for that the file does not have",
    "WR671": "the text that a state was made by no longer gives its plan",
    "WR672": "a batch was begun and not finished, and what it wrote cannot be taken back",
    "WR673": "a change of a query to which its state cannot be carried over",
    "WR674": "a rollback was cut short",
    "WR675": "there is no such version of a job to go back to",
    "WR676": "the statements of a file fall into other jobs than those that have state",
    "WR801": "the state folder cannot be read or written",
    "WR802": "a file of the state could not be written while the job ran",
    "WR803": "the state was written by a version of Windrow that this one cannot read",
    "WR804": "the state belongs to other statements: the file has changed since",
    "WR805": "the job is running already",
    "WR806": "state on the executors needs a folder that all of them can write",
    "WR807": "the state has grown beyond its limit",
    "WR808": "another driver has taken over the job",
    "WR809": "the lease of the state folder could not be renewed in time",
    "WR810": "the file system cannot create or replace a file in one step",
    "WR811": "the state of a batch is missing",
    "WR812": "the state file of a batch is damaged",
    "WR813": "Spark's log of a batch is damaged",
    "WR814": "a file of dead letters cannot be read",
    "WR815": "no state of this batch is kept",
    "WR816": "a file of the state could not be read",
    "WR817": "Spark's log is of a version that is not understood",
    "WR820": "new rows for a job whose input was declared ended",
    "WR821": "a batch was left for the next run because the job is stopping",
    "WR822": "a job reached its end, and rows still wait for an output that is away",
    "WR823": "the rows of a batch take more room than may wait for an output",
    "WR824": "rows have waited for an output for longer than they may",
    "WR825": "an output was away for longer than the job was to wait",
    "WR828": "a row was dropped because its output was away",
    "WR829": "a row was dropped because its output did not take it in time",
    "WR833": "a file of rows that wait for an output is damaged",
    "WR834": "rows wait for an output that is no longer to have any that wait",
    "WR835": "an output refuses rows that had waited for it",
    "WR836": "rows that had waited for an output could not be delivered",
    "WR830": "a table could not be loaded in time",
    "WR831": "a row found nothing in a table, and join.on_missing is fail",
    "WR832": "a subquery used as a value gave several rows",
    "WR840": "a Python function of your own failed",
    "WR850": "Spark stopped the job, for a reason of its own",
    "WR851": "a process of Spark did not start in time, because the machine is too busy",
    "WR852": "a batch gives the driver more rows than it takes",
    "WR853": "a value cannot be computed, and 'error.policy' = 'fail' stops the job",
    "WR854": "Spark's Java process ended while the job ran",
    "WR860": "a Kafka broker does not answer",
    "WR861": "a Kafka broker refuses the user or what it wants to do",
    "WR862": "a topic cannot be found",
    "WR863": "records of a topic are gone before they were read",
    "WR864": "the port of the local broker is in use",
    "WR865": "the local broker did not start",
    "WR866": "the local broker runs already, on another port",
    "WR867": "an option of a Kafka source or sink has a value that makes no sense",
    "WR868": "the Spark session has no Kafka connector",
    "WR869": "the schema of Avro records cannot be had",
    "WR870": "an option of a PostgreSQL connection makes no sense",
    "WR871": "PostgreSQL refuses the connection, or its user may not do what the job needs",
    "WR872": "the PostgreSQL table does not exist",
    "WR873": "the PostgreSQL table lacks a column, or has one that cannot hold the values",
    "WR874": "there is no key to replace rows by, or the PostgreSQL table has no unique constraint on it",
    "WR875": "the PostgreSQL table was changed while the job runs",
    "WR876": "PostgreSQL refuses a row: a value does not fit its column or breaks a constraint",
    "WR877": "PostgreSQL did not answer in time, or failed",
    "WR878": "the batches in a PostgreSQL table do not fit the job: another driver writes, or the state is older",
    "WR879": "rows in a PostgreSQL table without a key cannot be taken back",
    "WR890": "there is no such dead letter, or it was replayed already",
    "WR891": "a file of mended dead letters cannot be read",
    "WR892": "dead letters of a job whose input was declared ended",
    "WR893": "a row is larger than a record of Kafka may be",
    "WR894": "another run of the same job writes to the topic",
    "WR895": "a retraction has no key by which a record could be taken back",
    "WR896": "a call to a Kafka broker failed for a reason that stays",
    "WR897": "no PostgreSQL server is installed on this machine",
    "WR898": "the local PostgreSQL server did not start",
    "WR880": "the folder of an OTAP source cannot be opened",
    "WR881": "an option of an OTAP source has a value that makes no sense, alone or with the others",
    "WR882": "the folder of an OTAP source does not exist",
    "WR883": "an OTAP source needs a state folder on a local disk",
    "WR884": "no state is kept from before the windows that are to be read again",
    "WR885": "a file has no OTAP source",
    "WR899": "dead letters are to go to a topic, and nothing says of which broker",
    "WR886": "a condition or query on telemetry cannot be understood",
    "WR887": "an option of an OTLP sink makes no sense, or a column has no place in OTLP",
    "WR888": "a collector refuses a request, or rejects rows of it",
    "WR889": "a collector did not answer in time",
    "WR907": "a repair of dead letters that sets what their rows do not have, or asks for more than one row",
    "WR906": "more rows are bad, late or violate a constraint than a limit allows",
    "WR901": "a case file cannot be read",
    "WR902": "a case file is not JSON, or a case is not an object",
    "WR903": "a case has an unknown or missing key, or a value that is none of the choices",
    "WR904": "a marker row of a case has a value that makes no sense",
    "WR905": "the JUnit report cannot be written",
}

DECLARED: tuple[Mapping[str, str], ...] = (SYNTAX_CODES, CHECK_CODES, CONNECTOR_CODES, CONFIG_CODES, CLI_CODES, ROW_CODES, OTHER_CODES)

ALL_CODES: Mapping[str, str] = MappingProxyType({code: codes[code] for codes in DECLARED for code in codes})
"""Code to meaning.

>>> ALL_CODES["WR214"]
'unknown column'
"""
