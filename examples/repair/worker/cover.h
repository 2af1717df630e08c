/*
 * Which lines the failing tests run and the passing ones do not. Test cases are run one by one in
 * a build with coverage counters, which gcov reads.
 *
 * Where there is no gcov that fits the compiler nothing is learnt, and the search has to do
 * without: slower, but no less correct.
 */
#pragma once

#include "scratch.h"
#include "suspect.h"

enum {
    COVER_CASES_MAX = 16, /* how many failing cases are looked at, and how many passing ones */
};

/* Sets the levels of all lines that can be run. `test_output` names the failing cases. */
void cover_add(struct suspect_map *map, const struct source_set *set, const struct scratch *scratch,
               const char *test_output);
