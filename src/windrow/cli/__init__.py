"""The command line: a thin face on everything below.

Takes words and files; gives text, exit codes (0, 1 for failed cases or a failed job, 2 for wrong SQL or usage) and nothing of its
own. Must not know: how anything is done. Each command imports what it needs when it is called, so that help answers at once.
"""
