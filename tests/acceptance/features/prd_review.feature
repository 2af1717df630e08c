@E-review
Feature: Another agent reviews a change before its commit

  Background:
    Given the project is a git repository with a commit
    And a file "prd.json" with
      """
      {"name": "List", "userStories": [
        {"id": "T1", "title": "Store it", "acceptanceCriteria": ["`test -e T1` passes"]}]}
      """
    And a worker
      """
      case $(cat "$RONDO_PROMPT_FILE") in *"T1:1: untidy"*) echo tidy >T1 ;; *) echo x >T1 ;; esac
      """

  Scenario: The reviewer sees the change, and a rejection reaches the next attempt
    Given a reviewer "claude" that runs
      """
      case $prompt in
      *"+tidy"*) test "$(cat T1)" = tidy && answer approve fine ;;
      *"+x"*) answer reject "T1:1: untidy" ;;
      esac
      """
    When I run `rondo prd run prd.json --review claude -- ./worker.sh`
    Then the exit code is 0
    And stderr mentions "task T1: review by claude does not approve"
    And stderr mentions "task T1: review by claude approves"
    And the journal has an event "task.ended" with
      | attempt | 1                                          |
      | outcome | rejected                                   |
      | message | the review by claude rejects the change |
      | tokens  | 5                                          |
    And the journal has an event "task.checked" with
      | stage  | review          |
      | status | not_met         |
      | output | *T1:1: untidy* |
    When I run `git show prd/List:T1`
    Then stdout mentions "tidy"

  Scenario Outline: <what> is no approval
    Given a reviewer "claude" that runs
      """
      <script>
      """
    When I run `rondo prd run prd.json --attempts 1 --review claude -- ./worker.sh`
    Then the exit code is 3
    And the journal has an event "task.ended" with
      | outcome | review_failed |
      | message | *<message>* |
    When I run `git rev-list --count prd/List`
    Then stdout mentions "1"

    Examples:
      | what                        | script                                                     | message                                         |
      | Silence                     | true                                                       | the reviewer claude failed                      |
      | An empty answer             | say ''                                                     | gave no verdict: it said nothing                |
      | Praise                      | say 'LGTM, I approve'                                      | does not end with a JSON object                 |
      | The prompt                  | say 'review is approve or reject'                          | gave no verdict                                 |
      | A verdict for another one   | code=0123456789abcdef; answer approve fine                 | does not have the code of this review           |
      | A failure after an approval | answer approve fine; exit 1                                | the reviewer claude failed                      |
      | A change of the files       | echo better >T1; answer approve fine                       | changed T1: its verdict does not count          |
      | A new file                  | touch new; answer approve fine                             | changed new: its verdict does not count         |

  Scenario: The agent of a role reviews
    Given a model that approves each review
    And a role
    When I run `rondo prd run prd.json --review role.yaml -- ./worker.sh`
    Then the exit code is 0
    And the journal has an event "task.checked" with
      | stage  | review             |
      | status | met                |
      | output | *read by a model* |
    And the journal has an event "task.ended" with
      | outcome | committed |
      | tokens  | 10        |

  Scenario: A role whose model says something else approves nothing
    Given a role
    When I run `rondo prd run prd.json --attempts 1 --review role.yaml --review-model scripted:dry-run -- ./worker.sh`
    Then the exit code is 3
    And the journal has an event "task.ended" with
      | outcome | review_failed |

  Scenario: Who cannot review is refused before anything runs
    When I run `rondo prd run prd.json --review nobody -- ./worker.sh`
    Then the exit code is 2
    And stderr mentions "--review nobody is neither a coding agent nor a role file"

  Scenario: A review that was killed is made by the next start, and the work is not made again
    Given a worker
      """
      echo x >>T1; touch "$HOME/work-$(ls "$HOME" | grep -c '^work-')"
      """
    And a reviewer "claude" that runs
      """
      touch "$HOME/reviewing"
      test -e "$HOME/go" || sleep 100
      answer approve fine
      """
    When I start `rondo prd run prd.json --review claude -- ./worker.sh`
    And the file "../home/reviewing" appears
    And I kill it with KILL
    And I run `touch "$HOME/go" && rondo resume last`
    Then the exit code is 0
    And the journal has an event "task.ended" with
      | attempt | 1         |
      | outcome | committed |
    And the file "../home/work-1" does not exist

  Scenario: A reviewer in a sandbox sees the change as a commit
    Given a reviewer "claude" that runs
      """
      git show --name-only HEAD | grep -qx T1 && answer approve fine
      """
    When I run `rondo prd run prd.json --sandbox namespace --review claude -- ./worker.sh`
    Then the exit code is 0
    And stderr mentions "review by claude approves"
