// The tables and views of an exported database, as SQL. docs/export.md explains them.
#pragma once

namespace memprof::cli {

inline constexpr char kSqliteTables[] = R"sql(
PRAGMA application_id = 0x6d70726f;  -- "mpro"
PRAGMA user_version = 1;
CREATE TABLE run (key TEXT PRIMARY KEY, value);
CREATE TABLE layers (layer TEXT PRIMARY KEY, on_device INTEGER, on_host INTEGER, framework INTEGER);
CREATE TABLE devices (device INTEGER PRIMARY KEY, name TEXT, capacity_bytes INTEGER,
  simulated INTEGER);
CREATE TABLE processes (process INTEGER PRIMARY KEY, log TEXT, pid INTEGER, hostname TEXT,
  rank INTEGER, clock_shift_ns INTEGER);
CREATE TABLE threads (thread INTEGER PRIMARY KEY, tid INTEGER, name TEXT, process INTEGER);
CREATE TABLE steps (step INTEGER, begin_ns INTEGER, end_ns INTEGER, event INTEGER);
CREATE TABLE ranges (name TEXT, thread INTEGER, begin_ns INTEGER, end_ns INTEGER, depth INTEGER);
CREATE TABLE snapshots (label TEXT, time_ns INTEGER, event INTEGER);
CREATE TABLE frames (frame INTEGER PRIMARY KEY, function TEXT, file TEXT, line INTEGER, module TEXT,
  inlined INTEGER);
CREATE TABLE stacks (stack INTEGER PRIMARY KEY, site TEXT, depth INTEGER);
CREATE TABLE stack_frames (stack INTEGER, depth INTEGER, frame INTEGER,
  PRIMARY KEY (stack, depth)) WITHOUT ROWID;
CREATE TABLE tensors (tensor INTEGER PRIMARY KEY, name TEXT, dtype TEXT, shape TEXT);
CREATE TABLE allocations (allocation INTEGER PRIMARY KEY, layer TEXT, device INTEGER,
  address INTEGER, bytes INTEGER, requested_bytes INTEGER,
  birth_ns INTEGER, birth_event INTEGER, birth_step INTEGER,
  death_ns INTEGER, death_event INTEGER, death_step INTEGER, "end" TEXT,
  thread INTEGER, stream INTEGER, pool INTEGER, api TEXT, parent INTEGER, tensor INTEGER,
  stack INTEGER, import TEXT, on_device INTEGER);
CREATE TABLE events (event INTEGER PRIMARY KEY, time_ns INTEGER, thread INTEGER, step INTEGER,
  op TEXT, layer TEXT, device INTEGER, address INTEGER, bytes INTEGER, stream INTEGER, api TEXT,
  result INTEGER, name TEXT, aux0 INTEGER, aux1 INTEGER, allocation INTEGER);
CREATE TABLE peaks (device INTEGER, bytes INTEGER, time_ns INTEGER, step INTEGER, event INTEGER);
CREATE TABLE leaks (tier TEXT, score REAL, device INTEGER, layer TEXT, stack INTEGER,
  bytes INTEGER, blocks INTEGER, bytes_per_step REAL, first_step INTEGER, why TEXT, doubt TEXT);
)sql";

inline constexpr char kSqliteIndexesAndViews[] = R"sql(
CREATE INDEX allocations_by_stack ON allocations (stack);
CREATE INDEX allocations_by_parent ON allocations (parent);
CREATE INDEX allocations_by_birth ON allocations (birth_event);
CREATE INDEX events_by_allocation ON events (allocation);

-- Sums are total(), which adds as floating point: exact up to 2^53, and beyond 2^63 no error as
-- those of sum() are.

-- An allocation with its words: site, tensor, thread.
CREATE VIEW lives AS
  SELECT a.*, printf('0x%x', a.address) AS address_text, s.site, t.name AS tensor_name, t.dtype,
    t.shape, h.tid, h.name AS thread_name, h.process
  FROM allocations a LEFT JOIN stacks s USING (stack) LEFT JOIN tensors t USING (tensor)
    LEFT JOIN threads h USING (thread);
-- What was alive when the log ended, largest first.
CREATE VIEW live_at_end AS
  SELECT * FROM lives WHERE "end" = 'alive' ORDER BY bytes DESC;
-- What was alive at the peak of its device, largest first.
CREATE VIEW live_at_peak AS
  SELECT l.*, p.event AS peak_event FROM peaks p JOIN lives l ON l.device = p.device
    AND l.birth_event <= p.event AND (l.death_event IS NULL OR l.death_event > p.event)
  ORDER BY l.device, l.bytes DESC;
-- Every call site with what it allocated and what of it was alive at the end.
CREATE VIEW site_totals AS
  SELECT s.site, a.layer, a.device, count(*) AS allocations,
    CAST(total(a.bytes) AS INTEGER) AS allocated_bytes,
    sum(a."end" = 'alive') AS live_allocations,
    CAST(total(CASE WHEN a."end" = 'alive' THEN a.bytes ELSE 0 END) AS INTEGER) AS live_bytes,
    max(a.bytes) AS largest_bytes
  FROM allocations a LEFT JOIN stacks s USING (stack)
  GROUP BY s.site, a.layer, a.device ORDER BY allocated_bytes DESC;
-- Bytes of each device after every event that changed them.
CREATE VIEW device_memory AS
  SELECT device, event, time_ns,
    CAST(total(total(delta)) OVER (PARTITION BY device ORDER BY event) AS INTEGER) AS bytes
  FROM (
    SELECT device, birth_event AS event, birth_ns AS time_ns, bytes AS delta
      FROM allocations WHERE on_device
    UNION ALL
    SELECT device, death_event, death_ns, -bytes FROM allocations
      WHERE on_device AND death_event IS NOT NULL)
  GROUP BY device, event, time_ns;
-- What each step allocated, and what of that outlived the step; step -1 is before the first mark.
CREATE VIEW step_totals AS
  SELECT birth_step AS step, layer, device, count(*) AS allocations,
    CAST(total(bytes) AS INTEGER) AS allocated_bytes,
    CAST(total(CASE WHEN death_step = birth_step THEN 0 ELSE bytes END) AS INTEGER) AS kept_bytes,
    CAST(total(CASE WHEN "end" = 'alive' THEN bytes ELSE 0 END) AS INTEGER) AS live_at_end_bytes
  FROM allocations GROUP BY birth_step, layer, device ORDER BY step, layer, device;
-- Calls for memory that failed.
CREATE VIEW failures AS
  SELECT * FROM events WHERE op IN ('alloc_failed', 'framework_oom') ORDER BY event;
-- Whole stacks, one row a frame, innermost first.
CREATE VIEW stack_lines AS
  SELECT sf.stack, sf.depth, f.function, f.file, f.line, f.module, f.inlined
  FROM stack_frames sf JOIN frames f USING (frame) ORDER BY sf.stack, sf.depth;
-- Suspected leaks with their place.
CREATE VIEW leak_sites AS
  SELECT l.*, s.site FROM leaks l LEFT JOIN stacks s USING (stack) ORDER BY score DESC;
)sql";

}  // namespace memprof::cli
