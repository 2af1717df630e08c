// SPDX-License-Identifier: Apache-2.0
/*
 * The queues of a server: one for each repository of a file. A thread opens them, clones what is
 * not there yet, and opens one again that could not begin or has failed.
 */
#pragma once

#include "cli/commands/work/file.h"
#include "cli/commands/work/queue.h"

struct source_answer;
struct source_delivery;
struct work_queues;

/**
 * Begin. The file was checked; what is not there yet (a network, a login) is waited for.
 * @param file taken over
 * @param parts copied; what it names is borrowed. Its `ended` and `event` are not used
 */
int work_queues_start(struct work_file *file, const struct work_queue_parts *parts,
                      struct work_queues **ret_queues, struct rondo_error *err);
/** A run has settled: all look now. Any thread; quick. NULL is allowed, here and below. */
void work_queues_wake(struct work_queues *queues);
/**
 * A webhook of a forge came: those queues poll now whose secret it was made with. Any thread;
 * quick.
 * @param ret_answer 202, or 401
 */
void work_queues_receive(struct work_queues *queues, const struct source_delivery *delivery,
                         struct source_answer *ret_answer);
/** End all queues. Their runs go on until the orchestrator is drained. */
void work_queues_stop(struct work_queues *queues);
