-- title: Free but unusable
-- answers: How much of the reserved memory is free and of no use at its peak, by job and stage, and whose blocks pin
--   most of it? The log is that of the worst rank.
-- columns: job text, stage count, ranks count, reserved bytes, middle bytes, most bytes, most_share share,
--   pinned bytes, pinned_by text, log log
-- next: memprof fragmentation
WITH whole AS (
  SELECT r.job, r.stage, r.run, r.log, f.reserved, f.unusable
  FROM fragmentation AS f JOIN runs AS r ON r.run = f.run AND r.device = f.device WHERE f.site = ''
), ordered AS (
  SELECT *, row_number() OVER (PARTITION BY job, stage ORDER BY unusable DESC NULLS LAST, log, run) AS n FROM whole
), pins AS (
  SELECT r.job, r.stage, f.site, sum(f.pinned) AS pinned
  FROM fragmentation AS f JOIN runs AS r ON r.run = f.run AND r.device = f.device
  WHERE f.site <> '' GROUP BY r.job, r.stage, f.site
), worst AS (
  SELECT *, row_number() OVER (PARTITION BY job, stage ORDER BY pinned DESC NULLS LAST, site) AS n FROM pins
), stages AS (
  SELECT job, stage, count(*) AS ranks, max(reserved) AS reserved, median(unusable) AS middle, max(unusable) AS most,
         max(unusable / CAST(nullif(reserved, 0) AS DOUBLE)) AS most_share, max(CASE WHEN n = 1 THEN log END) AS log
  FROM ordered GROUP BY job, stage
)
SELECT s.job, nullif(s.stage, -1) AS stage, s.ranks, s.reserved, s.middle, s.most, s.most_share, w.pinned,
       coalesce(i.name, w.site) AS pinned_by, s.log
FROM stages AS s LEFT JOIN worst AS w ON w.job = s.job AND w.stage = s.stage AND w.n = 1
LEFT JOIN sites AS i ON i.site = w.site
WHERE s.most > 0
ORDER BY s.most DESC, s.job, s.stage
