Feature: Triggers that follow the clock

  @B-daemon-triggers
  Scenario: validate shows when cron triggers are due next
    Given a role with
      """
      autonomy: {}
      triggers:
        - {type: cron, schedule: "0 12 29 2 *", prompt: leap day, timezone: UTC}
        - {type: cron, schedule: "@daily", prompt: report, timezone: Europe/Berlin, autonomous: true}
      """
    When I run `rondo validate --strict role.yaml`
    Then the exit code is 0
    And stdout mentions "0 12 29 2 * (UTC): "
    And stdout mentions "2044-02-29T12:00+00:00"
    And stdout mentions "@daily (Europe/Berlin): "

  @B-daemon-triggers
  Scenario: A date that no year has, and a field out of range, are reported with their place
    Given a role with
      """
      triggers:
        - {type: cron, schedule: "0 0 30 2 *", prompt: never}
        - {type: cron, schedule: "61 * * * *", prompt: never}
      """
    When I run `rondo validate --strict role.yaml`
    Then the exit code is 1
    And stderr mentions "spec.triggers[0].schedule"
    And stderr mentions "it is never due"
    And stderr mentions "the minute (first field) is wrong; 0 to 59"
