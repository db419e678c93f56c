"""What the documentation repeats of the code, and the examples of its reference. Tests compare the pages and run the examples."""
