@serve @postgres
Feature: Servers have names, pools and one queue

  Scenario: Each server is listed with its labels, and one that was killed as not seen
    Given a PostgreSQL store
    And a server with `--name one --pool gpu,linux --max-loops 3`
    And I am on machine 2
    And a server with `--name two --listen 127.0.0.1:0`
    When I run `rondo servers`
    Then a line of stdout matches `^one +alive +gpu,linux +0\/3 `
    And a line of stdout matches `^two +alive +- `
    When I end the server with KILL
    And I run `rondo servers`
    Then a line of stdout matches `^one +alive `
    And a line of stdout matches `^two +not seen since `

  Scenario: A second server with the name of one that runs is refused
    Given a PostgreSQL store
    And a server with `--name one`
    And I am on machine 2
    When I run `rondo serve --name one --listen 127.0.0.1:0`
    Then the exit code is 1
    And stderr mentions "a server with the name one is running already"

  Scenario: What is no name is refused
    When I run `rondo serve --name "O'ne" --listen 127.0.0.1:0`
    Then the exit code is 2
    And stderr mentions "the name of a server has 1 to 63 of a-z, 0-9, '.' and '-'"
    When I run `rondo serve --pool "gpu;drop" --listen 127.0.0.1:0`
    Then the exit code is 2
    And stderr mentions "a label has 1 to 63 of a-z"

  Scenario: A run waits for a server of its pool
    Given a PostgreSQL store
    And a worker
      """
      true
      """
    And a server with `--name one`
    When I run `rondo loop --pool gpu --max-iterations 1 -- ./worker.sh`
    Then the exit code is 0
    And stdout mentions "waits for a server with the labels gpu"
    And stderr mentions "no server that is alive has these labels"
    When I run `rondo runs`
    Then stdout mentions "waiting for a server with the labels gpu"
    When I run `rondo show last`
    Then a line of stdout matches `waiting for +a server with the labels gpu`
    And "/v1/runs" soon mentions "a server with the labels gpu"
    When I am on machine 2
    And a server with `--name two --pool gpu,linux --listen 127.0.0.1:0`
    Then "/v1/runs" soon mentions "max_iterations"

  Scenario: A killed server leaves its queue and its runs to the others
    Given a PostgreSQL store
    And a worker that stops to wait in iteration 1
      """
      true
      """
    And a server with `--name one --max-loops 1`
    And I am on machine 2
    And a server with `--name two --max-loops 1 --listen 127.0.0.1:0`
    When I start 4 runs of 1 iterations over HTTP, of which 3 wait
    And I end the server with KILL
    And the worker may go on
    And I am on machine 3
    And a server with `--name three --max-loops 1 --listen 127.0.0.1:0`
    Then all of them soon have the status "max_iterations"

  Scenario: A run waits for the machine that has its workspace, unless the folder is shared
    Given programs can be given another host name
    And a PostgreSQL store
    And a worker
      """
      true
      """
    And a server with `--name here --pool linux`
    When I run `unshare --uts sh -c "hostname far.example && exec rondo loop --pool linux --max-iterations 1 -- ./worker.sh"`
    Then the exit code is 0
    And "/v1/runs" soon mentions "server far.example"
    When I run `rondo runs`
    Then stdout mentions "waiting for server far.example"
    When I am on machine 2
    And a server with `--name there --pool linux --shared-folder . --listen 127.0.0.1:0`
    Then "/v1/runs" soon mentions "max_iterations"

  Scenario: Stores that cannot be served side by side are refused
    When I run `rondo serve --store a=one.db --store a=two.db --listen 127.0.0.1:0`
    Then the exit code is 2
    And stderr mentions "two stores have the name a"
    When I run `rondo serve --store a=one.db --store b=one.db --listen 127.0.0.1:0`
    Then the exit code is 2
    And stderr mentions "a and b are the same store"
