@E-push
Feature: Branches of a PRD are pushed

  Background:
    Given the project is a git repository with a commit
    And I run `git init -q --bare far.git && echo far.git >>.git/info/exclude && git remote add origin "$PWD/far.git"`
    And a file "prd.json" with
      """
      {"name": "List", "userStories": [
        {"id": "T1", "title": "one", "acceptanceCriteria": ["x"]},
        {"id": "T2", "title": "two", "acceptanceCriteria": ["x"]}]}
      """
    And a worker
      """
      echo "$RONDO_TASK_ID" >"$RONDO_TASK_ID"
      """

  Scenario: The branch is pushed after each commit, and nothing else
    When I run `git branch mine && rondo prd run prd.json --push -- ./worker.sh`
    Then the exit code is 0
    And stderr mentions "branch prd/List is pushed to origin"
    When I run `git -C far.git for-each-ref --format='%(refname)'`
    Then stdout mentions "refs/heads/prd/List"
    And stdout does not mention "mine"
    And stdout does not mention "main"
    And stdout does not mention "backup"
    When I run `git -C far.git log --format=%s prd/List`
    Then stdout mentions "Task T2: two"

  Scenario: Each task's branch is pushed
    When I run `rondo prd run prd.json --push --branch-per-task -- ./worker.sh`
    Then the exit code is 0
    When I run `git -C far.git for-each-ref --format='%(refname)'`
    Then stdout mentions "refs/heads/prd/List/T1"
    And stdout mentions "refs/heads/prd/List/T2"

  Scenario: A remote with other commits is not overwritten, and the run says what to do
    When I run `git switch -qc prd/List && git commit -q --allow-empty -m theirs && git push -q origin prd/List && git switch -q main && git branch -qD prd/List`
    And I run `rondo prd run prd.json --push -- ./worker.sh`
    Then the exit code is 4
    And the journal has an event "work.pushed" with
      | outcome | rejected                     |
      | message | *Rondo never forces a push* |
    And stdout mentions "2 of 2 tasks done; 2 commits; branch prd/List is not pushed to origin"
    When I run `git -C far.git log --format=%s prd/List`
    Then stdout mentions "theirs"
    And stdout does not mention "T1"
    When I run `git -C far.git update-ref -d refs/heads/prd/List && rondo resume last`
    Then the exit code is 0
    When I run `git -C far.git log --format=%s prd/List`
    Then stdout mentions "Task T1: one"

  Scenario: A pull request is opened by people, on a page that is told
    When I run `git remote set-url origin git@github.com:me/list.git && git config url."$PWD/far.git".pushInsteadOf git@github.com:me/list.git`
    And I run `rondo prd run prd.json --pr -- ./worker.sh`
    Then the exit code is 0
    And stderr mentions "open a pull request: https://github.com/me/list/pull/new/prd/List"

  Scenario: Without a remote nothing begins
    When I run `git remote remove origin && rondo prd run prd.json --push -- ./worker.sh`
    Then the exit code is 2
    And stderr mentions "there is no remote origin to push to"
    And stderr mentions "git remote add origin"

  Scenario: What is pushed to after the settings have changed is not trusted
    When I run `git init -q --bare evil.git`
    And I run `rondo prd run prd.json --push --attempts 1 --gate 'x=true' -- sh -c 'touch $RONDO_TASK_ID; cd "$(git rev-parse --path-format=absolute --git-common-dir)" && git config remote.origin.url ../evil.git'`
    Then the exit code is 3
    When I run `git -C evil.git for-each-ref`
    Then stdout does not mention "List"

  Scenario: A push that was killed is made by the next start
    Given a command "far.sh" in the project
      """
      touch pushing
      sleep 100
      """
    When I run `git remote set-url origin ssh://far/srv && git config core.sshCommand "$PWD/far.sh" && printf 'far.sh\npushing\n' >>.git/info/exclude`
    And I start `rondo prd run prd.json --push -- ./worker.sh`
    And the file "pushing" appears
    And I kill it with KILL
    Given a command "far.sh" in the project
      """
      exec git-receive-pack "${0%/*}/far.git"
      """
    When I run `rondo resume last`
    Then the exit code is 0
    When I run `git -C far.git log --format=%s prd/List`
    Then stdout mentions "Task T1: one"
    And stdout mentions "Task T2: two"
    When I run `git rev-list --count prd/List`
    Then stdout mentions "3"
