@E-prd-run
Feature: Files that is protected are the same for each check

  A check runs programs that the worker may have written, and files that git ignores are in no commit.

  Background:
    Given a repository with the tasks
      | id | title |
      | A  | First |
    And the committed files
      | .gitignore | tests/env.sh                                              |
      | build.sh   | true                                                      |
      | impl       | bad                                                       |
      | tests/t.sh | . ./tests/env.sh; [ ! -e tests/x ] && [ $(cat impl) = good ] |

  @E-TRAP-3
  Scenario Outline: A worker that <does> does not pass the tests
    Given a worker
      """
      echo more >other
      <work>
      """
    When I run `rondo prd run prd.json --attempts 1 --protect 'tests/*' --setup 'echo true >tests/env.sh' --gate 'build=sh build.sh' --gate 'test=sh tests/t.sh' -- ./worker.sh`
    Then the exit code is 3
    And the attempts ended as
      | A | 1 | <outcome> |
    And stdout mentions "<says>"
    And no working tree is left

    Examples:
      | does                                  | work                                                                | outcome       | says                                |
      | has the build change a test           | echo 'echo exit 0 >tests/t.sh' >build.sh                            | refused       | tests/t.sh was changed by sh build.sh |
      | has the build remove a test           | echo 'rm tests/t.sh' >build.sh                                      | refused       | tests/t.sh was deleted by sh build.sh |
      | ignores what it adds to the tests     | echo '*' >tests/.gitignore; echo 'echo good' >tests/x               | checks_failed | sh tests/t.sh                       |

  @E-TRAP-3
  Scenario: What the preparation of the tree has made, and what tests leave, is in nobody's way
    Given a worker
      """
      echo good >impl
      echo '*.pyc' >>.gitignore
      touch tests/t.pyc
      """
    When I run `rondo prd run prd.json --protect 'tests/*' --setup 'echo true >tests/env.sh' --gate 'build=touch tests/t.pyc tests/log' --gate 'test=sh tests/t.sh' -- ./worker.sh`
    Then the exit code is 0
    And the branch "feature/demo" has changed the files ".gitignore", "impl"

  @E-TRAP-3
  Scenario: With --clean-checks nothing but what is committed makes the checks pass
    Given a worker
      """
      if [ "$RONDO_TASK_ATTEMPT" = 1 ]; then
        echo impl2 >>.gitignore
        echo good >impl2
        echo 'cat impl2' >run.sh
      else
        echo 'echo good' >run.sh
      fi
      """
    When I run `rondo prd run prd.json --clean-checks --setup 'touch prepared' --gate 'test=test -e prepared && test "$(sh run.sh)" = good' -- ./worker.sh`
    Then the exit code is 0
    And the attempts ended as
      | A | 1 | checks_failed |
      | A | 2 | committed     |
    And no working tree is left
