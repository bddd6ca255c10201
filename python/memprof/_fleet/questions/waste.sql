-- title: Hours of devices, and what was left unused
-- answers: How many hours of devices did jobs take, and what part of their memory was never used? `idle` is hours
--   times the unused part: as many hours of whole devices. The log is that of the rank with the highest use.
-- columns: job text, stage count, ranks count, gpu_hours hours, idle hours, unused share, middle_left bytes, log log
-- next: memprof footprint
WITH used AS (
  SELECT job, stage, run, log, duration / 3.6e12 AS spent, device_bytes - coalesce(device_peak, peak) AS left_over,
         greatest(device_bytes - coalesce(device_peak, peak), 0) / CAST(device_bytes AS DOUBLE) AS unused
  FROM runs WHERE device_bytes > 0 AND duration IS NOT NULL AND coalesce(device_peak, peak) IS NOT NULL
), ordered AS (
  SELECT *, row_number() OVER (PARTITION BY job, stage ORDER BY left_over, log, run) AS n FROM used
)
SELECT job, nullif(stage, -1) AS stage, count(*) AS ranks, CAST(sum(spent) AS DOUBLE) AS gpu_hours,
       CAST(sum(spent * unused) AS DOUBLE) AS idle, CAST(sum(spent * unused) / nullif(sum(spent), 0) AS DOUBLE) AS unused,
       median(left_over) AS middle_left, max(CASE WHEN n = 1 THEN log END) AS log
FROM ordered GROUP BY job, stage
ORDER BY idle DESC, job, stage NULLS LAST
