"""Names of time zones."""

from __future__ import annotations

UTC = "UTC"
_ALSO_UTC = ("utc", "z", "etc/utc", "+00:00")


def zone_named(text: str) -> str:
    """
    >>> zone_named("Etc/UTC"), zone_named("Asia/Tokyo")
    ('UTC', 'Asia/Tokyo')
    """
    return UTC if text.lower() in _ALSO_UTC else text
