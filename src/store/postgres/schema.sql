-- SPDX-License-Identifier: Apache-2.0
-- The tables and functions of a store, made in one transaction. {s} is the schema, quoted.
--
-- This is version 12. A change of the tables is made twice: here, and in steps/VERSION.sql, which
-- brings the tables of the version before to the same state (a new column is the last one of its
-- table). Functions, triggers and row policies are below the line "==== functions" and in the other files of
-- this folder: they are all dropped and made again by every migration, so they may change in any way. The test
-- store/postgres/migrate compares what a migration gives with what this file makes.
--
-- A decision and what follows from it is one function: one round trip, and nobody comes in between.
-- Each locks the rows that it decides about before it looks at them; rows of runs in the order of
-- their ids, documents before runs. What they refuse has an SQLSTATE of our own (error.c):
-- RD001 there is none, RD002 it does not fit the state, RD003 it exists, RD004 a version differs,
-- RD005 a limit, RD006 a right is missing.
--
-- Content is bytea: a journal keeps bytes, and a database of text would refuse some of them.
-- What is compared has COLLATE "C", so that it has one order on all servers.

CREATE TABLE {s}.meta (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  version bigint NOT NULL,
  base bigint NOT NULL,      -- of positions, see position_base()
  collected bigint NOT NULL, -- the highest position that gc deleted
  system text NOT NULL,      -- in which transaction ids are counted, see note_system()
  oldest bigint NOT NULL     -- version of the oldest program that can still use the store
);

-- What roles of the database may do that do not own the schema; see rights.sql.
CREATE TABLE {s}.rights (
  role text COLLATE "C" PRIMARY KEY,
  rank bigint NOT NULL CHECK (rank BETWEEN 1 AND 3),
  agents text[] COLLATE "C" NOT NULL -- their names, or beginnings of names before a *
);
-- Which of them a collection of documents needs; filled in rights.sql.
CREATE TABLE {s}.collections (
  name text COLLATE "C" PRIMARY KEY,
  reads bigint NOT NULL,
  writes bigint NOT NULL,
  scope text COLLATE "C" NOT NULL CHECK (scope IN ('agent', 'run', 'shared', 'all'))
);

CREATE TABLE {s}.runs (
  key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text COLLATE "C" NOT NULL UNIQUE,
  agent_id text COLLATE "C" NOT NULL,
  parent text COLLATE "C" NOT NULL,
  is_exclusive boolean NOT NULL,
  owner text COLLATE "C" NOT NULL,
  epoch bigint NOT NULL,
  claim bigint NOT NULL, -- random: by it a client knows its own claim again
  lease_until_ns bigint NOT NULL,
  alive_ns bigint NOT NULL,
  boot text COLLATE "C" NOT NULL,
  alive_monotonic_ns bigint NOT NULL,
  created_ns bigint NOT NULL,
  updated_ns bigint NOT NULL,
  ended_ns bigint NOT NULL,
  status bigint NOT NULL,
  iteration bigint NOT NULL,
  iteration_limit bigint NOT NULL,
  conditions_met bigint NOT NULL,
  conditions_total bigint NOT NULL,
  tokens bigint NOT NULL,
  cost_micro bigint NOT NULL,
  warnings bigint NOT NULL,
  pause bigint NOT NULL, -- 0, 1, or 2 when the pause is that of calls that wait for people
  last_seq bigint NOT NULL,
  last_position bigint NOT NULL,
  last_checkpoint bigint NOT NULL,
  claimed_by text COLLATE "C" NOT NULL DEFAULT '' -- the role of the database that claimed it last
-- A commit of a run that has not ended changes no column that an index has, so with free room in its
-- page it touches no index. It opens each of them, so orders of lists are those of ended_runs.
) WITH (fillfactor = 60);
CREATE INDEX runs_by_age ON {s}.runs (created_ns, id);
CREATE INDEX runs_by_agent ON {s}.runs (agent_id, created_ns, id);
CREATE INDEX runs_by_status ON {s}.runs (status, created_ns, id);
CREATE INDEX runs_by_parent ON {s}.runs (parent) WHERE parent <> '';
CREATE INDEX runs_owned_by_agent ON {s}.runs (agent_id) WHERE owner <> '';
CREATE INDEX runs_owned_alone ON {s}.runs (agent_id) WHERE owner <> '' AND is_exclusive;
CREATE INDEX runs_owned_by_owner ON {s}.runs (owner) WHERE owner <> '';
CREATE INDEX runs_ended ON {s}.runs (ended_ns) WHERE ended_ns > 0;

-- What lists of runs that have ended select and are ordered by, see settle_run(). Those that have not are
-- sorted: they are few.
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
CREATE INDEX ended_runs_by_agent ON {s}.ended_runs (agent_id, id);
CREATE INDEX ended_runs_by_status ON {s}.ended_runs (status, id);
CREATE INDEX ended_runs_by_updated ON {s}.ended_runs (updated_ns, id);
CREATE INDEX ended_runs_by_iteration ON {s}.ended_runs (iteration, id);
CREATE INDEX ended_runs_by_tokens ON {s}.ended_runs (tokens, id);
CREATE INDEX ended_runs_by_cost ON {s}.ended_runs (cost_micro, id);
CREATE INDEX ended_runs_by_warnings ON {s}.ended_runs (warnings, id);

-- How many runs there are: the sum of both tables, exact in every snapshot. A transaction that changes
-- it appends, so none waits for another one; see note_count().
CREATE TABLE {s}.run_counts (
  agent_id text COLLATE "C" NOT NULL,
  status bigint NOT NULL,
  is_paused boolean NOT NULL,
  is_top boolean NOT NULL, -- has no parent
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

CREATE TABLE {s}.events (
  run bigint NOT NULL,
  seq bigint NOT NULL,
  position bigint NOT NULL,
  time_ns bigint NOT NULL,
  type text COLLATE "C" NOT NULL,
  data bytea NOT NULL,
  PRIMARY KEY (run, seq)
);
CREATE UNIQUE INDEX events_by_position ON {s}.events (position);

CREATE TABLE {s}.checkpoints (
  run bigint NOT NULL,
  number bigint NOT NULL,
  seq bigint NOT NULL,
  iteration bigint NOT NULL,
  time_ns bigint NOT NULL,
  format bigint NOT NULL,
  state_size bigint NOT NULL,
  is_packed boolean NOT NULL,
  sha256 bytea NOT NULL,
  conditions bytea,
  custom_data bytea,
  fold bytea,
  state bytea,
  PRIMARY KEY (run, number)
);
ALTER TABLE {s}.checkpoints ALTER COLUMN state SET STORAGE EXTERNAL;

-- What a checkpoint would hold, for iterations that are finished and have none yet.
CREATE TABLE {s}.interims (
  run bigint PRIMARY KEY,
  seq bigint NOT NULL,
  iteration bigint NOT NULL,
  time_ns bigint NOT NULL,
  format bigint NOT NULL,
  state_size bigint NOT NULL,
  is_packed boolean NOT NULL,
  sha256 bytea NOT NULL,
  conditions bytea,
  custom_data bytea,
  fold bytea,
  state bytea
);
ALTER TABLE {s}.interims ALTER COLUMN state SET STORAGE EXTERNAL;

CREATE TABLE {s}.letters (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  run bigint NOT NULL,
  time_ns bigint NOT NULL,
  kind text COLLATE "C" NOT NULL,
  data bytea NOT NULL
);
CREATE INDEX letters_by_run ON {s}.letters (run, id);

CREATE TABLE {s}.policy_texts (
  digest text COLLATE "C" PRIMARY KEY,
  text bytea NOT NULL
);
CREATE TABLE {s}.policy_changes (
  number bigint PRIMARY KEY,
  time_ns bigint NOT NULL,
  source bytea NOT NULL,
  digest text COLLATE "C" NOT NULL,
  how text COLLATE "C" NOT NULL,
  author bytea NOT NULL
);
CREATE INDEX policy_changes_by_source ON {s}.policy_changes (source, number);

CREATE TABLE {s}.documents (
  collection text COLLATE "C" NOT NULL,
  key bytea NOT NULL,
  version bigint NOT NULL,
  updated_ns bigint NOT NULL,
  data bytea NOT NULL,
  PRIMARY KEY (collection, key)
) WITH (fillfactor = 80);

CREATE TABLE {s}.memory_owners (
  key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text COLLATE "C" NOT NULL UNIQUE,
  last bigint NOT NULL
);
CREATE TABLE {s}.memories (
  id bigint PRIMARY KEY,
  owner bigint NOT NULL,
  kind bigint NOT NULL,
  created_ns bigint NOT NULL,
  consolidated_ns bigint NOT NULL,
  category text COLLATE "C" NOT NULL,
  run text COLLATE "C" NOT NULL,
  iteration bigint NOT NULL,
  source text COLLATE "C" NOT NULL,
  metadata bytea NOT NULL,
  content bytea NOT NULL,
  words tsvector NOT NULL
);
CREATE INDEX memories_by_age ON {s}.memories (owner, kind, created_ns, id);
CREATE INDEX memories_by_words ON {s}.memories USING gin (words);

-- What selects vectors is here again, so that comparing all of an owner's reads no memory.
CREATE TABLE {s}.memory_vectors (
  id bigint PRIMARY KEY,
  owner bigint NOT NULL,
  kind bigint NOT NULL,
  created_ns bigint NOT NULL,
  category text COLLATE "C" NOT NULL,
  model text COLLATE "C" NOT NULL,
  vector bytea NOT NULL
);
CREATE INDEX memory_vectors_by_owner ON {s}.memory_vectors (owner, id);

-- Roles read what is their agents'. The owner of the schema reads all.
ALTER TABLE {s}.runs ENABLE ROW LEVEL SECURITY;
ALTER TABLE {s}.ended_runs ENABLE ROW LEVEL SECURITY;
ALTER TABLE {s}.run_counts ENABLE ROW LEVEL SECURITY;
ALTER TABLE {s}.run_count_changes ENABLE ROW LEVEL SECURITY;
ALTER TABLE {s}.events ENABLE ROW LEVEL SECURITY;
ALTER TABLE {s}.checkpoints ENABLE ROW LEVEL SECURITY;
ALTER TABLE {s}.interims ENABLE ROW LEVEL SECURITY;
ALTER TABLE {s}.letters ENABLE ROW LEVEL SECURITY;
ALTER TABLE {s}.documents ENABLE ROW LEVEL SECURITY;
ALTER TABLE {s}.memory_owners ENABLE ROW LEVEL SECURITY;
ALTER TABLE {s}.memories ENABLE ROW LEVEL SECURITY;
ALTER TABLE {s}.memory_vectors ENABLE ROW LEVEL SECURITY;

-- ==== functions

-- Those of an older version go first, with what depends on them.
DO $$
DECLARE d text;
BEGIN
  FOR d IN SELECT pg_catalog.format('DROP TRIGGER %I ON %s', t.tgname, t.tgrelid::regclass)
        FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid
        WHERE c.relnamespace = '{s}'::regnamespace AND NOT t.tgisinternal AND t.tgparentid = 0
      UNION ALL SELECT pg_catalog.format('DROP POLICY %I ON %s', p.polname, p.polrelid::regclass)
        FROM pg_catalog.pg_policy p JOIN pg_catalog.pg_class c ON c.oid = p.polrelid
        WHERE c.relnamespace = '{s}'::regnamespace
      UNION ALL SELECT pg_catalog.format('DROP ROUTINE %s', f.oid::regprocedure)
        FROM pg_catalog.pg_proc f WHERE f.pronamespace = '{s}'::regnamespace LOOP
    EXECUTE d;
  END LOOP;
END $$;

-- The server's clock in ns, or the time that a test gives. A function reads it after it has locked
-- what it waits for.
CREATE FUNCTION {s}.moment(p_now bigint) RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT coalesce(p_now, (extract(epoch FROM pg_catalog.clock_timestamp()) * 1000000::numeric)::bigint * 1000)
$$;

-- Whether somebody holds a run. p_monotonic is given with a test's time only: the clocks of a
-- machine say nothing to others.
CREATE FUNCTION {s}.is_held(r {s}.runs, p_boot text, p_now bigint, p_monotonic bigint)
RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT r.owner <> '' AND CASE
    WHEN p_monotonic IS NULL OR p_boot = '' OR r.boot <> p_boot THEN r.lease_until_ns > p_now
    ELSE p_monotonic - r.alive_monotonic_ns < r.lease_until_ns - r.alive_ns END
$$;

-- Positions: base + id of the transaction * 2^20 + place in the transaction. So they need no lock,
-- and a reader knows what is still open: it stops below the lowest transaction that is
-- (position_end()). Ids begin anew in a database that was restored from a dump, and a standby that
-- took over may give some again; base is raised then.
CREATE FUNCTION {s}.position_base() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE b bigint;
BEGIN
  -- While this lock is held the base is not raised. A transaction has to take it before it gets an
  -- id, that is before it locks a row: by it position_end_of_ours() knows it.
  LOCK TABLE {s}.events IN ROW EXCLUSIVE MODE;
  SELECT base INTO STRICT b FROM {s}.meta;
  RETURN b + pg_catalog.pg_current_xact_id()::text::bigint * 1048576;
END $$;

CREATE FUNCTION {s}.position_end() RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (SELECT base FROM {s}.meta) +
    pg_catalog.pg_snapshot_xmin(pg_catalog.pg_current_snapshot())::text::bigint * 1048576;
END $$;

-- The same where another program has a transaction open for long. Only ours hold a reader back then.
-- One that is seen to have its id but not the lock of position_base() is another program's. One whose
-- id is not among the locks has ended, or has an id but not yet the lock by which that is seen: it may
-- be ours. What has ended since the ids were read is seen by what is read after this, in a new snapshot.
CREATE FUNCTION {s}.position_end_of_ours() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE s pg_snapshot := pg_catalog.pg_current_snapshot(); b bigint; oldest bigint;
BEGIN
  SELECT base INTO STRICT b FROM {s}.meta;
  SELECT min(x.id) INTO oldest
    FROM (SELECT i::text::bigint AS id FROM pg_catalog.pg_snapshot_xip(s) i) x
    LEFT JOIN (SELECT t.transactionid::text::bigint AS id, e.locktype IS NULL AS is_others
      FROM pg_catalog.pg_locks t LEFT JOIN pg_catalog.pg_locks e
        ON e.virtualtransaction = t.virtualtransaction
          AND e.locktype = 'relation' AND e.mode = 'RowExclusiveLock' AND e.granted
          AND e.relation = '{s}.events'::regclass AND e.database =
            (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = current_database())
      WHERE t.locktype = 'transactionid' AND t.mode = 'ExclusiveLock' AND t.granted) w
    ON w.id = x.id & 4294967295
    WHERE w.is_others IS NOT TRUE;
  RETURN b + coalesce(oldest, pg_catalog.pg_snapshot_xmax(s)::text::bigint) * 1048576;
END $$;

-- By what transaction ids are counted: the cluster, and its timeline, which a takeover changes.
CREATE FUNCTION {s}.this_system() RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE s text := ''; t text := '';
BEGIN
  BEGIN
    SELECT system_identifier::text INTO s FROM pg_catalog.pg_control_system();
  -- Not everywhere allowed. Other errors are the caller's doing, such as a stack that it has used up.
  EXCEPTION WHEN insufficient_privilege OR undefined_function THEN NULL;
  END;
  IF pg_catalog.pg_is_in_recovery() THEN
    RETURN ''; -- Nothing is written here.
  END IF;
  BEGIN
    t := substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()), 1, 8);
  EXCEPTION WHEN insufficient_privilege OR undefined_function THEN NULL;
  END;
  RETURN s || '/' || t;
END $$;

-- Raise the base when ids may be given again: beyond all positions that are known, and by a million
-- transactions more, which a standby that took over may lack.
CREATE FUNCTION {s}.note_system(p_system text) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  -- Commits wait for the lock: a role gets it only when there is something to note.
  IF NOT EXISTS (SELECT FROM {s}.meta m WHERE m.system <> p_system AND p_system = {s}.this_system()) THEN
    RETURN;
  END IF;
  LOCK TABLE {s}.events IN SHARE ROW EXCLUSIVE MODE;
  UPDATE {s}.meta SET system = p_system, base = greatest(base, collected,
      coalesce((SELECT max(position) FROM {s}.events), 0)) + 1099511627776
    WHERE system <> p_system AND p_system = {s}.this_system();
END $$;

-- Before documents are locked: see position_base().
CREATE FUNCTION {s}.lock_events() RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  IF session_user <> current_user THEN
    PERFORM {s}.demand(2, 'commit');
  END IF;
  LOCK TABLE {s}.events IN ROW EXCLUSIVE MODE;
END $$;

-- Here as elsewhere PL/pgSQL, which keeps plans for the session; functions in SQL that cannot be
-- inlined are planned at each call.
CREATE FUNCTION {s}.append_events(p_run bigint, p_seq bigint, p_base bigint, p_times bigint[],
  p_types text[], p_data bytea[]) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  INSERT INTO {s}.events (run, seq, position, time_ns, type, data)
    SELECT p_run, p_seq + n, p_base + n, t, y, d
      FROM unnest(p_times, p_types, p_data) WITH ORDINALITY AS e (t, y, d, n);
END $$;

-- Runs of an agent exclude one another under this lock: shared by those that tolerate others.
CREATE FUNCTION {s}.lock_agent(p_agent text, p_exclusive boolean) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE h bigint := pg_catalog.hashtextextended('{s}.' || p_agent, 0);
BEGIN
  IF p_exclusive THEN
    PERFORM pg_catalog.pg_advisory_xact_lock(h);
  ELSE
    PERFORM pg_catalog.pg_advisory_xact_lock_shared(h);
  END IF;
END $$;

-- The runs of the agent that have owners and are in the way of one that is exclusive or not. Each
-- case has its index: an agent may have ten thousand runs that tolerate one another.
CREATE FUNCTION {s}.lock_others(p_agent text, p_exclusive boolean, p_id text) RETURNS SETOF {s}.runs
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  IF p_exclusive THEN
    RETURN QUERY SELECT * FROM {s}.runs WHERE (agent_id = p_agent AND owner <> '') OR id = p_id
      ORDER BY id FOR NO KEY UPDATE;
  ELSE
    RETURN QUERY SELECT * FROM {s}.runs WHERE (agent_id = p_agent AND owner <> '' AND is_exclusive)
      OR id = p_id ORDER BY id FOR NO KEY UPDATE;
  END IF;
END $$;

-- Take the leases of other runs of the agent away that have run out and would be in the way.
-- Returns the one that has not, if there is any; p_id is the run itself.
CREATE FUNCTION {s}.clear_others(p_agent text, p_exclusive boolean, p_id text, p_boot text,
  p_now bigint, p_monotonic bigint) RETURNS SETOF {s}.runs LANGUAGE plpgsql VOLATILE AS $$
DECLARE o {s}.runs; late bigint[] := '{}';
BEGIN
  FOR o IN SELECT * FROM {s}.lock_others(p_agent, p_exclusive, p_id) LOOP
    CONTINUE WHEN o.id = p_id;
    IF {s}.is_held(o, p_boot, {s}.moment(p_now), p_monotonic) THEN
      RETURN NEXT o;
      RETURN;
    END IF;
    late := late || o.key;
  END LOOP;
  IF late <> '{}' THEN
    UPDATE {s}.runs SET owner = '', lease_until_ns = 0, epoch = epoch + 1 WHERE key = ANY (late);
  END IF;
END $$;

CREATE FUNCTION {s}.create_run(p_now bigint, p_monotonic bigint, p_id text, p_agent text,
  p_parent text, p_exclusive boolean, p_owner text, p_lease bigint, p_boot text, p_claim bigint,
  p_status bigint, p_iteration bigint, p_limit bigint, p_met bigint, p_total bigint,
  p_tokens bigint, p_cost bigint, p_warnings bigint, p_pause bigint, p_times bigint[],
  p_types text[], p_data bytea[])
RETURNS TABLE (outcome bigint, epoch bigint, run {s}.runs) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  now bigint; n bigint := cardinality(p_times); k bigint; b bigint; o {s}.runs; r {s}.runs;
BEGIN
  IF session_user <> current_user THEN
    p_now := NULL;
    p_monotonic := NULL;
    PERFORM {s}.demand(2, 'create runs');
    PERFORM {s}.demand_agent(p_agent, 'create runs of the agent');
    PERFORM {s}.demand_value(p_id ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$', 'id of a run');
    PERFORM {s}.demand_value(p_agent ~ '^[A-Za-z0-9._-]{1,128}$', 'name of an agent');
    PERFORM {s}.demand_claim(p_owner, p_lease, p_boot);
    PERFORM {s}.demand_summary(p_status, p_iteration, p_limit, p_met, p_total, p_tokens, p_cost,
      p_warnings, p_pause);
    PERFORM {s}.demand_events(p_times, p_types, p_data);
    IF p_parent <> '' AND NOT EXISTS (SELECT FROM {s}.runs x WHERE x.id = p_parent
        AND {s}.sees(x.agent_id)) THEN
      RAISE EXCEPTION 'there is no run %', p_parent USING ERRCODE = 'RD001';
    END IF;
  END IF;
  -- Should the client be stopped before it commits, its locks are not kept for ever.
  PERFORM pg_catalog.set_config('idle_in_transaction_session_timeout', '60000', true);
  LOCK TABLE {s}.events IN ROW EXCLUSIVE MODE;
  PERFORM {s}.lock_agent(p_agent, p_exclusive);
  IF EXISTS (SELECT FROM {s}.runs x WHERE x.id = p_id) THEN
    RAISE EXCEPTION 'there is a run % already', p_id USING ERRCODE = 'RD003';
  END IF;
  SELECT * INTO o FROM {s}.clear_others(p_agent, p_exclusive, p_id, p_boot, p_now, p_monotonic);
  IF FOUND THEN
    o.claim := 0;
    RETURN QUERY SELECT 1::bigint, 0::bigint, o;
    RETURN;
  END IF;
  now := {s}.moment(p_now);
  b := {s}.position_base();
  INSERT INTO {s}.runs AS x (id, agent_id, parent, is_exclusive, owner, epoch, claim,
      lease_until_ns, alive_ns, boot, alive_monotonic_ns, created_ns, updated_ns, ended_ns, status,
      iteration, iteration_limit, conditions_met, conditions_total, tokens, cost_micro, warnings,
      pause, last_seq, last_position, last_checkpoint, claimed_by)
    VALUES (p_id, p_agent, p_parent, p_exclusive, p_owner, 1, p_claim, now + p_lease, now, p_boot,
      coalesce(p_monotonic, 0), now, now, CASE WHEN p_status = 0 THEN 0 ELSE now END, p_status,
      p_iteration, p_limit, p_met, p_total, p_tokens, p_cost, p_warnings, p_pause, n,
      CASE WHEN n > 0 THEN b + n ELSE 0 END, 0, session_user)
    ON CONFLICT (id) DO NOTHING RETURNING x.key INTO k;
  IF k IS NULL THEN
    RAISE EXCEPTION 'there is a run % already', p_id USING ERRCODE = 'RD003';
  END IF;
  PERFORM {s}.append_events(k, 0, b, p_times, p_types, p_data);
  SELECT * INTO STRICT r FROM {s}.runs x WHERE x.key = k;
  r.owner := ''; r.claim := 0; r.epoch := 0;
  r.lease_until_ns := 0; r.alive_ns := 0; r.boot := '';
  RETURN QUERY SELECT 0::bigint, 1::bigint, r;
END $$;

CREATE FUNCTION {s}.claim_run(p_now bigint, p_monotonic bigint, p_id text, p_owner text,
  p_lease bigint, p_boot text, p_claim bigint)
RETURNS TABLE (outcome bigint, epoch bigint, run {s}.runs) LANGUAGE plpgsql VOLATILE AS $$
DECLARE now bigint; r {s}.runs; o {s}.runs;
BEGIN
  IF session_user <> current_user THEN
    p_now := NULL;
    p_monotonic := NULL;
    PERFORM {s}.demand(2, 'claim runs');
    PERFORM {s}.demand_claim(p_owner, p_lease, p_boot);
  END IF;
  SELECT * INTO r FROM {s}.runs x WHERE x.id = p_id;
  IF NOT FOUND OR session_user <> current_user AND NOT {s}.sees(r.agent_id) THEN
    RAISE EXCEPTION 'there is no run %', p_id USING ERRCODE = 'RD001';
  END IF;
  PERFORM pg_catalog.set_config('idle_in_transaction_session_timeout', '60000', true);
  PERFORM {s}.lock_agent(r.agent_id, r.is_exclusive);
  PERFORM FROM {s}.lock_others(r.agent_id, r.is_exclusive, p_id);
  SELECT * INTO r FROM {s}.runs x WHERE x.id = p_id;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'there is no run %', p_id USING ERRCODE = 'RD001';
  END IF;
  now := {s}.moment(p_now);
  r.claim := 0;
  IF {s}.is_held(r, p_boot, now, p_monotonic) THEN
    RETURN QUERY SELECT 1::bigint, 0::bigint, r;
    RETURN;
  END IF;
  SELECT * INTO o FROM {s}.clear_others(r.agent_id, r.is_exclusive, p_id, p_boot, p_now, p_monotonic);
  IF FOUND THEN
    o.claim := 0;
    RETURN QUERY SELECT 1::bigint, 0::bigint, o;
    RETURN;
  END IF;
  UPDATE {s}.runs x SET owner = p_owner, epoch = x.epoch + 1, claim = p_claim, claimed_by = session_user,
      lease_until_ns = now + p_lease, alive_ns = now, boot = p_boot,
      alive_monotonic_ns = coalesce(p_monotonic, 0) WHERE x.key = r.key;
  RETURN QUERY SELECT 0::bigint, r.epoch + 1, r;
END $$;

-- Whether a claim whose answer was lost went through. Under the agent's lock its transaction has ended.
CREATE FUNCTION {s}.was_claimed(p_agent text, p_id text, p_claim bigint, p_epoch bigint)
RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  IF session_user <> current_user THEN
    PERFORM {s}.demand_agent(p_agent, 'claim runs of the agent');
  END IF;
  PERFORM {s}.lock_agent(p_agent, true);
  RETURN EXISTS (SELECT FROM {s}.runs WHERE id = p_id AND claim = p_claim AND epoch = p_epoch
    AND owner <> '');
END $$;

-- End the lease of an owner that is dead. Roles end those of what connected as the same role.
CREATE FUNCTION {s}.end_lease(p_id text, p_epoch bigint) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  IF session_user <> current_user THEN
    PERFORM {s}.demand(2, 'end leases');
  END IF;
  UPDATE {s}.runs SET owner = '', lease_until_ns = 0 WHERE id = p_id AND epoch = p_epoch
    AND (session_user = current_user OR claimed_by = session_user::text AND {s}.sees(agent_id));
END $$;

CREATE FUNCTION {s}.renew_leases(p_now bigint, p_monotonic bigint, p_owner text, p_lease bigint)
RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE now bigint; claimer text;
BEGIN
  IF session_user <> current_user THEN
    p_now := NULL;
    p_monotonic := NULL;
    PERFORM {s}.demand(2, 'renew leases');
    PERFORM {s}.demand_claim(p_owner, p_lease, '');
    claimer := session_user;
  END IF;
  PERFORM FROM {s}.runs WHERE owner = p_owner AND owner <> ''
    AND (claimer IS NULL OR claimed_by = claimer) ORDER BY id FOR NO KEY UPDATE;
  now := {s}.moment(p_now);
  UPDATE {s}.runs SET lease_until_ns = now + p_lease, alive_ns = now,
      alive_monotonic_ns = coalesce(p_monotonic, 0) WHERE owner = p_owner AND owner <> ''
        AND (claimer IS NULL OR claimed_by = claimer);
END $$;

-- A batch. The rules are those of rules_decide() in rules.c; here they hold under the row's lock
-- without a second round trip. p_ordinal is the place of the batch's first event in the transaction.
-- Outcomes: 0 committed, 1 it was before, 2 fenced, 3 outdated. Who does not know the number of the claim
-- is fenced, too: the epoch is no secret. p_version NULL = there is no premise, p_collection NULL = it names
-- no document.
CREATE FUNCTION {s}.commit_batch(p_now bigint, p_monotonic bigint, p_ordinal bigint, p_id text,
  p_epoch bigint, p_first bigint, p_times bigint[], p_types text[], p_data bytea[], p_lease bigint,
  p_mail bigint, p_keep bigint, p_status bigint, p_iteration bigint, p_limit bigint, p_met bigint,
  p_total bigint, p_tokens bigint, p_cost bigint, p_warnings bigint, p_pause bigint,
  c_number bigint, c_seq bigint, c_iteration bigint, c_time bigint, c_format bigint, c_size bigint,
  c_packed boolean, c_sha256 bytea, c_conditions bytea, c_custom bytea, c_fold bytea, c_state bytea,
  i_seq bigint, i_iteration bigint, i_time bigint, i_format bigint, i_size bigint,
  i_packed boolean, i_sha256 bytea, i_conditions bytea, i_custom bytea, i_fold bytea, i_state bytea,
  p_claim bigint, p_version bigint DEFAULT NULL, p_collection text DEFAULT NULL, p_key bytea DEFAULT NULL,
  OUT outcome bigint, OUT pos bigint, OUT has_mail boolean) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  r {s}.runs; n bigint := cardinality(p_times); now bigint; b bigint; stores boolean := false;
BEGIN
  outcome := 2; pos := 0; has_mail := false;
  IF session_user <> current_user THEN
    p_now := NULL;
    p_monotonic := NULL;
    PERFORM {s}.demand(2, 'commit');
    PERFORM {s}.demand_value(p_lease BETWEEN 0 AND 31622400000000000, 'lease');
    PERFORM {s}.demand_summary(p_status, p_iteration, p_limit, p_met, p_total, p_tokens, p_cost,
      p_warnings, p_pause);
    PERFORM {s}.demand_events(p_times, p_types, p_data);
    PERFORM {s}.demand_checkpoint(c_number IS NOT NULL, c_seq, c_iteration, c_time, c_format, c_size,
      c_sha256, c_conditions, c_custom, c_fold, c_state);
    PERFORM {s}.demand_checkpoint(i_seq IS NOT NULL, i_seq, i_iteration, i_time, i_format, i_size,
      i_sha256, i_conditions, i_custom, i_fold, i_state);
    -- Whether and how often other documents were changed, the caller may have no right to know.
    PERFORM {s}.demand_value(p_collection IS NULL OR EXISTS (SELECT FROM {s}.collections c
      WHERE c.name = p_collection AND c.scope = 'shared' AND c.reads <= 2), 'premise');
  END IF;
  IF (p_ordinal >= 0 AND p_ordinal + n < 1048576) IS NOT TRUE THEN
    RAISE EXCEPTION 'a transaction has too many events' USING ERRCODE = 'RD005';
  END IF;
  LOCK TABLE {s}.events IN ROW EXCLUSIVE MODE;
  SELECT * INTO r FROM {s}.runs x WHERE x.id = p_id FOR NO KEY UPDATE;
  IF NOT FOUND OR session_user <> current_user AND NOT {s}.sees(r.agent_id) THEN
    RAISE EXCEPTION 'there is no run %', p_id USING ERRCODE = 'RD001';
  END IF;
  IF r.epoch IS DISTINCT FROM p_epoch OR r.claim IS DISTINCT FROM p_claim THEN
    RETURN;
  END IF;
  has_mail := EXISTS (SELECT FROM {s}.letters l WHERE l.run = r.key AND l.id > p_mail);
  IF n > 0 AND r.last_seq <> p_first - 1 THEN
    IF r.last_seq < p_first + n - 1 THEN
      RAISE EXCEPTION 'run % has % events, so a batch cannot begin with number %', p_id, r.last_seq,
        p_first USING ERRCODE = 'RD002';
    END IF;
    outcome := 1;
    SELECT position INTO pos FROM {s}.events e WHERE e.run = r.key AND e.seq = p_first + n - 1;
    IF NOT FOUND THEN
      RAISE EXCEPTION 'run % lacks an event that its row counts', p_id USING ERRCODE = 'XX001';
    END IF;
    RETURN;
  END IF;
  IF r.owner = '' AND p_lease > 0 THEN
    has_mail := false;
    RETURN;
  END IF;
  IF c_number IS NOT NULL AND NOT (n = 0 AND c_number = r.last_checkpoint) THEN
    IF c_number <> r.last_checkpoint + 1 THEN
      RAISE EXCEPTION 'checkpoint % of run % cannot follow number %', c_number, p_id,
        r.last_checkpoint USING ERRCODE = 'RD002';
    END IF;
    stores := true;
    r.last_checkpoint := c_number;
  END IF;
  IF p_version IS NOT NULL THEN -- A condition with a query in it costs as much when nothing is asked.
    IF has_mail OR p_collection IS NOT NULL AND p_version <> coalesce((SELECT d.version FROM {s}.documents d
        WHERE d.collection = p_collection AND d.key = p_key), 0) THEN
      outcome := 3;
      RETURN;
    END IF;
  END IF;
  outcome := 0;
  IF n > 0 THEN
    b := {s}.position_base() + p_ordinal;
    PERFORM {s}.append_events(r.key, p_first - 1, b, p_times, p_types, p_data);
    pos := b + n;
    IF b < r.last_position THEN
      -- The transaction began before the one whose events it follows: again, with a new id.
      RAISE EXCEPTION 'run % was changed meanwhile', p_id USING ERRCODE = '40001';
    END IF;
    r.last_position := pos;
  END IF;
  IF stores THEN
    INSERT INTO {s}.checkpoints VALUES (r.key, c_number, c_seq, c_iteration, c_time, c_format,
      c_size, c_packed, c_sha256, c_conditions, c_custom, c_fold, c_state);
    DELETE FROM {s}.interims i WHERE i.run = r.key;
  END IF;
  IF i_seq IS NOT NULL THEN
    INSERT INTO {s}.interims VALUES (r.key, i_seq, i_iteration, i_time, i_format, i_size, i_packed,
        i_sha256, i_conditions, i_custom, i_fold, i_state)
      ON CONFLICT (run) DO UPDATE SET (seq, iteration, time_ns, format, state_size, is_packed,
        sha256, conditions, custom_data, fold, state) = (excluded.seq, excluded.iteration,
        excluded.time_ns, excluded.format, excluded.state_size, excluded.is_packed,
        excluded.sha256, excluded.conditions, excluded.custom_data, excluded.fold, excluded.state);
  END IF;
  IF p_keep > 0 AND r.last_checkpoint > p_keep THEN
    DELETE FROM {s}.checkpoints c WHERE c.run = r.key AND c.number <= r.last_checkpoint - p_keep;
  END IF;
  IF p_mail > 0 THEN
    DELETE FROM {s}.letters l WHERE l.run = r.key AND l.id <= p_mail;
  END IF;
  now := {s}.moment(p_now);
  UPDATE {s}.runs x SET
      owner = CASE WHEN p_lease > 0 THEN x.owner ELSE '' END,
      lease_until_ns = CASE WHEN p_lease > 0 THEN now + p_lease ELSE 0 END,
      alive_ns = CASE WHEN x.owner = '' THEN x.alive_ns ELSE now END,
      alive_monotonic_ns = CASE WHEN x.owner = '' THEN x.alive_monotonic_ns
        ELSE coalesce(p_monotonic, 0) END,
      updated_ns = now, iteration = p_iteration, iteration_limit = p_limit,
      conditions_met = p_met, conditions_total = p_total, tokens = p_tokens, cost_micro = p_cost,
      warnings = p_warnings, last_seq = x.last_seq + n,
      last_position = r.last_position, last_checkpoint = r.last_checkpoint
    WHERE x.key = r.key;
  -- Triggers and indexes look at these, which most commits do not change.
  IF p_status <> 0 OR r.status <> 0 OR p_pause <> r.pause THEN
    UPDATE {s}.runs x SET status = p_status, pause = p_pause,
        ended_ns = CASE WHEN p_status = 0 THEN 0 WHEN x.ended_ns <> 0 THEN x.ended_ns ELSE now END
      WHERE x.key = r.key;
  END IF;
END $$;

-- Ids of a run's letters ascend in the order of their commits: each is given under the row's lock.
CREATE FUNCTION {s}.post_letter(p_now bigint, p_id text, p_kind text, p_data bytea) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE k bigint; a text;
BEGIN
  IF session_user <> current_user THEN
    p_now := NULL;
    PERFORM {s}.demand(2, 'send commands to runs');
    PERFORM {s}.demand_value(octet_length(p_kind) BETWEEN 1 AND 63 AND {s}.is_text(p_data, 0, 16777216),
      'command');
  END IF;
  SELECT key, agent_id INTO k, a FROM {s}.runs WHERE id = p_id FOR NO KEY UPDATE;
  IF NOT FOUND OR session_user <> current_user AND NOT {s}.sees(a) THEN
    RAISE EXCEPTION 'there is no run %', p_id USING ERRCODE = 'RD001';
  END IF;
  INSERT INTO {s}.letters (run, time_ns, kind, data) VALUES (k, {s}.moment(p_now), p_kind, p_data);
END $$;

-- Kinds are those of enum store_change_kind; a condition of -1 is none.
CREATE FUNCTION {s}.change_documents(p_now bigint, p_kinds bigint[], p_collections text[],
  p_keys bytea[], p_data bytea[], p_versions bigint[]) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE now bigint; v bigint;
BEGIN
  IF session_user <> current_user THEN
    p_now := NULL;
    -- An array may begin with another index than 1, or have more than is looked at here.
    p_kinds := ARRAY(SELECT unnest(p_kinds)); p_collections := ARRAY(SELECT unnest(p_collections));
    p_keys := ARRAY(SELECT unnest(p_keys)); p_data := ARRAY(SELECT unnest(p_data));
    p_versions := ARRAY(SELECT unnest(p_versions));
    PERFORM {s}.demand_value(cardinality(p_collections) = cardinality(p_kinds)
      AND cardinality(p_keys) = cardinality(p_kinds), 'change');
    FOR i IN 1..cardinality(p_kinds) LOOP
      PERFORM {s}.demand_document(p_collections[i], p_keys[i], (p_kinds[i] IN (0, 1)) IS NOT TRUE);
      PERFORM {s}.demand_value({s}.is_text(p_keys[i], 1, 256)
        AND (p_kinds[i] <> 0 OR {s}.is_json(p_data[i], 1048576)), 'document');
    END LOOP;
  END IF;
  -- In one order, whatever that of the changes is.
  IF cardinality(p_kinds) > 1 THEN
    PERFORM FROM {s}.documents d WHERE (d.collection, d.key) IN
        (SELECT c, k FROM unnest(p_collections, p_keys) AS u (c, k))
      ORDER BY d.collection, d.key FOR NO KEY UPDATE;
  END IF;
  now := {s}.moment(p_now);
  FOR i IN 1..cardinality(p_kinds) LOOP
    IF p_kinds[i] <> 2 AND p_versions[i] >= 0 THEN
      -- What is not as asked for already need not be waited for.
      SELECT version INTO v FROM {s}.documents d WHERE d.collection = p_collections[i] AND d.key = p_keys[i];
      IF coalesce(v, 0) = p_versions[i] THEN
        SELECT version INTO v FROM {s}.documents d WHERE d.collection = p_collections[i] AND d.key = p_keys[i]
          FOR NO KEY UPDATE;
      END IF;
      IF coalesce(v, 0) <> p_versions[i] THEN
        RAISE EXCEPTION 'a document has another version' USING ERRCODE = 'RD004';
      END IF;
      IF v IS NULL THEN
        -- Now it is there for all others, so that it stays as absent as was asked for.
        INSERT INTO {s}.documents VALUES (p_collections[i], p_keys[i], 0, now, '')
          ON CONFLICT DO NOTHING;
        IF NOT FOUND THEN
          RAISE EXCEPTION 'a document has another version' USING ERRCODE = 'RD004';
        END IF;
      END IF;
    END IF;
    IF p_kinds[i] = 0 THEN
      INSERT INTO {s}.documents AS d VALUES (p_collections[i], p_keys[i], 1, now, p_data[i])
        ON CONFLICT (collection, key) DO UPDATE
          SET version = d.version + 1, updated_ns = now, data = excluded.data;
    ELSIF p_kinds[i] = 1 THEN
      DELETE FROM {s}.documents d WHERE d.collection = p_collections[i] AND d.key = p_keys[i];
    ELSE
      DELETE FROM {s}.documents d WHERE d.collection = p_collections[i] AND d.key <= p_keys[i];
    END IF;
  END LOOP;
END $$;

-- The documents that are there, locked and in the order of all that lock several.
CREATE FUNCTION {s}.lock_documents(p_collections text[], p_keys bytea[])
RETURNS SETOF {s}.documents LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  IF session_user <> current_user THEN
    -- An array may begin with another index than 1.
    p_collections := ARRAY(SELECT unnest(p_collections));
    p_keys := ARRAY(SELECT unnest(p_keys));
    FOR i IN 1..cardinality(p_collections) LOOP
      PERFORM {s}.demand_document(p_collections[i], p_keys[i], false);
    END LOOP;
  END IF;
  RETURN QUERY SELECT * FROM {s}.documents d WHERE (d.collection, d.key) IN
      (SELECT c, k FROM unnest(p_collections, p_keys) AS u (c, k))
    ORDER BY d.collection, d.key FOR NO KEY UPDATE;
END $$;

-- ==== content

INSERT INTO {s}.meta (version, base, collected, system, oldest)
  VALUES (12, 0, 0, {s}.this_system(), 11);
