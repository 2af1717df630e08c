@serve
Feature: Runs are traces in the tools that a company already has

  @A-FR-014
  Scenario: A run is a trace with start and completion times
    Given a collector of traces
    And a worker
      """
      echo "$TRACEPARENT" >parent
      """
    When I run `rondo loop --agent traced --until ok=true -- ./worker.sh`
    Then the collector has one trace, whose id is the run's
    And it has the spans
      | invoke_agent traced    | 1 |
      | loop.iteration         | 1 |
      | loop.exit_condition ok | 1 |
      | loop.checkpoint.save   | 1 |
    And each span has a start that is not after its end
    And each span but the root has a parent in the trace
    And the file "parent" names the trace and the span of iteration 1

  @A-FR-014
  Scenario: A server sends the traces of all runs
    Given a collector of traces
    And a worker
      """
      true
      """
    And a server that sends traces
    When I run `rondo loop --agent elsewhere --max-iterations 3 -- ./worker.sh`
    Then the collector soon has the spans
      | invoke_agent elsewhere | 1 |
      | loop.iteration         | 3 |

  @A-FR-014
  Scenario: A collector that is down holds nobody up
    Given a collector of traces that is down
    And a worker
      """
      true
      """
    When I run `rondo loop --agent brave --max-iterations 3 -- ./worker.sh`
    Then the exit code is 5
    And the last event is "run.finished" with status "max_iterations"

  @A-FR-014
  Scenario: A run that was killed and taken over is one trace, and the end is linked to the beginning
    Given a collector of traces
    And a worker that stops to wait in iteration 2
      """
      true
      """
    And a server that sends traces
    When I start `rondo loop --agent survivor --max-iterations 3 -- ./worker.sh`
    And iteration 2 is being worked on
    And I kill it with KILL
    And the worker may go on
    Then the run of "survivor" soon has the status "max_iterations"
    And the collector soon has the spans
      | invoke_agent survivor | 2 |
      | loop.iteration        | 4 |
    And the collector has one trace, whose id is the run's
    And each span has a start that is not after its end
    And the later span "invoke_agent survivor" is linked to the earlier one
