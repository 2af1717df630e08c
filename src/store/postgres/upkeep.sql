-- SPDX-License-Identifier: Apache-2.0
-- What keeps a store small. It follows the other functions of schema.sql.

-- Delete some runs that ended before a time and that nobody holds. A run goes whole, in one
-- transaction; a transaction ends after so many events.
CREATE FUNCTION {s}.collect(p_now bigint, p_before bigint, p_events bigint, OUT runs bigint,
  OUT events bigint, OUT checkpoints bigint) LANGUAGE plpgsql VOLATILE AS $$
DECLARE r record; n bigint; now bigint; last bigint := 0;
BEGIN
  IF session_user <> current_user THEN
    p_now := NULL;
    PERFORM {s}.demand(3, 'delete runs');
  END IF;
  now := {s}.moment(p_now);
  runs := 0;
  events := 0;
  checkpoints := 0;
  FOR r IN SELECT x.key, x.last_position FROM {s}.runs x WHERE x.ended_ns > 0
      AND x.ended_ns < p_before AND (x.owner = '' OR x.lease_until_ns <= now)
      AND (session_user = current_user OR {s}.sees(x.agent_id))
      ORDER BY x.ended_ns LIMIT 100 FOR UPDATE SKIP LOCKED LOOP
    DELETE FROM {s}.events e WHERE e.run = r.key;
    GET DIAGNOSTICS n = ROW_COUNT;
    events := events + n;
    DELETE FROM {s}.checkpoints c WHERE c.run = r.key;
    GET DIAGNOSTICS n = ROW_COUNT;
    checkpoints := checkpoints + n;
    DELETE FROM {s}.interims i WHERE i.run = r.key;
    DELETE FROM {s}.letters l WHERE l.run = r.key;
    DELETE FROM {s}.runs x WHERE x.key = r.key;
    runs := runs + 1;
    last := greatest(last, r.last_position);
    EXIT WHEN events >= p_events;
  END LOOP;
  IF runs > 0 THEN
    UPDATE {s}.meta SET collected = greatest(collected, last) WHERE collected < last;
  END IF;
END $$;
