// SPDX-License-Identifier: Apache-2.0
/* What a store in a database has on this machine, and that its password is not in it. */
#include "store/locate/database.h"

#include "../support.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/memory.h"
#include "os/file.h"
#include "os/file_folder.h"
#include "store/locate/locate.h"
#include "store/place.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ADDRESS "postgresql://me:sesame@db.example:5433/rondo?sslmode=require"
#define SHOWN   "postgresql://me@db.example:5433/rondo?sslmode=require"

static int enter(void **state)
{
    *state = test_folder_new();
    setenv("XDG_STATE_HOME", *state, 1);
    return 0;
}

static int leave(void **state)
{
    file_remove_tree(*state, NULL);
    free(*state);
    return 0;
}

#define CASE(name) TEST_WITH(name, enter, leave)

static char *place(const char *address)
{
    char *path = NULL;
    struct rondo_error err = {0};
    assert_int_equal(store_database_place(address, &path, &err), 0);
    assert_non_null(path);
    return path;
}

CASE(a_place_is_private_and_in_the_state_folder)
{
    auto_free char *path = place(ADDRESS);
    struct stat status;
    assert_true(store_is_in_database(path));
    assert_true(store_is_in_state(path));
    assert_false(store_is_in_database("/srv/rondo.db"));
    *strrchr(path, '/') = '\0';
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0700);
}

CASE(what_people_see_is_the_address_without_its_password)
{
    auto_free char *path = place(ADDRESS);
    auto_free char *name = store_name_of(path);
    auto_buf struct buf text = {0};
    assert_string_equal(name, SHOWN);
    assert_int_equal(file_read(path, 1000, &text, NULL), 0);
    assert_null(strstr(buf_string(&text), "sesame"));
    assert_null(store_name_of(NULL));
}

CASE(another_password_is_the_same_place_and_another_database_is_not)
{
    auto_free char *one = place(ADDRESS);
    auto_free char *same = place("postgresql://me:new@db.example:5433/rondo?sslmode=require");
    auto_free char *other = place("postgresql://me:sesame@db.example:5433/other?sslmode=require");
    assert_string_equal(one, same);
    assert_string_not_equal(one, other);
}

CASE(hand_over_files_are_in_the_place)
{
    auto_free char *path = NULL;
    assert_int_equal(store_locate(ADDRESS, false, &path, NULL), 0);
    auto_free char *work = store_work_folder(path);
    size_t len = (size_t)(strrchr(path, '/') - path);
    assert_memory_equal(work, path, len);
    assert_string_equal(work + len, "/work");
}

static void assert_refused(const char *address, int code)
{
    char *path = NULL;
    struct rondo_error err = {0};
    assert_int_equal(store_locate(address, true, &path, &err), code);
    assert_null(strstr(err.message, "sesame"));
    assert_null(path);
}

CASE(a_refused_address_is_not_repeated)
{
    assert_refused("postgresql://me:sesame@db.example/x y", RONDO_ERR_INVALID);
    assert_refused("postgresql://me:sesame@db.example/x\n", RONDO_ERR_INVALID);
    assert_refused("postgresql://me:sesame@db.example/'", RONDO_ERR_INVALID);
    assert_refused("mysql://me:sesame@db.example/x", RONDO_ERR_INVALID);
    assert_refused("POSTGRESQL://me:sesame@db.example/x", RONDO_ERR_INVALID);
}

static void assert_credentials(const char *address, const char *first, const char *second,
                               const char *third)
{
    auto_free char *path = place(address);
    char **files = store_database_credentials(path);
    assert_string_equal(files[0], first);
    assert_string_equal(files[1], second);
    assert_string_equal(files[2], third);
    assert_null(files[3]);
    memory_free_list(files);
}

CASE(files_that_open_it_are_those_of_the_address_the_environment_and_the_home)
{
    setenv("HOME", "/home/me", 1);
    unsetenv("PGPASSFILE");
    unsetenv("PGSERVICEFILE");
    unsetenv("PGSSLKEY");
    assert_credentials(ADDRESS, "/home/me/.pgpass", "/home/me/.pg_service.conf",
                       "/home/me/.postgresql/postgresql.key");
    setenv("PGPASSFILE", "/etc/a", 1);
    setenv("PGSERVICEFILE", "/etc/b", 1);
    assert_credentials(ADDRESS "&passfile=/etc/%70ass&sslkey=/etc/key", "/etc/pass", "/etc/b",
                       "/etc/key");
    assert_credentials(ADDRESS "&passfile=/etc/one&pass%66ile=/etc/pass&servicefile=/etc/c",
                       "/etc/pass", "/etc/c", "/home/me/.postgresql/postgresql.key");
    assert_credentials("postgresql://m?passfile=e@db.example/rondo?passfile=/etc/pass", "/etc/pass",
                       "/etc/b", "/home/me/.postgresql/postgresql.key");
    assert_credentials(ADDRESS, "/etc/a", "/etc/b", "/home/me/.postgresql/postgresql.key");
    unsetenv("PGPASSFILE");
    unsetenv("PGSERVICEFILE");
}

CASE(an_address_has_a_maximum_size)
{
    auto_free char *address = calloc(1, LIMIT_STORE_ADDRESS_BYTES + 2);
    memset(address, 'a', LIMIT_STORE_ADDRESS_BYTES);
    memcpy(address, ADDRESS, strlen(ADDRESS));
    auto_free char *path = place(address);
    auto_free char *name = store_name_of(path);
    assert_int_equal(strlen(name), LIMIT_STORE_ADDRESS_BYTES - strlen(":sesame"));
    address[LIMIT_STORE_ADDRESS_BYTES] = 'a';
    assert_refused(address, RONDO_ERR_LIMIT);
}
