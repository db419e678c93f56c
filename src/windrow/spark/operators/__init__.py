"""One module for each operator of a plan, and what it needs: a batch's rows in, rows, dead letters and state out."""
