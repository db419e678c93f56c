"""Every connector there is: one line each of our own, and those that installed packages bring."""

from __future__ import annotations

from windrow.connectors.console.spec import CONSOLE
from windrow.connectors.delta.spec import DELTA
from windrow.connectors.files.spec import FILES
from windrow.connectors.generator.spec import GENERATOR
from windrow.connectors.iceberg.spec import ICEBERG
from windrow.connectors.jdbc.spec import JDBC
from windrow.connectors.kafka.spec import KAFKA
from windrow.connectors.memory.spec import MEMORY
from windrow.connectors.otap.spec import OTAP
from windrow.connectors.otlp.spec import OTLP
from windrow.connectors.postgres.spec import POSTGRES
from windrow.connectors.spec import ConnectorSpec
from windrow.plugins import CONNECTORS as GROUP
from windrow.plugins import Registry

_OWN = {spec.name: spec for spec in (FILES, KAFKA, POSTGRES, DELTA, ICEBERG, JDBC, OTAP, OTLP, GENERATOR, CONSOLE, MEMORY)}

CONNECTORS: Registry[ConnectorSpec] = Registry(GROUP, ConnectorSpec, _OWN)
