// SPDX-License-Identifier: Apache-2.0
/*
 * The desk file beside a store, looked at whenever somebody needs it: a look costs one stat(). A
 * changed file counts when it was read and is right; a wrong one, or one that is gone, leaves the
 * old one in force, and is said once.
 *
 * It decides who decides, so it is kept from agents like the policy file: the file is hidden from
 * them (loop/hidden_paths.h), and where they could exchange it all the same, it counts while a
 * person has confirmed what it holds (os/trust.h, `rondo trust`).
 */
#pragma once

#include "handoff/desks/desks.h"

struct desks_watch;

/** Path of the desk file beside a store; free() it. NULL for NULL. */
char *desks_path_of_store(const char *store_path);

/** @param path copied; NULL = there is never one. desks_watch_free() when nobody uses its desks. */
struct desks_watch *desks_watch_new(const char *path);
void desks_watch_free(struct desks_watch *watch);

/** Path of the file, or NULL. */
const char *desks_watch_path(const struct desks_watch *watch);

/** From now on the file counts only as far as it was confirmed. Any thread. */
void desks_watch_guard(struct desks_watch *watch);
bool desks_watch_is_guarded(struct desks_watch *watch);

/**
 * The desks now; NULL = there is no file. When the first file is wrong, they are desks on which
 * nobody is and to which nothing is routed (desks_is_usable): what waits, waits until it is
 * right. Any thread.
 * @return valid until the watch is freed
 */
const struct desks *desks_watch_look(struct desks_watch *watch);

/**
 * Say what is wrong with the file, once for each time.
 * @param seen what this caller was told last; 0 at first
 * @return whether there is something new in `err`
 */
bool desks_watch_problem(struct desks_watch *watch, uint64_t *seen, struct rondo_error *err);

/** Read a file once, for `rondo desks check`. */
int desks_load(const char *path, struct desks **ret_desks, struct rondo_error *err);
