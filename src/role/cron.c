// SPDX-License-Identifier: Apache-2.0
/* Whether a text is a cron expression of five fields. */
#include "base/ascii.h"
#include "role/reader.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const months[] = {"jan", "feb", "mar", "apr", "may", "jun", "jul",
                                     "aug", "sep", "oct", "nov", "dec", NULL};
static const char *const weekdays[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat", NULL};

static const struct cron_field {
    long low, high;
    const char *const *names; /**< instead of numbers from `low` on, or NULL */
    const char *problem;
} fields[] = {
    {0, 59, NULL, "the minute (first field) is wrong; 0 to 59"},
    {0, 23, NULL, "the hour (second field) is wrong; 0 to 23"},
    {1, 31, NULL, "the day (third field) is wrong; 1 to 31 or l"},
    {1, 12, months, "the month (fourth field) is wrong; 1 to 12 or jan to dec"},
    {0, 7, weekdays, "the weekday (fifth field) is wrong; 0 to 7 or sun to sat"},
};

#define FIELD_COUNT (sizeof(fields) / sizeof(fields[0]))

/** A number or a name at `*at`. */
static bool take_value(const struct cron_field *field, const char **at, long *ret_value)
{
    for (long i = 0; field->names != NULL && field->names[i] != NULL; i++) {
        if (strncasecmp(*at, field->names[i], 3) == 0) {
            *at += 3;
            *ret_value = field->low + i;
            return true;
        }
    }
    size_t digits = strspn(*at, "0123456789");
    if (digits == 0 || digits > 4) {
        return false;
    }
    *ret_value = strtol(*at, NULL, 10);
    *at += digits;
    return *ret_value >= field->low && *ret_value <= field->high;
}

/** A star, a value or a range of them, and perhaps steps: one item of a list. */
static bool take_item(const struct cron_field *field, const char **at)
{
    long low = field->low;
    long high = field->high;
    bool is_last_day = field->high == 31 && (**at == 'l' || **at == 'L');
    if (**at == '*' || is_last_day) {
        *at += 1;
    } else {
        if (!take_value(field, at, &low)) {
            return false;
        }
        if (**at == '-') {
            *at += 1;
            if (!take_value(field, at, &high)) {
                return false;
            }
        }
    }
    if (**at == '/') {
        *at += 1;
        size_t digits = strspn(*at, "0123456789");
        if (digits == 0 || digits > 4 || strtol(*at, NULL, 10) == 0) {
            return false;
        }
        *at += digits;
    }
    return true;
}

static bool take_field(const struct cron_field *field, const char **at)
{
    do {
        if (!take_item(field, at)) {
            return false;
        }
    } while (*(*at)++ == ',');
    *at -= 1;
    return **at == '\0' || ascii_is_space(**at);
}

const char *cron_problem(const char *text)
{
    const char *at = text + strspn(text, " \t");
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        if (*at == '\0') {
            return "it has fewer than five fields";
        }
        if (!take_field(&fields[i], &at)) {
            return fields[i].problem;
        }
        at += strspn(at, " \t");
    }
    return *at == '\0' ? NULL : "it has more than five fields";
}
