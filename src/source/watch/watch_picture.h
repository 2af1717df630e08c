// SPDX-License-Identifier: Apache-2.0
/*
 * The picture of a watched tree: which files were there and in which state when they were last
 * reported, and which of them may have changed since. It becomes a JSON object that outlives the
 * process, so that what changes while nobody watches is found at the next start.
 *
 * Names may be any bytes but NUL and the slash. One thread at a time.
 */
#pragma once

#include "base/buf.h"
#include "rondo/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uthash.h>

struct json_object;

/** What distinguishes one content of a file from another, as far as its folder says. */
struct watched_state {
    bool is_there;
    uint64_t stamp; /**< digest of time of change, size and inode */
};

/** A file that is in the picture, or may have to be reported. */
struct watched_file {
    char *path;                   /**< as the role names its folder, and below; owned */
    struct watched_state known;   /**< as it was reported last */
    struct watched_state noticed; /**< as a scan found it, if `is_noticed` */
    bool is_noticed;
    int64_t first_ns; /**< when it was first noticed; 0 = nothing to report */
    int64_t due_ns;   /**< when it is looked at again */
    uint64_t scan;    /**< number of the last scan that found it */
    UT_hash_handle hh;
};

struct watch_picture {
    struct watched_file *files;
    size_t count;
    size_t path_bytes; /**< of all paths as they are stored */
    uint64_t scan;     /**< number of the last scan */
    uint64_t batch;    /**< number of the reports that come next; part of their keys */
};

void watch_picture_fini(struct watch_picture *picture);

/** A file of the picture, or NULL. */
struct watched_file *watch_picture_find(const struct watch_picture *picture, const char *path);
/** The same, made when there is none. @return NULL: there are LIMIT_WATCH_FILES, or
 *  their paths need LIMIT_WATCH_PATHS_BYTES */
struct watched_file *watch_picture_add(struct watch_picture *picture, const char *path);
/** Forget a file. */
void watch_picture_remove(struct watch_picture *picture, struct watched_file *file);
/** Order by path. */
void watch_picture_sort(struct watch_picture *picture);

bool watched_state_equal(const struct watched_state *one, const struct watched_state *other);

/** Append the picture as a JSON object: what was reported last, and the number of the batch. */
void watch_picture_encode(const struct watch_picture *picture, struct buf *ret_json);
/** Read it. @param ret_picture watch_picture_fini(), always. @return 0 or RONDO_ERR_CORRUPT */
int watch_picture_decode(struct json_object *json, struct watch_picture *ret_picture,
                         struct rondo_error *err);
