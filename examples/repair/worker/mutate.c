/* The small changes a repair is made of; see mutate.h. */
#include "mutate.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WEIGHT_CONSTANT = 700,
    WEIGHT_CHARACTER = 250,
};

/* Where an operator may stand for the exchange to make sense. */
enum position {
    ANYWHERE,
    BINARY,    /* between two operands */
    CONDITION, /* inside parentheses */
    STATEMENT, /* outside them */
};

/* A comparison that is only off at its boundary is the most common slip of all. */
static const struct exchange {
    const char *before;
    const char *after;
    int weight;
    enum position position;
} exchanges[] = {
    {"<", "<=", 1000, BINARY},        {"<", ">", 900, BINARY},
    {"<", ">=", 600, BINARY},         {"<=", "<", 1000, BINARY},
    {"<=", ">=", 900, BINARY},        {"<=", ">", 600, BINARY},
    {">", ">=", 1000, BINARY},        {">", "<", 900, BINARY},
    {">", "<=", 600, BINARY},         {">=", ">", 1000, BINARY},
    {">=", "<=", 900, BINARY},        {">=", "<", 600, BINARY},
    {"==", "!=", 900, BINARY},        {"==", "=", 500, STATEMENT},
    {"!=", "==", 900, BINARY},        {"=", "==", 900, CONDITION},
    {"=", "+=", 200, STATEMENT},      {"=", "-=", 100, STATEMENT},
    {"&&", "||", 900, BINARY},        {"||", "&&", 900, BINARY},
    {"!", "", 600, ANYWHERE},         {"+", "-", 1000, BINARY},
    {"-", "+", 1000, BINARY},         {"+", "*", 400, BINARY},
    {"*", "/", 700, BINARY},          {"*", "+", 500, BINARY},
    {"/", "*", 700, BINARY},          {"/", "%", 800, BINARY},
    {"%", "/", 800, BINARY},          {"+=", "-=", 900, ANYWHERE},
    {"-=", "+=", 900, ANYWHERE},      {"+=", "=", 300, ANYWHERE},
    {"+=", "*=", 600, ANYWHERE},      {"*=", "+=", 700, ANYWHERE},
    {"*=", "/=", 600, ANYWHERE},      {"/=", "*=", 700, ANYWHERE},
    {"++", "--", 700, ANYWHERE},      {"--", "++", 700, ANYWHERE},
    {"<<", ">>", 800, BINARY},        {">>", "<<", 800, BINARY},
    {"&", "|", 700, BINARY},          {"|", "&", 700, BINARY},
    {"true", "false", 800, ANYWHERE}, {"false", "true", 800, ANYWHERE},
    {"int", "long", 400, ANYWHERE},   {"long", "int", 150, ANYWHERE},
};

struct walk {
    const struct source_set *set;
    size_t file_index;
    const struct source_file *file;
    const struct source_tokens *tokens;
    struct mutation_list *list;
};

void mutate_append(struct mutation_list *list, const struct mutation *mutation)
{
    if (list->count == list->cap) {
        list->cap = list->cap > 0 ? list->cap * 2 : 256;
        list->items = text_realloc(list->items, list->cap, sizeof(*list->items));
    }
    list->items[list->count++] = *mutation;
}

static bool neighbour_is(const struct walk *walk, size_t at, const char *spelling)
{
    return at < walk->tokens->count &&
           source_token_is(walk->file, &walk->tokens->items[at], spelling);
}

static bool is_type_name(const struct walk *walk, const struct source_token *token)
{
    static const char *const types[] = {"void", "char",   "short", "int",      "long",  "unsigned",
                                        "bool", "signed", "const", "restrict", "float", "double"};
    const char *text = walk->file->content.data + token->start;

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (source_token_is(walk->file, token, types[i]))
            return true;
    }
    return token->len > 2 && memcmp(text + token->len - 2, "_t", 2) == 0;
}

/* `*`, `-` and `&` have an operand on their left when they are binary; a declaration's star has a
 * type there. To be wrong costs one attempt that does not compile. */
static bool is_binary(const struct walk *walk, size_t at)
{
    if (at == 0)
        return false;
    const struct source_token *left = &walk->tokens->items[at - 1];

    if (neighbour_is(walk, at - 1, ")") || neighbour_is(walk, at - 1, "]"))
        return true;
    if (left->kind == SOURCE_OPERATOR || neighbour_is(walk, at - 1, "return"))
        return false;
    if (at >= 2 && (neighbour_is(walk, at - 2, "struct") || neighbour_is(walk, at - 2, "enum")))
        return false;
    return !is_type_name(walk, left);
}

static bool is_position_fit(const struct walk *walk, size_t at, enum position position)
{
    switch (position) {
    case ANYWHERE:
        return true;
    case BINARY:
        return is_binary(walk, at);
    case CONDITION:
        return walk->tokens->items[at].parentheses > 0;
    case STATEMENT:
        return walk->tokens->items[at].parentheses == 0;
    }
    return false;
}

static uint64_t make_key(const struct walk *walk, const struct source_token *token,
                         const struct mutation *mutation)
{
    uint64_t hash = text_hash(TEXT_HASH_START, walk->file->path, strlen(walk->file->path) + 1);

    hash = text_hash(hash, &token->line, sizeof(token->line));
    hash = text_hash(hash, &token->column, sizeof(token->column));
    hash = text_hash(hash, mutation->before, strlen(mutation->before) + 1);
    return text_hash(hash, mutation->after, strlen(mutation->after) + 1);
}

static void add(const struct walk *walk, const struct source_token *token, const char *after,
                int weight)
{
    struct mutation mutation = {.file = walk->file_index,
                                .start = token->start,
                                .len = token->len,
                                .line = token->line,
                                .column = token->column,
                                .weight = weight};

    if (token->len >= MUTATE_SPELLING_MAX || strlen(after) >= MUTATE_SPELLING_MAX)
        return;
    memcpy(mutation.before, walk->file->content.data + token->start, token->len);
    memcpy(mutation.after, after, strlen(after));
    mutation.key = make_key(walk, token, &mutation);
    mutate_append(walk->list, &mutation);
}

static void add_exchanges(const struct walk *walk, size_t at)
{
    const struct source_token *token = &walk->tokens->items[at];

    for (size_t i = 0; i < sizeof(exchanges) / sizeof(exchanges[0]); i++) {
        if (source_token_is(walk->file, token, exchanges[i].before) &&
            is_position_fit(walk, at, exchanges[i].position))
            add(walk, token, exchanges[i].after, exchanges[i].weight);
    }
}

/* A whole number becomes its neighbours, in its own base and with its own suffix. */
static void add_numbers(const struct walk *walk, size_t at)
{
    const struct source_token *token = &walk->tokens->items[at];
    char before[MUTATE_SPELLING_MAX] = {0};
    char after[2 * MUTATE_SPELLING_MAX];
    char *suffix = NULL;

    if (token->len >= sizeof(before) || neighbour_is(walk, at + 1, ".") ||
        (at > 0 && neighbour_is(walk, at - 1, ".")))
        return;
    memcpy(before, walk->file->content.data + token->start, token->len);
    errno = 0;
    const unsigned long long value = strtoull(before, &suffix, 0);
    const bool is_hexadecimal = before[0] == '0' && (before[1] == 'x' || before[1] == 'X');
    const char *format = is_hexadecimal ? "0x%llx%s" : "%llu%s";

    if (errno != 0 || value > UINT32_MAX)
        return;
    snprintf(after, sizeof(after), format, value + 1, suffix);
    add(walk, token, after, WEIGHT_CONSTANT);
    if (value == 0)
        return;
    snprintf(after, sizeof(after), format, value - 1, suffix);
    add(walk, token, after, WEIGHT_CONSTANT);
}

/* 'a' becomes 'b'; escapes are left alone. */
static void add_characters(const struct walk *walk, const struct source_token *token)
{
    const unsigned char c = (unsigned char)walk->file->content.data[token->start + 1];

    if (token->len != 3 || !isalnum(c))
        return;
    for (int step = -1; step <= 1; step += 2) {
        char after[] = {'\'', (char)(c + step), '\'', '\0'};

        if (isalnum(c + step))
            add(walk, token, after, WEIGHT_CHARACTER);
    }
}

static void walk_file(struct walk *walk)
{
    for (size_t i = 0; i < walk->tokens->count; i++) {
        const struct source_token *token = &walk->tokens->items[i];

        if (token->is_untouched)
            continue;
        if (token->kind == SOURCE_OPERATOR || token->kind == SOURCE_NAME)
            add_exchanges(walk, i);
        else if (token->kind == SOURCE_NUMBER)
            add_numbers(walk, i);
        else if (token->kind == SOURCE_CHARACTER)
            add_characters(walk, token);
    }
}

void mutate_list(const struct source_set *set, struct mutation_list *list)
{
    for (size_t i = 0; i < set->count; i++) {
        struct source_tokens tokens = {0};
        struct walk walk = {
            .set = set, .file_index = i, .file = &set->files[i], .tokens = &tokens, .list = list};

        source_tokenise(walk.file, &tokens);
        walk_file(&walk);
        source_tokens_fini(&tokens);
    }
}

void mutate_list_fini(struct mutation_list *list)
{
    free(list->items);
    *list = (struct mutation_list){0};
}

/* Appends what stands between the end of the last exchange and this one, and then this one. */
static size_t apply_one(const struct text *content, size_t from, size_t start, size_t len,
                        const char *after, struct text *text)
{
    text_append(text, content->data + from, start - from);
    text_append(text, after, strlen(after));
    return start + len;
}

void mutate_apply(const struct source_set *set, const struct mutation *mutation, struct text *text)
{
    const struct text *content = &set->files[mutation->file].content;
    const struct mutation_undo *undo = &mutation->undo;
    size_t at = 0;

    if (undo->is_set && undo->start < mutation->start)
        at = apply_one(content, at, undo->start, undo->len, undo->after, text);
    at = apply_one(content, at, mutation->start, mutation->len, mutation->after, text);
    if (undo->is_set && undo->start > mutation->start)
        at = apply_one(content, at, undo->start, undo->len, undo->after, text);
    text_append(text, content->data + at, content->len - at);
}

void mutate_describe(const struct source_set *set, const struct mutation *mutation,
                     struct text *text)
{
    const char *path = set->files[mutation->file].path;
    const char *slash = strrchr(path, '/');

    text_printf(text, "%s:%d '%s' -> '%s'", slash != NULL ? slash + 1 : path, mutation->line,
                mutation->before, mutation->after);
    if (mutation->undo.is_set)
        text_printf(text, " with line %d '%s' back to '%s'", mutation->undo.line,
                    mutation->undo.before, mutation->undo.after);
}
