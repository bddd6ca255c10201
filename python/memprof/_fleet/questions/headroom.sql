-- title: Headroom
-- answers: How near do devices come to their capacity, by job, stage and kind of device? The highest use of the whole
--   device counts where it is known, else what the program requested. The log is that of the tightest device.
-- columns: job text, stage count, device text, ranks count, capacity bytes, least_left bytes, middle_left bytes,
--   least_share share, host text, log log
-- next: memprof peak
WITH used AS (
  SELECT job, stage, coalesce(device_name, '') AS device_name, device_bytes, host, log, run,
         device_bytes - coalesce(device_peak, peak) AS left_over
  FROM runs WHERE device_bytes > 0 AND coalesce(device_peak, peak) IS NOT NULL
), ordered AS (
  SELECT *, row_number() OVER (PARTITION BY job, stage, device_name ORDER BY left_over, log, run) AS n FROM used
)
SELECT job, nullif(stage, -1) AS stage, device_name AS device, count(*) AS ranks, max(device_bytes) AS capacity,
       min(left_over) AS least_left, median(left_over) AS middle_left,
       min(left_over / CAST(device_bytes AS DOUBLE)) AS least_share, max(CASE WHEN n = 1 THEN host END) AS host,
       max(CASE WHEN n = 1 THEN log END) AS log
FROM ordered GROUP BY job, stage, device_name
ORDER BY least_share, job, stage NULLS LAST, device
