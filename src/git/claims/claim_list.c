// SPDX-License-Identifier: Apache-2.0
/* Formats: FETCH_HEAD (git-fetch(1)), git-cat-file(1), and the commit object. */
#include "git/claims/claim_list.h"

#include "base/ascii.h"
#include "base/limits.h"
#include "base/memory.h"
#include "git/commit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/**
 * Of a line "ID<tab><tab>'REFERENCE' of ADDRESS", where "not-for-merge" may be between the tabs.
 * @param ret_end where the name ends
 * @return where the claim's name begins, or NULL
 */
static const char *find_name(const char *line, size_t id_len, const char **ret_end)
{
    static const char mark[] = "not-for-merge";
    static const char front[] = "\t'" GIT_CLAIMS;
    if (strspn(line, "0123456789abcdef") != id_len || line[id_len] != '\t') {
        return NULL;
    }
    const char *at = line + id_len + 1;
    at += strncmp(at, mark, sizeof(mark) - 1) == 0 ? sizeof(mark) - 1 : 0;
    if (strncmp(at, front, sizeof(front) - 1) != 0) {
        return NULL;
    }
    at += sizeof(front) - 1;
    *ret_end = strstr(at, "' of ");
    return *ret_end == NULL ? NULL : at;
}

static void take_line(const char *line, size_t len, size_t id_len, const char *only,
                      struct git_claims *claims)
{
    const char *end = NULL;
    const char *start = find_name(line, id_len, &end);
    if (start == NULL || end > line + len) {
        return;
    }
    char *name = memory_dup_bytes(start, (size_t)(end - start));
    if (git_branch_check_name(name, NULL) != 0 || (only != NULL && strcmp(name, only) != 0)) {
        free(name);
        return;
    }
    claims->items = memory_resize(claims->items, claims->count + 1, sizeof(*claims->items));
    struct git_claim *claim = &claims->items[claims->count++];
    *claim = (struct git_claim){.name = name};
    snprintf(claim->id, sizeof(claim->id), "%.*s", (int)id_len, line);
}

static int compare_names(const void *one, const void *other)
{
    return strcmp(((const struct git_claim *)one)->name, ((const struct git_claim *)other)->name);
}

/** Drop all but the first of a name, and what is past the limit. */
static void cut_list(struct git_claims *claims)
{
    size_t kept = 0;
    for (size_t i = 0; i < claims->count; i++) {
        bool is_new = kept == 0 || compare_names(&claims->items[kept - 1], &claims->items[i]) != 0;
        if (is_new && kept < LIMIT_GIT_CLAIMS) {
            struct git_claim claim = claims->items[i];
            claims->items[kept++] = claim;
        } else {
            free(claims->items[i].name);
        }
    }
    claims->count = kept;
}

void git_claim_list_parse(const char *lines, size_t id_len, const char *only,
                          struct git_claims *ret_claims)
{
    struct git_claims claims = {0};
    const char *end = strchr(lines, '\n');
    for (; end != NULL; end = strchr(lines, '\n')) {
        take_line(lines, (size_t)(end - lines), id_len, only, &claims);
        lines = end + 1;
    }
    if (claims.count > 0) {
        qsort(claims.items, claims.count, sizeof(*claims.items), compare_names);
    }
    cut_list(&claims);
    *ret_claims = claims;
}

char *git_claim_text_parse(const char *object, size_t len)
{
    const char *end = object + len;
    const char *line = object;
    while (line < end && *line != '\n') {
        const char *next = memchr(line, '\n', (size_t)(end - line));
        bool has_parent = end - line > 7 && memcmp(line, "parent ", 7) == 0;
        if (next == NULL || has_parent) {
            return NULL;
        }
        line = next + 1;
    }
    line += line < end;
    while (end > line && end[-1] == '\n') {
        end--;
    }
    bool is_text = line < end && (size_t)(end - line) <= LIMIT_GIT_CLAIM_BYTES &&
                   memchr(line, '\0', (size_t)(end - line)) == NULL;
    return is_text ? memory_dup_bytes(line, (size_t)(end - line)) : NULL;
}

bool git_claim_check_parse(const char **line, const char *id, size_t *ret_size)
{
    static const char type[] = " commit ";
    const char *start = *line;
    const char *end = strchr(start, '\n');
    size_t id_len = strlen(id);
    *line = end == NULL ? start + strlen(start) : end + 1;
    if (end == NULL || strncmp(start, id, id_len) != 0 ||
        strncmp(start + id_len, type, sizeof(type) - 1) != 0) {
        return false;
    }
    size_t size = 0;
    const char *digit = start + id_len + sizeof(type) - 1;
    while (ascii_is_digit(*digit) && size <= GIT_CLAIM_OBJECT_BYTES) {
        size = size * 10 + (size_t)(*digit++ - '0');
    }
    *ret_size = size;
    return digit == end && size <= GIT_CLAIM_OBJECT_BYTES;
}

void git_claims_fini(struct git_claims *claims)
{
    for (size_t i = 0; i < claims->count; i++) {
        free(claims->items[i].name);
        free(claims->items[i].text);
    }
    free(claims->items);
    *claims = (struct git_claims){0};
}
