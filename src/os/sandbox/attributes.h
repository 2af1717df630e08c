// SPDX-License-Identifier: Apache-2.0
/*
 * Modes, owners and times of files in the Landlock tier. Landlock does not guard them, and a filter
 * cannot look at paths, so the kernel hands such calls of the command to its supervisor. That opens
 * what the call names, and makes the change itself when it is below something writable. It never
 * lets the call continue: what its arguments point to could be exchanged after the check.
 * One owner, one thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/** Names of the calls that are handed over; `ret_count` of them. Static. */
const char *sandbox_attribute_call(size_t index, size_t *ret_count);

struct sandbox_attributes;

/**
 * @param orders_fd the orders of the command (sandbox_confine.h), whose writable paths count here;
 *                  read without moving its offset
 * @param helper_fd where sandbox_attributes_hand_over() of the command arrives; borrowed
 * @return owned; NULL when the orders cannot be read
 */
struct sandbox_attributes *sandbox_attributes_new(int orders_fd, int helper_fd);
void sandbox_attributes_free(struct sandbox_attributes *self);

/** Descriptor to wait on for input; -1 = nothing comes any more. */
int sandbox_attributes_poll_fd(const struct sandbox_attributes *self);
/** Answer one call. */
void sandbox_attributes_advance(struct sandbox_attributes *self);

/** In the command's process: give the supervisor the filter's listener. @return 0, or -1 */
int sandbox_attributes_hand_over(int helper_fd, int listener_fd);
