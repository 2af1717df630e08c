Feature: Triggers that follow the clock

  @B-daemon-triggers
  Scenario: validate shows when cron triggers are due next
    Given a role with
      """
      autonomy: {}
      triggers:
        - {type: cron, schedule: "0 12 29 2 *", prompt: leap day, timezone: UTC}
        - {type: cron, schedule: "@daily", prompt: report, timezone: Europe/Berlin, autonomous: true}
      """
    When I run `rondo validate --strict role.yaml`
    Then the exit code is 0
    And stdout mentions "0 12 29 2 * (UTC): "
    And stdout mentions "2044-02-29T12:00+00:00"
    And stdout mentions "@daily (Europe/Berlin): "

  @B-daemon-triggers
  Scenario: A date that no year has, and a field out of range, are reported with their place
    Given a role with
      """
      triggers:
        - {type: cron, schedule: "0 0 30 2 *", prompt: never}
        - {type: cron, schedule: "61 * * * *", prompt: never}
      """
    When I run `rondo validate --strict role.yaml`
    Then the exit code is 1
    And stderr mentions "spec.triggers[0].schedule"
    And stderr mentions "it is never due"
    And stderr mentions "the minute (first field) is wrong; 0 to 59"

  @B-tools-schedule-followup @B-trouble-scheduled-lost @B-daemon-scheduling
  Scenario: A follow-up that an agent has scheduled survives the death of its daemon
    Given a file "turns.jsonl" with
      """
      {"tool_calls": [{"name": "schedule_followup", "arguments": {"prompt": "look again", "delay_seconds": 2}}]}
      {"tool_calls": [{"name": "finish_task", "arguments": {"summary": "done"}}]}
      """
    And a file "todo.md" with
      """
      - [ ] look
      """
    And a role with
      """
      model: {provider: scripted, name: turns.jsonl}
      autonomy: {max_schedule_depth: 1}
      triggers:
        - {type: heartbeat, file: todo.md, interval_seconds: 1, autonomous: true}
      """
    And a file "duty.sh" with
      """
      # duty.sh WORDS: a daemon until the list of follow-ups shows the words
      rondo daemon role.yaml --listen "unix:$PWD/rondo.sock" >>daemon.log 2>&1 &
      for i in $(seq 600); do
          rondo followups list --all --json 2>/dev/null | grep -q "$1" && break
          sleep 0.1
      done
      kill -9 $!
      rondo followups list --all --json
      """
    When I run `sh duty.sh '"state":"pending"'`
    Then stdout mentions "\"prompt\":\"look again\""
    And stdout mentions "\"depth\":1"
    When I run `rm todo.md && sh duty.sh '"state":"started"'`
    Then stdout mentions "\"state\":\"started\""
    And stdout mentions "\"run_id\""

  @B-tools-schedule-followup
  Scenario: A run that no daemon has started cannot schedule others
    Given a file "turns.jsonl" with
      """
      {"tool_calls": [{"name": "schedule_followup", "arguments": {"prompt": "look again", "delay_seconds": 2}}]}
      {"tool_calls": [{"name": "finish_task", "arguments": {"summary": "done"}}], "expect": {"last_contains": "schedule_followup"}}
      """
    And a role with
      """
      model: {provider: scripted, name: turns.jsonl}
      autonomy: {}
      """
    When I run `rondo run role.yaml -p go -a`
    Then the exit code is 0
    When I run `rondo followups list`
    Then the exit code is 0
    And stderr mentions "no follow-ups"
