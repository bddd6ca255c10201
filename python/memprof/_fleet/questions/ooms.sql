-- title: Out of memory
-- answers: Which requests for memory failed, day by day: for which cause, what filled the device, and what is the least
--   drastic remedy? The log is that of the largest request of the row.
-- columns: day text, job text, cause text, failed count, recovered count, ranks count, asked bytes, free bytes,
--   site text, remedy text, log log
-- next: memprof oom
WITH found AS (
  SELECT r.day, r.job, o.cause, coalesce(nullif(o.growth_site, ''), o.site, '') AS site,
         CASE WHEN o.growth_site IS NULL OR o.growth_site = '' THEN 0 ELSE 1 END AS grew, o.recovered, o.asked, o.free,
         o.remedy, r.run, r.log
  FROM ooms AS o JOIN runs AS r ON r.run = o.run
), ordered AS (
  SELECT *, row_number() OVER (PARTITION BY day, job, cause, site, grew ORDER BY asked DESC NULLS LAST, log, run,
                               remedy NULLS LAST) AS n
  FROM found
)
SELECT o.day, o.job, o.cause, count(*) AS failed, sum(CASE WHEN o.recovered THEN 1 ELSE 0 END) AS recovered,
       count(DISTINCT o.run) AS ranks, max(o.asked) AS asked, min(o.free) AS free,
       CASE WHEN o.site = '' THEN NULL
            ELSE concat(CASE WHEN o.grew = 1 THEN 'growth at ' ELSE '' END, coalesce(max(i.name), o.site)) END AS site,
       max(CASE WHEN o.n = 1 THEN o.remedy END) AS remedy, max(CASE WHEN o.n = 1 THEN o.log END) AS log
FROM ordered AS o LEFT JOIN sites AS i ON i.site = o.site
GROUP BY o.day, o.job, o.cause, o.site, o.grew
ORDER BY o.day DESC, count(*) - sum(CASE WHEN o.recovered THEN 1 ELSE 0 END) DESC, count(*) DESC, o.job,
         o.cause NULLS LAST, o.site, o.grew
