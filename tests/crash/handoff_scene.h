// SPDX-License-Identifier: Apache-2.0
/*
 * Calls that wait for people, in a store whose programs are killed: what waits, what people have
 * decided, and what has come of it. Whoever is killed,
 *
 *  - a command that may not run twice has run once, or once at most where it is in doubt, and then
 *    somebody was asked about the doubt;
 *  - each request has one decision at most, and one that was acknowledged is there;
 *  - the audit chain is whole.
 */
#pragma once

#include "scene.h"

#include "base/id.h"

#define HANDOFF_PATH (SCENE_PATH + 64)

struct handoff_scene {
    struct crash_scene *scene;
    char notes[HANDOFF_PATH];
    uint64_t approvals;     /**< that were acknowledged */
    uint64_t doubts;        /**< that people were asked about */
    uint64_t runs_in_doubt; /**< points so far at which there was a doubt */
};

/** Begin with nothing: an empty folder of notes with the script `note`, which leaves a line. */
void handoffs_clear(struct handoff_scene *handoffs);

/** A request that waits for people. @param ret_is_doubt may be NULL @return whether there is one */
bool handoffs_find(const struct handoff_scene *handoffs, char ret_id[ID_SIZE], bool *ret_is_doubt);

/**
 * Arguments of the command by which people decide about a request: a doubt is rejected, all else is
 * approved.
 */
void handoffs_decision(const struct handoff_scene *handoffs, const char *request, bool is_doubt,
                       const char *ret_argv[12]);

/** Decide so, and note what was acknowledged. */
void handoffs_decide(struct handoff_scene *handoffs, const char *request, bool is_doubt);

/**
 * Let the leases of approvals end that were taken and not started. For half a minute they belong to
 * the process that took them, which may be dead.
 */
void handoffs_end_leases(const struct handoff_scene *handoffs);

/** Lines that the script has left. */
size_t handoffs_effects(const struct handoff_scene *handoffs);

/** What must be true at the end. @param effects that the commands have when nobody is killed */
void handoffs_check(struct handoff_scene *handoffs, size_t effects);
