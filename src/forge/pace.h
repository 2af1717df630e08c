// SPDX-License-Identifier: Apache-2.0
/*
 * When the next request to a forge may be sent: what a forge counts, it counts for a token and not
 * for a repository, so the forges of a process that have the same API and token share it. Times are
 * of the monotonic clock: a wrong Date in an answer makes no limit longer.
 *
 * Any thread. A lock is held for a few comparisons, never while somebody waits or calls.
 */
#pragma once

#include "forge/forge.h"

#include <stdint.h>

struct forge_pace;

/**
 * The pace of an API and a token.
 * @param paces  shared; NULL = one that nobody else has
 * @param api    its address, of which scheme, host and port count
 * @param token  NULL = anonymous
 * @param now_ns as all times here, of the monotonic clock of all forges that share it
 * @return pace_release()
 */
struct forge_pace *pace_take(struct forge_paces *paces, const char *api, const char *token,
                             int64_t now_ns);
void pace_release(struct forge_pace *pace);

/** How long a limit lasts yet; 0 = there is none. */
int64_t pace_limit_ns(struct forge_pace *pace, int64_t now_ns);
/** A limit was told. An earlier one that is longer stays. */
void pace_set_limit(struct forge_pace *pace, int64_t until_ns);
/** Count a limit that was reached. @return how many were before it, without success in between */
unsigned pace_add_strike(struct forge_pace *pace);
/** A request went well. */
void pace_clear_strikes(struct forge_pace *pace);

/**
 * Take the next turn to write: it is at least `gap_ns` after the turn before. A turn that is not
 * used is lost.
 * @return how long until then
 */
int64_t pace_take_turn(struct forge_pace *pace, int64_t now_ns, int64_t gap_ns);
/** A write has ended: further turns are at least `gap_ns` after now. */
void pace_end_turn(struct forge_pace *pace, int64_t now_ns, int64_t gap_ns);
