-- title: Settings of the allocator that did not take
-- answers: Where were expandable segments asked for and not seen, and which ranks have other settings than most of
--   their job?
-- columns: job text, what text, ranks count, total count, hosts count, settings text, log log
-- next: memprof report
WITH known AS (
  SELECT job, run, host, log, coalesce(allocator_settings, '') AS settings, expandable,
         replace(lower(coalesce(allocator_settings, '')), ' ', '') AS plain
  FROM runs
), totals AS (
  SELECT job, count(*) AS ranks FROM runs GROUP BY job
), counted AS (
  SELECT job, settings, count(*) AS ranks, count(DISTINCT host) AS hosts, min(log) AS log,
         row_number() OVER (PARTITION BY job ORDER BY count(*) DESC, settings) AS n
  FROM known GROUP BY job, settings
), every_row AS (
  SELECT job, 'expandable segments asked, not seen' AS what, count(*) AS ranks, count(DISTINCT host) AS hosts,
         min(settings) AS settings, min(log) AS log
  FROM known WHERE NOT expandable AND plain LIKE '%expandable_segments:true%' GROUP BY job
  UNION ALL
  SELECT job, 'other settings than most', ranks, hosts, CASE WHEN settings = '' THEN 'none' ELSE settings END, log
  FROM counted WHERE n > 1
)
SELECT e.job, e.what, e.ranks, t.ranks AS total, e.hosts, e.settings, e.log
FROM every_row AS e JOIN totals AS t ON t.job = e.job
ORDER BY e.ranks DESC, e.job, e.what, e.settings
