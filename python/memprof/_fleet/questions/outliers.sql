-- title: Ranks apart from their peers
-- answers: Which ranks have another peak than the ranks of the same pipeline stage? The distance from the stage's
--   median is compared with the median of all distances (robust z; the scale is at least 1 % of the median).
-- parameter: z 3.5 least distance, in robust standard deviations
-- parameter: share 0.05 least distance, as a share of the median
-- parameter: peers 4 least ranks of a stage
-- columns: job text, attempt count, stage count, rank count, host text, peak bytes, middle bytes, apart bytes,
--   z number, log log
-- next: memprof peak
WITH middles AS (
  SELECT job, attempt_no, stage, median(peak) AS middle, count(*) AS peers
  FROM runs WHERE peak IS NOT NULL GROUP BY job, attempt_no, stage
), apart AS (
  SELECT r.job, r.attempt_no, r.stage, r.rank, r.host, r.peak, r.log, m.middle, m.peers, r.peak - m.middle AS distance
  FROM runs AS r JOIN middles AS m ON r.job = m.job AND r.attempt_no = m.attempt_no AND r.stage = m.stage
  WHERE r.peak IS NOT NULL
), spreads AS (
  SELECT job, attempt_no, stage, greatest(1.4826 * median(abs(distance)), 0.01 * min(middle)) AS scale
  FROM apart GROUP BY job, attempt_no, stage
)
SELECT a.job, a.attempt_no AS attempt, nullif(a.stage, -1) AS stage, a.rank, a.host, a.peak, a.middle,
       a.distance AS apart, a.distance / nullif(s.scale, 0) AS z, a.log
FROM apart AS a JOIN spreads AS s ON a.job = s.job AND a.attempt_no = s.attempt_no AND a.stage = s.stage
WHERE a.peers >= :peers AND abs(a.distance) > :share * a.middle AND abs(a.distance) > :z * s.scale
ORDER BY abs(a.distance) DESC, a.job, a.attempt_no, a.rank NULLS LAST, a.log
