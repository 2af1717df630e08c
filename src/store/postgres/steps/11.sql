-- SPDX-License-Identifier: Apache-2.0
-- From version 10 to 11.

ALTER TABLE {s}.meta ADD COLUMN oldest bigint NOT NULL DEFAULT 11;
ALTER TABLE {s}.meta ALTER COLUMN oldest DROP DEFAULT;

CREATE TABLE {s}.rights (
  role text COLLATE "C" PRIMARY KEY,
  rank bigint NOT NULL CHECK (rank BETWEEN 1 AND 3),
  agents text[] COLLATE "C" NOT NULL
);
CREATE TABLE {s}.collections (
  name text COLLATE "C" PRIMARY KEY,
  reads bigint NOT NULL,
  writes bigint NOT NULL,
  scope text COLLATE "C" NOT NULL CHECK (scope IN ('agent', 'run', 'shared', 'all'))
);
ALTER TABLE {s}.runs ADD COLUMN claimed_by text COLLATE "C" NOT NULL DEFAULT '';
CREATE INDEX runs_for_counts ON {s}.runs (agent_id, status, pause, parent);

ALTER TABLE {s}.runs ENABLE ROW LEVEL SECURITY;
ALTER TABLE {s}.events ENABLE ROW LEVEL SECURITY;
ALTER TABLE {s}.checkpoints ENABLE ROW LEVEL SECURITY;
ALTER TABLE {s}.interims ENABLE ROW LEVEL SECURITY;
ALTER TABLE {s}.letters ENABLE ROW LEVEL SECURITY;
ALTER TABLE {s}.documents ENABLE ROW LEVEL SECURITY;
ALTER TABLE {s}.memory_owners ENABLE ROW LEVEL SECURITY;
ALTER TABLE {s}.memories ENABLE ROW LEVEL SECURITY;
ALTER TABLE {s}.memory_vectors ENABLE ROW LEVEL SECURITY;
