-- SPDX-License-Identifier: Apache-2.0
-- The functions for memories. They follow those of schema.sql.

-- A key is taken only for an owner that is new: there are 2^63 / LIMIT_MEMORY_IDS of them.
CREATE FUNCTION {s}.reserve_memories(p_owner text, p_count bigint, OUT owner_key bigint,
  OUT last_number bigint) LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  IF session_user <> current_user THEN
    PERFORM {s}.demand(2, 'keep memories');
    PERFORM {s}.demand_agent(p_owner, 'keep memories of');
    PERFORM {s}.demand_value(octet_length(p_owner) BETWEEN 1 AND 160 AND p_count >= 0, 'owner of memories');
  END IF;
  FOR i IN 1..2 LOOP
    UPDATE {s}.memory_owners o SET last = o.last + p_count WHERE o.name = p_owner
      RETURNING o.key, o.last INTO owner_key, last_number;
    IF FOUND AND last_number >= 100000000 THEN -- The ids of the next owner follow.
      RAISE EXCEPTION '% has had too many memories', p_owner USING ERRCODE = 'RD005';
    ELSIF FOUND THEN
      RETURN;
    END IF;
    INSERT INTO {s}.memory_owners AS o (name, last) VALUES (p_owner, 0) ON CONFLICT DO NOTHING;
  END LOOP;
END $$;

-- Contents are searched as words in their order: what is no letter or digit became a blank.
CREATE FUNCTION {s}.add_memory(p_id bigint, p_owner text, p_kind bigint, p_created bigint,
  p_consolidated bigint, p_category text, p_run text, p_iteration bigint, p_source text,
  p_metadata bytea, p_content bytea, p_words text, p_category_words text, p_grams text)
RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE n bigint;
BEGIN
  IF session_user <> current_user THEN
    PERFORM {s}.demand(2, 'keep memories');
    PERFORM {s}.demand_agent(p_owner, 'keep memories of');
    IF NOT EXISTS (SELECT FROM {s}.memory_owners o WHERE o.name = p_owner
        AND p_id > o.key * 100000000 AND p_id <= o.key * 100000000 + o.last) THEN
      RAISE EXCEPTION 'the id of a memory is not one of its owner' USING ERRCODE = 'RD006';
    END IF;
    PERFORM {s}.demand_value(p_kind BETWEEN 0 AND 2 AND p_created BETWEEN 0 AND 9223372036854775806
      AND p_consolidated BETWEEN 0 AND 9223372036854775806 AND octet_length(p_category) BETWEEN 1 AND 64
      AND octet_length(p_run) <= 36 AND p_iteration BETWEEN 0 AND 9223372036854775806
      AND octet_length(p_source) BETWEEN 1 AND 64 AND {s}.is_json(p_metadata, 16384)
      AND {s}.is_text(p_content, 1, 16384), 'memory');
  END IF;
  INSERT INTO {s}.memories SELECT p_id, o.key, p_kind, p_created, p_consolidated, p_category, p_run,
      p_iteration, p_source, p_metadata, p_content,
      pg_catalog.setweight(pg_catalog.to_tsvector('pg_catalog.simple', p_words), 'A') ||
      pg_catalog.setweight(pg_catalog.to_tsvector('pg_catalog.simple', p_grams), 'B') ||
      pg_catalog.setweight(pg_catalog.to_tsvector('pg_catalog.simple', p_category_words), 'C')
    FROM {s}.memory_owners o WHERE o.name = p_owner
    ON CONFLICT (id) DO NOTHING;
  GET DIAGNOSTICS n = ROW_COUNT;
  RETURN n;
END $$;

CREATE FUNCTION {s}.forget_memories(p_ids bigint[]) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE n bigint;
BEGIN
  IF session_user <> current_user THEN
    PERFORM {s}.demand(2, 'change memories');
    p_ids := ARRAY(SELECT m.id FROM {s}.memories m WHERE m.id = ANY (p_ids) AND {s}.sees_owner(m.owner));
  END IF;
  PERFORM FROM {s}.memories WHERE id = ANY (p_ids) ORDER BY id FOR UPDATE;
  DELETE FROM {s}.memory_vectors WHERE id = ANY (p_ids);
  DELETE FROM {s}.memories WHERE id = ANY (p_ids);
  GET DIAGNOSTICS n = ROW_COUNT;
  RETURN n;
END $$;

CREATE FUNCTION {s}.prune_memories(p_owner text, p_kind bigint, p_keep bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RETURN {s}.forget_memories(ARRAY(SELECT m.id FROM {s}.memories m
    WHERE m.owner = (SELECT o.key FROM {s}.memory_owners o WHERE o.name = p_owner)
      AND m.kind = p_kind ORDER BY m.created_ns DESC, m.id DESC OFFSET p_keep));
END $$;

CREATE FUNCTION {s}.consolidate_memory(p_id bigint, p_time bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE n bigint;
BEGIN
  IF session_user <> current_user THEN
    PERFORM {s}.demand(2, 'change memories');
    PERFORM {s}.demand_value(p_time BETWEEN 0 AND 9223372036854775806, 'memory');
  END IF;
  UPDATE {s}.memories SET consolidated_ns = p_time WHERE id = p_id
    AND (session_user = current_user OR {s}.sees_owner(owner));
  GET DIAGNOSTICS n = ROW_COUNT;
  RETURN n;
END $$;

CREATE FUNCTION {s}.embed_memory(p_id bigint, p_model text, p_vector bytea) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE n bigint;
BEGIN
  IF session_user <> current_user THEN
    PERFORM {s}.demand(2, 'change memories');
    PERFORM {s}.demand_value(octet_length(p_model) BETWEEN 1 AND 160
      AND octet_length(p_vector) BETWEEN 1 AND 8192, 'vector');
  END IF;
  INSERT INTO {s}.memory_vectors
    SELECT id, owner, kind, created_ns, category, p_model, p_vector FROM {s}.memories
      WHERE id = p_id AND (session_user = current_user OR {s}.sees_owner(owner)) FOR SHARE
    ON CONFLICT (id) DO UPDATE SET model = excluded.model, vector = excluded.vector;
  GET DIAGNOSTICS n = ROW_COUNT;
  RETURN n;
END $$;

-- Words are counted first, each up to a bound, and searched from the rarest on until they select
-- enough memories: frequent words say little and would cost a second in a large store. If all are
-- frequent, the memories that have all of them are searched, of these the newest.
-- p_words are texts for to_tsquery().
CREATE FUNCTION {s}.search_memories(p_owner text, p_kinds bigint, p_category text, p_words text[],
  p_limit bigint) RETURNS TABLE (memory bigint, score double precision)
LANGUAGE plpgsql STABLE AS $$
DECLARE
  bound CONSTANT bigint := 2000;
  k bigint; w record; total bigint := 0; all_words tsquery; rarest tsquery; q tsquery;
  queries tsquery[] := '{}'; weights double precision[] := '{}'; is_full boolean := false;
BEGIN
  IF p_owner IS NOT NULL THEN
    SELECT o.key INTO k FROM {s}.memory_owners o WHERE o.name = p_owner;
    IF NOT FOUND THEN
      RETURN;
    END IF;
  END IF;
  FOR w IN SELECT to_tsquery('pg_catalog.simple', t) AS query, (SELECT count(*) FROM (SELECT FROM {s}.memories m
        WHERE (k IS NULL OR m.owner = k) AND m.words @@ to_tsquery('pg_catalog.simple', t) LIMIT bound + 1) c) AS n
      FROM unnest(p_words) AS t ORDER BY 2 LOOP
    CONTINUE WHEN w.n = 0;
    rarest := coalesce(rarest, w.query);
    all_words := CASE WHEN all_words IS NULL THEN w.query ELSE all_words && w.query END;
    is_full := is_full OR total + w.n > bound;
    IF NOT is_full THEN
      q := CASE WHEN q IS NULL THEN w.query ELSE q || w.query END;
      total := total + w.n;
      queries := queries || w.query;
      weights := weights || pg_catalog.ln(1 + (bound + 1)::double precision / (w.n + 1));
    END IF;
  END LOOP;
  IF rarest IS NULL THEN
    RETURN;
  END IF;
  IF q IS NULL THEN
    q := all_words;
    IF NOT EXISTS (SELECT FROM {s}.memories m WHERE (k IS NULL OR m.owner = k) AND m.words @@ q
        AND (p_kinds >> m.kind::int) & 1::bigint = 1 AND (p_category IS NULL OR m.category = p_category))
    THEN
      q := rarest;
    END IF;
    queries := ARRAY[q];
    weights := ARRAY[1.0];
  END IF;
  RETURN QUERY SELECT c.id, (SELECT sum(u.weight * pg_catalog.ts_rank('{0.1,0.5,0.7,1.0}', c.words,
        u.query, 1)) FROM unnest(queries, weights) AS u (query, weight))
      FROM (SELECT m.id, m.words, m.created_ns FROM {s}.memories m
        WHERE (k IS NULL OR m.owner = k) AND m.words @@ q AND (p_kinds >> m.kind::int) & 1::bigint = 1
          AND (p_category IS NULL OR m.category = p_category)
        ORDER BY m.id DESC LIMIT bound) c
      ORDER BY 2 DESC, c.created_ns DESC, c.id DESC LIMIT p_limit;
END $$;
