-- title: Health of the recordings
-- answers: What is missing: logs that could not be read, ranks without a log, logs that were cut, lost events; which
--   ranks were started again; and what did recording cost (as a share of the run's time)?
-- parameter: cost 0.05 least share of the time that is worth a row
-- columns: what text, job text, found count, total count, share share, detail text, log log
-- next: memprof verify
WITH tries AS (
  SELECT job, attempt_no, count(DISTINCT rank) AS ranks, max(world_size) AS world, min(log) AS log
  FROM runs GROUP BY job, attempt_no
), jobs AS (
  SELECT job, count(*) AS logs, count(DISTINCT attempt_no) AS attempts, min(log) AS log FROM runs GROUP BY job
), costs AS (
  SELECT job, recorder_cost / CAST(nullif(duration, 0) AS DOUBLE) AS share, log, run FROM runs
), costly AS (
  SELECT *, row_number() OVER (PARTITION BY job ORDER BY share DESC NULLS LAST, log, run) AS n FROM costs WHERE share > :cost
), losses AS (
  SELECT job, losses, log, events_lost, run, row_number() OVER (PARTITION BY job ORDER BY events_lost DESC NULLS LAST, log,
         run) AS n
  FROM runs WHERE events_lost > 0 OR losses <> ''
), every_row AS (
  SELECT 1 AS place, 'log could not be read' AS what, CAST(NULL AS STRING) AS job, CAST(1 AS BIGINT) AS found,
         CAST(NULL AS BIGINT) AS total, CAST(NULL AS DOUBLE) AS share, reason AS detail, log FROM failed_logs
  UNION ALL
  SELECT 2, 'ranks without a log', job, world - ranks, world, (world - ranks) / CAST(world AS DOUBLE),
         concat('attempt ', CAST(attempt_no AS STRING)), log
  FROM tries WHERE world > ranks
  UNION ALL
  SELECT 3, concat('logs that end ', r.ended), r.job, count(*), max(j.logs), count(*) / CAST(max(j.logs) AS DOUBLE), NULL,
         min(r.log)
  FROM runs AS r JOIN jobs AS j ON j.job = r.job WHERE r.ended <> 'clean' GROUP BY r.ended, r.job
  UNION ALL
  SELECT 4, 'logs with losses', l.job, count(*), max(j.logs), count(*) / CAST(max(j.logs) AS DOUBLE),
         max(CASE WHEN l.n = 1 THEN l.losses END), max(CASE WHEN l.n = 1 THEN l.log END)
  FROM losses AS l JOIN jobs AS j ON j.job = l.job GROUP BY l.job
  UNION ALL
  SELECT 5, 'logs of costly recording', c.job, count(*), max(j.logs), max(c.share), 'the highest share',
         max(CASE WHEN c.n = 1 THEN c.log END)
  FROM costly AS c JOIN jobs AS j ON j.job = c.job GROUP BY c.job
  UNION ALL
  SELECT 6, 'attempts', job, attempts, NULL, NULL, NULL, log FROM jobs WHERE attempts > 1
)
SELECT what, job, found, total, share, detail, log FROM every_row
ORDER BY place, found DESC, job NULLS FIRST, what, detail NULLS FIRST, log
