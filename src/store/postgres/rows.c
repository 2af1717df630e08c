// SPDX-License-Identifier: Apache-2.0
/*
 * How PostgreSQL gives the columns of a row to what checks them, in its binary form, and answers of
 * one row. Texts are bytes in most columns; libpq puts a NUL after both. Pure functions; any
 * thread.
 */
#include "base/error.h"
#include "store/postgres/internal.h"

#include <string.h>

static const struct pq_library *library_of(const struct checked_row *row)
{
    return &((const struct postgres_store *)row->store)->pq;
}

static bool is_null(const struct checked_row *row, int column)
{
    return library_of(row)->getisnull(row->answer, row->index, column) != 0;
}

static size_t length_of(const struct checked_row *row, int column)
{
    int len = library_of(row)->getlength(row->answer, row->index, column);
    return len > 0 ? (size_t)len : 0;
}

static const char *value_of(const struct checked_row *row, int column)
{
    const char *value = library_of(row)->getvalue(row->answer, row->index, column);
    return value != NULL ? value : "";
}

static bool get_number(const struct checked_row *row, int column, int64_t *ret_number)
{
    if (length_of(row, column) != 8) {
        return false; /* Or it is null. */
    }
    const unsigned char *bytes = (const unsigned char *)value_of(row, column);
    uint64_t number = 0;
    for (int i = 0; i < 8; i++) {
        number = number << 8 | bytes[i];
    }
    *ret_number = (int64_t)number;
    return true;
}

static bool get_flag(const struct checked_row *row, int column, bool *ret_flag)
{
    *ret_flag = length_of(row, column) == 1 && value_of(row, column)[0] == 1;
    return length_of(row, column) == 1;
}

static bool get_real(const struct checked_row *row, int column, double *ret_real)
{
    int64_t bits = 0;
    bool is_real = get_number(row, column, &bits);
    memcpy(ret_real, &bits, sizeof(*ret_real));
    return is_real;
}

static bool get_bytes(const struct checked_row *row, int column, bool is_text,
                      const char **ret_bytes, size_t *ret_len)
{
    (void)is_text;
    *ret_bytes = value_of(row, column);
    *ret_len = length_of(row, column);
    return !is_null(row, column);
}

static const char *get_name(const struct checked_row *row, int column)
{
    return library_of(row)->fname(row->answer, column);
}

static const struct checked_row_ops ops = {is_null,  get_number, get_flag,
                                           get_real, get_bytes,  get_name};

struct checked_row postgres_row(const struct postgres_store *store, const PGresult *result, int row)
{
    return (struct checked_row){.ops = &ops,
                                .place = store->address.shown,
                                .store = store,
                                .answer = (void *)result,
                                .index = row,
                                .bad_column = -1};
}

int64_t postgres_number(const struct checked_row *row, int column)
{
    int64_t number = 0;
    return get_number(row, column, &number) ? number : 0;
}

bool postgres_flag(const struct checked_row *row, int column)
{
    bool flag = false;
    return get_flag(row, column, &flag) && flag;
}

/** Whether a column has what postgres_check_answer() names. */
static bool is_of_type(const struct checked_row *row, int column, char type)
{
    size_t len = length_of(row, column);
    if (is_null(row, column)) {
        return false;
    }
    return type == 't' || (type == 'f' && len == 1) ||
           (type == 'n' && len == 8 && postgres_number(row, column) >= 0);
}

int postgres_check_answer(const struct checked_row *row, const char *types, const char *doing,
                          struct rondo_error *err)
{
    const struct pq_library *pq = library_of(row);
    int count = (int)strlen(types);
    bool is_right = pq->ntuples(row->answer) == 1 && pq->nfields(row->answer) >= count;
    for (int i = 0; is_right && i < count; i++) {
        is_right = is_of_type(row, i, types[i]);
    }
    if (is_right) {
        return 0;
    }
    return error_set(err, RONDO_ERR_CORRUPT,
                     "cannot %s: %s is damaged, its tables or functions were changed (an answer is "
                     "not what Rondo's give); restore a backup",
                     doing, row->place);
}

/** The column after those of a run: the time of the store. */
#define RUN_NOW 24

/**
 * When a lease ends by the clock of this machine, with which the layers above compare it: the clock
 * of the server may differ. A test's clock is that of both.
 */
static int64_t lease_end(const struct checked_row *row, int64_t end, int now_column)
{
    const struct postgres_store *store = row->store;
    if (end == 0 || store->clock != NULL) {
        return end;
    }
    int64_t now = postgres_number(row, now_column);
    int64_t left = end - (now > 0 ? now : 0);
    int64_t here = clock_now(clock_system());
    if (left > INT64_MAX - 1 - here) {
        return INT64_MAX - 1;
    }
    return left > -here ? here + left : 1;
}

int postgres_row_run(const struct checked_row *row, int first, struct store_run *ret_run,
                     int64_t *ret_key, struct rondo_error *err)
{
    int r = row_run(*row, first, ret_run, ret_key, err);
    ret_run->lease_until_ns = lease_end(row, ret_run->lease_until_ns, first + RUN_NOW);
    return r;
}
