// SPDX-License-Identifier: Apache-2.0
/* What the files of the index share. */
#pragma once

#include "handoff/desks/desks.h"
#include "handoff/inbox/index.h"

#include <pthread.h>
#include <uthash.h>

/** Levels of escalation that are told apart: desks beyond are none. */
#define LEVELS (HANDOFF_MOST_DESKS + 1)
/** Ranks of those that no time of people runs for: they come last. */
#define RANK_ASKED   (INT64_MAX - 1)
#define RANK_DECIDED INT64_MAX

/** The name of an agent or a desk, of all entries that have it. */
struct index_name {
    UT_hash_handle hh;
    size_t entries;
    /* Of the look that is under way: */
    size_t count;
    signed char answers[LEVELS]; /* -1 = not asked yet: is the person on it, is the agent covered */
    char text[];
};

/** One handoff. The texts are in one piece with it. */
struct entry {
    UT_hash_handle hh;
    char request_id[ID_SIZE];
    const char *lane_id;
    const char *tool;
    const char *claimed_by;
    const char *why;
    size_t size;
    int64_t rank_ns;
    uint64_t version;
    uint32_t escalation_level;
    uint32_t hops;
    uint32_t revision;
    unsigned char risk;
    char texts[];
};

/** Which pairs of bytes a text has, by their hashes: what lacks a pair of a word lacks the word. */
#define MARKS 4
struct index_marks {
    uint64_t bits[MARKS];
};

/** What a look at all entries needs of one, side by side in memory. */
struct index_place {
    int64_t rank_ns; /**< when people must have decided */
    struct entry *entry;
    struct index_name *agent;
    struct index_name *desk;
    int64_t requested_ns;
    int64_t due_ns;
    int64_t timer_ns;   /**< when time does something with it; 0 = never */
    const char *folded; /**< what is searched, in lower case; in one piece with the entry */
    uint32_t folded_len;
    struct index_marks marks; /**< of what is searched */
    unsigned char state;
    unsigned char priority;
    unsigned char level; /**< of escalation, below LEVELS */
    bool is_claimed;
};

struct handoff_index {
    pthread_mutex_t lock;
    struct entry *entries;
    struct index_place *order; /**< by rank, then id */
    struct index_name *agents;
    struct index_name *desks;
    size_t count;
    size_t room;
    size_t bytes; /**< of the entries and names */
    uint64_t position;
    bool is_loaded;
};

/** Order of a rank and id, and a place. */
int index_compare(int64_t rank_ns, const char *id, const struct index_place *place);
/** The first place whose entry is not before (rank, id). */
size_t index_place_of(const struct handoff_index *index, int64_t rank_ns, const char *id);
struct index_marks index_mark(const char *text, size_t len);
/** Append a text in lower case, and a line end. */
void index_fold(char **at, const char *text);
void index_write_summary(const struct index_place *place, struct handoff_summary *ret_summary);
