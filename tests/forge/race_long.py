# SPDX-License-Identifier: Apache-2.0
"""The race of `make test-long`: more machines, issues and things that happen."""

import race

ROUNDS = ("kill", "fault", "freeze", "kill", "lose", "restart", "fault", "kill")


class LongRace(race.Race):
    machine_count, issue_count = 8, 200
    rounds = ROUNDS * 5
    options = ("--poll", "2s")
