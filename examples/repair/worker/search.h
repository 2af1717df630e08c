/*
 * The search: a hill climb over one-token changes. Candidates are ordered by how suspect their
 * line is and by how common their kind of slip is, and tried one after the other; the first that
 * makes the project better is kept, and the order is made anew. Nothing depends on the clock, so
 * equal seeds on equal projects make equal searches.
 */
#pragma once

#include "runtime.h"
#include "state.h"

struct search {
    const char *workspace;
    const struct runtime *runtime;
    struct state state;
    size_t budget; /* how many candidates an iteration tries at most */
};

enum search_outcome {
    SEARCH_GOES_ON,
    SEARCH_GREEN,     /* build, tests and linter have nothing to say */
    SEARCH_EXHAUSTED, /* every candidate was tried and none helps */
    SEARCH_STOPPED,   /* by a signal */
    SEARCH_BROKEN,    /* the machine's or the project's fault; a message is on stderr */
};

/* Runs one iteration and saves the state. Prints what it does, one line for each repair and one
 * at the end. */
enum search_outcome search_iterate(struct search *search);
