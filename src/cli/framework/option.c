// SPDX-License-Identifier: Apache-2.0
/* Values of options: finding rows, reading texts, releasing. */
#include "cli/framework/option.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/parse.h"
#include "base/text/utf8.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

size_t option_count(const struct option_row *rows)
{
    size_t count = 0;
    while (rows != NULL && rows[count].name != NULL) {
        count++;
    }
    return count;
}

int option_find(const struct option_row *rows, const char *name)
{
    for (size_t i = 0; i < option_count(rows); i++) {
        if (strcmp(rows[i].name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

bool option_is_given(const struct option_set *set, const char *name)
{
    int index = option_find(set->rows, name);
    return index >= 0 && set->is_given[index];
}

static char *value_at(const struct option_set *set, size_t index)
{
    return (char *)set->values + set->rows[index].offset;
}

static void set_text(struct option_set *set, size_t index, const char *text)
{
    char *former;
    memcpy(&former, value_at(set, index), sizeof(former));
    free(former);
    char *copy = memory_dup_string(text);
    memcpy(value_at(set, index), &copy, sizeof(copy));
}

static int add_to_list(struct option_set *set, size_t index, const char *text,
                       struct rondo_error *err)
{
    char **list;
    memcpy(&list, value_at(set, index), sizeof(list));
    size_t count = memory_count_list((const char *const *)list);
    if (count == OPTION_LIST_MAX) {
        return error_set(err, RONDO_ERR_LIMIT, "it can be given at most %d times", OPTION_LIST_MAX);
    }
    list = memory_resize(list, count + 2, sizeof(*list));
    list[count] = memory_dup_string(text);
    list[count + 1] = NULL;
    memcpy(value_at(set, index), &list, sizeof(list));
    return 0;
}

static int read_choice(const struct option_row *row, const char *text, int64_t *ret_value,
                       struct rondo_error *err)
{
    for (const struct option_choice *choice = row->choices; choice->name != NULL; choice++) {
        if (strcmp(choice->name, text) == 0) {
            *ret_value = choice->value;
            return 0;
        }
    }
    auto_buf struct buf words = {0};
    option_argument(row, &words);
    return error_set(err, RONDO_ERR_INVALID, "'%.64s' is not one of %s", text, buf_string(&words));
}

/** Texts go into the journal, which is UTF-8: what cannot be written there cannot be resumed. */
static int check_text(const char *text, struct rondo_error *err)
{
    for (size_t at = 0, len = strlen(text); at < len;) {
        size_t sequence = utf8_sequence_len(text + at, len - at);
        if (sequence == 0) {
            return error_set(err, RONDO_ERR_INVALID, "the text is not UTF-8");
        }
        at += sequence;
    }
    return 0;
}

static int set_value(struct option_set *set, size_t index, const char *text,
                     struct rondo_error *err)
{
    const struct option_row *row = &set->rows[index];
    int64_t number = 1;
    assert(text != NULL || row->kind == OPTION_FLAG);
    int r = text == NULL ? 0 : check_text(text, err);
    if (r < 0) {
        return r;
    }
    switch (row->kind) {
    case OPTION_FLAG:
        break;
    case OPTION_INT:
        r = parse_int(text, row->low, row->high, &number, err);
        break;
    case OPTION_DURATION:
        r = parse_duration(text, &number, err);
        break;
    case OPTION_MONEY:
        r = parse_money(text, &number, err);
        break;
    case OPTION_CHOICE:
        r = read_choice(row, text, &number, err);
        break;
    case OPTION_TEXT:
        set_text(set, index, text);
        return 0;
    case OPTION_LIST:
        return add_to_list(set, index, text, err);
    }
    if (r == 0) {
        memcpy(value_at(set, index), &number, sizeof(number));
    }
    return r;
}

int option_set_text(struct option_set *set, size_t index, const char *text, struct rondo_error *err)
{
    int r = set_value(set, index, text, err);
    if (r < 0) {
        error_prefix(err, "--%s", set->rows[index].name);
        return r;
    }
    set->is_given[index] = true;
    return 0;
}

void option_set_fini(struct option_set *set)
{
    for (size_t i = 0; i < option_count(set->rows); i++) {
        void *owned;
        if (set->rows[i].kind != OPTION_TEXT && set->rows[i].kind != OPTION_LIST) {
            continue;
        }
        memcpy(&owned, value_at(set, i), sizeof(owned));
        if (set->rows[i].kind == OPTION_TEXT) {
            free(owned);
        } else {
            memory_free_list(owned);
        }
        owned = NULL;
        memcpy(value_at(set, i), &owned, sizeof(owned));
    }
}

void option_argument(const struct option_row *row, struct buf *ret_buf)
{
    if (row->argument != NULL) {
        buf_append_string(ret_buf, row->argument);
        return;
    }
    for (const struct option_choice *choice = row->choices; choice != NULL && choice->name != NULL;
         choice++) {
        buf_printf(ret_buf, "%s%s", choice == row->choices ? "" : "|", choice->name);
    }
}
