@file-store
Feature: A store that did not come from here is only read
  Resuming a run executes the commands in its journal. So a store that came with a clone, an archive
  or a copy is read only until the user has confirmed it.

  Background:
    Given a worker
      """
      echo ran >>"$PWD/ran"
      """
    And a file "rules.cedar" with
      """
      permit (principal, action, resource);
      """

  Scenario: A store of the version before, in .rondo, is used as before
    When I run `rondo loop -q --max-iterations 2 --store .rondo/rondo.db -- ./worker.sh`
    And I run `rm -rf "$XDG_STATE_HOME"`
    And I run `rondo resume -q last --max-iterations 3`
    Then the exit code is 5
    When I run `rondo runs --json`
    Then stdout lists 1 runs
    When I run `wc -l <ran`
    Then stdout mentions "3"

  Scenario Outline: A store that was brought here is shown, and nothing around it changes: <how>
    When I run `rondo loop -q --max-iterations 2 --store .rondo/rondo.db -- ./worker.sh`
    And I run `rm -rf "$XDG_STATE_HOME" ran && mkdir ../other && <how>`
    Then the exit code is 0
    When I run `cd ../other && find . -type f -not -path './.git/*' -exec sha256sum {} + | sort >../before && ls -aR .rondo >>../before`
    And I run `cd ../other && rondo runs --json`
    Then stdout lists 1 runs
    When I run `cd ../other && rondo show last && rondo logs last && rondo checkpoints last && rondo policy history && rondo doctor`
    Then the exit code is 0
    And stdout mentions "not created here"
    When I run `cd ../other && find . -type f -not -path './.git/*' -exec sha256sum {} + | sort >../after && ls -aR .rondo >>../after && cmp ../before ../after`
    Then the exit code is 0

    Examples:
      | how                                                                                                                                      |
      | cp -a . ../other                                                                                                                         |
      | tar -cf - . \| tar -xpf - -C ../other                                                                                                    |
      | rm .rondo/.gitignore; git init -q . && git add -f . && git -c user.name=a -c user.email=a@b commit -qm x && git clone -q . ../other/     |

  Scenario Outline: Whatever executes or changes is refused: rondo <words>
    When I run `rondo loop -q --max-iterations 2 --store .rondo/rondo.db -- ./worker.sh`
    And I run `rm -rf "$XDG_STATE_HOME" ran && cp -a . ../other`
    And I run `cd ../other && timeout 20 rondo <words>`
    Then the exit code is 2
    And stderr mentions "was not created here by you"
    And stderr mentions "rondo trust"
    When I run `test ! -e ran && test ! -e ../other/ran`
    Then the exit code is 0

    Examples:
      | words                                  |
      | resume last --max-iterations 3         |
      | loop --max-iterations 1 -- ./worker.sh |
      | serve --listen 127.0.0.1:0             |
      | stop last                              |
      | pause last                             |
      | continue last                          |
      | limit last --max-iterations 9          |
      | fork last                              |
      | gc                                     |
      | token create me                        |
      | sinks add ops --command -- true        |
      | policy set rules.cedar                 |
      | resume last --store .rondo/rondo.db    |

  Scenario: A confirmed store is the user's own, until another one is in its place
    When I run `rondo loop -q --max-iterations 2 --store .rondo/rondo.db -- ./worker.sh`
    And I run `rm -rf "$XDG_STATE_HOME" && cp -a . ../other && cp -a . ../evil`
    And I run `cd ../other && rondo trust --yes`
    Then stdout mentions "run "
    When I run `cd ../other && rondo resume -q last --max-iterations 3`
    Then the exit code is 5
    When I run `cd ../other && cp -a ../evil/.rondo/rondo.db new && mv new .rondo/rondo.db && rondo resume -q last --max-iterations 4`
    Then the exit code is 2
    And stderr mentions "rondo trust"

  Scenario: A store of one's own that was made with --store is not asked about
    When I run `rondo loop -q --max-iterations 1 --store mine.db -- ./worker.sh`
    And I run `rondo resume -q last --max-iterations 2 --store mine.db`
    Then the exit code is 5
    When I run `cp mine.db copy.db && rondo resume -q last --max-iterations 3 --store copy.db`
    Then the exit code is 2

  Scenario Outline: .rondo as a link is refused: <how>
    When I run `rondo loop -q --max-iterations 1 --store .rondo/rondo.db -- ./worker.sh`
    And I run `<how>`
    And I run `rondo runs`
    Then the exit code is 2
    And stderr mentions "--store"

    Examples:
      | how                                                                  |
      | mv .rondo elsewhere && ln -s elsewhere .rondo                        |
      | mv .rondo/rondo.db x.db && ln -s ../x.db .rondo/rondo.db             |
      | ln .rondo/rondo.db x.db                                              |
      | rm .rondo/rondo.db && mkfifo .rondo/rondo.db                         |
