"""How the values of single rows run up to one total."""

from __future__ import annotations

from enum import Enum


class Accumulation(Enum):
    TOTAL = "their sum"
    LEAST = "the least of them"
    GREATEST = "the greatest of them"
