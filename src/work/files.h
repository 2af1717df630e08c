// SPDX-License-Identifier: Apache-2.0
/*
 * The files of a PRD as projections of the journal: read for what people have changed, written with
 * what came of the tasks. The parent's thread.
 */
#pragma once

#include "prd/prd.h"
#include "work/spec.h"
#include "work/state.h"

/**
 * Read the tasks.
 * @param ret_prd prd_fini(); only when 0 is returned
 * @return 0; RONDO_ERR_INVALID and others with a message for people: the list before stays in force
 */
int work_files_read(const struct work_spec *work, struct prd *ret_prd, struct rondo_error *err);

/**
 * Append the list as the event tasks.read keeps it.
 * @param is_reachable a worker could have written to the file: a mark of done is a claim where
 *        somebody has worked on the task, or its criteria have commands. Then the checks decide.
 */
void work_files_list(const struct prd *prd, struct work_state *state, bool is_reachable,
                     struct buf *ret_json);

/** Whether the list is that of the state, but for what the tasks' states are. */
bool work_files_are_known(const struct prd *prd, struct work_state *state);

/**
 * Append the tasks of a known list with another status than before, as the event has them.
 * @param is_reachable likewise
 * @return how many there are
 */
size_t work_files_changes(const struct prd *prd, struct work_state *state, bool is_reachable,
                          struct buf *ret_json);

/**
 * Write what the file does not say yet: status, attempts, notes, commits.
 * @param prd as read last, for the notes that people have made
 */
int work_files_write(const struct work_spec *work, const struct work_state *state,
                     const struct prd *prd, int64_t now_ns, struct rondo_error *err);

/** Append a task's entry to the progress log, once. */
int work_files_note(const struct work_spec *work, const struct work_task *task, const char *run,
                    struct rondo_error *err);

/** The files' names below the repository's top folder, those in it. NULL-terminated; owned */
char **work_files_excluded(const struct work_spec *work);
