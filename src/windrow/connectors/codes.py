"""Every error code of the files, generator and console connectors (WR500 to WR549), declared once."""

from __future__ import annotations

CODES: dict[str, str] = {
    "WR500": "the path of a files source does not exist or matches nothing",
    "WR501": "the files of a source are not in the format they would be read as",
    "WR502": "the header of a CSV file does not have the declared columns",
    "WR503": "an option of a connector has a value that makes no sense",
    "WR510": "the path of a files sink is not a folder and cannot become one",
    "WR511": "the folder of a files sink cannot be written to",
    "WR512": "the disk of a files sink is full before the job starts",
    "WR513": "the folder of a files sink cannot be made ready",
    "WR514": "a folder of the driver's disk is not the same folder on a worker",
    "WR520": "an input file is torn or unreadable",
    "WR521": "an input file has a column of another type than declared",
    "WR522": "a CSV file has another header than the files before it",
    "WR523": "the disk ran full while a batch was written",
    "WR524": "a batch could not be written to the folder of a files sink",
    "WR525": "a manifest of a files sink cannot be read",
    "WR526": "what executors wrote of a batch is not in the folder of a files sink",
    "WR530": "a 'fields.<column>' expression of the generator is wrong",
    "WR531": "an option of the generator has a value that makes no sense",
    "WR532": "a generator without end was asked to run to its end",
}
