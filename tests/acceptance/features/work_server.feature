@D-server
Feature: A server works on the issues of repositories

  Background:
    Given a forge
    And the project is a clone of its repository
    And a worker
      """
      env >environment.txt
      """
    And I run `git config --global user.name Bot && git config --global user.email bot@example.org`

  Scenario: A webhook with the secret is a hint to look now
    Given a file "repositories.yaml" with
      """
      repositories:
        - repo: $WEB
          forge: github
          api: $API
          poll: 10m
          write-gap: 1ms
          hook-secret-env: HOOK_SECRET
          command: [./worker.sh]
      """
    When I run `sed -i "s|\$WEB|$WEB|; s|\$API|$API|" repositories.yaml`
    And I start `HOOK_SECRET=s3cret exec rondo serve --work repositories.yaml --store server.db --listen "unix:$PWD/socket"`
    And the forge was asked for the issues
    And it has said " on unix:"
    And a person does '{"do": "create-issue", "title": "Now", "labels": ["code"]}'
    And I run `curl -s -o answer.txt -w '%{http_code}' --unix-socket socket -H 'X-Hub-Signature-256: sha256=0000000000000000000000000000000000000000000000000000000000000000' -d '{}' http://localhost/hooks/work`
    Then stdout mentions "401"
    When I run `curl -s -o answer.txt -w '%{http_code}' --unix-socket socket -H "X-Hub-Signature-256: sha256=$(printf '{}' | openssl dgst -sha256 -hmac s3cret | sed 's/.* //')" -d '{}' http://localhost/hooks/work`
    Then stdout mentions "202"
    And issue 1 gets the label "rondo:in-review"
    When I run `git fetch -q origin rondo/issue-1-now && git show FETCH_HEAD:environment.txt`
    Then stdout does not mention "s3cret"
    And stdout does not mention "token-rondo-bot"

  Scenario: A server waits until claims can be pushed, and says so
    Given a file "repositories.yaml" with
      """
      repositories:
        - repo: $WEB
          forge: github
          api: $API
          poll: 100ms
          write-gap: 1ms
          command: [./worker.sh]
      """
    And the issues
      | title | labels |
      | Now   | code   |
    And a person does '{"do": "set-repository", "protected": ["refs/rondo/*"]}'
    When I run `sed -i "s|\$WEB|$WEB|; s|\$API|$API|" repositories.yaml`
    And I start `rondo serve --work repositories.yaml --store server.db --listen "unix:$PWD/socket"`
    And the forge was asked 5 times for its issues
    And I run `until curl -s --unix-socket socket http://localhost/v1/work >answer.txt && grep -q claimed answer.txt; do sleep 0.1; done; cat answer.txt`
    Then stdout mentions "issues cannot be claimed, because a reference cannot be pushed"
    When a person does '{"do": "set-repository", "protected": []}'
    And I run `rondo work retry 1 --store server.db`
    And issue 1 gets the label "rondo:in-review"
    And I run `curl -s --unix-socket socket http://localhost/v1/work`
    Then stdout mentions '"troubles":[]'
    When I send it TERM
    And it ends
    Then stderr or stdout mentions "issues cannot be claimed" once
