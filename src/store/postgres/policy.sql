-- SPDX-License-Identifier: Apache-2.0
-- The history of policies. It follows the other functions of schema.sql.

CREATE FUNCTION {s}.record_policy(p_time bigint, p_source bytea, p_digest text, p_how text,
  p_author bytea, p_text bytea, OUT number bigint, OUT is_new boolean)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE c record;
BEGIN
  FOR i IN 1..2 LOOP
    SELECT x.number, x.digest INTO c FROM {s}.policy_changes x WHERE x.source = p_source
      ORDER BY x.number DESC LIMIT 1;
    IF FOUND AND c.digest = p_digest THEN
      number := c.number;
      is_new := false;
      RETURN;
    END IF;
    IF session_user <> current_user THEN
      PERFORM {s}.demand(3, 'change policies');
      IF NOT {s}.sees_all() THEN
        RAISE EXCEPTION 'the role % may not change policies: it needs rights for all agents',
          session_user USING ERRCODE = 'RD006';
      END IF;
    END IF;
    -- Looked at again under the lock, which also keeps numbers without gaps.
    LOCK TABLE {s}.policy_changes IN SHARE ROW EXCLUSIVE MODE;
  END LOOP;
  INSERT INTO {s}.policy_texts VALUES (p_digest, p_text) ON CONFLICT DO NOTHING;
  SELECT coalesce(max(x.number), 0) + 1 INTO number FROM {s}.policy_changes x;
  INSERT INTO {s}.policy_changes VALUES (number, p_time, p_source, p_digest, p_how, p_author);
  is_new := true;
END $$;
