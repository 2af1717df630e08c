// SPDX-License-Identifier: Apache-2.0
/* The table of exit codes. Those of final statuses come from base/status.c. */
#include "cli/framework/exit_codes.h"

#include "base/status.h"
#include "rondo/error.h"

static const struct exit_code_row own_rows[] = {
    {EXIT_OTHER, "failure", "a failure without a code of its own"},
    {EXIT_USAGE, "usage",
     "an option, argument or input is invalid, or the requested sandbox is not available; nothing "
     "was executed"},
    {EXIT_HELD, "held", "another process executes the run (or the exclusive agent)"},
    {EXIT_STORE, "store", "the store cannot be read or written, or is corrupt"},
    {EXIT_WAITING, "waiting",
     "the run waits for the decision of a person: `rondo inbox`; `rondo resume` continues it"},
};
#define OWN_COUNT (sizeof(own_rows) / sizeof(own_rows[0]))

/** Row in the order of the tables: statuses without `running`, then our own. */
static struct exit_code_row unsorted_row(size_t index)
{
    size_t statuses = RONDO_STATUS_COUNT - 1;
    if (index >= statuses) {
        return own_rows[index - statuses];
    }
    enum rondo_status status = (enum rondo_status)(index + 1);
    return (struct exit_code_row){rondo_status_exit_code(status), rondo_status_name(status),
                                  status_meaning(status)};
}

bool exit_code_row(size_t index, struct exit_code_row *ret_row)
{
    size_t count = RONDO_STATUS_COUNT - 1 + OWN_COUNT;
    for (size_t i = 0; i < count; i++) {
        struct exit_code_row row = unsorted_row(i);
        size_t before = 0;
        for (size_t j = 0; j < count; j++) {
            int other = unsorted_row(j).code;
            before += other < row.code || (other == row.code && j < i);
        }
        if (before == index) {
            *ret_row = row;
            return true;
        }
    }
    return false;
}

static const struct {
    int code;
    int exit_code;
} errors[] = {
    {RONDO_ERR_INVALID, EXIT_USAGE},     {RONDO_ERR_NOT_FOUND, EXIT_USAGE},
    {RONDO_ERR_LIMIT, EXIT_USAGE},       {RONDO_ERR_STATE, EXIT_USAGE},
    {RONDO_ERR_UNSUPPORTED, EXIT_USAGE}, {RONDO_ERR_BUSY, EXIT_HELD},
    {RONDO_ERR_FENCED, EXIT_HELD},       {RONDO_ERR_IO, EXIT_STORE},
    {RONDO_ERR_FULL, EXIT_STORE},        {RONDO_ERR_CORRUPT, EXIT_STORE},
    {RONDO_ERR_VERSION, EXIT_STORE},     {RONDO_ERR_CANCELLED, EXIT_ABORTED},
    {RONDO_ERR_DENIED, EXIT_USAGE},
};

int exit_code_of_error(int code)
{
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        if (errors[i].code == code) {
            return errors[i].exit_code;
        }
    }
    return EXIT_OTHER;
}

void exit_codes_describe(struct buf *ret_buf)
{
    buf_append_string(ret_buf, "| code | name | meaning |\n|---|---|---|\n");
    struct exit_code_row row;
    for (size_t i = 0; exit_code_row(i, &row); i++) {
        buf_printf(ret_buf, "| %d | `%s` | %s |\n", row.code, row.name, row.meaning);
    }
}
