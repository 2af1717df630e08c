// SPDX-License-Identifier: Apache-2.0
/*
 * How many loops this process may execute at once: what the machine, its control groups and the
 * process's own limits leave room for. Nothing here waits or remembers; any thread.
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

/** What one loop takes of each, measured (docs/architecture), with room to spare. */
#define ADMISSION_LOOP_DESCRIPTORS 8
#define ADMISSION_LOOP_BYTES       (INT64_C(768) * 1024)
#define ADMISSION_LOOP_TASKS       4
/** Left for everything else. */
#define ADMISSION_SPARE_DESCRIPTORS 256
#define ADMISSION_SPARE_BYTES       (INT64_C(64) * 1024 * 1024)
#define ADMISSION_SPARE_TASKS       256

struct admission {
    uint64_t max_loops;
    char limited_by[16]; /**< "option", "descriptors", "memory", "threads", "process" */
};

/** What there is; -1 = nothing limits it. */
struct admission_room {
    int64_t descriptors; /**< that this process may have */
    int64_t free_bytes;  /**< that can still be taken */
    int64_t free_tasks;  /**< threads and processes that can still be begun */
};

/** Let this process have as many descriptors as it may. */
void admission_raise_descriptors(void);

/** Look at the machine. */
struct admission_room admission_look(void);

/** The part of one of several orchestrators of this process. @param shares 0 = it is the only one
 */
struct admission_room admission_share(struct admission_room room, size_t shares);

/**
 * The maximum number of loops.
 * @param wanted by option; 0 = as many as there is room for
 * @param running now: their memory and tasks are taken already
 * @return at least 1
 */
struct admission admission_decide(uint64_t wanted, uint64_t running,
                                  const struct admission_room *room);

/** A line "NAME:   N kB" of /proc/meminfo in bytes, or -1. */
int64_t admission_meminfo(const char *text, const char *name);

/** A control group's number: "max" and what is larger than any machine are -1. */
int64_t admission_group_value(const char *text);
