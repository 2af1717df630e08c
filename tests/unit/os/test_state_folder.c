// SPDX-License-Identifier: Apache-2.0
/* Where the state folder is, and what is refused as one. */
#include "helper.h"

#include "base/limits.h"
#include "os/state_folder.h"

#include <errno.h>
#include <pwd.h>
#include <sys/stat.h>

static char top[PATH_MAX];
static char project[PATH_MAX + 16];

static int set_up(void **state)
{
    (void)state;
    scratch_make(top);
    snprintf(project, sizeof(project), "%s/my project", top);
    setenv("XDG_STATE_HOME", top, 1);
    return mkdir(project, 0755);
}

static int tear_down(void **state)
{
    (void)state;
    scratch_remove(top);
    return 0;
}

static const char *below(const char *name)
{
    static char path[PATH_MAX + 256];
    snprintf(path, sizeof(path), "%s/%s", top, name);
    return path;
}

static void assert_path(int r, char *path, const char *wanted)
{
    assert_int_equal(r, 0);
    assert_string_equal(path, wanted);
    free(path);
}

static void assert_refused(const char *word)
{
    char *path = NULL;
    struct rondo_error err;
    assert_int_equal(state_folder(&path, &err), RONDO_ERR_DENIED);
    assert_non_null(strstr(err.message, word));
    assert_non_null(strstr(err.message, "XDG_STATE_HOME"));
    assert_int_equal(state_folder_find(&path, &err), RONDO_ERR_DENIED);
    assert_null(path);
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

CASE(the_folder_is_made_private_with_its_parents)
{
    setenv("XDG_STATE_HOME", below("a/b"), 1);
    char *path = NULL;
    assert_int_equal(state_folder_find(&path, NULL), RONDO_ERR_NOT_FOUND);
    int r = state_folder(&path, NULL);
    assert_path(r, path, below("a/b/rondo"));
    struct stat status;
    assert_int_equal(stat(below("a/b/rondo"), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
    r = state_folder_find(&path, NULL);
    assert_path(r, path, below("a/b/rondo"));
}

CASE(without_an_absolute_setting_it_is_in_the_home_folder)
{
    char *old_home = getenv("HOME") == NULL ? NULL : strdup(getenv("HOME"));
    static const char *const settings[] = {"", "relative/state", "~/state"};
    setenv("HOME", top, 1);
    for (size_t i = 0; i < COUNT(settings); i++) {
        setenv("XDG_STATE_HOME", settings[i], 1);
        char *path = NULL;
        int r = state_folder_path(&path, NULL);
        assert_path(r, path, below(".local/state/rondo"));
    }
    unsetenv("XDG_STATE_HOME");
    char *path = NULL;
    struct rondo_error err;
    setenv("HOME", below("missing"), 1);
    assert_int_equal(state_folder(&path, &err), RONDO_ERR_NOT_FOUND);
    assert_non_null(strstr(err.message, "XDG_STATE_HOME"));
    assert_false(file_exists(below("missing")));
    setenv("HOME", "not/absolute", 1);
    bool has_entry = getpwuid(geteuid()) != NULL;
    assert_int_equal(state_folder_path(&path, NULL), has_entry ? 0 : RONDO_ERR_NOT_FOUND);
    assert_true(!has_entry || path[0] == '/');
    free(path);
    old_home == NULL ? unsetenv("HOME") : setenv("HOME", old_home, 1);
    free(old_home);
}

CASE(a_link_is_refused_wherever_it_leads)
{
    assert_int_equal(mkdir(below("elsewhere"), 0700), 0);
    assert_int_equal(symlink("elsewhere", below("rondo")), 0);
    assert_refused("symbolic link");
    assert_int_equal(unlink(below("rondo")), 0);
    assert_int_equal(symlink("nowhere", below("rondo")), 0);
    assert_refused("symbolic link");
}

CASE(what_others_can_write_is_refused)
{
    static const mode_t modes[] = {0770, 0702, 01777};
    assert_int_equal(mkdir(below("rondo"), 0700), 0);
    for (size_t i = 0; i < COUNT(modes); i++) {
        assert_int_equal(chmod(below("rondo"), modes[i]), 0);
        assert_refused("chmod 700");
    }
}

CASE(a_file_in_its_place_is_refused)
{
    scratch_write(top, "rondo", "");
    assert_refused("not a folder");
}

CASE(the_folder_of_another_user_is_refused)
{
    assert_int_equal(mkdir(below("rondo"), 0700), 0);
    if (chown(below("rondo"), 12345, (gid_t)-1) != 0) {
        skip();
    }
    assert_refused("belongs to user 12345");
}

CASE(a_project_has_a_folder_that_names_it)
{
    char *path = NULL;
    assert_int_equal(state_project_find(project, &path, NULL), RONDO_ERR_NOT_FOUND);
    assert_int_equal(state_project_folder(project, &path, NULL), 0);
    assert_memory_equal(path, below("rondo/projects/my_project-"),
                        strlen(below("rondo/projects/my_project-")));
    assert_int_equal(strlen(strrchr(path, '-')), 1 + 12);
    struct buf file = {0}, content = {0}, wanted = {0};
    buf_printf(&file, "%s/project", path);
    buf_printf(&wanted, "%s\n", project);
    assert_int_equal(file_read(buf_string(&file), 8192, &content, NULL), 0);
    assert_string_equal(buf_string(&content), buf_string(&wanted));
    char *again = NULL;
    int r = state_project_find(project, &again, NULL);
    assert_path(r, again, path);
    free(path);
    buf_fini(&file);
    buf_fini(&content);
    buf_fini(&wanted);
}

CASE(a_project_is_the_same_through_a_link)
{
    char *path = NULL, *linked = NULL;
    assert_int_equal(symlink("my project", below("link")), 0);
    assert_int_equal(state_project_folder(project, &path, NULL), 0);
    int r = state_project_find(below("link"), &linked, NULL);
    assert_path(r, linked, path);
    free(path);
}

CASE(projects_of_the_same_name_have_folders_of_their_own)
{
    char *first = NULL, *second = NULL, *root = NULL;
    assert_int_equal(mkdir(below("other"), 0755), 0);
    assert_int_equal(mkdir(below("other/my project"), 0755), 0);
    assert_int_equal(state_project_folder(project, &first, NULL), 0);
    assert_int_equal(state_project_folder(below("other/my project"), &second, NULL), 0);
    assert_string_not_equal(first, second);
    assert_int_equal(state_project_folder("/", &root, NULL), 0);
    assert_non_null(strstr(root, "/projects/root-"));
    free(first);
    free(second);
    free(root);
}

CASE(a_folder_that_names_another_project_is_refused)
{
    char *path = NULL, *none = NULL;
    assert_int_equal(state_project_folder(project, &path, NULL), 0);
    scratch_write(path, "project", "/another/project\n");
    assert_int_equal(state_project_find(project, &none, NULL), RONDO_ERR_DENIED);
    assert_int_equal(state_project_folder(project, &none, NULL), RONDO_ERR_DENIED);
    char text[LIMIT_STATE_PROJECT_BYTES + 2];
    memset(text, 'x', sizeof(text));
    text[LIMIT_STATE_PROJECT_BYTES] = '\0';
    scratch_write(path, "project", text);
    assert_int_equal(state_project_find(project, &none, NULL), RONDO_ERR_DENIED);
    text[LIMIT_STATE_PROJECT_BYTES] = 'x';
    text[LIMIT_STATE_PROJECT_BYTES + 1] = '\0';
    scratch_write(path, "project", text);
    assert_int_equal(state_project_find(project, &none, NULL), RONDO_ERR_LIMIT);
    free(path);
}

CASE(a_project_folder_that_is_a_link_or_writable_is_refused)
{
    char *path = NULL, *none = NULL;
    assert_int_equal(state_project_folder(project, &path, NULL), 0);
    assert_int_equal(chmod(path, 0777), 0);
    assert_int_equal(state_project_find(project, &none, NULL), RONDO_ERR_DENIED);
    assert_int_equal(chmod(path, 0700), 0);
    assert_int_equal(rename(path, below("moved")), 0);
    assert_int_equal(symlink(below("moved"), path), 0);
    assert_int_equal(state_project_find(project, &none, NULL), RONDO_ERR_DENIED);
    free(path);
}

CASE(a_project_folder_without_its_file_is_completed)
{
    char *path = NULL, *again = NULL;
    assert_int_equal(state_project_folder(project, &path, NULL), 0);
    struct buf file = {0};
    buf_printf(&file, "%s/project", path);
    assert_int_equal(unlink(buf_string(&file)), 0);
    assert_int_equal(state_project_find(project, &again, NULL), RONDO_ERR_NOT_FOUND);
    int r = state_project_folder(project, &again, NULL);
    assert_path(r, again, path);
    assert_true(file_exists(buf_string(&file)));
    buf_fini(&file);
    free(path);
}

CASE(a_sub_folder_is_examined_too)
{
    char *path = NULL;
    int r = state_sub_folder("trust", &path, NULL);
    assert_path(r, path, below("rondo/trust"));
    assert_int_equal(chmod(below("rondo/trust"), 0720), 0);
    assert_int_equal(state_sub_folder("trust", &path, NULL), RONDO_ERR_DENIED);
}

CASE(files_of_projects_are_known)
{
    char *path = NULL;
    char name[PATH_MAX + 64];
    snprintf(name, sizeof(name), "%s/sub/role.yaml", project);
    assert_int_equal(mkdir(below("my project/sub"), 0700), 0);
    assert_int_equal(mkdir(below("my projectile"), 0700), 0);
    assert_false(state_is_in_project(name));
    assert_int_equal(state_project_folder(project, &path, NULL), 0);
    free(path);
    assert_true(state_is_in_project(name));
    assert_true(state_is_in_project(below("my project/absent")));
    assert_int_equal(symlink("my project/sub", below("link")), 0);
    assert_true(state_is_in_project(below("link/role.yaml")));
    assert_false(state_is_in_project(below("role.yaml")));
    assert_false(state_is_in_project(below("my projectile/role.yaml")));
    assert_false(state_is_in_project(below("nowhere/role.yaml")));
}
