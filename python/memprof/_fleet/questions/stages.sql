-- title: Peaks of pipeline stages
-- answers: How high are the peaks of each stage, how far apart are its ranks, and how much of the peak is activations
--   and parameters (medians)? The log is that of the highest rank.
-- columns: job text, attempt count, stage count, ranks count, least bytes, middle bytes, most bytes, reserved bytes,
--   parameters bytes, activations bytes, log log
-- next: memprof categories
WITH ordered AS (
  SELECT *, row_number() OVER (PARTITION BY job, attempt_no, stage ORDER BY peak DESC, log, run) AS n
  FROM runs WHERE peak IS NOT NULL
), held AS (
  SELECT r.job, r.attempt_no, r.stage, c.category, median(c.size) AS middle
  FROM categories AS c JOIN runs AS r ON r.run = c.run AND r.device = c.device
  WHERE c.category IN ('parameters', 'activations') GROUP BY r.job, r.attempt_no, r.stage, c.category
), parts AS (
  SELECT job, attempt_no, stage, max(CASE WHEN category = 'parameters' THEN middle END) AS parameters,
         max(CASE WHEN category = 'activations' THEN middle END) AS activations
  FROM held GROUP BY job, attempt_no, stage
)
SELECT o.job, o.attempt_no AS attempt, nullif(o.stage, -1) AS stage, count(*) AS ranks, min(o.peak) AS least,
       median(o.peak) AS middle, max(o.peak) AS most, median(o.reserved_peak) AS reserved,
       max(p.parameters) AS parameters, max(p.activations) AS activations, max(CASE WHEN o.n = 1 THEN o.log END) AS log
FROM ordered AS o LEFT JOIN parts AS p ON p.job = o.job AND p.attempt_no = o.attempt_no AND p.stage = o.stage
GROUP BY o.job, o.attempt_no, o.stage
ORDER BY o.job, o.attempt_no, o.stage
