// SPDX-License-Identifier: Apache-2.0
/*
 * Paths are lists of steps; braces hold one path for each member. Depth and length are limited, so
 * that the recursion is, too. Pure.
 */
#include "tool/builtin/api_extract.h"

#include "base/error.h"
#include "base/memory.h"

#include <json-c/json.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum step_kind { STEP_MEMBER, STEP_EACH, STEP_BRACES };

struct extract {
    enum step_kind kind;
    char *name;            /* of the member, also the index of an element; of braces NULL */
    struct extract *next;  /* NULL = the end of the path */
    struct extract *first; /* STEP_BRACES: a path; its name is that of the member */
    struct extract *other; /* the next path in the same braces */
};

struct extract_reading {
    const char *text;
    size_t at;
    unsigned depth;
    struct rondo_error *err;
};

/* Ends a name without quotes. */
static const char name_end[] = ".[]{},'\" \t\r\n";

static int refuse(const struct extract_reading *reading, const char *what)
{
    return error_set(reading->err, RONDO_ERR_INVALID, "at byte %zu: %s", reading->at, what);
}

static char peek(const struct extract_reading *reading)
{
    return reading->text[reading->at];
}

static bool accept_word(struct extract_reading *reading, const char *word)
{
    size_t len = strlen(word);
    if (strncmp(reading->text + reading->at, word, len) != 0) {
        return false;
    }
    reading->at += len;
    return true;
}

static void skip_blanks(struct extract_reading *reading)
{
    reading->at += strspn(reading->text + reading->at, " \t\r\n");
}

static struct extract *step_new(enum step_kind kind, const char *name, size_t len)
{
    struct extract *step = memory_new_zero(1, sizeof(*step));
    step->kind = kind;
    step->name = name == NULL ? NULL : memory_dup_bytes(name, len);
    return step;
}

void extract_free(struct extract *extract)
{
    while (extract != NULL) {
        struct extract *next = extract->next;
        for (struct extract *path = extract->first; path != NULL;) {
            struct extract *other = path->other;
            path->other = NULL;
            extract_free(path);
            path = other;
        }
        free(extract->name);
        free(extract);
        extract = next;
    }
}

/* --- reading --- */

static int read_name(struct extract_reading *reading, struct extract **ret_step)
{
    const char *name = reading->text + reading->at;
    size_t len = strcspn(name, name_end);
    if (len == 0) {
        return refuse(reading, "a name is missing");
    }
    reading->at += len;
    bool is_star = len == 1 && name[0] == '*';
    *ret_step = is_star ? step_new(STEP_EACH, NULL, 0) : step_new(STEP_MEMBER, name, len);
    return 0;
}

/** After "[". */
static int read_bracket(struct extract_reading *reading, struct extract **ret_step)
{
    char quote = peek(reading);
    if (quote == '\'' || quote == '"') {
        const char *name = reading->text + ++reading->at;
        const char *end = strchr(name, quote);
        if (end == NULL || end[1] != ']') {
            return refuse(reading, "the quote is not closed");
        }
        reading->at += (size_t)(end - name) + 2;
        *ret_step = step_new(STEP_MEMBER, name, (size_t)(end - name));
        return 0;
    }
    if (accept_word(reading, "*]")) {
        *ret_step = step_new(STEP_EACH, NULL, 0);
        return 0;
    }
    const char *digits = reading->text + reading->at;
    size_t len = strspn(digits, "0123456789");
    if (len == 0 || digits[len] != ']') {
        return refuse(reading, "\"[\" must be followed by a number, '*' or a quoted name");
    }
    reading->at += len + 1;
    *ret_step = step_new(STEP_MEMBER, digits, len);
    return 0;
}

static int read_path(struct extract_reading *reading, struct extract **ret_path);

/** The path of one member in braces. */
static int read_item(struct extract_reading *reading, struct extract ***tail)
{
    struct extract *path = NULL;
    skip_blanks(reading);
    int r = read_path(reading, &path);
    if (r < 0) {
        return r;
    }
    if (path == NULL || path->kind != STEP_MEMBER) {
        extract_free(path);
        return refuse(reading, "a path in braces begins with a name or an index");
    }
    **tail = path;
    *tail = &path->other;
    skip_blanks(reading);
    return 0;
}

/** After "{". */
static int read_braces(struct extract_reading *reading, struct extract **ret_step)
{
    if (++reading->depth > EXTRACT_MAX_DEPTH) {
        return error_set(reading->err, RONDO_ERR_LIMIT, "braces are nested more than %d deep",
                         EXTRACT_MAX_DEPTH);
    }
    struct extract *braces = step_new(STEP_BRACES, NULL, 0);
    struct extract **tail = &braces->first;
    int r = 0;
    do {
        r = read_item(reading, &tail);
    } while (r == 0 && accept_word(reading, ","));
    if (r == 0 && !accept_word(reading, "}")) {
        r = refuse(reading, "\"}\" or \",\" is missing");
    }
    reading->depth--;
    if (r < 0) {
        extract_free(braces);
        return r;
    }
    *ret_step = braces;
    return 0;
}

/** One step. @param ret_step untouched where the path ends */
static int read_step(struct extract_reading *reading, bool is_first, struct extract **ret_step)
{
    if (accept_word(reading, "[")) {
        return read_bracket(reading, ret_step);
    }
    bool has_dot = accept_word(reading, ".");
    if ((has_dot || is_first) && accept_word(reading, "{")) {
        return read_braces(reading, ret_step);
    }
    if (has_dot || (is_first && strchr(name_end, peek(reading)) == NULL)) {
        return read_name(reading, ret_step);
    }
    return 0;
}

/** A path up to what cannot belong to it; may be empty. */
static int read_path(struct extract_reading *reading, struct extract **ret_path)
{
    struct extract *path = NULL;
    struct extract **tail = &path;
    struct extract *step = NULL;
    do {
        step = NULL;
        int r = read_step(reading, path == NULL, &step);
        if (r < 0) {
            extract_free(path);
            return r;
        }
        *tail = step;
        tail = step == NULL ? tail : &step->next;
    } while (step != NULL);
    *ret_path = path;
    return 0;
}

int extract_parse(const char *text, struct extract **ret_extract, struct rondo_error *err)
{
    struct extract_reading reading = {.text = text, .err = err};
    struct extract *path = NULL;
    if (strlen(text) > EXTRACT_MAX_BYTES) {
        return error_set(err, RONDO_ERR_LIMIT, "it is longer than %zu bytes", EXTRACT_MAX_BYTES);
    }
    skip_blanks(&reading);
    bool has_root = accept_word(&reading, "$");
    if (has_root && peek(&reading) != '\0' && strchr(".[ \t\r\n", peek(&reading)) == NULL) {
        return refuse(&reading, "\"$\" must be followed by \".\" or \"[\"");
    }
    int r = has_root && peek(&reading) == '\0' ? 0 : read_path(&reading, &path);
    if (r < 0) {
        return r;
    }
    skip_blanks(&reading);
    if (peek(&reading) != '\0' || (path == NULL && !has_root)) {
        extract_free(path);
        return refuse(&reading, "this is not a path");
    }
    *ret_extract = path;
    return 0;
}

/* --- applying --- */

static struct json_object *element_at(struct json_object *list, const char *index)
{
    size_t at = 0;
    for (const char *c = index; *c != '\0'; c++) {
        if (*c < '0' || *c > '9' || at > json_object_array_length(list)) {
            return NULL;
        }
        at = at * 10 + (size_t)(*c - '0');
    }
    return at < json_object_array_length(list) ? json_object_array_get_idx(list, at) : NULL;
}

static struct json_object *member_of(struct json_object *value, const char *name)
{
    struct json_object *member = NULL;
    if (json_object_is_type(value, json_type_array)) {
        return element_at(value, name);
    }
    if (json_object_is_type(value, json_type_object)) {
        json_object_object_get_ex(value, name, &member);
    }
    return member;
}

/** Whether the rest of a path gives a list of its own, which is put into the outer one. */
static bool gives_list(const struct extract *path)
{
    for (; path != NULL && path->kind != STEP_BRACES; path = path->next) {
        if (path->kind == STEP_EACH) {
            return true;
        }
    }
    return false;
}

static void add_all(struct json_object *list, struct json_object *others)
{
    for (size_t i = 0; i < json_object_array_length(others); i++) {
        json_object_array_add(list, json_object_get(json_object_array_get_idx(others, i)));
    }
    json_object_put(others);
}

static void add_result(const struct extract *rest, struct json_object *list,
                       struct json_object *element)
{
    struct json_object *found = extract_apply(rest, element);
    if (found == NULL) {
        return;
    }
    if (gives_list(rest)) {
        add_all(list, found);
    } else {
        json_object_array_add(list, found);
    }
}

static struct json_object *apply_each(const struct extract *rest, struct json_object *value)
{
    bool is_object = json_object_is_type(value, json_type_object);
    if (!is_object && !json_object_is_type(value, json_type_array)) {
        return NULL;
    }
    struct json_object *list = json_object_new_array();
    if (is_object) {
        struct json_object_iterator end = json_object_iter_end(value);
        for (struct json_object_iterator at = json_object_iter_begin(value);
             !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
            add_result(rest, list, json_object_iter_peek_value(&at));
        }
        return list;
    }
    for (size_t i = 0; i < json_object_array_length(value); i++) {
        add_result(rest, list, json_object_array_get_idx(value, i));
    }
    return list;
}

static struct json_object *apply_braces(const struct extract *braces, struct json_object *value)
{
    if (!json_object_is_type(value, json_type_object) &&
        !json_object_is_type(value, json_type_array)) {
        return NULL;
    }
    struct json_object *object = json_object_new_object();
    for (const struct extract *path = braces->first; path != NULL; path = path->other) {
        struct json_object *found = extract_apply(path, value);
        if (found != NULL) {
            json_object_object_add(object, path->name, found);
        }
    }
    return object;
}

struct json_object *extract_apply(const struct extract *extract, struct json_object *value)
{
    while (extract != NULL && extract->kind == STEP_MEMBER && value != NULL) {
        value = member_of(value, extract->name);
        extract = extract->next;
    }
    if (value == NULL || extract == NULL) {
        return json_object_get(value);
    }
    if (extract->kind == STEP_EACH) {
        return apply_each(extract->next, value);
    }
    struct json_object *object = apply_braces(extract, value);
    struct json_object *found = extract_apply(extract->next, object);
    json_object_put(object);
    return found;
}
