# The command lines are stand-ins: scripts that write what the real ones wrote when they were recorded.
Feature: Coding agents are bodies of loops

  Background:
    Given a coding agent "claude" that has read its task and runs
      """
      echo '{"type":"system","subtype":"init","session_id":"s-1","model":"m"}'
      echo '{"type":"assistant","message":{"content":[{"type":"text","text":"I write it."},{"type":"tool_use","id":"t","name":"Write","input":{"path":"done"}}]}}'
      echo '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"written"}]}}'
      [ -e once ] && touch done
      touch once
      echo '{"type":"result","subtype":"success","is_error":false,"result":"<promise>COMPLETE</promise>","session_id":"s-1","total_cost_usd":0.25,"usage":{"input_tokens":10,"output_tokens":5}}'
      """

  Scenario: The exit conditions decide, not the promise, and what it does is readable
    When I run `rondo loop --agent claude -p "make the file" --until "d=test -e done"`
    Then the exit code is 0
    And stderr mentions "I write it."
    And stderr mentions "used Write"
    And stdout mentions "completed after 2 iterations"
    And stdout mentions "cost 0.50"
    And the file "tasks" mentions "make the file"
    And the file "tasks" mentions "d is not met"

  Scenario: A single session needs no conditions
    When I run `rondo run --agent claude -p "make the file"`
    Then the exit code is 0
    And stdout mentions "completed after 1 iteration"

  Scenario: A success that was denied everything is no work
    Given a coding agent "claude" that has read its task and runs
      """
      echo '{"type":"result","subtype":"success","is_error":false,"permission_denials":[{"tool_name":"Bash"}]}'
      """
    When I run `rondo loop --agent claude -p x --max-failures 1`
    Then the exit code is 3
    And stderr mentions "no_work"
    And stderr mentions "Bash"
    When I run `rondo show last`
    Then stdout mentions "claude, permissions: guarded"
    And stdout mentions "no_work, "

  Scenario: A refused key ends the run and says what to do
    Given a coding agent "claude" that has read its task and runs
      """
      echo '{"type":"result","subtype":"success","is_error":true,"api_error_status":401,"result":"API Error: 401"}'
      exit 1
      """
    When I run `rondo run --agent claude -p x -a`
    Then stderr mentions "ANTHROPIC_API_KEY"
    And stdout mentions "error"

  Scenario: A quota is waited for, and costs no iteration
    Given a coding agent "claude" that has read its task and runs
      """
      if [ ! -e waited ]; then
        touch waited
        echo '{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"result":"Claude AI usage limit reached|'$(($(date +%s) + 6))'"}'
        exit 1
      fi
      echo '{"type":"result","subtype":"success","is_error":false,"result":"Done."}'
      """
    When I run `rondo run --agent claude -p x`
    Then the exit code is 0
    And stderr mentions "api_quota"
    And stdout mentions "completed after 1 iteration"

  Scenario: Prices require a model
    When I run `rondo run --agent claude -p x --prices prices.json`
    Then the exit code is 2
    And stderr mentions "--prices requires --model"

  Scenario: A session that was cut off is resumed under the id that Rondo chose
    Given a coding agent "claude" that has read its task and runs
      """
      if [ -e first ]; then
        echo "$@" | sed 's/.*--resume //' > second
        echo '{"type":"result","subtype":"success","is_error":false,"result":"Done."}'
        exit
      fi
      echo "$@" | sed 's/.*--session-id //' > first
      while :; do
        echo '{"type":"assistant","message":{"content":[{"type":"text","text":"I work."}]}}'
        sleep 0.2
      done
      """
    When I start `rondo loop --agent claude -p x --until "same=cmp first second"`
    And the file "first" appears
    And the journal soon has an event "worker.message"
    And I kill it with KILL
    And I run `rondo resume last`
    Then the exit code is 0
    And stdout mentions "completed after 1 iteration"
    And the file "tasks" mentions "You were interrupted"

  Scenario: Usage of codex is the total of its thread, and counts once
    Given a coding agent "codex" that has read its task and runs
      """
      [ -e once ] && used=250 || used=100
      [ -e once ] && touch done
      touch once
      echo '{"type":"thread.started","thread_id":"t-1"}'
      echo '{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"I did something."}}'
      echo '{"type":"turn.completed","usage":{"input_tokens":'$used',"output_tokens":0}}'
      """
    When I run `rondo loop --agent codex -p x --until "d=test -e done" --resume-session`
    Then the exit code is 0
    And stdout mentions "250 tokens"

  Scenario: One that hangs is killed at its deadline, with everything that it started
    Given a coding agent "codex" that has read its task and runs
      """
      sleep 987654 &
      setsid sleep 987654 &
      sleep 987654
      """
    When I run `rondo loop --agent codex -p x --first-output-timeout 1s --max-failures 1`
    Then stderr mentions "timeout"
    And soon no process of "987654" is left

  Scenario: An agent that ends without a result has failed, whatever its exit code
    Given a coding agent "gemini" that has read its task and runs
      """
      echo '{"type":"init","session_id":"g"}'
      """
    When I run `rondo loop --agent gemini -p x --max-failures 1`
    Then stderr mentions "it ended without a result"

  Scenario: In a sandbox it asks nobody, and gets only the keys that it needs
    Given a coding agent "claude" that has read its task and runs
      """
      env > seen
      echo "$@" > arguments
      echo '{"type":"result","subtype":"success","is_error":false,"result":"Done."}'
      """
    When I run `ANTHROPIC_API_KEY=key-of-claude OTHER_API_KEY=key-of-another rondo run --agent claude -p x --sandbox namespace`
    Then the exit code is 0
    And the file "seen" mentions "key-of-claude"
    And the file "seen" does not mention "key-of-another"
    And the file "arguments" mentions "--dangerously-skip-permissions"

  Scenario: Names of agents and commands are told apart
    When I run `rondo loop --agent nobody -p x`
    Then the exit code is 2
    And stderr mentions "not the name of a coding agent"
    When I run `rondo loop --agent claude --until "d=true" -- true`
    Then the exit code is 0
    When I run `rondo run --agent claude role.yaml -p x`
    Then the exit code is 2
