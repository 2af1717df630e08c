/*
 * The C files that may be changed (src/ of the project, nothing else: not the tests, not the
 * Makefile), and their tokens.
 */
#pragma once

#include "text.h"

enum {
    SOURCE_FILES_MAX = 64,
};

struct source_file {
    char *path; /* relative to the project, such as "src/parser.c" */
    struct text content;
    int line_count;
};

struct source_set {
    struct source_file *files; /* in the order of their names */
    size_t count;
};

enum source_token_kind {
    SOURCE_NAME, /* identifiers and keywords */
    SOURCE_NUMBER,
    SOURCE_CHARACTER,
    SOURCE_STRING,
    SOURCE_OPERATOR,
};

struct source_token {
    enum source_token_kind kind;
    size_t start; /* offset in the content of the file */
    size_t len;
    int line;          /* from 1 */
    int column;        /* which token of its line it is, from 0 */
    int parentheses;   /* how many are open around it */
    bool is_untouched; /* part of an #include or of an assertion */
};

struct source_tokens {
    struct source_token *items;
    size_t count;
    size_t cap;
};

/* Reads the sources below `root`. False, with a message on stderr, when there are none. */
bool source_load(struct source_set *set, const char *root);

void source_fini(struct source_set *set);

/* Equal sets of files have equal fingerprints. */
uint64_t source_fingerprint(const struct source_set *set);

/* Splits a file into tokens; comments are left out. The caller calls source_tokens_fini(). */
void source_tokenise(const struct source_file *file, struct source_tokens *tokens);

void source_tokens_fini(struct source_tokens *tokens);

/* Whether the token is exactly `spelling`. */
bool source_token_is(const struct source_file *file, const struct source_token *token,
                     const char *spelling);
