-- title: Memory of other processes
-- answers: On which hosts do other processes hold memory of the devices, beyond what they hold on most?
-- parameter: bytes 268435456 least memory of others, beyond the median of the job
-- columns: job text, host text, devices count, others bytes, usual bytes, rank count, log log
-- next: memprof report
WITH usual AS (
  SELECT job, median(others_peak) AS middle FROM runs WHERE others_peak IS NOT NULL GROUP BY job
), found AS (
  SELECT r.job, r.host, r.device_uuid, r.device, r.others_peak, r.rank, r.log, u.middle,
         row_number() OVER (PARTITION BY r.job, r.host ORDER BY r.others_peak DESC, r.log, r.run) AS n
  FROM runs AS r JOIN usual AS u ON u.job = r.job WHERE r.others_peak - u.middle >= :bytes
)
SELECT job, host, count(DISTINCT coalesce(device_uuid, CAST(device AS STRING))) AS devices,
       max(others_peak) AS others, max(middle) AS usual, max(CASE WHEN n = 1 THEN rank END) AS rank,
       max(CASE WHEN n = 1 THEN log END) AS log
FROM found GROUP BY job, host
ORDER BY others DESC, job, host
