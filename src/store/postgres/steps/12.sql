-- SPDX-License-Identifier: Apache-2.0
-- From version 11 to 12.

-- As commits lock them. Nothing is written to runs until the triggers count it.
LOCK TABLE {s}.events IN ACCESS EXCLUSIVE MODE;
LOCK TABLE {s}.runs IN ACCESS EXCLUSIVE MODE;

CREATE TABLE {s}.run_counts (
  agent_id text COLLATE "C" NOT NULL,
  status bigint NOT NULL,
  is_paused boolean NOT NULL,
  is_top boolean NOT NULL,
  number bigint NOT NULL,
  PRIMARY KEY (agent_id, status, is_paused, is_top)
) WITH (fillfactor = 50);
CREATE TABLE {s}.run_count_changes (
  agent_id text COLLATE "C" NOT NULL,
  status bigint NOT NULL,
  is_paused boolean NOT NULL,
  is_top boolean NOT NULL,
  number bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
ALTER TABLE {s}.run_counts ENABLE ROW LEVEL SECURITY;
ALTER TABLE {s}.run_count_changes ENABLE ROW LEVEL SECURITY;
INSERT INTO {s}.run_counts
  SELECT agent_id, status, pause > 0, parent = '', count(*) FROM {s}.runs GROUP BY 1, 2, 3, 4;

DROP INDEX {s}.runs_for_counts;
ALTER TABLE {s}.runs
  ADD COLUMN ended_updated_ns bigint GENERATED ALWAYS AS (CASE WHEN status <> 0 THEN updated_ns END) STORED,
  ADD COLUMN ended_iteration bigint GENERATED ALWAYS AS (CASE WHEN status <> 0 THEN iteration END) STORED,
  ADD COLUMN ended_tokens bigint GENERATED ALWAYS AS (CASE WHEN status <> 0 THEN tokens END) STORED,
  ADD COLUMN ended_cost_micro bigint GENERATED ALWAYS AS (CASE WHEN status <> 0 THEN cost_micro END) STORED,
  ADD COLUMN ended_warnings bigint GENERATED ALWAYS AS (CASE WHEN status <> 0 THEN warnings END) STORED;
-- The table was written anew for them once; from here on settle_run() gives them their values.
ALTER TABLE {s}.runs
  ALTER COLUMN ended_updated_ns DROP EXPRESSION, ALTER COLUMN ended_iteration DROP EXPRESSION,
  ALTER COLUMN ended_tokens DROP EXPRESSION, ALTER COLUMN ended_cost_micro DROP EXPRESSION,
  ALTER COLUMN ended_warnings DROP EXPRESSION;
CREATE INDEX runs_by_status ON {s}.runs (status, created_ns, id);
CREATE INDEX runs_ordered_by_agent ON {s}.runs (agent_id, id);
CREATE INDEX runs_ordered_by_status ON {s}.runs (status, id);
CREATE INDEX runs_ordered_by_updated ON {s}.runs (ended_updated_ns, id) WHERE ended_updated_ns IS NOT NULL;
CREATE INDEX runs_ordered_by_iteration ON {s}.runs (ended_iteration, id) WHERE ended_iteration IS NOT NULL;
CREATE INDEX runs_ordered_by_tokens ON {s}.runs (ended_tokens, id) WHERE ended_tokens IS NOT NULL;
CREATE INDEX runs_ordered_by_cost ON {s}.runs (ended_cost_micro, id) WHERE ended_cost_micro IS NOT NULL;
CREATE INDEX runs_ordered_by_warnings ON {s}.runs (ended_warnings, id) WHERE ended_warnings IS NOT NULL;
