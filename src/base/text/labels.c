// SPDX-License-Identifier: Apache-2.0
#include "base/text/labels.h"

#include "base/error.h"

#include <string.h>

bool label_is_valid(const char *text, size_t len)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789.-";
    size_t valid = 0;
    while (valid < len && memchr(allowed, text[valid], sizeof(allowed) - 1) != NULL) {
        valid++;
    }
    return len >= 1 && len <= LIMIT_LABEL_LEN && valid == len;
}

int labels_check(const char *list, const char *what, struct rondo_error *err)
{
    size_t count = 0;
    for (const char *at = list; at != NULL && list[0] != '\0';) {
        size_t len = strcspn(at, ",");
        if (!label_is_valid(at, len)) {
            return error_set(err, RONDO_ERR_INVALID,
                             "%s: a label has 1 to %d of a-z, 0-9, '.' and '-', and several are "
                             "separated by commas",
                             what, LIMIT_LABEL_LEN);
        }
        if (++count > LIMIT_LABELS) {
            return error_set(err, RONDO_ERR_LIMIT, "%s: more than %d labels", what, LIMIT_LABELS);
        }
        at = at[len] == ',' ? at + len + 1 : NULL;
    }
    return 0;
}

static bool has(const char *list, const char *label, size_t label_len)
{
    for (const char *at = list; at != NULL;) {
        size_t len = strcspn(at, ",");
        if (len == label_len && memcmp(at, label, len) == 0) {
            return true;
        }
        at = at[len] == ',' ? at + len + 1 : NULL;
    }
    return false;
}

bool labels_have_all(const char *list, const char *wanted)
{
    for (const char *at = wanted; at != NULL && wanted[0] != '\0';) {
        size_t len = strcspn(at, ",");
        if (!has(list, at, len)) {
            return false;
        }
        at = at[len] == ',' ? at + len + 1 : NULL;
    }
    return true;
}
