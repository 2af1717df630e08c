// SPDX-License-Identifier: Apache-2.0
/*
 * Where the files of a database's store are.
 *
 * all opens: below the state folder, which no agent reaches.
 */
#include "store/locate/database.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/memory.h"
#include "os/file.h"
#include "os/state_folder.h"
#include "store/place.h"
#include "store/postgres/postgres.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/** Digits of the hash in the folder's name. */
#define HASH_LEN 24

const char *const store_database_variables[] = {
    "RONDO_STORE",   "PGPASSWORD", "PGPASSFILE", "PGSERVICE",
    "PGSERVICEFILE", "PGSSLKEY",   "PGSSLCERT",  NULL,
};

char *store_database_show(const char *address)
{
    return store_postgres_show(address);
}

bool store_database_is_address(const char *text)
{
    return store_postgres_is_address(text);
}

/* ---- What opens it --------------------------------------------------------------------------- */

static const struct {
    const char *parameter; /* of the address */
    const char *variable;
    const char *in_home;
} credentials[] = {
    {"passfile", "PGPASSFILE", "/.pgpass"},
    {"servicefile", "PGSERVICEFILE", "/.pg_service.conf"},
    {"sslkey", "PGSSLKEY", "/.postgresql/postgresql.key"},
};

/** Where one of the files is; owned. NULL = nowhere, or by a relative path. */
static char *find_credential(const char *address, size_t i)
{
    const char *home = getenv("HOME");
    const char *named = getenv(credentials[i].variable);
    char *given = store_postgres_parameter(address, credentials[i].parameter);
    struct buf path = {0};
    if (given == NULL && named == NULL && home != NULL) {
        buf_printf(&path, "%s%s", home, credentials[i].in_home);
        given = buf_steal(&path);
    } else if (given == NULL) {
        given = memory_dup_string(named);
    }
    if (given != NULL && given[0] != '/') {
        free(given);
        given = NULL;
    }
    return given;
}

char **store_database_credentials(const char *store_path)
{
    size_t count = sizeof(credentials) / sizeof(credentials[0]);
    char **paths = memory_new_zero(count + 1, sizeof(*paths));
    auto_free char *address = store_name_of(store_path);
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        char *path = find_credential(address, i);
        if (path != NULL) {
            paths[found++] = path;
        }
    }
    return paths;
}

/* ---- The place --------------------------------------------------------------------------------
 */

/** Refuse what would not be one line of plain text. Says nothing of the address: it may be secret.
 */
static int check(const char *address, struct rondo_error *err)
{
    if (strlen(address) > LIMIT_STORE_ADDRESS_BYTES) {
        return error_set(err, RONDO_ERR_LIMIT, "the store's address has more than %ld bytes",
                         LIMIT_STORE_ADDRESS_BYTES);
    }
    for (const char *c = address; *c != '\0'; c++) {
        if ((unsigned char)*c <= ' ' || *c == '\x7f' || *c == '\'') {
            return error_set(err, RONDO_ERR_INVALID,
                             "the store's address has a blank, a quote or a control character; "
                             "write it as %%XX");
        }
    }
    return 0;
}

static char *folder_of(const char *databases, const char *shown)
{
    unsigned char bytes[DIGEST_SIZE];
    char hex[DIGEST_HEX_SIZE];
    struct buf folder = {0};
    struct digest digest = digest_begin();
    digest_add(&digest, shown, strlen(shown));
    digest_finish(&digest, bytes);
    digest_hex(bytes, hex);
    buf_printf(&folder, "%s/%.*s", databases, HASH_LEN, hex);
    return buf_steal(&folder);
}

int store_database_place(const char *address, char **ret_path, struct rondo_error *err)
{
    auto_free char *databases = NULL;
    int r = check(address, err);
    r = r < 0 ? r : state_sub_folder(STATE_DATABASES, &databases, err);
    if (r < 0) {
        return r;
    }
    auto_free char *shown = store_postgres_show(address);
    auto_free char *folder = folder_of(databases, shown);
    auto_buf struct buf path = {0};
    buf_printf(&path, "%s/" STORE_ADDRESS_NAME, folder);
    r = file_make_folder(folder, err);
    if (r == 0 && !file_exists(buf_string(&path))) {
        auto_buf struct buf line = {0};
        buf_printf(&line, "%s\n", shown);
        r = file_replace_record(buf_string(&path), line.data, line.len, err);
    }
    if (r < 0) {
        return r;
    }
    char *real = realpath(buf_string(&path), NULL);
    if (real == NULL) {
        return error_set_errno(err, RONDO_ERR_IO, errno, "cannot find %s", buf_string(&path));
    }
    *ret_path = real;
    return 0;
}
