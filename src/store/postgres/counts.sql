-- SPDX-License-Identifier: Apache-2.0
-- What triggers keep for lists: how many runs there are, and what those that have ended are ordered by. It
-- follows the other functions of schema.sql. No trigger is of a column that each commit sets: to look at a
-- trigger's condition costs a statement a tenth of what a commit costs.
--
-- A row of run_counts that each end of a run changed would make the commits of all loops wait for one
-- another. So changes are appended, and now and then one transaction adds them to the counts.

-- Add what was appended to the counts, unless another transaction does.
CREATE FUNCTION {s}.fold_counts() RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  IF NOT pg_catalog.pg_try_advisory_xact_lock(pg_catalog.hashtextextended('{s}', 12)) THEN
    RETURN;
  END IF;
  WITH gone AS (DELETE FROM {s}.run_count_changes RETURNING *)
    INSERT INTO {s}.run_counts AS c
      SELECT agent_id, status, is_paused, is_top, sum(number)::bigint FROM gone GROUP BY 1, 2, 3, 4
      ON CONFLICT (agent_id, status, is_paused, is_top) DO UPDATE SET number = c.number + excluded.number;
  DELETE FROM {s}.run_counts WHERE number = 0;
END $$;

-- Every 256th change, in the mean, folds.
CREATE FUNCTION {s}.note_count() RETURNS trigger LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  IF TG_OP = 'UPDATE' THEN
    INSERT INTO {s}.run_count_changes VALUES
      (OLD.agent_id, OLD.status, OLD.pause > 0, OLD.parent = '', -1),
      (NEW.agent_id, NEW.status, NEW.pause > 0, NEW.parent = '', 1);
  ELSIF TG_OP = 'TRUNCATE' THEN
    DELETE FROM {s}.run_counts;
    DELETE FROM {s}.run_count_changes;
    DELETE FROM {s}.ended_runs;
  ELSE
    INSERT INTO {s}.run_count_changes SELECT agent_id, status, pause > 0, parent = '',
      CASE TG_OP WHEN 'INSERT' THEN count(*) ELSE -count(*) END FROM changed GROUP BY 1, 2, 3, 4;
  END IF;
  IF pg_catalog.random() < 1.0 / 256 THEN
    PERFORM {s}.fold_counts();
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER note_new AFTER INSERT ON {s}.runs REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION {s}.note_count();
CREATE TRIGGER note_gone AFTER DELETE ON {s}.runs REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION {s}.note_count();
CREATE TRIGGER note_emptied AFTER TRUNCATE ON {s}.runs
  FOR EACH STATEMENT EXECUTE FUNCTION {s}.note_count();
CREATE TRIGGER note_changed AFTER UPDATE OF agent_id, status, pause, parent ON {s}.runs FOR EACH ROW
  WHEN (OLD.status <> NEW.status OR (OLD.pause > 0) <> (NEW.pause > 0)
    OR OLD.agent_id <> NEW.agent_id OR OLD.parent <> NEW.parent)
  EXECUTE FUNCTION {s}.note_count();

-- Keep ended_runs.
CREATE FUNCTION {s}.settle_run() RETURNS trigger LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  IF TG_OP <> 'INSERT' AND OLD.status <> 0 THEN
    DELETE FROM {s}.ended_runs e WHERE e.run = OLD.key;
  END IF;
  IF TG_OP <> 'DELETE' AND NEW.status <> 0 THEN
    INSERT INTO {s}.ended_runs VALUES (NEW.key, NEW.id, NEW.agent_id, NEW.parent, NEW.status, NEW.updated_ns,
      NEW.iteration, NEW.tokens, NEW.cost_micro, NEW.warnings);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER settle_new AFTER INSERT ON {s}.runs FOR EACH ROW WHEN (NEW.status <> 0)
  EXECUTE FUNCTION {s}.settle_run();
CREATE TRIGGER settle AFTER DELETE OR UPDATE OF agent_id, parent, status ON {s}.runs FOR EACH ROW
  EXECUTE FUNCTION {s}.settle_run();
