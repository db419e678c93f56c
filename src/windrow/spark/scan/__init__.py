"""A source's raw records become rows: decoded, with system columns, event time and a fate.

Takes what a connector handed over; gives lazy relations. Knows no windows and no state.
"""
