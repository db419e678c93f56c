"""``windrow jars``: what Kafka needs beside pyspark, fetched ahead of a run without network."""

from __future__ import annotations


def fetch_jars() -> None:
    """Fetch the jars that Kafka needs, so that later runs need no network for them."""
    from windrow.cli.screen import say, screen
    from windrow.jars import jar_files, jar_groups

    console = screen()
    for group in jar_groups():
        files = jar_files(group)
        say(console, f"{group}: {len(files)} jars in {files[0].parent}")
