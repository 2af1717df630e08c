/*
 * How likely each line is to hold a defect, in permille. Known for a line are
 *
 *     what the compiler and the linter say about it: a named line is the most suspect of all;
 *     which tests run it: a line that failing tests run and passing ones do not is suspect
 *     (Tarantula, Jones and Harrold 2002; see cover.h).
 *
 * Lines of which nothing is known, such as a constant in a header, take after the lines that
 * share a rare name with them.
 */
#pragma once

#include "source.h"

enum {
    SUSPECT_CERTAIN = 1000,
    SUSPECT_LEAST = 20, /* a line no failing test runs */
    SUSPECT_UNKNOWN = -1,
};

struct suspect_map {
    int *levels;     /* of all lines of all files, one after the other */
    size_t *offsets; /* where a file's lines start */
    size_t count;
};

/* An entry for each line of each file, all SUSPECT_UNKNOWN. */
void suspect_init(struct suspect_map *map, const struct source_set *set);

void suspect_fini(struct suspect_map *map);

/* The entry of a line counted from 1, or NULL when the file has no such line. */
int *suspect_at(const struct suspect_map *map, const struct source_set *set, size_t file, int line);

/* The index of the file with this path, or set->count. */
size_t suspect_find_file(const struct source_set *set, const char *path, size_t len);

/* Takes in the diagnostics ("src/lexer.c:12:5: error: ...") of a compiler's output. */
void suspect_add_diagnostics(struct suspect_map *map, const struct source_set *set,
                             const char *output);

/* Gives every line that is still unknown a level. To be called once, after all that is known. */
void suspect_spread(struct suspect_map *map, const struct source_set *set);
