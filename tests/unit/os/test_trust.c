// SPDX-License-Identifier: Apache-2.0
/* Confirmations: a file counts while it is what was confirmed, and records cannot be forged. */
#include "os/file_folder.h"
#include "os/trust.h"

#include "base/limits.h"
#include "helper.h"
#include "os/state_folder.h"

#include <dirent.h>
#include <sys/stat.h>

static char state_path[PATH_MAX];
static char project[PATH_MAX];

static int set_up(void **context)
{
    (void)context;
    scratch_make(state_path);
    scratch_make(project);
    setenv("XDG_STATE_HOME", state_path, 1);
    scratch_write(project, "rondo.yaml", "mcp_servers: {}\n");
    return 0;
}

static int tear_down(void **context)
{
    (void)context;
    scratch_remove(state_path);
    scratch_remove(project);
    return 0;
}

static const char *in_project(const char *name)
{
    static char path[2 * PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", project, name);
    return path;
}

static enum trust_verdict look(enum trust_kind kind, const char *path, const char *text)
{
    enum trust_verdict verdict = TRUST_UNKNOWN;
    assert_int_equal(trust_look(kind, path, text, strlen(text), &verdict, NULL), 0);
    return verdict;
}

static void confirm(enum trust_kind kind, const char *path, const char *text)
{
    assert_int_equal(trust_confirm(kind, path, text, strlen(text), NULL), 0);
}

/** The only record there is. */
static void record_path(char ret_path[2 * PATH_MAX])
{
    char folder[PATH_MAX + 32];
    snprintf(folder, sizeof(folder), "%s/rondo/trust", state_path);
    DIR *records = opendir(folder);
    assert_non_null(records);
    struct dirent *entry;
    ret_path[0] = '\0';
    while ((entry = readdir(records)) != NULL) {
        if (entry->d_name[0] != '.') {
            snprintf(ret_path, 2 * PATH_MAX, "%s/%s", folder, entry->d_name);
        }
    }
    closedir(records);
    assert_string_not_equal(ret_path, "");
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

CASE(what_nobody_confirmed_is_unknown)
{
    assert_int_equal(look(TRUST_CONFIG, in_project("rondo.yaml"), "a"), TRUST_UNKNOWN);
}

CASE(confirmed_bytes_count_and_others_have_changed)
{
    confirm(TRUST_CONFIG, in_project("rondo.yaml"), "a");
    assert_int_equal(look(TRUST_CONFIG, in_project("rondo.yaml"), "a"), TRUST_CONFIRMED);
    assert_int_equal(look(TRUST_CONFIG, in_project("rondo.yaml"), "b"), TRUST_CHANGED);
    assert_int_equal(look(TRUST_CONFIG, in_project("rondo.yaml"), ""), TRUST_CHANGED);
    confirm(TRUST_CONFIG, in_project("rondo.yaml"), "b");
    assert_int_equal(look(TRUST_CONFIG, in_project("rondo.yaml"), "a"), TRUST_CHANGED);
}

CASE(a_confirmation_counts_for_its_kind_and_path_only)
{
    confirm(TRUST_CONFIG, in_project("rondo.yaml"), "a");
    assert_int_equal(look(TRUST_ROLE, in_project("rondo.yaml"), "a"), TRUST_UNKNOWN);
    assert_int_equal(look(TRUST_CONFIG, in_project("other.yaml"), "a"), TRUST_UNKNOWN);
}

CASE(a_path_is_known_by_all_its_names)
{
    confirm(TRUST_CONFIG, in_project("rondo.yaml"), "a");
    assert_int_equal(symlink(project, in_project("link")), 0);
    assert_int_equal(look(TRUST_CONFIG, in_project("link/./rondo.yaml"), "a"), TRUST_CONFIRMED);
}

CASE(an_absent_file_can_be_looked_up)
{
    confirm(TRUST_POLICY, in_project("rondo.yaml"), "a");
    unlink(in_project("rondo.yaml"));
    assert_int_equal(look(TRUST_POLICY, in_project("rondo.yaml"), ""), TRUST_CHANGED);
}

CASE(a_removed_folder_takes_no_confirmation_along)
{
    assert_int_equal(mkdir(in_project("sub"), 0700), 0);
    assert_int_equal(mkdir(in_project("sub/deep"), 0700), 0);
    assert_int_equal(file_replace_durably(in_project("sub/deep/x"), "", 0, NULL), 0);
    confirm(TRUST_POLICY, in_project("sub/deep/x"), "a");
    assert_int_equal(file_remove_tree(in_project("sub"), NULL), 0);
    assert_int_equal(look(TRUST_POLICY, in_project("sub/deep/x"), ""), TRUST_CHANGED);
    assert_int_equal(symlink("nowhere", in_project("sub")), 0);
    assert_int_equal(look(TRUST_POLICY, in_project("sub/deep/x"), ""), TRUST_CHANGED);
    unlink(in_project("sub"));
    scratch_write(project, "sub", "a file");
    assert_int_equal(look(TRUST_POLICY, in_project("sub/deep/x"), ""), TRUST_CHANGED);
}

CASE(a_record_that_others_could_write_is_none)
{
    char record[2 * PATH_MAX];
    confirm(TRUST_CONFIG, in_project("rondo.yaml"), "a");
    record_path(record);
    assert_int_equal(chmod(record, 0620), 0);
    assert_int_equal(look(TRUST_CONFIG, in_project("rondo.yaml"), "a"), TRUST_UNKNOWN);
}

CASE(a_record_that_is_a_link_is_none)
{
    char record[2 * PATH_MAX];
    confirm(TRUST_CONFIG, in_project("rondo.yaml"), "a");
    record_path(record);
    assert_int_equal(rename(record, in_project("moved")), 0);
    assert_int_equal(symlink(in_project("moved"), record), 0);
    assert_int_equal(look(TRUST_CONFIG, in_project("rondo.yaml"), "a"), TRUST_UNKNOWN);
    unlink(record);
    assert_int_equal(link(in_project("moved"), record), 0);
    assert_int_equal(look(TRUST_CONFIG, in_project("rondo.yaml"), "a"), TRUST_UNKNOWN);
}

CASE(a_damaged_or_misplaced_record_is_none)
{
    static const char *const texts[] = {
        "", "{", "[]", "{\"format\":1}", "{\"format\":2,\"kind\":\"config\"}", "null",
    };
    char record[2 * PATH_MAX];
    confirm(TRUST_CONFIG, in_project("rondo.yaml"), "a");
    record_path(record);
    for (size_t i = 0; i < COUNT(texts); i++) {
        assert_int_equal(file_replace_durably(record, texts[i], strlen(texts[i]), NULL), 0);
        assert_int_equal(look(TRUST_CONFIG, in_project("rondo.yaml"), "a"), TRUST_UNKNOWN);
    }
    unlink(record);
    confirm(TRUST_CONFIG, in_project("other.yaml"), "a");
    char other[2 * PATH_MAX];
    record_path(other);
    assert_int_equal(rename(other, record), 0);
    assert_int_equal(look(TRUST_CONFIG, in_project("rondo.yaml"), "a"), TRUST_UNKNOWN);
}

CASE(a_record_is_private_and_has_a_size_limit)
{
    char record[2 * PATH_MAX];
    struct stat status;
    confirm(TRUST_CONFIG, in_project("rondo.yaml"), "a");
    record_path(record);
    assert_int_equal(stat(record, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    FILE *file = fopen(record, "ae");
    assert_non_null(file);
    for (long size = status.st_size; size < LIMIT_TRUST_RECORD_BYTES; size++) {
        fputc(' ', file);
    }
    fflush(file);
    assert_int_equal(look(TRUST_CONFIG, in_project("rondo.yaml"), "a"), TRUST_CONFIRMED);
    fputc(' ', file);
    fclose(file);
    assert_int_equal(look(TRUST_CONFIG, in_project("rondo.yaml"), "a"), TRUST_UNKNOWN);
}

static bool count_record(void *context, const struct trust_record *record)
{
    int *count = context;
    assert_int_equal(record->kind, TRUST_ROLE);
    assert_true(record->confirmed_ns > 0);
    ++*count;
    return true;
}

CASE(forgotten_records_are_gone)
{
    int count = 0;
    confirm(TRUST_CONFIG, in_project("rondo.yaml"), "a");
    confirm(TRUST_ROLE, in_project("role.yaml"), "a");
    assert_int_equal(trust_forget(in_project("rondo.yaml"), NULL), 1);
    assert_int_equal(trust_forget(in_project("rondo.yaml"), NULL), 0);
    assert_int_equal(look(TRUST_CONFIG, in_project("rondo.yaml"), "a"), TRUST_UNKNOWN);
    assert_int_equal(trust_list(TRUST_KIND_COUNT, count_record, &count, NULL), 0);
    assert_int_equal(count, 1);
}

CASE(the_records_of_one_kind_are_listed)
{
    int count = 0;
    confirm(TRUST_CONFIG, in_project("rondo.yaml"), "a");
    confirm(TRUST_ROLE, in_project("role.yaml"), "a");
    confirm(TRUST_STORE, in_project("other.db"), "a");
    assert_int_equal(trust_list(TRUST_ROLE, count_record, &count, NULL), 0);
    assert_int_equal(count, 1);
}

CASE(a_stamp_changes_with_each_confirmation)
{
    assert_int_equal(trust_stamp(TRUST_CONFIG, in_project("rondo.yaml")), 0);
    confirm(TRUST_CONFIG, in_project("rondo.yaml"), "a");
    uint64_t first = trust_stamp(TRUST_CONFIG, in_project("rondo.yaml"));
    assert_int_not_equal(first, 0);
    confirm(TRUST_CONFIG, in_project("rondo.yaml"), "a");
    assert_int_not_equal(trust_stamp(TRUST_CONFIG, in_project("rondo.yaml")), first);
}

CASE(a_requirement_names_the_command_to_type)
{
    struct rondo_error err = {0};
    assert_int_equal(
        trust_require(TRUST_CONFIG, in_project("rondo.yaml"), "a", 1, "the servers of", &err),
        RONDO_ERR_DENIED);
    assert_non_null(strstr(err.message, "is not confirmed"));
    assert_non_null(strstr(err.message, "`rondo trust "));
    confirm(TRUST_CONFIG, in_project("rondo.yaml"), "a");
    assert_int_equal(
        trust_require(TRUST_CONFIG, in_project("rondo.yaml"), "a", 1, "the servers of", &err), 0);
}

CASE(reach_is_seen_through_links_and_dots)
{
    char outside[PATH_MAX];
    char path[2 * PATH_MAX];
    char link_path[2 * PATH_MAX];
    scratch_make(outside);
    scratch_write(outside, "x.cedar", "");
    const char *const folders[] = {project, NULL};
    assert_true(trust_is_in_reach(in_project("absent"), folders));
    assert_true(trust_is_in_reach(project, folders));
    snprintf(path, sizeof(path), "%s/x.cedar", outside);
    assert_false(trust_is_in_reach(path, folders));
    assert_false(trust_is_in_reach(path, NULL));
    /* A link in the project leads out of it: anyone who can write the project can change the link.
     */
    assert_int_equal(symlink(outside, in_project("out")), 0);
    assert_true(trust_is_in_reach(in_project("out/x.cedar"), folders));
    /* A link outside leads through the project and out again. */
    snprintf(link_path, sizeof(link_path), "%s/through", outside);
    assert_int_equal(symlink(in_project("out"), link_path), 0);
    snprintf(path, sizeof(path), "%s/through/x.cedar", outside);
    assert_true(trust_is_in_reach(path, folders));
    snprintf(path, sizeof(path), "%s/../%s/rondo.yaml", outside, strrchr(project, '/') + 1);
    assert_true(trust_is_in_reach(path, folders));
    snprintf(path, sizeof(path), "%s2/x", project);
    assert_false(trust_is_in_reach(path, folders));
    scratch_remove(outside);
}

CASE(a_circle_of_links_is_in_reach)
{
    char outside[PATH_MAX];
    char path[2 * PATH_MAX];
    const char *const folders[] = {project, NULL};
    scratch_make(outside);
    snprintf(path, sizeof(path), "%s/round", outside);
    assert_int_equal(symlink("round", path), 0);
    assert_true(trust_is_in_reach(path, folders));
    scratch_remove(outside);
}
