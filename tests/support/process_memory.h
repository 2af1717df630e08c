// SPDX-License-Identifier: Apache-2.0
/* What this process has of memory. */
#pragma once

#include "support/test.h"

#include <inttypes.h>
#include <stdio.h>

/** "VmRSS" (resident now) or "VmHWM" (its peak) of proc(5), status, in bytes. */
static inline uint64_t process_memory(const char *name)
{
    FILE *status = fopen("/proc/self/status", "re");
    char format[32];
    char line[256];
    uint64_t kib = 0;
    assert_non_null(status);
    snprintf(format, sizeof(format), "%s: %%" SCNu64, name);
    while (kib == 0 && fgets(line, sizeof(line), status) != NULL) {
        sscanf(line, format, &kib);
    }
    fclose(status);
    assert_true(kib > 0);
    return kib * 1024;
}
