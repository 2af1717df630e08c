// SPDX-License-Identifier: Apache-2.0
/*
 * What notices that some process writes to a store: each back end that can has one
 * (store_ops.watch). It is a hint and never needed: a write that is not noticed is found when
 * readers look for changes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct cancel;
struct store_watch;

struct store_watch_ops {
    /**
     * See that writes are noticed from now on, and forget what was noticed before. May take as long
     * as connecting to a server.
     * @return false: they are not noticed at present; the next call tries again
     */
    bool (*arm)(struct store_watch *watch, struct cancel *cancel);

    /** Take what was noticed. @return whether anything was written since the last arm() or take()
     */
    bool (*take)(struct store_watch *watch);

    /**
     * Compare the store with what it was at the last arm().
     * @return whether something may have been written that was not noticed
     */
    bool (*is_changed)(struct store_watch *watch, struct cancel *cancel);

    /** Release it; NULL is allowed. The store is still open. */
    void (*free)(struct store_watch *watch);
};

/** Common head of every back end's watch. One thread uses it. */
struct store_watch {
    const struct store_watch_ops *ops;
    int fd;             /**< readable when take() has to be called; each call may change it */
    int64_t compare_ns; /**< how often to call is_changed() while nothing is noticed */
};
