-- title: Ranks that left their peers
-- answers: From which step on does a rank hold more or less than the ranks of its stage, until its end? A step counts
--   if what is live at its end differs from the stage's median by more than `k` robust standard deviations and more
--   than `share` of the median.
-- parameter: k 6.0 least distance, in robust standard deviations
-- parameter: share 0.03 least distance, as a share of the median
-- parameter: least 5 steps that it has to last
-- parameter: peers 4 least ranks of a stage with that step
-- columns: job text, attempt count, stage count, rank count, host text, from_step step, steps count, apart bytes,
--   per_step bytes/step, log log
-- next: memprof steps
WITH steps AS (
  SELECT r.run, r.job, r.attempt_no, r.stage, s.step, s.allocated_end AS held
  FROM rank_step AS s JOIN runs AS r ON r.run = s.run AND r.device = s.device
  WHERE s.allocated_end IS NOT NULL AND s.step IS NOT NULL
), middles AS (
  SELECT job, attempt_no, stage, step, median(held) AS middle
  FROM steps GROUP BY job, attempt_no, stage, step HAVING count(*) >= :peers
), apart AS (
  SELECT s.run, s.job, s.attempt_no, s.stage, s.step, m.middle, s.held - m.middle AS distance
  FROM steps AS s JOIN middles AS m
    ON s.job = m.job AND s.attempt_no = m.attempt_no AND s.stage = m.stage AND s.step = m.step
), spreads AS (
  SELECT job, attempt_no, stage, step,
         greatest(:k * 1.4826 * median(abs(distance)), :share * min(middle)) AS bound
  FROM apart GROUP BY job, attempt_no, stage, step
), judged AS (
  SELECT a.run, a.step, a.distance, CASE WHEN abs(a.distance) > s.bound THEN 1 ELSE 0 END AS outside
  FROM apart AS a JOIN spreads AS s
    ON a.job = s.job AND a.attempt_no = s.attempt_no AND a.stage = s.stage AND a.step = s.step
), inside AS (
  SELECT run, max(CASE WHEN outside = 0 THEN step END) AS last_inside, max(step) AS last FROM judged GROUP BY run
), left_peers AS (
  SELECT j.run, min(j.step) AS from_step, count(*) AS steps,
         max(CASE WHEN j.step = i.last THEN j.distance END) AS at_end,
         regr_slope(j.distance, CAST(j.step AS DOUBLE)) AS per_step
  FROM judged AS j JOIN inside AS i ON i.run = j.run
  WHERE j.outside = 1 AND (i.last_inside IS NULL OR j.step > i.last_inside)
  GROUP BY j.run HAVING count(*) >= :least
)
SELECT r.job, r.attempt_no AS attempt, nullif(r.stage, -1) AS stage, r.rank, r.host, l.from_step, l.steps,
       l.at_end AS apart, l.per_step, r.log
FROM left_peers AS l JOIN runs AS r ON r.run = l.run
ORDER BY abs(l.at_end) DESC, r.job, r.attempt_no, r.rank NULLS LAST, r.log
