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
CREATE INDEX runs_by_status ON {s}.runs (status, created_ns, id);

CREATE TABLE {s}.ended_runs (
  run bigint PRIMARY KEY,
  id text COLLATE "C" NOT NULL,
  agent_id text COLLATE "C" NOT NULL,
  parent text COLLATE "C" NOT NULL,
  status bigint NOT NULL,
  updated_ns bigint NOT NULL,
  iteration bigint NOT NULL,
  tokens bigint NOT NULL,
  cost_micro bigint NOT NULL,
  warnings bigint NOT NULL
);
ALTER TABLE {s}.ended_runs ENABLE ROW LEVEL SECURITY;
INSERT INTO {s}.ended_runs SELECT key, id, agent_id, parent, status, updated_ns, iteration, tokens, cost_micro,
  warnings FROM {s}.runs WHERE status <> 0;
CREATE INDEX ended_runs_by_agent ON {s}.ended_runs (agent_id, id);
CREATE INDEX ended_runs_by_status ON {s}.ended_runs (status, id);
CREATE INDEX ended_runs_by_updated ON {s}.ended_runs (updated_ns, id);
CREATE INDEX ended_runs_by_iteration ON {s}.ended_runs (iteration, id);
CREATE INDEX ended_runs_by_tokens ON {s}.ended_runs (tokens, id);
CREATE INDEX ended_runs_by_cost ON {s}.ended_runs (cost_micro, id);
CREATE INDEX ended_runs_by_warnings ON {s}.ended_runs (warnings, id);
