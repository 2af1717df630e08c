Feature: Agents of others ask before risky actions

  # With the clients of sdk/python. No server listens where they look, so nothing may run; what they do with a
  # server is in tests/sdk.

  @C-2.1
  Scenario: The minimal example of the founding document runs as written
    Given a file "minimal.py" with
      """
      from relaytrace import relaytrace_supervised

      @relaytrace_supervised(
        agent_id="sec-triage-01",
        supervisors=["sec-oncall", "sec-lead"],
        policy_profile="default-security"
      )
      def run_agent(task_input):
          ...

      print("it returned", run_agent("alert 4711"))
      """
    When I run `PYTHONPATH="$ROOT/sdk/python" python3 minimal.py`
    Then the exit code is 0
    And stdout mentions "it returned None"

  @C-2.3
  Scenario: Wrong configuration is an error when a function is decorated
    Given a file "wrong.py" with
      """
      from relaytrace import ConfigError, relaytrace_supervised

      try:
          relaytrace_supervised(agent_id="a", endpoint="http://example.org", token="secret")(print)
      except ConfigError as error:
          print(error)
      """
    When I run `PYTHONPATH="$ROOT/sdk/python" python3 wrong.py`
    Then the exit code is 0
    And stdout mentions "over https only"

  @C-1 @C-2.2
  Scenario Outline: Without a server no action is made: <kind>
    Given a file "agent.py" with
      """
      import asyncio
      import relaytrace as rt

      supervised = rt.relaytrace_supervised(agent_id="a", endpoint="unix:/nowhere/rondo.sock", budget=0.2)

      @rt.guarded(impact=3)
      def isolate_host(host):
          open("isolated", "w").write(host)

      @supervised
      def function():
          isolate_host("a")

      @supervised
      async def coroutine():
          async with rt.action("isolate_host", {"host": "a"}, impact=3):
              open("isolated", "w").write("a")

      @supervised
      def generator():
          yield isolate_host("a")

      try:
          <call>
      except rt.ServerUnreachable:
          print("refused")
      """
    When I run `XDG_STATE_HOME=. PYTHONPATH="$ROOT/sdk/python" python3 agent.py`
    Then the exit code is 0
    And stdout mentions "refused"
    And the file "isolated" does not exist

    Examples:
      | kind      | call                     |
      | function  | function()               |
      | coroutine | asyncio.run(coroutine()) |
      | generator | list(generator())        |

  @C-7
  Scenario: What an agent is told about supervision is procedural and bounded
    Given a file "guidance.py" with
      """
      import relaytrace as rt

      @rt.relaytrace_supervised(agent_id="a", supervisors=["ann-of-the-night-shift"])
      def agent():
          return rt.current_lane().guidance

      text = agent()
      print("bounded", len(text.encode()) <= 2048, "names", "night-shift" in text)
      print(all(word in text for word in ("approved", "rejected", "rerouted", "needs_info")))
      """
    When I run `PYTHONPATH="$ROOT/sdk/python" python3 guidance.py`
    Then stdout mentions "bounded True names False"

  @C-6
  Scenario: A coding agent whose call cannot be checked is denied
    Given a file "event.json" with
      """
      {"session_id": "s", "cwd": "/", "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "true"}}
      """
    When I run `rondo hook --server http://127.0.0.1:1 <event.json`
    Then the exit code is 0
    And stdout mentions "deny"
    When I run `rondo hook --format codex --server http://127.0.0.1:1 <event.json`
    Then the exit code is 2
    And stderr mentions "cannot be checked, so it is denied"
