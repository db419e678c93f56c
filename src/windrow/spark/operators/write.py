"""What a statement gives becomes an output of the batch. Sinks write all of them after the last operator (``windrow.jobs.outputs``)."""

from __future__ import annotations

from windrow.plan.physical.strategies import Sink
from windrow.plan.stages import Write
from windrow.spark.execution.batch import BatchContext
from windrow.spark.execution.measurements import Phase
from windrow.spark.operators.base import Operator


class WriteOperator(Operator[Write]):
    phase = Phase.WRITE

    def process(self, batch: BatchContext) -> None:
        if self.stage.input in batch.flows:
            batch.result.outputs[self.stage.input] = batch.flows[self.stage.input]
            sink = self.spec.chosen(Sink)
            assert sink is not None, "rows reach a sink in some way"
            batch.result.sinks[self.stage.input] = sink
