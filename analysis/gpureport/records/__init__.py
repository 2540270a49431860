"""Records that the packages exchange: prediction, measurement, observation, finding.

Data flows one way: ``Device`` + workload + sweep → :class:`Prediction`; workload + sweep + a live device →
:class:`Measurement`; measurement → :class:`Observation`; prediction + observation → :class:`Finding`. Together they
form the report document (``gpureport.records.report``). Every record is immutable, uses SI base units with the unit in
the field's name, and is stored in ``report.json`` unchanged.
"""
