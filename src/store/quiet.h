// SPDX-License-Identifier: Apache-2.0
/*
 * The watch of a server that should not be busy while nothing happens. One thread waits until the
 * store's own watch (store/watch.h) notices that some process writes, and tells the writer
 * (writer_set_quiet) whether its readers can rest or have to look for changes.
 *
 * It must never be needed: where writes are not noticed, the writer is not quiet, and readers look
 * for changes as often as they do without a watch.
 */
#pragma once

#include <stdint.h>

struct quiet_watch;
struct rondo_error;
struct writer;

/** From the last write to the store until readers rest: longer than a commit takes, and longer than
 * the slowest of them waits between two looks. */
#define QUIET_AFTER_NS INT64_C(5000000000)

/**
 * Start the thread.
 * @param writer   must outlive the watch
 * @param after_ns instead of QUIET_AFTER_NS; 0 = that
 */
int quiet_watch_start(struct writer *writer, int64_t after_ns, struct quiet_watch **ret_watch,
                      struct rondo_error *err);

/** End it; the writer is not quiet any more. NULL is allowed. */
void quiet_watch_stop(struct quiet_watch *watch);
