/*
 * What the search remembers between two iterations, as a text file that the runtime keeps with
 * its checkpoints. Losing it costs time, never correctness: it is a guess about the workspace
 * that the fingerprint confirms or refutes.
 */
#pragma once

#include "check.h"
#include "mutate.h"
#include "suspect.h"

enum {
    STATE_VERSION = 1,
};

struct state {
    uint64_t seed;
    uint64_t fingerprint; /* of the sources the rest is about; 0: nothing is known */
    uint64_t previous;    /* of the sources before the last accepted repair */
    struct check_score score;
    size_t position; /* how many candidates for these sources have been tried */
    long tried;      /* candidates in all */
    int disputes;    /* how often in a row the runtime did not agree that all is well */
    struct mutation_repair *repairs; /* that were accepted and not taken back */
    size_t repair_count;
    uint64_t *tabu; /* keys of what was tried in vain before the last accepted repair */
    size_t tabu_count;
    int *levels; /* of suspicion, of all lines */
    size_t level_count;
};

enum state_outcome {
    STATE_LOADED,
    STATE_FRESH,   /* there is none, or only a damaged one: starting afresh is right */
    STATE_REFUSED, /* of another version: a message is on stderr */
};

/* Starts with the seed that is in `state` already when there is no file. */
enum state_outcome state_load(struct state *state, const char *path);

/* Replaces the file in one step. False, with a message on stderr, on failure. */
bool state_save(const struct state *state, const char *path);

void state_add_tabu(struct state *state, uint64_t key);

bool state_is_tabu(const struct state *state, uint64_t key);

/* Notes a repair; the strings are copied. */
void state_add_repair(struct state *state, const struct mutation_repair *repair);

/* Forgets a repair. */
void state_drop_repair(struct state *state, size_t index);

void state_fini(struct state *state);
