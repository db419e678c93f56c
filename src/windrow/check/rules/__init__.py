"""One rule a file; `windrow.check.RULES` lists them in order."""
