@serve
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
      {"tool_calls": [{"name": "schedule_followup", "arguments": {"prompt": "look again", "delay_seconds": 3600}}]}
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
      until rondo followups list --all --json 2>/dev/null | grep -q "$1"; do sleep 0.1; done
      kill -9 $!
      rondo followups list --all --json
      """
    When I run `sh duty.sh '"state":"pending"'`
    Then stdout mentions "\"prompt\":\"look again\""
    And stdout mentions "\"depth\":1"
    When 2 hours pass
    And I run `rm todo.md && sh duty.sh '"state":"started"'`
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

  @B-daemon-triggers @B-heartbeat
  Scenario: A heartbeat wakes the agent in its active hours only, while its list has open items
    Given the clock of a role is set
    And a file "turns.jsonl" with
      """
      {"text": "looked at it", "forever": true}
      """
    And a file "now.md" with
      """
      - [ ] water the plants
      """
    And a file "later.md" with
      """
      - [ ] close the windows
      """
    And a file "never.md" with
      """
      - [x] sweep the floor
      """
    And a role that names times, with
      """
      model: {provider: scripted, name: turns.jsonl}
      triggers:
        - {type: heartbeat, file: now.md, interval_seconds: 1, active_hours: [$HOUR, $IN_2]}
        - {type: heartbeat, file: later.md, interval_seconds: 1, active_hours: [$IN_2, $IN_4]}
        - {type: heartbeat, file: never.md, interval_seconds: 1}
      """
    And a daemon of the role
    Then a run of "worker" soon has the prompt "water the plants"
    And no run of "worker" has the prompt "close the windows"
    And no run of "worker" has the prompt "sweep the floor"
    When I end the server with TERM
    And I run `echo '- [ ] feed the cat' >now.md`
    And 2 hours pass
    And the server starts again
    Then a run of "worker" soon has the prompt "close the windows"
    And no run of "worker" has the prompt "feed the cat"

  @B-daemon-triggers @B-cron-catch-up
  Scenario: What a schedule has missed while no daemon ran is caught up as it says
    Given the clock of a role is set
    And a file "turns.jsonl" with
      """
      {"text": "wrote it", "forever": true}
      """
    And a role that names times, with
      """
      model: {provider: scripted, name: turns.jsonl}
      triggers:
        - {type: cron, schedule: "$MINUTE * * * *", prompt: the last one, catch_up: one}
        - {type: cron, schedule: "$MINUTE * * * *", prompt: each of them, catch_up: all}
        - {type: cron, schedule: "$MINUTE * * * *", prompt: none of them, catch_up: none}
      """
    And a daemon of the role
    And the source of type "cron" is soon on duty
    When I end the server with TERM
    And 3 hours pass
    And the server starts again
    Then 3 runs of "worker" soon have the prompt "each of them"
    And 1 run of "worker" soon has the prompt "the last one"
    And no run of "worker" has the prompt "none of them"
    And soon `rondo queue --refused --json` mentions "3 times passed and are skipped"
    When I run `for run in $(rondo runs --json | sed 's/.*"run_id":"//; s/".*//'); do rondo logs "$run" --json; done`
    Then stdout mentions "\"missed\":2"
    When I end the server with TERM
    And the server starts again
    And I end the server with TERM
    And I run `rondo runs --json | wc -l`
    Then stdout is exactly "4"
