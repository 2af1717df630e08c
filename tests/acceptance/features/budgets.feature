Feature: Budgets of an agent over all its runs

  Background:
    Given a file "turns.jsonl" with
      """
      {"text": "hello", "usage": {"input": 80, "output": 20}}
      """
    And a role with
      """
      model: {provider: scripted, name: turns.jsonl}
      guardrails: {daemon_token_budget: 100}
      """

  @B-config-daemon_token_budget @B-safety-daemon_token_budget
  Scenario: A budget lasts over runs, is shown, and is reset only on purpose
    When I run `rondo run role.yaml -p "say hello"`
    Then the exit code is 0
    When I run `rondo run role.yaml -p "say hello"`
    Then stderr or stdout mentions "daemon_token_budget of the role is used up: 100 of 100 tokens"
    When I run `rondo budgets`
    Then the exit code is 0
    And stdout mentions "100 %"
    And stdout mentions "used up, events are refused"
    When I run `rondo budgets reset nobody --yes`
    Then the exit code is 2
    And stderr mentions "no role nobody has used a budget"
    When I run `rondo budgets reset worker`
    Then the exit code is 2
    And stderr mentions "give --yes"
    When I run `rondo budgets worker --json`
    Then stdout mentions "\"state\":\"used_up\""
    When I run `rondo budgets reset worker --yes --json`
    Then the exit code is 0
    And stdout mentions "\"life\":{\"tokens\":0"
    When I run `rondo run role.yaml -p "say hello"`
    Then the exit code is 0

  @B-config-daemon_daily_token_budget @B-safety-daemon_daily_token_budget
  Scenario: A budget of a day lasts over runs, and says when it begins anew
    Given a role with
      """
      model: {provider: scripted, name: turns.jsonl}
      guardrails: {daemon_daily_token_budget: 100, budget_timezone: Europe/Berlin}
      """
    When I run `rondo run role.yaml -p "say hello"`
    Then the exit code is 0
    When I run `rondo run role.yaml -p "say hello"`
    Then stderr or stdout mentions "daemon_daily_token_budget of the role is used up: 100 of 100 tokens"
    When I run `rondo budgets worker --json`
    Then stdout mentions "\"state\":\"used_up\""
    And stdout mentions "daemon_daily_token_budget"

  @B-daemon-budgets
  Scenario: An event that comes when the budget is used up is refused with the reason
    Given a file "todo.md" with
      """
      - [ ] look
      """
    And a role with
      """
      model: {provider: scripted, name: turns.jsonl}
      guardrails: {daemon_token_budget: 100, when_budget_exhausted: refuse}
      triggers:
        - {type: heartbeat, file: todo.md, interval_seconds: 1}
      """
    And a file "duty.sh" with
      """
      # duty.sh: a daemon until an event was refused
      rondo daemon role.yaml --listen "unix:$PWD/rondo.sock" >>daemon.log 2>&1 &
      until rondo queue --refused --json 2>/dev/null | grep -q daemon_token_budget; do sleep 0.1; done
      kill $!
      wait $!
      rondo queue --refused --json --limit 1
      rondo runs --json
      """
    When I run `sh duty.sh`
    Then stdout mentions "daemon_token_budget of the role is used up: 100 of 100 tokens"
    And stdout mentions "completed"
