-- What gpureport/fleet/analysis.py reads from a store: relations on the tables of store.yaml, in SQL of DuckDB.

-- All runs, with indices in the order of time, of their group of peers, and of their device and day within the group.
CREATE TEMP TABLE numbered AS
SELECT * REPLACE (coalesce(pci_address, '') AS pci_address, CAST(cores AS VARCHAR) AS cores),
    row_number() OVER (ORDER BY created_at, run) - 1 AS number,
    dense_rank() OVER (ORDER BY model, device, compute_units, quick) AS peers,
    dense_rank() OVER (PARTITION BY model, device, compute_units, quick ORDER BY node, coalesce(pci_address, '')) - 1
        AS member,
    dense_rank() OVER (PARTITION BY model, device, compute_units, quick ORDER BY date_trunc('day', created_at)) - 1
        AS day
FROM runs
ORDER BY number;

-- Points with possible values; the last condition leaves out rows in which one of the texts is null.
CREATE TEMP VIEW own AS
SELECT peers, number, family || '/' || variant || '/' || sweep AS sweep, point, layer,
    CAST(CASE WHEN unit = 's' THEN -ln(measured) ELSE ln(measured) END AS FLOAT) AS measured,
    CAST(CASE WHEN unit = 's' THEN -ln(predicted) ELSE ln(predicted) END AS FLOAT) AS predicted,
    CAST(ln(predicted_high / predicted) AS FLOAT) AS width,
    CASE WHEN measured_low > 0 AND measured_high >= measured_low THEN ln(measured_high / measured_low) / 3.92 END
        AS noise
FROM points JOIN (SELECT run, number, peers FROM numbered) USING (run)
WHERE measured BETWEEN 1e-60 AND 1e60 AND predicted BETWEEN 1e-60 AND 1e60
    AND predicted_high BETWEEN predicted AND 1e60 AND family || variant || points.sweep || point || layer || unit != '';

-- Points that most runs of a model have, with their medians over the runs. All runs of a model are compared with one
-- prediction, the median: predictions change with gpureport's version and with the clock that a device reports.
CREATE TEMP TABLE common AS
WITH sizes AS (SELECT peers, count(*) AS runs FROM numbered GROUP BY peers)
SELECT peers, sweep, point, layer, measured, predicted, width, noise,
    dense_rank() OVER (ORDER BY peers, sweep, layer) AS part
FROM (
    SELECT peers, sweep, point, mode(layer) AS layer, median(measured) AS measured, median(predicted) AS predicted,
        median(width) AS width, median(noise) AS noise, count(*) AS found
    FROM own GROUP BY peers, sweep, point
) JOIN sizes USING (peers) WHERE 2 * found > runs;

-- The parts of sweeps.
CREATE TEMP VIEW parts AS
SELECT peers, sweep, layer, part, median(measured - predicted) AS centre, median(width) AS width,
    coalesce(median(noise), 0) AS noise
FROM common GROUP BY peers, sweep, layer, part ORDER BY part;

-- Deviation of each run, by its number in the order of time, from the medians of the points of each part.
CREATE TEMP VIEW deviations AS
SELECT number, peers, part, median(own.measured - common.measured) AS deviation
FROM own JOIN common USING (peers, sweep, point) GROUP BY number, peers, part;

-- Key figures of the last run of each device, with the medians of its model.
CREATE TEMP VIEW figures AS
SELECT *, median(measured) OVER (PARTITION BY peers, name) AS usual FROM (
    SELECT peers, member, name, arg_max(unit, number) AS unit, arg_max(measured, number) AS measured,
        arg_max(predicted, number) AS predicted
    FROM key_figures JOIN (SELECT run, number, peers, member FROM numbered) USING (run)
    WHERE measured BETWEEN 1e-60 AND 1e60 AND name || unit != '' GROUP BY ALL
) ORDER BY name, member;
