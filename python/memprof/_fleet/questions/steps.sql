-- title: Growth over steps
-- answers: How much does memory grow with each step, however slowly, and how does the first step's peak compare with
--   the later ones'? Growth is from the median of the second quarter of a rank's steps to that of the last, of what is
--   live at their ends (of their peaks, without an allocator that has blocks). Medians of the stage, and the log of the
--   rank that grows fastest.
-- parameter: least 8 steps that a rank must have
-- columns: job text, stage count, ranks count, steps count, first_peak bytes, later_peak bytes,
--   middle_growth bytes/step, most_growth bytes/step, rank count, log log
-- next: memprof steps
WITH own AS (
  SELECT r.run, r.job, r.stage, r.rank, r.log, s.step, s.peak,
         CASE WHEN r.allocated_peak IS NULL THEN s.peak ELSE s.allocated_end END AS held
  FROM rank_step AS s JOIN runs AS r ON r.run = s.run AND r.device = s.device WHERE s.step IS NOT NULL
), ends AS (
  SELECT run, min(step) AS first_step, max(step) AS last_step, count(*) AS steps FROM own GROUP BY run
  HAVING count(*) >= :least
), parts AS (
  SELECT o.*, e.first_step, e.steps,
         CASE WHEN o.step - e.first_step >= (e.last_step - e.first_step) * 0.75 THEN 4
              WHEN o.step - e.first_step >= (e.last_step - e.first_step) * 0.5 THEN 3
              WHEN o.step - e.first_step >= (e.last_step - e.first_step) * 0.25 THEN 2 ELSE 1 END AS quarter
  FROM own AS o JOIN ends AS e ON e.run = o.run
), ranks AS (
  SELECT o.run, o.job, o.stage, o.rank, o.log, max(o.steps) AS steps,
         max(CASE WHEN o.step = o.first_step THEN o.peak END) AS first_peak,
         max(CASE WHEN o.step > o.first_step THEN o.peak END) AS later_peak,
         median(CASE WHEN o.quarter = 2 THEN o.held END) AS held_2,
         median(CASE WHEN o.quarter = 4 THEN o.held END) AS held_4,
         median(CASE WHEN o.quarter = 2 THEN o.step END) AS step_2, median(CASE WHEN o.quarter = 4 THEN o.step END) AS step_4
  FROM parts AS o GROUP BY o.run, o.job, o.stage, o.rank, o.log
), grown AS (
  SELECT *, (held_4 - held_2) / nullif(step_4 - step_2, 0) AS growth FROM ranks
), ordered AS (
  SELECT *, row_number() OVER (PARTITION BY job, stage ORDER BY growth DESC NULLS LAST, log, run) AS n FROM grown
)
SELECT job, nullif(stage, -1) AS stage, count(*) AS ranks, max(steps) AS steps, median(first_peak) AS first_peak,
       median(later_peak) AS later_peak, median(growth) AS middle_growth, max(growth) AS most_growth,
       max(CASE WHEN n = 1 THEN rank END) AS rank, max(CASE WHEN n = 1 THEN log END) AS log
FROM ordered GROUP BY job, stage
ORDER BY job, stage NULLS LAST
