-- title: Leaks
-- answers: Which call sites keep more memory with every step, on how many ranks and hosts, since when, and what holds
--   it? A site is the same in all ranks and jobs. The log is that of the rank where most is still held.
-- columns: tier text, slope bytes/step, held bytes, jobs count, hosts count, ranks count, of_ranks count,
--   first_step step, holder text, site text, log log
-- next: memprof leaks
WITH found AS (
  SELECT l.site, l.tier, l.slope, l.size, l.first_step, l.holder, r.run, r.job, r.host, r.log,
         row_number() OVER (PARTITION BY l.site ORDER BY l.size DESC NULLS LAST, r.log, r.run) AS n,
         row_number() OVER (PARTITION BY l.site ORDER BY CASE WHEN l.holder IS NULL OR l.holder = '' THEN 1 ELSE 0 END,
                            l.size DESC NULLS LAST, l.holder NULLS LAST, r.run) AS n_holder
  FROM leaks AS l JOIN runs AS r ON r.run = l.run
), job_ranks AS (
  SELECT job, count(*) AS ranks FROM runs GROUP BY job
), reach AS (
  SELECT f.site, sum(j.ranks) AS ranks
  FROM (SELECT DISTINCT site, job FROM found) AS f JOIN job_ranks AS j ON j.job = f.job GROUP BY f.site
), summed AS (
  SELECT site, max(CASE tier WHEN 'definite' THEN 3 WHEN 'suspected' THEN 2 ELSE 1 END) AS grade, max(slope) AS slope,
         sum(size) AS held, count(DISTINCT job) AS jobs, count(DISTINCT host) AS hosts, count(DISTINCT run) AS ranks,
         min(first_step) AS first_step, max(CASE WHEN n_holder = 1 THEN holder END) AS holder,
         max(CASE WHEN n = 1 THEN log END) AS log
  FROM found GROUP BY site
)
SELECT CASE s.grade WHEN 3 THEN 'definite' WHEN 2 THEN 'suspected' ELSE 'growing' END AS tier, s.slope, s.held, s.jobs,
       s.hosts, s.ranks, r.ranks AS of_ranks, s.first_step, nullif(s.holder, '') AS holder,
       coalesce(i.name, s.site) AS site, s.log
FROM summed AS s JOIN reach AS r ON r.site = s.site LEFT JOIN sites AS i ON i.site = s.site
ORDER BY s.grade DESC, s.held DESC NULLS LAST, s.slope DESC NULLS LAST, s.site
