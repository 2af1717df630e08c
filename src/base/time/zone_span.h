// SPDX-License-Identifier: Apache-2.0
/* What applies in a time zone at a moment, and for how long. */
#pragma once

#include <stdint.h>

/** What applies in a zone at a moment. */
struct zone_moment {
    int32_t offset_seconds; /**< east of UTC */
    char name[16];          /**< "CET", "EDT", "+0530" */
};

/** A time without a change of the offset. */
struct zone_span {
    int64_t begin; /**< first second; INT64_MIN = always was */
    int64_t end;   /**< second of the next change; INT64_MAX = there is none */
    struct zone_moment moment;
};
