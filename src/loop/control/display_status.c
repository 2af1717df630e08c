// SPDX-License-Identifier: Apache-2.0
/* What a run's row says of it today. */
#include "loop/control/display_status.h"

#include "base/clock.h"
#include "loop/control/owner.h"

bool standing_is_executed(const struct store_run *run)
{
    return run->owner[0] != '\0' && run->lease_until_ns > clock_now(clock_system()) &&
           !owner_is_dead(run->owner);
}

bool standing_is_interrupted(const struct store_run *run)
{
    return run->summary.status == RONDO_RUNNING && !standing_is_executed(run);
}

const char *standing_name(const struct store_run *run)
{
    if (run->summary.status == RONDO_RUNNING && run->summary.is_paused) {
        return "paused";
    }
    if (!standing_is_interrupted(run)) {
        return rondo_status_name(run->summary.status);
    }
    return run->owner[0] == '\0' ? "parked" : "interrupted";
}
