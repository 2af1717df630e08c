/*
 * The small changes a repair is made of: one token is exchanged for another. Which exchanges there
 * are is a table of C's operators and a few rules for constants; nothing here knows the project.
 */
#pragma once

#include "source.h"

enum {
    MUTATE_SPELLING_MAX = 24,
};

/* A repair that was accepted: one exchange. No exchange moves a line, so it is found again. */
struct mutation_repair {
    char *path; /* of the file */
    int line;
    int column; /* which token of the line, from 0 */
    char before[MUTATE_SPELLING_MAX];
    char after[MUTATE_SPELLING_MAX];
};

/* An accepted repair that is taken back together with an exchange; see combine.c. */
struct mutation_undo {
    bool is_set;
    size_t repair; /* index into the repairs */
    size_t start;
    size_t len;
    int line;
    char before[MUTATE_SPELLING_MAX]; /* what stands there now */
    char after[MUTATE_SPELLING_MAX];  /* what stood there before the repair */
};

struct mutation {
    size_t file; /* index into the set */
    size_t start;
    size_t len;
    int line;
    int column;
    int weight;    /* how often such slips happen, in permille of the most common */
    long priority; /* filled in by whoever orders the list; 0 here */
    uint64_t key;  /* says which change at which place, independent of the rest of the file */
    char before[MUTATE_SPELLING_MAX];
    char after[MUTATE_SPELLING_MAX];
    struct mutation_undo undo;
};

struct mutation_list {
    struct mutation *items;
    size_t count;
    size_t cap;
};

/* Appends every mutation of every file, in the order of the text. */
void mutate_list(const struct source_set *set, struct mutation_list *list);

/*
 * Appends, for every repair and every mutation close to it, the mutation that also takes the
 * repair back. `list` holds what mutate_list() appended.
 */
void mutate_combine(const struct source_set *set, const struct mutation_repair *repairs,
                    size_t repair_count, struct mutation_list *list);

/* Appends one mutation. */
void mutate_append(struct mutation_list *list, const struct mutation *mutation);

void mutate_list_fini(struct mutation_list *list);

/* Appends the content of the mutation's file with the mutation made. */
void mutate_apply(const struct source_set *set, const struct mutation *mutation, struct text *text);

/* Appends "parser.c:41 '<' -> '<='". */
void mutate_describe(const struct source_set *set, const struct mutation *mutation,
                     struct text *text);
