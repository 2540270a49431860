"""The records that flow from package to package: prediction, measurement, observation, finding.

Data flows one way: ``Device`` + workload + sweep → :class:`Prediction`; workload + sweep + a live device →
:class:`Measurement`; measurement → :class:`Observation`; prediction + observation → :class:`Finding`. All of
them together are the report document (``gpureport.records.report``). Every record is immutable, holds SI base
units with the unit in the field's name, and is stored in ``report.json`` as it is.
"""
