@E-environment
Feature: What commands of an attempt find in their environment

  Background:
    Given the project is a git repository with a commit
    And a file "prd.json" with
      """
      {"name": "List", "userStories": [
        {"id": "T1", "title": "one", "acceptanceCriteria": ["x"]},
        {"id": "T2", "title": "two", "acceptanceCriteria": ["x"]}]}
      """
    And a file "look.sh" with
      """
      env | grep -E '^(RONDO_(TASK_ID|ATTEMPT|JOB|PORT_BASE|PRD_RUN_ID|RUN_ID)|PORT)=' | sort >"$1-$RONDO_TASK_ID"
      test "$1" != worker || echo "TMPDIR=$TMPDIR" >folder-$RONDO_TASK_ID
      touch "$TMPDIR/$1" && test "$PORT" -ge 1024 && test "$RONDO_PORT_COUNT" -ge 10
      """
    And I run `cp look.sh first; git add first && git commit -qm look`

  Scenario: Setup, worker, checks and hooks find the same, and two attempts share neither ports nor folders
    Given a git hook "pre-commit"
      """
      sh ./first hook
      """
    When I run `rondo prd run prd.json --jobs 2 --setup 'sh ./first setup' --gate 'look=sh ./first gate && cmp setup-$RONDO_TASK_ID worker-$RONDO_TASK_ID && cmp gate-$RONDO_TASK_ID worker-$RONDO_TASK_ID && cmp hook-$RONDO_TASK_ID worker-$RONDO_TASK_ID' -- sh -c 'sh ./first worker; touch ../../at-$RONDO_TASK_ID; until test -e ../../at-T1 && test -e ../../at-T2; do sleep 0.05; done'`
    Then the exit code is 0
    When I run `git show prd/List:worker-T1 prd/List:worker-T2`
    Then stdout mentions "RONDO_TASK_ID=T1"
    And stdout mentions "RONDO_ATTEMPT=1"
    And stdout mentions "RONDO_JOB=1"
    And stdout mentions "RONDO_JOB=2"
    When I run `for name in PORT TMPDIR RONDO_PORT_BASE RONDO_RUN_ID; do test "$(git show prd/List:worker-T1 prd/List:folder-T1 | grep "^$name=")" != "$(git show prd/List:worker-T2 prd/List:folder-T2 | grep "^$name=")" || echo "$name is shared"; done`
    Then stdout does not mention "shared"

  Scenario: In a sandbox it is the same
    When I run `rondo prd run prd.json --sandbox namespace --setup 'sh ./first setup' --gate 'look=sh ./first gate && cmp setup-$RONDO_TASK_ID worker-$RONDO_TASK_ID && cmp gate-$RONDO_TASK_ID worker-$RONDO_TASK_ID' -- sh ./first worker`
    Then the exit code is 0

  Scenario: A coding agent finds it, too
    Given a coding agent "claude" that has read its task and runs
      """
      sh ./first worker
      echo '{"type":"result","subtype":"success","is_error":false,"result":"ok","session_id":"s-1"}'
      """
    When I run `rondo prd run prd.json --agent claude --gate 'look=sh ./first gate && cmp gate-$RONDO_TASK_ID worker-$RONDO_TASK_ID'`
    Then the exit code is 0
