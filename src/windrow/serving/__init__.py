"""What a running job answers over HTTP: metrics, health, status.

Takes a way to ask for the statuses of jobs, and an address; gives an HTTP server of a few threads that ends with the job. Must not know:
Spark, SQL, how a job runs.
"""

from windrow.serving.address import Listen, parse_listen
from windrow.serving.server import Serving

__all__ = ["Listen", "Serving", "parse_listen"]
