-- title: Ranks that left their peers
-- answers: From which step on does a rank hold more or less than the ranks of its stage, until its end? A step counts
--   if what is live at its end (its peak, without an allocator that has blocks) differs from the stage's median by more
--   than `k` robust standard deviations and more than `share` of the median.
-- parameter: k 6.0 least distance, in robust standard deviations
-- parameter: share 0.03 least distance, as a share of the median
-- parameter: least 5 steps that it has to last
-- parameter: peers 4 least ranks of a stage with that step
-- columns: job text, attempt count, stage count, rank count, host text, from_step step, steps count, apart bytes,
--   per_step bytes/step, log log
-- next: memprof steps
WITH steps AS (
  SELECT r.run, r.job, r.attempt_no, r.stage, s.step,
         CASE WHEN r.allocated_peak IS NULL THEN s.peak ELSE s.allocated_end END AS held
  FROM rank_step AS s JOIN runs AS r ON r.run = s.run AND r.device = s.device WHERE s.step IS NOT NULL
), apart AS (
  SELECT *, held - median(held) OVER (PARTITION BY job, attempt_no, stage, step) AS distance,
         median(held) OVER (PARTITION BY job, attempt_no, stage, step) AS middle,
         count(*) OVER (PARTITION BY job, attempt_no, stage, step) AS peers
  FROM steps WHERE held IS NOT NULL
), judged AS (
  SELECT run, step, distance, CASE WHEN abs(distance) > greatest(
           :k * 1.4826 * median(abs(distance)) OVER (PARTITION BY job, attempt_no, stage, step), :share * middle)
         THEN 1 ELSE 0 END AS outside
  FROM apart WHERE peers >= :peers
), ends AS (
  SELECT *, max(CASE WHEN outside = 0 THEN step END) OVER (PARTITION BY run) AS last_inside,
         max(step) OVER (PARTITION BY run) AS last_step
  FROM judged
), left_peers AS (
  SELECT run, min(step) AS from_step, count(*) AS steps, max(CASE WHEN step = last_step THEN distance END) AS at_end,
         regr_slope(distance, CAST(step AS DOUBLE)) AS per_step
  FROM ends WHERE last_inside IS NULL OR step > last_inside
  GROUP BY run HAVING count(*) >= :least
)
SELECT r.job, r.attempt_no AS attempt, nullif(r.stage, -1) AS stage, r.rank, r.host, l.from_step, l.steps,
       l.at_end AS apart, l.per_step, r.log
FROM left_peers AS l JOIN runs AS r ON r.run = l.run
ORDER BY abs(l.at_end) DESC, r.job, r.attempt_no, r.rank NULLS LAST, r.log
