// SPDX-License-Identifier: Apache-2.0
/*
 * The owner of a run, as its row has it, and what follows for its display. Any thread; may look at
 * the machine's processes.
 *
 * A process holds runs under a name: host, boot, pid namespace, pid, start time and a random part,
 * in one line of text that the store treats as opaque. From it another process on the same machine
 * can tell whether the holder is certainly dead, and need not wait for its lease to end.
 *
 * A run whose process died is an orphan, and its row still names that process. Where it is taken
 * for a moment only, to record a request or to find that it cannot be executed here, and given
 * back, the name is gone and it would look like one that was parked on purpose: no process would
 * take it over, or close it. A mark (a document) tells the difference until a process executes it.
 */
#pragma once

#include "base/random.h"
#include "store/store.h"

/* ---- Names ---- */

/** Name for this process. @param ret_owner STORE_OWNER_SIZE bytes */
void owner_new(struct random *random, char *ret_owner);

/** Whether the named process is certainly gone. False whenever it cannot be known. */
bool owner_is_dead(const char *owner);

/** Whether the named process certainly runs, on this machine. False whenever it cannot be known. */
bool owner_is_alive(const char *owner);

/** Whether the named process is or was on this machine, going by the host's name. */
bool owner_is_here(const char *owner);

/** Bytes of the name of a host, the NUL included. */
#define OWNER_HOST_SIZE 65
/** The host of the named process; "" when it cannot be read. */
void owner_host(const char *owner, char ret_host[OWNER_HOST_SIZE]);

/** Bytes that owner_describe writes at most. */
#define OWNER_DESCRIPTION_SIZE 256

/** "process 812 on build7", or "another process". @param ret_text OWNER_DESCRIPTION_SIZE bytes */
void owner_name(const char *owner, char *ret_text);

/** The holder of a run, for people: "process 812 on build7, lease until 2026-...". */
void owner_describe(const struct store_run *holder, char *ret_text);

/* ---- Rows ---- */

/** With these words begins the message of a run that was closed because its process is gone. */
#define OWNER_GONE_MESSAGE "the process that executed the run is gone"

/** Whether a living process holds a run, as far as can be known. @param now_ns wall clock */
bool run_is_executed(const struct store_run *run, int64_t now_ns);

/** Whether a run without final status is executed by no living process, by the system's clock. */
bool run_is_interrupted(const struct store_run *run);

/**
 * "completed", ..., "paused", or for a run that nobody executes though it has not ended: "parked"
 * when it was parked in good order, as a conversation is, "interrupted" when its process is gone.
 * Static.
 */
const char *run_display_status(const struct store_run *run);

/* ---- Marks of orphans ---- */

/** One document for each, its key the run's id. */
#define ORPHAN_COLLECTION "orphan"

/** Record that the run's process died and that nobody has executed it since. */
int orphan_mark(struct store *store, const char *run_id, struct rondo_error *err);

/** Whether that was recorded. False also when the store cannot be read. */
bool orphan_is_marked(struct store *store, const char *run_id);

/** The run is executed again, or has ended. A mark that cannot be removed leads to a look in vain.
 */
void orphan_clear(struct store *store, const char *run_id);
