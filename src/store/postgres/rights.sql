-- SPDX-License-Identifier: Apache-2.0
-- What roles of the database may do. It follows the other functions of schema.sql.
--
-- A role that is not the owner of the schema writes to no table. It reads tables under row policies,
-- and changes them by functions, which run as the owner (SECURITY DEFINER) and check what session_user
-- may do: current_user is the owner in them. To see no difference to what does not exist, what
-- another's agent has is not there (RD001); what needs another right is refused (RD006).
-- Ranks: 1 reader, 2 runner, 3 operator, 4 the owner of the schema and superusers; 0 nothing.

CREATE FUNCTION {s}.rank_of_caller() RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF session_user = current_user OR pg_catalog.pg_has_role(session_user, current_user, 'USAGE') THEN
    RETURN 4;
  END IF;
  RETURN coalesce((SELECT r.rank FROM {s}.rights r WHERE r.role = session_user::text), 0);
END $$;

CREATE FUNCTION {s}.sees(p_agent text) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN EXISTS (SELECT FROM {s}.rights r CROSS JOIN unnest(r.agents) AS a WHERE
      r.role = session_user::text AND CASE WHEN right(a, 1) = '*'
        THEN pg_catalog.starts_with(p_agent, left(a, -1)) ELSE p_agent = a END)
    OR {s}.rank_of_caller() = 4;
END $$;

CREATE FUNCTION {s}.sees_all() RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN EXISTS (SELECT FROM {s}.rights r WHERE r.role = session_user::text AND '*' = ANY (r.agents))
    OR {s}.rank_of_caller() = 4;
END $$;

CREATE FUNCTION {s}.sees_run(p_key bigint) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN EXISTS (SELECT FROM {s}.runs r WHERE r.key = p_key AND {s}.sees(r.agent_id));
END $$;

CREATE FUNCTION {s}.sees_owner(p_key bigint) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN EXISTS (SELECT FROM {s}.memory_owners o WHERE o.key = p_key AND {s}.sees(o.name));
END $$;

CREATE FUNCTION {s}.demand(p_rank bigint, p_what text) RETURNS void LANGUAGE plpgsql STABLE AS $$
DECLARE has bigint := {s}.rank_of_caller(); names text[] := '{reader,runner,operator,owner}';
BEGIN
  IF has < p_rank THEN
    RAISE EXCEPTION 'the role % may not %: it needs the right %, and has %', session_user, p_what,
      names[p_rank], coalesce(names[nullif(has, 0)], 'none') USING ERRCODE = 'RD006';
  END IF;
END $$;

CREATE FUNCTION {s}.demand_agent(p_agent text, p_what text) RETURNS void
LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF NOT {s}.sees(p_agent) THEN
    RAISE EXCEPTION 'the role % may not % %: it has no right for this agent', session_user, p_what,
      p_agent USING ERRCODE = 'RD006';
  END IF;
END $$;

-- Whether the scope of a collection has a key in what the caller sees. Keys with a scope begin with
-- the id of a run or the name of an agent, up to a slash.
CREATE FUNCTION {s}.sees_key(p_scope text, p_key bytea) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
DECLARE k text;
BEGIN
  IF p_scope = 'shared' OR {s}.sees_all() THEN
    RETURN true;
  END IF;
  IF p_scope = 'all' THEN
    RETURN false;
  END IF;
  BEGIN
    k := pg_catalog.split_part(pg_catalog.convert_from(p_key, 'UTF8'), '/', 1);
  EXCEPTION WHEN OTHERS THEN
    RETURN false;
  END;
  IF p_scope = 'run' THEN
    RETURN EXISTS (SELECT FROM {s}.runs r WHERE r.id = k AND {s}.sees(r.agent_id));
  END IF;
  RETURN {s}.sees(k);
END $$;

-- Documents of a collection with keys from p_from up to p_to. Roles have no right to read their table: an
-- index tells how many rows a condition has found, also of those that a row policy then hides.
CREATE FUNCTION {s}.read_documents(p_collection text, p_from bytea, p_to bytea, p_is_descending boolean,
  p_limit bigint) RETURNS SETOF {s}.documents LANGUAGE plpgsql STABLE AS $$
DECLARE c {s}.collections; is_whole boolean := true;
BEGIN
  IF session_user <> current_user THEN
    SELECT * INTO c FROM {s}.collections x WHERE x.name = p_collection;
    PERFORM {s}.demand(coalesce(c.reads, 3), 'read documents of the collection ' || p_collection);
    is_whole := coalesce(c.scope, 'all') = 'shared' OR {s}.sees_all();
    IF coalesce(c.scope, 'all') = 'all' AND NOT is_whole THEN
      RAISE EXCEPTION 'the role % may not read documents of the collection %: it needs rights for all agents',
        session_user, p_collection USING ERRCODE = 'RD006';
    END IF;
  END IF;
  IF p_is_descending THEN
    RETURN QUERY SELECT * FROM {s}.documents d WHERE d.collection = p_collection AND d.key >= p_from
      AND d.key < p_to AND (is_whole OR {s}.sees_key(c.scope, d.key)) ORDER BY d.key DESC LIMIT p_limit;
  ELSE
    RETURN QUERY SELECT * FROM {s}.documents d WHERE d.collection = p_collection AND d.key >= p_from
      AND d.key < p_to AND (is_whole OR {s}.sees_key(c.scope, d.key)) ORDER BY d.key LIMIT p_limit;
  END IF;
END $$;

-- The first collection after another one in order that has documents and that the caller may read, or ''.
CREATE FUNCTION {s}.next_collection(p_after text) RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE n text COLLATE "C" := p_after;
BEGIN
  LOOP
    SELECT min(d.collection) INTO n FROM {s}.documents d WHERE d.collection > n;
    EXIT WHEN n IS NULL OR session_user = current_user OR {s}.rank_of_caller() >= 3 AND {s}.sees_all()
      OR EXISTS (SELECT FROM {s}.collections c WHERE c.name = n AND c.reads <= {s}.rank_of_caller()
        AND (c.scope <> 'all' OR {s}.sees_all()));
  END LOOP;
  RETURN coalesce(n, '');
END $$;

CREATE FUNCTION {s}.demand_document(p_collection text, p_key bytea, p_is_range boolean)
RETURNS void LANGUAGE plpgsql STABLE AS $$
DECLARE c {s}.collections;
BEGIN
  SELECT * INTO c FROM {s}.collections x WHERE x.name = p_collection;
  PERFORM {s}.demand(coalesce(c.writes, 3), 'change documents of the collection ' || p_collection);
  IF NOT {s}.sees_key(CASE WHEN p_is_range OR c.writes > 2 THEN 'all'
      ELSE coalesce(c.scope, 'all') END, p_key) THEN
    RAISE EXCEPTION 'the role % may not change this document of the collection %: it has no right for its agent',
      session_user, p_collection USING ERRCODE = 'RD006';
  END IF;
END $$;

-- Values that a role may write: those of rules.c, so that no reader (row.c) takes the store for damaged. They
-- are refused before a table is touched: "Failing row contains ..." would show the number of a claim.
-- No text here has a backslash: what one means is a setting of the caller.
CREATE FUNCTION {s}.demand_value(p_is_right boolean, p_what text) RETURNS void
LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF p_is_right IS NOT TRUE THEN
    RAISE EXCEPTION 'a store keeps no such %: Rondo never writes it', p_what USING ERRCODE = 'RD002';
  END IF;
END $$;

CREATE FUNCTION {s}.is_text(p_text bytea, p_low bigint, p_high bigint) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN octet_length(p_text) BETWEEN p_low AND p_high
    AND position(decode('00', 'hex') IN p_text) = 0;
END $$;

-- Whether json_parse() reads it. What is no JSON at all ends with the error of PostgreSQL, which takes any
-- depth.
CREATE FUNCTION {s}.is_json(p_text bytea, p_high bigint) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE t text; escape CONSTANT text := chr(1);
BEGIN
  IF ({s}.is_text(p_text, 1, p_high)) IS NOT TRUE THEN
    RETURN false;
  END IF;
  t := convert_from(p_text, 'UTF8');
  PERFORM t::json;
  IF length(t) - length(translate(t, '[{', '')) > 64 THEN
    t := regexp_replace(translate(t, chr(92), escape), '"([^"' || escape || ']|' || escape || '.)*"', '', 'g');
    t := regexp_replace(t, '[^]{}[]', '', 'g');
    FOR i IN 1..64 LOOP
      t := replace(replace(t, '[]', ''), '{}', '');
      EXIT WHEN t = '';
    END LOOP;
    RETURN t = '';
  END IF;
  RETURN true;
END $$;

-- The same for an object in one line.
CREATE FUNCTION {s}.is_object(p_text bytea, p_high bigint) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE t text;
BEGIN
  IF ({s}.is_json(p_text, p_high)) IS NOT TRUE THEN
    RETURN false;
  END IF;
  t := convert_from(p_text, 'UTF8');
  RETURN left(t, 1) = '{' AND right(t, 1) = '}' AND t !~ ('[' || chr(1) || '-' || chr(31) || ']');
END $$;

CREATE FUNCTION {s}.demand_claim(p_owner text, p_lease bigint, p_boot text) RETURNS void
LANGUAGE plpgsql STABLE AS $$
BEGIN
  PERFORM {s}.demand_value(octet_length(p_owner) BETWEEN 1 AND 255
    AND p_lease BETWEEN 1 AND 31622400000000000 AND octet_length(p_boot) <= 63, 'claim');
END $$;

CREATE FUNCTION {s}.demand_summary(p_status bigint, p_iteration bigint, p_limit bigint, p_met bigint,
  p_total bigint, p_tokens bigint, p_cost bigint, p_warnings bigint, p_pause bigint) RETURNS void
LANGUAGE plpgsql STABLE AS $$
BEGIN
  PERFORM {s}.demand_value(p_status BETWEEN 0 AND 9 AND p_iteration BETWEEN 0 AND 9223372036854775806
    AND p_limit BETWEEN 0 AND 9223372036854775806 AND p_met BETWEEN 0 AND 4294967295
    AND p_total BETWEEN 0 AND 4294967295 AND p_tokens >= -9223372036854775807
    AND p_cost >= -9223372036854775807 AND p_warnings BETWEEN 0 AND 4294967295
    AND p_pause BETWEEN 0 AND 2, 'state of a run');
END $$;

CREATE FUNCTION {s}.demand_events(p_times bigint[], p_types text[], p_data bytea[]) RETURNS void
LANGUAGE plpgsql STABLE AS $$
BEGIN
  PERFORM {s}.demand_value(time BETWEEN 0 AND 9223372036854775806 AND octet_length(type) BETWEEN 1 AND 63
      AND {s}.is_object(data, 16777216), 'event')
    FROM unnest(p_times, p_types, p_data) AS e (time, type, data);
END $$;

CREATE FUNCTION {s}.demand_checkpoint(p_is_there boolean, p_seq bigint, p_iteration bigint, p_time bigint,
  p_format bigint, p_size bigint, p_sha256 bytea, p_conditions bytea, p_custom bytea, p_fold bytea, p_state bytea)
RETURNS void LANGUAGE plpgsql STABLE AS $$
BEGIN
  PERFORM {s}.demand_value(NOT p_is_there OR p_seq BETWEEN 0 AND 9223372036854775806
    AND p_iteration BETWEEN 0 AND 9223372036854775806 AND p_time BETWEEN 0 AND 9223372036854775806
    AND p_format BETWEEN 0 AND 4294967295 AND p_size BETWEEN 0 AND 67108864
    AND octet_length(p_sha256) = 32 AND coalesce({s}.is_text(p_conditions, 0, 16777216), true)
    AND coalesce({s}.is_text(p_custom, 0, 16777216), true)
    AND coalesce({s}.is_text(p_fold, 0, 16777216), true)
    AND coalesce(octet_length(p_state) <= 67108864, true), 'checkpoint');
END $$;

CREATE FUNCTION {s}.my_rights(OUT role text, OUT rank bigint, OUT agents text,
  OUT is_superuser boolean, OUT has_policies boolean) LANGUAGE plpgsql STABLE AS $$
BEGIN
  role := session_user;
  rank := {s}.rank_of_caller();
  agents := coalesce((SELECT pg_catalog.array_to_string(r.agents, ' ') FROM {s}.rights r
    WHERE r.role = session_user::text AND my_rights.rank < 4), '');
  is_superuser := (SELECT r.rolsuper FROM pg_catalog.pg_roles r WHERE r.rolname = session_user);
  has_policies := EXISTS (SELECT FROM {s}.documents d WHERE d.collection = 'policies');
END $$;

-- Whose functions a role may call; others are called by these functions only. A function that is not
-- listed here is the owner's.
CREATE FUNCTION {s}.function_ranks() RETURNS TABLE (name text, rank bigint)
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN QUERY VALUES
    ('moment', 1::bigint), ('sees', 1), ('sees_all', 1), ('sees_run', 1), ('sees_owner', 1),
    ('read_documents', 1), ('next_collection', 1), ('my_rights', 1), ('position_end', 1),
    ('position_end_of_ours', 1), ('this_system', 1), ('note_system', 1), ('search_memories', 1),
    ('lock_events', 2), ('create_run', 2), ('claim_run', 2), ('was_claimed', 2), ('end_lease', 2),
    ('renew_leases', 2), ('commit_batch', 2), ('post_letter', 2), ('record_policy', 2),
    ('change_documents', 2), ('lock_documents', 2), ('reserve_memories', 2), ('add_memory', 2),
    ('forget_memories', 2), ('prune_memories', 2), ('consolidate_memory', 2), ('embed_memory', 2),
    ('collect', 3);
END $$;

-- Take everything from a role, and give it what its row in `rights` says.
CREATE FUNCTION {s}.apply_rights(p_role text) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE f text; columns text; has bigint;
BEGIN
  SELECT r.rank INTO has FROM {s}.rights r WHERE r.role = p_role;
  EXECUTE pg_catalog.format('REVOKE ALL ON ALL TABLES IN SCHEMA {s} FROM %I', p_role);
  EXECUTE pg_catalog.format('REVOKE ALL ON ALL ROUTINES IN SCHEMA {s} FROM %I', p_role);
  EXECUTE pg_catalog.format('REVOKE ALL ON SCHEMA {s} FROM %I', p_role);
  -- Revoking a table's rights takes those of its columns, too.
  IF has IS NULL THEN
    RETURN;
  END IF;
  EXECUTE pg_catalog.format('GRANT USAGE ON SCHEMA {s} TO %I', p_role);
  EXECUTE pg_catalog.format('GRANT SELECT ON {s}.meta, {s}.ended_runs, {s}.run_counts, {s}.run_count_changes, {s}.events,
    {s}.checkpoints, {s}.interims, {s}.letters, {s}.policy_texts, {s}.policy_changes, {s}.memory_owners, {s}.memories,
    {s}.memory_vectors TO %I', p_role);
  SELECT pg_catalog.string_agg(pg_catalog.quote_ident(a.attname), ', ') INTO columns
    FROM pg_catalog.pg_attribute a WHERE a.attrelid = '{s}.runs'::regclass AND a.attnum > 0
      AND NOT a.attisdropped AND a.attname <> 'claim';
  EXECUTE pg_catalog.format('GRANT SELECT (%s) ON {s}.runs TO %I', columns, p_role);
  FOR f IN SELECT p.oid::regprocedure FROM pg_catalog.pg_proc p JOIN {s}.function_ranks() r
      ON r.name = p.proname::text WHERE p.pronamespace = '{s}'::regnamespace AND r.rank <= has LOOP
    EXECUTE pg_catalog.format('GRANT EXECUTE ON FUNCTION %s TO %I', f, p_role);
  END LOOP;
END $$;

CREATE FUNCTION {s}.grant_rights(p_role text, p_rank bigint, p_agents text[]) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.rolname = p_role) THEN
    RAISE EXCEPTION 'there is no role % in the database (CREATE ROLE)', p_role USING ERRCODE = 'RD001';
  END IF;
  IF pg_catalog.pg_has_role(p_role, (SELECT n.nspowner FROM pg_catalog.pg_namespace n
      WHERE n.oid = '{s}'::regnamespace), 'MEMBER') THEN
    RAISE EXCEPTION 'the role % is a superuser or the owner of the schema, and may do everything; use another one',
      p_role USING ERRCODE = 'RD002';
  END IF;
  -- Row security, or the tables, mean nothing to them.
  IF EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.rolname = p_role AND r.rolbypassrls)
      OR pg_catalog.pg_has_role(p_role, 'pg_read_all_data', 'MEMBER')
      OR pg_catalog.pg_has_role(p_role, 'pg_write_all_data', 'MEMBER') THEN
    RAISE EXCEPTION 'the role % sees or writes all tables of the database (BYPASSRLS, pg_read_all_data, pg_write_all_data); use another one',
      p_role USING ERRCODE = 'RD002';
  END IF;
  INSERT INTO {s}.rights VALUES (p_role, p_rank, p_agents) ON CONFLICT (role) DO UPDATE
    SET rank = p_rank, agents = p_agents;
  PERFORM {s}.apply_rights(p_role);
END $$;

CREATE FUNCTION {s}.revoke_rights(p_role text) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  DELETE FROM {s}.rights r WHERE r.role = p_role;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the role % has no rights here', p_role USING ERRCODE = 'RD001';
  END IF;
  IF EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.rolname = p_role) THEN
    PERFORM {s}.apply_rights(p_role);
  END IF;
END $$;

-- Collections of documents: who reads and who changes them, and what of them a role sees that has
-- rights for some agents only: agent and run, what the key begins with; shared, everything; all,
-- nothing. Others are the operators'.
DELETE FROM {s}.collections;
INSERT INTO {s}.collections VALUES
  ('policies', 1, 3, 'shared'),
  ('budgets', 1, 2, 'agent'),
  ('follow-up', 1, 2, 'agent'), ('follow-up-guard', 1, 2, 'agent'), ('follow-up-due', 1, 2, 'agent'),
  ('consolidations', 1, 2, 'agent'), ('consolidation-due', 1, 2, 'run'),
  ('orphan', 1, 2, 'run'), ('managed', 1, 2, 'run'),
  ('warning', 1, 2, 'all'), ('notice', 1, 2, 'all'), ('monitor', 1, 2, 'all'),
  ('monitor-run', 1, 2, 'run'), ('telemetry', 2, 2, 'all'), ('probe', 2, 2, 'shared'),
  ('source', 1, 2, 'all'), ('source-mark', 2, 2, 'all'), ('source-lease', 2, 2, 'all'),
  ('server', 1, 2, 'all'), ('daemon', 2, 2, 'all'), ('start-request', 2, 2, 'all'), ('start-claim', 2, 2, 'all'),
  ('start-turn', 2, 2, 'all'), ('start-key', 2, 2, 'all'), ('start-refusal', 2, 2, 'all'),
  ('conversation', 2, 2, 'all'), ('copy', 1, 4, 'shared'),
  ('work-item', 1, 2, 'all'), ('work-request', 1, 2, 'all'), ('work-trouble', 1, 2, 'all'),
  ('document-page', 2, 2, 'all'), ('document-vector', 2, 2, 'all'),
  ('handoff', 2, 2, 'all'), ('handoff-open', 2, 2, 'all'), ('handoff-count', 2, 2, 'all'),
  ('handoff-action', 2, 2, 'all'), ('handoff-body', 2, 2, 'all'), ('handoff-thread', 2, 2, 'all'),
  ('handoff-outbox', 2, 2, 'all'), ('handoff-once', 2, 2, 'all'), ('handoff-clock', 2, 2, 'all'),
  ('audit', 1, 2, 'all'), ('audit-head', 1, 2, 'all'), ('audit-signed-head', 1, 2, 'all'),
  ('desks-in-reach', 2, 2, 'all'), ('lane', 2, 2, 'agent'), ('evaluation', 2, 2, 'all'),
  ('outbox-cursor', 2, 2, 'all'), ('delivery-dead-letter', 2, 2, 'all'),
  ('intake-dead-letter', 2, 2, 'all'), ('signature-id', 2, 2, 'all'),
  ('idempotency', 2, 2, 'all'), ('idempotency-age', 2, 2, 'all'),
  ('delivery', 2, 2, 'all'), ('dead-letter', 2, 2, 'all'), ('sink', 2, 3, 'all'),
  ('token', 2, 3, 'all'), ('token-name', 2, 3, 'all'), ('token-use', 2, 2, 'all');

CREATE POLICY own ON {s}.runs USING ((SELECT {s}.sees_all()) OR {s}.sees(agent_id));
CREATE POLICY own ON {s}.ended_runs USING ((SELECT {s}.sees_all()) OR {s}.sees(agent_id));
CREATE POLICY own ON {s}.run_counts USING ((SELECT {s}.sees_all()) OR {s}.sees(agent_id));
CREATE POLICY own ON {s}.run_count_changes USING ((SELECT {s}.sees_all()) OR {s}.sees(agent_id));
CREATE POLICY own ON {s}.events USING ((SELECT {s}.sees_all()) OR {s}.sees_run(run));
CREATE POLICY own ON {s}.checkpoints USING ((SELECT {s}.sees_all()) OR {s}.sees_run(run));
CREATE POLICY own ON {s}.interims USING ((SELECT {s}.sees_all()) OR {s}.sees_run(run));
CREATE POLICY own ON {s}.letters USING ((SELECT {s}.sees_all()) OR {s}.sees_run(run));
CREATE POLICY own ON {s}.memory_owners USING ((SELECT {s}.sees_all()) OR {s}.sees(name));
CREATE POLICY own ON {s}.memories USING ((SELECT {s}.sees_all()) OR {s}.sees_owner(owner));
CREATE POLICY own ON {s}.memory_vectors USING ((SELECT {s}.sees_all()) OR {s}.sees_owner(owner));

-- What a statement says of a column is computed for rows that the caller may not see, too, if it comes before
-- the row policy: comparisons are taken to tell nothing, and EXPLAIN counts what they cost. So the functions
-- of row policies are said to be cheaper than every comparison. Only conditions of an index come first: an
-- index has names, ids and times, never contents. EXPLAIN also estimates how many rows a content fits.
DO $$
DECLARE c record;
BEGIN
  FOR c IN SELECT p.oid::regprocedure AS name FROM pg_catalog.pg_proc p
      WHERE p.pronamespace = '{s}'::regnamespace AND p.proname IN ('sees', 'sees_run', 'sees_owner') LOOP
    EXECUTE pg_catalog.format('ALTER FUNCTION %s COST 0.0001', c.name);
  END LOOP;
  FOR c IN SELECT a.attrelid::regclass AS name, a.attname FROM pg_catalog.pg_attribute a
      JOIN pg_catalog.pg_class t ON t.oid = a.attrelid WHERE t.relnamespace = '{s}'::regnamespace
        AND t.relkind = 'r' AND t.relrowsecurity AND a.attnum > 0 AND NOT a.attisdropped
        AND a.atttypid IN ('bytea'::regtype, 'tsvector'::regtype) AND a.attname <> 'key' LOOP
    EXECUTE pg_catalog.format('ALTER TABLE %s ALTER COLUMN %I SET STATISTICS 0', c.name, c.attname);
  END LOOP;
END $$;

-- Nobody else's functions, operators and types are found in place of those that are meant: pg_temp,
-- where every role can make some, comes last. Functions in SQL have no such setting, because they are put
-- into the statements that call them: they name exact types. Functions that only others call have
-- theirs; setting it again would only cost time. search_memories() reads what its caller sees.
DO $$
DECLARE f record;
BEGIN
  FOR f IN SELECT p.oid::regprocedure AS name, p.proname FROM pg_catalog.pg_proc p
      JOIN pg_catalog.pg_language l ON l.oid = p.prolang
      WHERE p.pronamespace = '{s}'::regnamespace AND l.lanname = 'plpgsql' AND p.proname NOT IN
        ('position_base', 'append_events', 'lock_agent', 'lock_others', 'clear_others') LOOP
    EXECUTE pg_catalog.format('ALTER FUNCTION %s SECURITY %s SET search_path = pg_catalog, pg_temp',
      f.name, CASE WHEN f.proname IN ('search_memories', 'apply_rights', 'grant_rights',
        'revoke_rights') THEN 'INVOKER' ELSE 'DEFINER' END);
  END LOOP;
  REVOKE ALL ON ALL ROUTINES IN SCHEMA {s} FROM PUBLIC;
  REVOKE ALL ON ALL TABLES IN SCHEMA {s} FROM PUBLIC;
  PERFORM {s}.apply_rights(r.role) FROM {s}.rights r JOIN pg_catalog.pg_roles u ON u.rolname = r.role;
END $$;
