@E-prd-run
Feature: A run of a PRD is interrupted, and people change the PRD meanwhile

  The journal of the run knows what has happened, the file says what people want.

  Background:
    Given a repository with the tasks
      | id | title  |
      | A  | First  |
      | B  | Second |
      | C  | Third  |
    And a worker
      """
      echo "$RONDO_TASK_ID/$RONDO_TASK_ATTEMPT" >>"$LOGS/began"
      if [ "$RONDO_TASK_ID" = B ] && [ ! -e "$LOGS/go" ]; then
        touch "$LOGS/at-B"
        while [ ! -e "$LOGS/go" ]; do sleep 0.02; done
      fi
      echo x >"$RONDO_TASK_ID"
      """

  # ---- Ctrl-C, and on ----

  @E-US-3 @E-FR-12
  Scenario Outline: <signal> ends the run, and rondo resume finishes it without repeating what is done
    When I start `rondo prd run prd.json -- ./worker.sh`
    And the log "at-B" appears
    And I send it <signal>
    And it has ended
    Then its exit code is 130
    And prd.json says of the tasks
      | A | complete    | true  | 1 |
      | B | in_progress | false | 1 |
      | C | pending     | false | 0 |
    And my files and branch are as they were
    When I write the log "go"
    And I run `rondo resume last`
    Then the exit code is 0
    And the attempts ended as
      | A | 1 | committed |
      | B | 1 | committed |
      | C | 1 | committed |
    And the branch "feature/demo" has the commits
      | [PRD: demo] Task A: First  |
      | [PRD: demo] Task B: Second |
      | [PRD: demo] Task C: Third  |
    And prd.json says of the tasks
      | A | complete | true | 1 |
      | B | complete | true | 1 |
      | C | complete | true | 1 |
    And no working tree is left

    Examples:
      | signal |
      | INT    |
      | TERM   |

  @E-US-3 @E-FR-12
  Scenario: A new run of an interrupted PRD works on what is not done
    When I start `rondo prd run prd.json -- ./worker.sh`
    And the log "at-B" appears
    And I send it INT
    And it has ended
    And I write the log "go"
    And I run `rondo prd run prd.json -- ./worker.sh`
    Then the exit code is 0
    And stdout mentions "3 of 3 tasks done; 2 commits"
    And the branch "feature/demo" has the commits
      | [PRD: demo] Task A: First  |
      | [PRD: demo] Task B: Second |
      | [PRD: demo] Task C: Third  |

  @E-US-3
  Scenario: A pause waits for the attempt and begins no other, a continue goes on
    When I start `rondo prd run prd.json -- ./worker.sh`
    And the log "at-B" appears
    And I run `rondo pause last`
    And I write the log "go"
    And the journal soon has an event "run.paused"
    Then prd.json says of the tasks
      | A | complete | true  | 1 |
      | B | complete | true  | 1 |
      | C | pending  | false | 0 |
    When I run `rondo continue last`
    And it has ended
    Then its exit code is 0
    And the branch "feature/demo" has the commits
      | [PRD: demo] Task A: First  |
      | [PRD: demo] Task B: Second |
      | [PRD: demo] Task C: Third  |

  @E-US-3
  Scenario: A run that was stopped from elsewhere is resumed
    When I start `rondo prd run prd.json -- ./worker.sh`
    And the log "at-B" appears
    And I run `rondo stop last`
    And it has ended
    Then its exit code is 130
    When I write the log "go"
    And I run `rondo resume last`
    Then the exit code is 0
    And stdout mentions "3 of 3 tasks done; 3 commits"

  @E-TRAP-1
  Scenario: What is interrupted again and again does not use up attempts
    When I start `rondo prd run prd.json --attempts 1 -- ./worker.sh`
    And the log "at-B" appears
    And I send it INT
    And it has ended
    And I remove the log "at-B"
    And I start `rondo resume last`
    And the log "at-B" appears
    And I send it INT
    And it has ended
    And I write the log "go"
    And I run `rondo resume last`
    Then the exit code is 0
    And prd.json says of the tasks
      | A | complete | true | 1 |
      | B | complete | true | 1 |
      | C | complete | true | 1 |

  # ---- People ----

  @E-FR-12
  Scenario: A task that a person adds is worked on
    When I start `rondo prd run prd.json -- ./worker.sh`
    And the log "at-B" appears
    And a person adds the task "D" to prd.json
    And I write the log "go"
    And it has ended
    Then its exit code is 0
    And the branch "feature/demo" has the commits
      | [PRD: demo] Task A: First  |
      | [PRD: demo] Task B: Second |
      | [PRD: demo] Task C: Third  |
      | [PRD: demo] Task D: Added  |
    And prd.json says of the tasks
      | A | complete | true | 1 |
      | B | complete | true | 1 |
      | C | complete | true | 1 |
      | D | complete | true | 1 |

  @E-FR-12
  Scenario: What a person marks as done is not worked on
    When I start `rondo prd run prd.json -- ./worker.sh`
    And the log "at-B" appears
    And a person changes the task "C" in prd.json
      | status | "complete" |
      | passes | true       |
    And I write the log "go"
    And it has ended
    Then its exit code is 0
    And the branch "feature/demo" has the commits
      | [PRD: demo] Task A: First  |
      | [PRD: demo] Task B: Second |
    And stderr mentions "3 of 3 tasks done (1 marked as done in the file); 2 commits"

  @E-FR-12
  Scenario: What a person removes is not worked on
    When I start `rondo prd run prd.json -- ./worker.sh`
    And the log "at-B" appears
    And a person removes the task "C" from prd.json
    And I write the log "go"
    And it has ended
    Then its exit code is 0
    And the log "began" has the lines "A/1", "B/1"
    And prd.json says of the tasks
      | A | complete | true | 1 |
      | B | complete | true | 1 |

  @E-FR-12
  Scenario: A person moves a task to the front, and changes what it says
    When I start `rondo prd run prd.json -- ./worker.sh`
    And the log "at-B" appears
    And a person adds the task "D" to prd.json
    And a person changes the task "D" in prd.json
      | priority | 1        |
      | title    | "Urgent" |
    And I write the log "go"
    And it has ended
    Then its exit code is 0
    And the branch "feature/demo" has the commits
      | [PRD: demo] Task A: First  |
      | [PRD: demo] Task B: Second |
      | [PRD: demo] Task D: Urgent |
      | [PRD: demo] Task C: Third  |

  @E-FR-12
  Scenario: A person reopens a task that was done
    When I start `rondo prd run prd.json -- ./worker.sh`
    And the log "at-B" appears
    And a person changes the task "A" in prd.json
      | status | "pending" |
      | passes | false     |
    And a worker
      """
      echo "$RONDO_TASK_ID/$RONDO_TASK_ATTEMPT" >>"$LOGS/began"
      echo y >"$RONDO_TASK_ID"
      """
    And I write the log "go"
    And it has ended
    Then its exit code is 0
    And the log "began" has the lines "A/1", "B/1", "A/2", "C/1"
    And on the branch "feature/demo" the file "A" is "y"

  @E-FR-1 @E-FR-12
  Scenario: A file that cannot be read is not written over, and the work goes on
    When I start `rondo prd run prd.json -- ./worker.sh`
    And the log "at-B" appears
    And I run `cp prd.json good.json; echo '{"userStories": [' >prd.json; cp prd.json bad.json`
    And I write the log "go"
    And it has ended
    Then its exit code is 4
    And stderr mentions "3 of 3 tasks done; 3 commits; "
    And stderr mentions "Nothing was written; correct the file"
    And the files "prd.json" and "bad.json" are equal
    And the branch "feature/demo" has the commits
      | [PRD: demo] Task A: First  |
      | [PRD: demo] Task B: Second |
      | [PRD: demo] Task C: Third  |
    When I run `cp good.json prd.json; rondo resume last`
    Then the exit code is 0
    And prd.json says of the tasks
      | A | complete | true | 1 |
      | B | complete | true | 1 |
      | C | complete | true | 1 |

  @E-FR-12
  Scenario: A person commits to the branch while the run works
    Given I have run `git branch feature/demo`
    When I start `rondo prd run prd.json --gate 'ok=true' -- ./worker.sh`
    And the log "at-B" appears
    And I run `git clone -q . ../clone && cd ../clone && git switch -q feature/demo && echo p >person && git add person && git -c user.name=P -c user.email=p@e commit -qm 'by hand' && git push -q`
    And I write the log "go"
    And it has ended
    Then its exit code is 0
    And the branch "feature/demo" has the commits
      | [PRD: demo] Task A: First  |
      | by hand                    |
      | [PRD: demo] Task B: Second |
      | [PRD: demo] Task C: Third  |
    And the branch "feature/demo" has changed the files "A", "B", "C", "person"
