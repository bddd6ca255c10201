-- title: Advice
-- answers: What could be changed at which call site, on how many ranks, and for what gain? The log is that of the
--   largest gain.
-- columns: kind text, gain bytes, middle_gain bytes, jobs count, ranks count, site text, words text, log log
-- next: memprof advise
WITH found AS (
  SELECT a.kind, coalesce(a.site, '') AS site, a.gain, a.words, r.job, r.run, r.log,
         row_number() OVER (PARTITION BY a.kind, coalesce(a.site, '') ORDER BY a.gain DESC NULLS LAST, r.log, r.run,
                            a.words NULLS LAST) AS n
  FROM advice AS a JOIN runs AS r ON r.run = a.run
)
SELECT f.kind, sum(f.gain) AS gain, median(f.gain) AS middle_gain, count(DISTINCT f.job) AS jobs,
       count(DISTINCT f.run) AS ranks, nullif(coalesce(max(i.name), f.site), '') AS site,
       max(CASE WHEN f.n = 1 THEN f.words END) AS words, max(CASE WHEN f.n = 1 THEN f.log END) AS log
FROM found AS f LEFT JOIN sites AS i ON i.site = f.site
GROUP BY f.kind, f.site
ORDER BY gain DESC NULLS LAST, f.kind, f.site
