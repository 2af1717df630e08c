// SPDX-License-Identifier: Apache-2.0
/* `.env`: the format, where files are looked for, and variables in texts. */
#include "../asking.h"

#include "model/key/dotenv.h"
#include "model/key/environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *value_of(const struct dotenv *dotenv, const char *name)
{
    for (size_t i = 0; i < dotenv->count; i++) {
        if (strcmp(dotenv->entries[i].name, name) == 0) {
            return dotenv->entries[i].value;
        }
    }
    return NULL;
}

TEST(a_line_is_read_by_the_rules_of_python_dotenv)
{
    static const struct {
        const char *text, *name, *value; /* NULL = not bound */
    } cases[] = {
        {"a=b", "a", "b"},
        {"a = b ", "a", "b"},
        {"  a=b", "a", "b"},
        {"export a=b", "a", "b"},
        {"export\ta='b'", "a", "b"},
        {"exporta=b", "exporta", "b"},
        {"export=b", "export", "b"},
        {"'a b'=c", "a b", "c"},
        {"a=b # note", "a", "b"},
        {"a=b#c", "a", "b#c"},
        {"a= #c", "a", "#c"},
        {"a=b c", "a", "b c"},
        {"a=", "a", ""},
        {"a", "a", NULL},
        {"#a=b", "a", NULL},
        {"a=''", "a", ""},
        {"a='b\\'c'", "a", "b'c"},
        {"a='b\\nc'", "a", "b\\nc"},
        {"a=\"b\\nc\"", "a", "b\nc"},
        {"a=\"b\\\"c\"", "a", "b\"c"},
        {"a=\"\\t\\x\\\\\"", "a", "\t\\x\\"},
        {"a=\"b # c\" # d", "a", "b # c"},
        {"a='b' c", "a", NULL},
        {"a='b\nc'", "a", "b\nc"},
        {"a=\"b\nc\nd\"\ne=f", "a", "b\nc\nd"},
        {"a=\"b\nc\nd\"\ne=f", "e", "f"},
        {"a='b\nc=d", "a", NULL},
        {"a='b\nc=d", "c", "d"},
        {"a=b\r\nc=d\r\n", "a", "b"},
        {"a=b\rc=d", "c", "d"},
        {"a=b\na=c", "a", "c"},
        {"a=b\na", "a", NULL},
        {"a=b\na\na=c", "a", "c"},
        {"=b\nc=d", "c", "d"},
        {"a=\"b\\\\\"", "a", "b\\"},
        {"a=\xc3\xa4", "a", "\xc3\xa4"},
        {"\xef\xbb\xbf"
         "a=b",
         "a", "b"},
        {"a=b=c", "a", "b=c"},
        {"a=\"b", "a", NULL},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct dotenv dotenv = {0};
        dotenv_parse(&dotenv, cases[i].text, strlen(cases[i].text));
        const char *value = value_of(&dotenv, cases[i].name);
        if ((value == NULL) != (cases[i].value == NULL) ||
            (value != NULL && strcmp(value, cases[i].value) != 0)) {
            fail_msg("case %zu, %s: %s instead of %s", i, cases[i].text, value, cases[i].value);
        }
        dotenv_fini(&dotenv);
    }
}

TEST(variables_in_values_are_replaced)
{
    static const struct {
        const char *text, *value;
    } cases[] = {
        {"x=1\na=${x}", "1"},
        {"x=1\na='${x}'", "1"},
        {"x=1\na=\"<${x}>\"", "<1>"},
        {"a=${RONDO_TEST_SET}", "process"},
        {"RONDO_TEST_SET=file\na=${RONDO_TEST_SET}", "process"},
        {"a=${RONDO_TEST_UNSET}", ""},
        {"a=${RONDO_TEST_UNSET:-other}", "other"},
        {"a=${RONDO_TEST_UNSET:-}", ""},
        {"a=${RONDO_TEST_SET:-other}", "process"},
        {"a=$RONDO_TEST_SET", "$RONDO_TEST_SET"},
        {"a=${x", "${x"},
        {"a=${x:y}", "${x:y}"},
        {"a=${x:-y", "${x:-y"},
        {"a=$", "$"},
        {"a=${}", ""},
    };
    setenv("RONDO_TEST_SET", "process", 1);
    unsetenv("RONDO_TEST_UNSET");
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct dotenv dotenv = {0};
        dotenv_parse(&dotenv, cases[i].text, strlen(cases[i].text));
        assert_string_equal(value_of(&dotenv, "a"), cases[i].value);
        dotenv_fini(&dotenv);
    }
}

TEST(values_that_double_each_other_stop_growing)
{
    struct dotenv dotenv = {0};
    struct buf text = {0};
    buf_append_string(&text, "v0=0123456789abcdef\n");
    for (int i = 1; i < 64; i++) {
        buf_printf(&text, "v%d=${v%d}${v%d}\n", i, i - 1, i - 1);
    }
    dotenv_parse(&dotenv, text.data, text.len);
    assert_int_equal(strlen(value_of(&dotenv, "v11")), 32768);
    assert_int_equal(strlen(value_of(&dotenv, "v12")), DOTENV_VALUE_MAX_BYTES);
    assert_int_equal(strlen(value_of(&dotenv, "v63")), DOTENV_VALUE_MAX_BYTES);
    dotenv_fini(&dotenv);
    buf_fini(&text);
}

TEST(a_file_binds_1000_names_at_most)
{
    struct dotenv dotenv = {0};
    struct buf text = {0};
    for (int i = 1; i <= DOTENV_MAX_ENTRIES + 1; i++) {
        buf_printf(&text, "v%d=%d\n", i, i);
    }
    dotenv_parse(&dotenv, text.data, text.len);
    assert_string_equal(value_of(&dotenv, "v1000"), "1000");
    assert_null(value_of(&dotenv, "v1001"));
    dotenv_fini(&dotenv);
    buf_fini(&text);
}

/** Write a file into a folder. */
static void write_file(const char *folder, const char *name, const char *text)
{
    struct buf path = {0};
    buf_printf(&path, "%s/%s", folder, name);
    FILE *file = fopen(buf_string(&path), "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    buf_fini(&path);
}

/** Three folders: a role's, a home, and a data folder. */
struct dotenv_folders {
    char folder[64];
    char home[64];
    char data[64];
};

static int set_up(void **state)
{
    struct dotenv_folders *place = calloc(1, sizeof(*place));
    char *const names[] = {place->folder, place->home, place->data};
    for (size_t i = 0; i < COUNT(names); i++) {
        snprintf(names[i], sizeof(place->folder), "/tmp/rondo-test-env-XXXXXX");
        assert_non_null(mkdtemp(names[i]));
    }
    setenv("HOME", place->home, 1);
    unsetenv("INITRUNNER_HOME");
    unsetenv("XDG_DATA_HOME");
    unsetenv("RONDO_TEST_A");
    unsetenv("RONDO_TEST_B");
    *state = place;
    return 0;
}

static int tear_down(void **state)
{
    struct dotenv_folders *place = *state;
    struct buf command = {0};
    char *const names[] = {place->folder, place->home, place->data};
    static const char *const files[] = {"/.env",        "/.initrunner/.env", "/initrunner/.env",
                                        "/.initrunner", "/initrunner",       ""};
    for (size_t i = 0; i < COUNT(names); i++) {
        for (size_t j = 0; j < COUNT(files); j++) {
            buf_clear(&command);
            buf_printf(&command, "%s%s", names[i], files[j]);
            remove(buf_string(&command));
        }
    }
    buf_fini(&command);
    free(place);
    return 0;
}

static void make_home_file(const char *base, const char *folder, const char *text)
{
    struct buf path = {0};
    buf_printf(&path, "%s/%s", base, folder);
    assert_int_equal(mkdir(buf_string(&path), 0700), 0);
    write_file(buf_string(&path), ".env", text);
    buf_fini(&path);
}

TEST_WITH(the_process_wins_over_the_folder_and_the_folder_over_the_home, set_up, tear_down)
{
    struct dotenv_folders *place = *state;
    struct dotenv *dotenv = NULL;
    setenv("RONDO_TEST_SET", "process", 1);
    write_file(place->folder, ".env", "RONDO_TEST_SET=folder\nRONDO_TEST_A=folder\n");
    make_home_file(place->home, ".initrunner",
                   "RONDO_TEST_A=home\nRONDO_TEST_B=home-${RONDO_TEST_A}\n");
    assert_int_equal(dotenv_read(place->folder, &dotenv, NULL), 0);
    assert_string_equal(dotenv_get(dotenv, "RONDO_TEST_SET"), "process");
    assert_string_equal(dotenv_get(dotenv, "RONDO_TEST_A"), "folder");
    assert_string_equal(dotenv_get(dotenv, "RONDO_TEST_B"), "home-folder");
    assert_null(dotenv_get(dotenv, "RONDO_TEST_C"));
    dotenv_free(dotenv);
    assert_int_equal(dotenv_read(NULL, &dotenv, NULL), 0);
    assert_string_equal(dotenv_get(dotenv, "RONDO_TEST_A"), "home");
    dotenv_free(dotenv);
}

TEST_WITH(the_home_is_where_initrunner_has_it, set_up, tear_down)
{
    struct dotenv_folders *place = *state;
    struct dotenv *dotenv = NULL;
    make_home_file(place->home, ".initrunner", "RONDO_TEST_A=home\n");
    make_home_file(place->data, "initrunner", "RONDO_TEST_A=data\n");
    write_file(place->folder, ".env", "RONDO_TEST_A=own\n");
    setenv("XDG_DATA_HOME", place->data, 1);
    assert_int_equal(dotenv_read(NULL, &dotenv, NULL), 0);
    assert_string_equal(dotenv_get(dotenv, "RONDO_TEST_A"), "data");
    dotenv_free(dotenv);
    setenv("INITRUNNER_HOME", place->folder, 1);
    assert_int_equal(dotenv_read(NULL, &dotenv, NULL), 0);
    assert_string_equal(dotenv_get(dotenv, "RONDO_TEST_A"), "own");
    dotenv_free(dotenv);
}

TEST_WITH(files_that_are_absent_are_no_error, set_up, tear_down)
{
    struct dotenv_folders *place = *state;
    struct dotenv *dotenv = NULL;
    assert_int_equal(dotenv_read(place->folder, &dotenv, NULL), 0);
    assert_null(dotenv_get(dotenv, "RONDO_TEST_A"));
    dotenv_free(dotenv);
}

TEST_WITH(a_file_of_a_megabyte_is_read_and_a_larger_one_refused, set_up, tear_down)
{
    struct dotenv_folders *place = *state;
    struct dotenv *dotenv = NULL;
    struct rondo_error err = {0};
    char *text = malloc(DOTENV_FILE_MAX_BYTES + 2);
    memset(text, '\n', DOTENV_FILE_MAX_BYTES + 1);
    text[DOTENV_FILE_MAX_BYTES] = '\0';
    memcpy(text, "RONDO_TEST_A=1", 14);
    write_file(place->folder, ".env", text);
    assert_int_equal(dotenv_read(place->folder, &dotenv, &err), 0);
    assert_string_equal(dotenv_get(dotenv, "RONDO_TEST_A"), "1");
    dotenv_free(dotenv);
    text[DOTENV_FILE_MAX_BYTES] = '\n';
    text[DOTENV_FILE_MAX_BYTES + 1] = '\0';
    write_file(place->folder, ".env", text);
    assert_int_equal(dotenv_read(place->folder, &dotenv, &err), RONDO_ERR_LIMIT);
    free(text);
}

TEST_WITH(variables_in_a_text_are_replaced_where_they_are_set, set_up, tear_down)
{
    struct dotenv_folders *place = *state;
    struct dotenv *dotenv = NULL;
    struct buf text = {0};
    write_file(place->folder, ".env", "RONDO_TEST_A=one\n");
    assert_int_equal(dotenv_read(place->folder, &dotenv, NULL), 0);
    dotenv_expand(dotenv,
                  "$RONDO_TEST_A-${RONDO_TEST_A}x $RONDO_TEST_B ${RONDO_TEST_B} $ ${ $$ "
                  "${}",
                  &text);
    assert_string_equal(buf_string(&text), "one-onex $RONDO_TEST_B ${RONDO_TEST_B} $ ${ $$ ${}");
    buf_fini(&text);
    dotenv_free(dotenv);
}
