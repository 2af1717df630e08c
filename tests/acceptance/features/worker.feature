Feature: The contract with a worker command

  Scenario: A worker finds what it needs in its environment
    Given a worker
      """
      env | grep ^RONDO_ | sort >"env-$RONDO_ITERATION"
      cat "$RONDO_PROMPT_FILE" >prompt
      """
    When I run `rondo loop --agent fixer --prompt 'repair the parser' --max-iterations 2 -- ./worker.sh`
    Then the file "env-2" has the line "RONDO_ITERATION=2"
    And the file "env-2" has the line "RONDO_AGENT_ID=fixer"
    And the file "env-2" has the line "RONDO_PROMPT=repair the parser"
    And the file "env-1" names the run's id as "RONDO_RUN_ID"
    And the file "prompt" has the line "repair the parser"

  Scenario: Arguments reach the worker as they are
    Given a worker
      """
      printf '%s\n' "$@" >arguments
      """
    When I run `rondo loop --max-iterations 1 -- ./worker.sh 'two words' --json '' '$HOME'`
    Then the file "arguments" has the lines "two words", "--json", "", "$HOME"

  Scenario: The state goes from iteration to iteration
    Given a worker
      """
      n=$(cat "$RONDO_STATE_FILE"); echo $((n + 10)) >"$RONDO_STATE_FILE"
      """
    When I run `rondo loop --max-iterations 4 -- ./worker.sh`
    Then the checkpoint of iteration 4 has the state "40"

  Scenario: Stdin is empty, not the terminal
    Given a worker
      """
      if read -r line; then echo "got $line"; else echo "end of file"; fi >stdin
      """
    When I run `echo surprise | rondo loop --max-iterations 1 -- ./worker.sh`
    Then the file "stdin" has the line "end of file"

  Scenario: A claim of completion is accepted when the conditions hold
    Given a worker
      """
      echo '{"finish": {"status": "completed", "summary": "all done"}}' >"$RONDO_RESULT_FILE"
      """
    When I run `rondo loop --until ok=true -- ./worker.sh`
    Then the exit code is 0
    And the journal has an event "iteration.finished" with
      | finish  | completed |
      | summary | all done  |

  Scenario: A claim of completion is rejected when a condition does not hold
    Given a worker
      """
      echo '{"finish": {"status": "completed"}}' >"$RONDO_RESULT_FILE"
      if [ "$RONDO_ITERATION" = 2 ]; then touch really; fi
      """
    When I run `rondo loop --until 'done=test -e really' -- ./worker.sh`
    Then the exit code is 0
    And the journal has an event "finish.rejected" with
      | iteration | 1 |
      | met       | 0 |
      | total     | 1 |
    And iterations 1 to 2 finished once each

  Scenario: Without exit conditions the worker's word ends the run
    Given a worker
      """
      if [ "$RONDO_ITERATION" = 3 ]; then echo '{"finish": {"status": "completed"}}' >"$RONDO_RESULT_FILE"; fi
      """
    When I run `rondo loop -- ./worker.sh`
    Then the exit code is 0
    And iterations 1 to 3 finished once each

  Scenario: A worker may give up
    Given a worker
      """
      echo '{"finish": {"status": "failed", "summary": "cannot be done"}}' >"$RONDO_RESULT_FILE"
      """
    When I run `rondo loop -- ./worker.sh`
    Then the exit code is 3
    And stderr mentions "cannot be done"

  Scenario: A result file that is no JSON is a failed iteration that says why
    Given a worker
      """
      echo 'finish: yes' >"$RONDO_RESULT_FILE"
      """
    When I run `rondo loop --max-failures 1 -- ./worker.sh`
    Then the exit code is 3
    And the journal has an event "iteration.finished" with
      | outcome | failed         |
      | message | *result file*  |

  Scenario Outline: A state file that leads elsewhere is refused: <sandbox>
    Given a worker
      """
      if [ "$RONDO_ITERATION" = 1 ]; then ln -sf /proc/self/environ "$RONDO_STATE_FILE"; exit 0; fi
      echo "bytes: $(wc -c <"$RONDO_STATE_FILE")"
      """
    When I run `rondo loop --max-iterations 2 <sandbox> -- ./worker.sh`
    Then the journal has an event "iteration.finished" with
      | outcome | failed                     |
      | message | *state is a symbolic link* |
    And the kept output of iteration 2 ends with "bytes: 0"

    Examples:
      | sandbox             |
      |                     |
      | --sandbox namespace |
      | --sandbox landlock  |

  Scenario Outline: Whatever a worker leaves as its result or state, the next iteration goes well: <kind>
    Given a worker
      """
      if [ "$RONDO_ITERATION" = 1 ]; then rm -f "$RONDO_STATE_FILE"; <command>; exit 0; fi
      wc -c <"$RONDO_STATE_FILE" >size; test ! -e "$RONDO_RESULT_FILE"
      """
    When I run `rondo loop --max-iterations 2 -- ./worker.sh`
    Then the journal has an event "iteration.finished" with
      | outcome | failed          |
      | message | *not accepted*  |
    And the file "size" has the lines "0"
    And iterations 1 to 2 finished once each

    Examples:
      | kind                | command                                                                                  |
      | a FIFO              | mkfifo "$RONDO_RESULT_FILE"                                                              |
      | a device's link     | ln -s /dev/zero "$RONDO_STATE_FILE"                                                      |
      | a sparse file       | truncate -s 1T "$RONDO_STATE_FILE"                                                       |
      | a hard link         | echo x >x; ln x "$RONDO_RESULT_FILE"                                                     |
      | a folder 400 deep   | mkdir "$RONDO_STATE_FILE"; cd "$RONDO_STATE_FILE"; for i in $(seq 400); do mkdir d; cd d; done |
      | its folder replaced | d=$(dirname "$RONDO_STATE_FILE"); mkdir other; mv "$d" "$d-away"; ln -s "$PWD/other" "$d" |

  Scenario: Only failures in a row end the run
    Given a worker
      """
      [ $((RONDO_ITERATION % 3)) = 0 ]
      """
    When I run `rondo loop --max-iterations 7 --max-failures 3 -- ./worker.sh`
    Then the exit code is 5

  Scenario: A huge output is kept by its end
    Given a worker
      """
      i=0; while [ $i -lt 2000 ]; do echo "line $i of a long story that goes on and on and on and on"; i=$((i + 1)); done
      echo "the end"
      """
    When I run `rondo loop --max-iterations 1 -- ./worker.sh`
    Then the kept output of iteration 1 ends with "the end"
    And the kept output of iteration 1 has at most 32768 bytes of more than 100000

  Scenario Outline: A worker is stopped at its deadline: <option>
    Given a worker
      """
      <worker>
      """
    When I run `rondo loop --max-failures 1 <option> -- ./worker.sh`
    Then the exit code is 3
    And the journal has an event "iteration.finished" with
      | outcome | timeout |
    And no process of "sleep 97" is left

    Examples:
      | option                       | worker                                   |
      | --first-output-timeout 300ms | sleep 97                                 |
      | --silence-timeout 300ms      | echo begun; sleep 97                     |
      | --iteration-timeout 500ms    | while :; do echo busy; sleep 0.05; done  |

  Scenario: Children that a worker leaves behind do not survive the iteration
    Given a worker
      """
      sleep 98 & setsid sleep 99 & (setsid sh -c 'sleep 96 & exit') &
      echo done
      """
    When I run `rondo loop --max-iterations 1 -- ./worker.sh`
    Then no process of "sleep 98" is left
    And no process of "sleep 99" is left
    And no process of "sleep 96" is left

  Scenario: The time between iterations is at least the delay
    Given a worker
      """
      true
      """
    When I run `rondo loop --max-iterations 3 --delay 300ms -- ./worker.sh`
    Then between iterations there were at least 300 milliseconds
