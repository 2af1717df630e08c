Feature: Policies are checked, shown, set, explained and tested

  Background:
    Given a file "good.cedar" with
      """
      @id("base") permit (principal, action, resource);
      @id("house.iterations") @reason("enough for today")
      forbid (principal, action == Action::"iterate", resource)
      unless { context.iteration < 100 };
      @id("house.shell") @on_deny("ask")
      forbid (principal, action == Action::"call_tool", resource == Tool::"shell")
      unless { context.approved };
      """
    And a file "typo.cedar" with
      """
      permit (principal, action, resource)
      when { context.iterations < 3 };
      """

  Scenario: Without a file there are Rondo's own policies
    When I run `rondo policy check`
    Then the exit code is 0
    And stdout mentions "no errors"
    When I run `rondo policy show`
    Then stdout mentions "// source: built-in"
    And stdout mentions "limit.iterations"

  Scenario: A good file
    When I run `rondo policy check good.cedar`
    Then the exit code is 0
    And stdout mentions "good.cedar: 3 policies, no errors, no warnings"

  Scenario: A word that is not known
    When I run `rondo policy check typo.cedar`
    Then the exit code is 1
    And stdout mentions "typo.cedar:2:8: error: unknown attribute"
    And stdout mentions "did you mean `iteration`?"
    When I run `rondo policy check --json typo.cedar`
    Then the exit code is 1
    And every line of stdout is a JSON object
    And stdout mentions "did you mean"

  Scenario: What cannot be parsed is shown with its place
    Given a file "broken.cedar" with
      """
      permit (principal, action, resource)
      when { context.iteration < };
      """
    When I run `rondo policy check broken.cedar`
    Then the exit code is 1
    And stdout mentions "broken.cedar:2:28: error:"
    And stdout mentions "                           ^"
    And there are no terminal control sequences

  Scenario: The shorthand of role files is refused with what to write
    Given a file "short.cedar" with
      """
      max_iterations: 25
      """
    When I run `rondo policy check short.cedar`
    Then the exit code is 1
    And stdout mentions "unless { context.iteration < 25 };"

  Scenario: Forbids alone permit nothing
    Given a file "forbids.cedar" with
      """
      forbid (principal, action == Action::"finish", resource);
      """
    When I run `rondo policy check forbids.cedar`
    Then the exit code is 0
    And stdout mentions "no permit can match `iterate`"
    When I run `rondo policy check --strict forbids.cedar`
    Then the exit code is 1

  Scenario: A folder, and a file that is not there
    When I run `mkdir rules && cp good.cedar rules && rondo policy check rules`
    Then the exit code is 0
    And stdout mentions "rules: 3 policies"
    When I run `rondo policy check nowhere.cedar`
    Then the exit code is 2
    And stderr mentions "nowhere.cedar"

  Scenario: Setting policies says what changes
    When I run `rondo policy set good.cedar --by alice`
    Then the exit code is 0
    And stdout mentions "policy set: built-in -> "
    And stdout mentions "3 policies; iteration limit 10 -> 100; running loops use it from their next step"
    And the files "good.cedar" and "STATE/rondo.cedar" are equal
    When I run `rondo policy show`
    Then stdout mentions "(set by alice)"
    And stdout mentions "enough for today"
    When I run `rondo policy set good.cedar`
    Then the exit code is 0
    And stdout mentions "no change, "
    When I run `sed s/100/200/ good.cedar | rondo policy set -`
    Then stdout mentions "iteration limit 100 -> 200"
    When I run `rondo policy history`
    Then stdout mentions "alice"
    And stdout mentions "set"
    When I run `rondo policy history --json`
    Then every line of stdout is a JSON object
    And stdout mentions "\"by\":\"alice\""

  Scenario: Former policies come back
    When I run `rondo policy set good.cedar`
    And I run `sed s/100/200/ good.cedar | rondo policy set -`
    And I run `rondo policy show --raw $(rondo policy history | awk '$1 == 1 { print $5 }') | rondo policy set -`
    Then stdout mentions "iteration limit 200 -> 100"
    And the files "good.cedar" and "STATE/rondo.cedar" are equal

  Scenario: Former policies come back, whatever lies beside them
    Given a file "STATE/rondo.entities.json" with
      """
      [{"uid": {"type": "Agent", "id": "fixer"}, "attrs": {"trust": 3}, "parents": []}]
      """
    When I run `rondo policy set good.cedar`
    And I run `sed s/100/200/ good.cedar | rondo policy set -`
    And I run `rondo policy show --raw $(rondo policy history | awk '$1 == 1 { print $5 }') | rondo policy set -`
    Then stdout mentions "iteration limit 200 -> 100"
    And the files "good.cedar" and "STATE/rondo.cedar" are equal
    When I run `rondo policy show --raw | cmp - good.cedar`
    Then the exit code is 0

  Scenario: A bad text changes nothing
    When I run `rondo policy set typo.cedar`
    Then the exit code is 1
    And stderr mentions "did you mean"
    And the file "STATE/rondo.cedar" does not exist
    And the file ".rondo" does not exist
    When I run `rondo policy set good.cedar`
    And I run `rondo policy set typo.cedar`
    Then the exit code is 1
    And stderr mentions "typo.cedar was not set"
    And the files "good.cedar" and "STATE/rondo.cedar" are equal

  Scenario: Why something is allowed or denied
    When I run `rondo policy explain good.cedar`
    Then the exit code is 0
    And stdout mentions "allowed: `base` permits `iterate`"
    And stdout mentions "iteration limit: 100"
    When I run `rondo policy explain good.cedar --context '{"iteration":100}'`
    Then the exit code is 6
    And stdout mentions "context.iteration < 100 is false: context.iteration is 100"
    And stdout mentions "denied: `house.iterations` forbids `iterate`"
    And stdout mentions "enough for today"
    When I run `rondo policy explain good.cedar --tool shell`
    Then the exit code is 6
    And stdout mentions "a person must approve"
    When I run `rondo policy explain good.cedar --tool shell --context '{"approved":true}' --json`
    Then the exit code is 0
    And every line of stdout is a JSON object
    When I run `rondo policy explain good.cedar --context '{"iterations":100}'`
    Then the exit code is 2
    And stderr mentions "did you mean `iteration`?"

  Scenario: Why a run does not go on
    Given a worker
      """
      true
      """
    When I run `rondo loop --agent fixer --max-iterations 2 -- ./worker.sh`
    And I run `rondo policy explain --run last`
    Then the exit code is 6
    And stdout mentions "Agent fixer requests `iterate`"
    And stdout mentions "context.iteration is 2"
    And stdout mentions "denied: `limit.iterations` forbids `iterate`"

  Scenario: Policies are held against cases
    Given a file "cases.json" with
      """
      {"cases": [
        {"name": "a first iteration", "agent": "fixer", "expect": "allow"},
        {"name": "the hundredth was the last", "context": {"iteration": 100}, "expect": "deny",
         "policies": ["house.iterations"]},
        {"name": "a shell", "action": "call_tool", "tool": "shell", "expect": "ask"}
      ]}
      """
    When I run `rondo policy test cases.json good.cedar`
    Then the exit code is 0
    And stdout mentions "ok 2 - the hundredth was the last"
    And stdout mentions "3 cases: 3 passed, 0 failed"
    When I run `sed 's/"ask"/"allow"/' cases.json >wrong.json; rondo policy test wrong.json good.cedar`
    Then the exit code is 1
    And stdout mentions "not ok 3 - a shell"
    And stdout mentions "expected allow, got ask by house.shell"
    When I run `sed 's/"expect"/"expct"/' cases.json >bad.json; rondo policy test bad.json good.cedar`
    Then the exit code is 2
    And stderr mentions "case 1 "
    And stderr mentions "did you mean `expect`?"
    When I run `rondo policy test nowhere.json`
    Then the exit code is 2

  Scenario Outline: Help for a group of commands: <call>
    When I run `<call>`
    Then the exit code is <code>
    And stderr or stdout mentions "<text>"

    Examples:
      | call                       | code | text                    |
      | rondo policy               | 2    | explain                 |
      | rondo policy --help        | 0    | explain                 |
      | rondo help policy          | 0    | explain                 |
      | rondo help policy set      | 0    | rondo policy set        |
      | rondo policy check --help  | 0    | --strict                |
      | rondo policy chekc         | 2    | did you mean `check`?   |
      | rondo help policy chekc    | 2    | did you mean `check`?   |
      | rondo polcy                | 2    | did you mean `policy`?  |
      | rondo policy check a b     | 2    | too many arguments      |
      | rondo policy set           | 2    | an argument is missing  |

  Scenario: Profiles for foreign agents are printed and checked
    When I run `rondo policy profile`
    Then the exit code is 0
    And stdout mentions "default-security"
    When I run `rondo policy profile strict >profiles.cedar && rondo policy check profiles.cedar`
    Then the exit code is 0
    And stdout mentions "profiles.cedar: 11 policies of profiles, no errors"
    When I run `sed -i s/rework_count/rework_cuont/ profiles.cedar && rondo policy check profiles.cedar`
    Then the exit code is 1
    And stdout mentions "profiles.cedar:"
    When I run `rondo policy profile nothing`
    Then the exit code is 2
    And stderr mentions "there is no profile nothing"
