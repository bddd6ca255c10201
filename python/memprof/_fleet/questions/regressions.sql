-- title: What changed between two jobs
-- answers: Which stages and call sites have another peak in a job than in an earlier one? Medians of ranks, of a
--   site the mean of its stages; what fewer than half of the ranks of a stage have does not count. Without names, the two
--   jobs that started last.
-- parameter: before '' the job to compare with; empty for the last but one
-- parameter: after '' the job that may be worse; empty for the last
-- parameter: share 0.01 least change, as a share of what there was
-- parameter: bytes 1048576 least change, in bytes
-- columns: part text, before bytes, after bytes, change bytes, part_change share, name text, log_before log, log log
-- next: memprof diff
WITH ages AS (
  SELECT job, row_number() OVER (ORDER BY min(start_unix) DESC NULLS LAST, job) AS age FROM runs GROUP BY job
), pair AS (
  SELECT job, CASE WHEN (:after <> '' AND job = :after) OR (:after = '' AND age = 1) THEN 'after' ELSE 'before' END AS side
  FROM ages
  WHERE (:after <> '' AND job = :after) OR (:after = '' AND age = 1)
     OR (:before <> '' AND job = :before) OR (:before = '' AND age = 2)
), stages AS (
  SELECT job, stage, count(*) AS ranks FROM runs GROUP BY job, stage
), held AS (
  SELECT p.side, s.site, r.job, r.stage, max(s.at_peak) AS size, r.run, r.log,
         count(*) OVER (PARTITION BY p.side, s.site, r.stage) AS having_it
  FROM rank_site_step AS s JOIN runs AS r ON r.run = s.run AND r.device = s.device JOIN pair AS p ON p.job = r.job
  WHERE s.site <> '' AND s.at_peak > 0 GROUP BY p.side, s.site, r.job, r.stage, r.run, r.log
), sizes AS (
  SELECT p.side, 'stage' AS part, CAST(r.stage AS STRING) AS name, r.stage, r.peak AS size, r.run, r.log
  FROM runs AS r JOIN pair AS p ON p.job = r.job WHERE r.peak IS NOT NULL
  UNION ALL
  SELECT h.side, 'site' AS part, h.site AS name, h.stage, h.size, h.run, h.log
  FROM held AS h JOIN stages AS t ON t.job = h.job AND t.stage = h.stage WHERE 2 * h.having_it >= t.ranks
), ordered AS (
  SELECT side, part, name, stage, size, log, row_number() OVER (PARTITION BY side, part, name ORDER BY size DESC, log, run) AS n
  FROM sizes
), middles AS (
  SELECT side, part, name, stage, median(size) AS middle, max(CASE WHEN n = 1 THEN log END) AS log
  FROM ordered GROUP BY side, part, name, stage
), sides AS (
  SELECT side, part, name, avg(middle) AS middle, max(log) AS log FROM middles GROUP BY side, part, name
), compared AS (
  SELECT part, name, sum(CASE WHEN side = 'before' THEN middle ELSE 0 END) AS size_before,
         sum(CASE WHEN side = 'after' THEN middle ELSE 0 END) AS size_after,
         max(CASE WHEN side = 'before' THEN log END) AS log_before, max(CASE WHEN side = 'after' THEN log END) AS log
  FROM sides GROUP BY part, name
)
SELECT c.part, c.size_before AS before, c.size_after AS after, c.size_after - c.size_before AS change,
       (c.size_after - c.size_before) / nullif(c.size_before, 0) AS part_change,
       CASE WHEN c.part = 'site' THEN coalesce(i.name, c.name) WHEN c.name = '-1' THEN 'all' ELSE c.name END AS name,
       c.log_before, c.log
FROM compared AS c LEFT JOIN sites AS i ON c.part = 'site' AND i.site = c.name
WHERE abs(c.size_after - c.size_before) >= :bytes AND abs(c.size_after - c.size_before) >= :share * c.size_before
ORDER BY c.part DESC, abs(c.size_after - c.size_before) DESC, c.name
