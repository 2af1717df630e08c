@E-hooks
Feature: Hooks of the repository decide about the commits of tasks

  The hooks pre-commit and commit-msg of the person's repository run for each commit, in the sandbox
  of the checks. What they refuse, the next attempt is told.

  Background:
    Given the project is a git repository with a commit
    And a file "prd.json" with
      """
      {"name": "List", "userStories": [
        {"id": "T1", "title": "Store it", "acceptanceCriteria": ["`test -e T1` passes"]}]}
      """

  Scenario: What pre-commit changes is checked and committed
    Given a git hook "pre-commit"
      """
      git diff --cached --name-only; echo formatted >T1
      """
    When I run `rondo prd run prd.json --gate 'format=grep -q formatted T1' -- sh -c 'echo x >T1'`
    Then the exit code is 0
    And the journal has an event "task.checked" with
      | stage  | hook       |
      | name   | pre-commit |
      | status | met        |
      | output | *T1*       |
    When I run `git show prd/List:T1`
    Then stdout mentions "formatted"

  Scenario: The output of a hook that refuses reaches the next attempt
    Given a git hook "pre-commit"
      """
      grep -q tidy T1 || { echo "T1 is untidy"; exit 3; }
      """
    When I run `rondo prd run prd.json -- sh -c 'case $RONDO_PROMPT in *"T1 is untidy"*) echo tidy;; *) echo x;; esac >T1'`
    Then the exit code is 0
    And the journal has an event "task.ended" with
      | attempt | 1                                                                  |
      | outcome | hook_failed                                                        |
      | message | the repository's pre-commit hook refused the commit (exit code 3) |
    And the journal has an event "task.ended" with
      | attempt | 2         |
      | outcome | committed |

  Scenario: commit-msg changes the message, and the trailers stay true
    Given a git hook "commit-msg"
      """
      grep -q '^Rondo-Task: T1$' "$1" || exit 1
      printf 'feat: store it\n\nRefs: #7\nRondo-Task: T9\n' >"$1"
      """
    When I run `rondo prd run prd.json -- sh -c 'echo x >T1'`
    Then the exit code is 0
    When I run `git log -1 --format=%B prd/List`
    Then stdout mentions "feat: store it"
    And stdout mentions "Refs: #7"
    And stdout mentions "Rondo-Task: T1"
    And stdout does not mention "T9"

  Scenario: commit-msg refuses a message
    Given a git hook "commit-msg"
      """
      echo "use conventional commits"; exit 1
      """
    When I run `rondo prd run prd.json --attempts 1 -- sh -c 'echo x >T1'`
    Then the exit code is 3
    And the journal has an event "task.ended" with
      | outcome | hook_failed                 |
      | output  | *use conventional commits* |
    When I run `git rev-list --count prd/List`
    Then stdout mentions "1"

  Scenario: A hook that a worker writes does not run
    Given I run `mkdir hooks && touch hooks/keep && git add hooks && git commit -qm hooks && git config core.hooksPath hooks`
    When I run `rondo prd run prd.json --attempts 1 -- sh -c 'echo x >T1; echo "touch $PWD/planted; exit 1" >hooks/pre-commit; chmod +x hooks/pre-commit'`
    Then the exit code is 0
    And the journal has no event "task.checked" with
      | stage | hook |

  Scenario: A hook that changes a protected file is refused
    Given a git hook "pre-commit"
      """
      echo x >>spec.test
      """
    When I run `rondo prd run prd.json --attempts 1 --protect '*.test' -- sh -c 'echo x >T1'`
    Then the exit code is 3
    And the journal has an event "task.ended" with
      | outcome | refused                 |
      | message | *spec.test was added* |
