-- title: What the peaks consist of
-- answers: Which categories and call sites are live at the peaks of ranks, and how much do ranks differ in them? The
--   log is that of the rank with most. A rank without a row does not count for the middle.
-- columns: job text, part text, ranks count, least bytes, middle bytes, most bytes, name text, log log
-- next: memprof peak
WITH parts AS (
  SELECT r.job, 'category' AS part, c.category AS name, c.size, r.run, r.log
  FROM categories AS c JOIN runs AS r ON r.run = c.run AND r.device = c.device WHERE c.size > 0
  UNION ALL
  SELECT r.job, 'site' AS part, s.site AS name, max(s.at_peak) AS size, r.run, r.log
  FROM rank_site_step AS s JOIN runs AS r ON r.run = s.run AND r.device = s.device
  WHERE s.at_peak > 0 AND s.site <> '' GROUP BY r.job, s.site, r.run, r.log
), ordered AS (
  SELECT job, part, name, size, log, row_number() OVER (PARTITION BY job, part, name ORDER BY size DESC, log, run) AS n
  FROM parts
)
SELECT o.job, o.part, count(*) AS ranks, min(o.size) AS least, median(o.size) AS middle, max(o.size) AS most,
       CASE WHEN o.part = 'site' THEN coalesce(max(i.name), o.name) ELSE o.name END AS name,
       max(CASE WHEN o.n = 1 THEN o.log END) AS log
FROM ordered AS o LEFT JOIN sites AS i ON o.part = 'site' AND i.site = o.name
GROUP BY o.job, o.part, o.name
ORDER BY o.job, o.part, median(o.size) * count(*) DESC, o.name
