@serve
Feature: Autonomy of each trigger, and follow-ups within their limits

  @B-daemon-mode @B-daemon-autonomous-trigger
  Scenario: A trigger is autonomous when it says so, whatever others of its type say
    Given the variable "HOOK_SECRET" is "s3cret"
    And a file "turns.jsonl" with
      """
      {"text": "hello", "forever": true}
      """
    And a role with
      """
      model: {provider: scripted, name: turns.jsonl}
      autonomy: {}
      triggers:
        - {type: webhook, name: loop, port: 0, secret: "${HOOK_SECRET}", autonomous: true}
        - {type: webhook, name: once, port: 0, secret: "${HOOK_SECRET}", path: /once}
      """
    And a daemon of the role
    When GitHub delivers "a" to "/hooks/once", signed with "s3cret"
      """
      {}
      """
    Then the run soon has the status "completed"
    When GitHub delivers "b" to "/hooks/loop", signed with "s3cret"
      """
      {}
      """
    # Nothing but text for two iterations.
    Then 1 run of "worker" soon is "blocked"

  @B-daemon-mode @B-daemon-autonomous-trigger
  Scenario: The triggers of the founding document are read, and what is missing is named
    Given a role with
      """
      autonomy: {}
      triggers:
        - type: cron
          schedule: "0 */6 * * *"
          prompt: "Check for new research papers and summarize findings"
          autonomous: true
        - type: webhook
          path: /research
          port: 8080
          autonomous: true
      """
    When I run `rondo validate role.yaml`
    Then the exit code is 0
    And stdout mentions "cron, webhook"
    And stdout mentions "0 */6 * * * (UTC)"
    Given a daemon of the role
    Then the server says "the role gives no secret"
    And the source of type "cron" is soon on duty

  @B-tools-schedule-followup @B-config-max_scheduled_per_run @B-safety-max_scheduled_per_run @B-config-max_schedule_delay_seconds
  Scenario: Follow-ups that are too soon, too late or too many are refused, and the agent reads why
    Given the variable "HOOK_SECRET" is "s3cret"
    And a file "turns.jsonl" with
      """
      {"tool_calls": [{"name": "schedule_followup", "arguments": {"prompt": "now", "delay_seconds": 0}}]}
      {"tool_calls": [{"name": "schedule_followup", "arguments": {"prompt": "late", "delay_seconds": 3601}}], "expect": {"last_contains": "delay must be at least 1 second"}}
      {"tool_calls": [{"name": "schedule_followup_at", "arguments": {"prompt": "past", "iso_datetime": "2024-01-15T14:30:00Z"}}], "expect": {"last_contains": "delay exceeds maximum (3600s)"}}
      {"tool_calls": [{"name": "schedule_followup", "arguments": {"prompt": "one", "delay_seconds": 3600}}], "expect": {"last_contains": "target time is in the past"}}
      {"tool_calls": [{"name": "schedule_followup", "arguments": {"prompt": "two", "delay_seconds": 3600}}], "expect": {"last_contains": "Scheduled follow-up in 3600s"}}
      {"tool_calls": [{"name": "schedule_followup", "arguments": {"prompt": "three", "delay_seconds": 3600}}]}
      {"tool_calls": [{"name": "finish_task", "arguments": {"summary": "done"}}], "expect": {"last_contains": "per-run limit (2) reached"}}
      """
    And a role with
      """
      model: {provider: scripted, name: turns.jsonl}
      autonomy: {max_scheduled_per_run: 2, max_schedule_delay_seconds: 3600}
      triggers:
        - {type: webhook, port: 0, secret: "${HOOK_SECRET}", autonomous: true}
      """
    And a daemon of the role
    When GitHub delivers "a" to "/hooks/worker", signed with "s3cret"
      """
      {}
      """
    Then the run soon has the status "completed"
    When I run `rondo followups list`
    Then stdout mentions "one"
    And stdout mentions "two"
    And stdout does not mention "three"

  @B-tools-schedule-followup-at @B-config-max_scheduled_total @B-safety-max_scheduled_total
  Scenario: A time without an offset is UTC, and the pending follow-ups of an agent have a largest number
    Given the variable "HOOK_SECRET" is "s3cret"
    And a file "make.sh" with
      """
      day=$(date -u -d '+2 days' +%Y-%m-%d)
      at() {
          printf '{"tool_calls": [{"name": "schedule_followup_at", "arguments": {"prompt": "%s", "iso_datetime": "%sT%s"}}]}\n' \
              "$1" "$day" "$2"
      }
      at naive 14:30:00
      at offset 14:30:00+02:00
      at third 15:00:00Z
      printf '%s\n' '{"tool_calls": [{"name": "finish_task", "arguments": {"summary": "done"}}], "expect": {"last_contains": "Maximum scheduled tasks (2) reached"}}'
      """
    When I run `sh make.sh >turns.jsonl`
    Given a role with
      """
      model: {provider: scripted, name: turns.jsonl}
      autonomy: {max_scheduled_total: 2, max_schedule_delay_seconds: 604800}
      triggers:
        - {type: webhook, port: 0, secret: "${HOOK_SECRET}", autonomous: true}
      """
    And a daemon of the role
    When GitHub delivers "a" to "/hooks/worker", signed with "s3cret"
      """
      {}
      """
    Then the run soon has the status "completed"
    When I run `rondo followups list --json`
    Then stdout mentions "T14:30:00"
    And stdout mentions "T12:30:00"
    And stdout does not mention "T15:00:00"

  @B-daemon-scheduling @B-followups-managed
  Scenario: A person lists, changes and cancels follow-ups, and one that is due is an autonomous run
    Given the variable "HOOK_SECRET" is "s3cret"
    And a file "turns.jsonl" with
      """
      {"tool_calls": [{"name": "schedule_followup", "arguments": {"prompt": "first", "delay_seconds": 3600}}, {"name": "schedule_followup", "arguments": {"prompt": "second", "delay_seconds": 3601}}]}
      {"tool_calls": [{"name": "finish_task", "arguments": {"summary": "done"}}]}
      """
    And a role with
      """
      model: {provider: scripted, name: turns.jsonl}
      autonomy: {max_schedule_depth: 1}
      triggers:
        - {type: webhook, port: 0, secret: "${HOOK_SECRET}", autonomous: true}
      """
    And a file "id.sh" with
      """
      # id.sh PROMPT: the id of the follow-up with that prompt
      rondo followups list --json | grep "\"prompt\":\"$1\"" | sed 's/.*"id":"\([0-9a-f]*\)".*/\1/'
      """
    And a daemon of the role
    When GitHub delivers "a" to "/hooks/worker", signed with "s3cret"
      """
      {}
      """
    Then the run soon has the status "completed"
    When I run `rondo followups cancel $(sh id.sh second)`
    Then the exit code is 0
    When I run `rondo followups change $(sh id.sh first) --in 1s --prompt "look sooner"`
    Then the exit code is 0
    Then 2 runs of "worker" soon are "completed"
    When I run `rondo show last`
    Then stdout mentions "look sooner"
    And stdout mentions "scheduled_by_run"
    When I run `rondo followups list --all`
    Then stdout mentions "cancelled"
    And stdout mentions "started"

  @B-daemon-budgets
  Scenario: validate shows what all runs of a role may use, what it remembers, and why it is refused
    Given a role with
      """
      memory: {procedural: {enabled: false}}
      guardrails: {daemon_daily_token_budget: 400, daemon_weekly_cost_budget: 2.5}
      triggers:
        - {type: webhook, secret: written-out-here}
      """
    When I run `rondo validate role.yaml`
    Then stdout mentions "400 tokens a day, 2.5 dollars a week"
    And stdout mentions "episodic, semantic"
    And stdout mentions "spec.triggers[0].secret contains a secret"
