"""One warning a file: what runs and may surprise."""
