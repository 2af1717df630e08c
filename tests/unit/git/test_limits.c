// SPDX-License-Identifier: Apache-2.0
/*
 * Limits of what a repository and a working tree can make large, at each and one past it. Large
 * files have holes, large objects are compressed, and large lists are of files that are not there.
 * Those of rules are in test_inspect.c.
 */
#include "base/auto.h"
#include "base/limits.h"
#include "base/memory.h"
#include "git/inspect.h"
#include "git/run.h"
#include "git_scene.h"

static struct git_changes changes;

static int set_up(void **state)
{
    scene_set_up(state);
    return scene_add_tree();
}

static int tear_down(void **state)
{
    git_changes_fini(&changes);
    return scene_tear_down(state);
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

#define EMPTY_BLOB "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
#define EMPTY_TREE "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

static void assert_message(const char *part)
{
    if (strstr(scene_err.message, part) == NULL) {
        fail_msg("%s", scene_err.message);
    }
}

/** Make a blob of so many bytes of 'x'. @return its id; valid for two further calls */
static const char *make_blob(size_t size)
{
    static char ids[3][GIT_ID_SIZE];
    static unsigned next;
    char command[200];
    char *id = ids[next++ % COUNT(ids)];
    snprintf(command, sizeof(command),
             "head -c %zu /dev/zero | tr '\\0' x | git -C repo hash-object -w --stdin", size);
    snprintf(id, sizeof(ids[0]), "%s", shell_line(command));
    return id;
}

/** Make a tree of the lines of `list`, as mktree(1) takes them. */
static const char *make_tree(void)
{
    static char id[GIT_ID_SIZE];
    snprintf(id, sizeof(id), "%s", shell_line("git -C repo mktree --missing <list"));
    return id;
}

/* ---- LIMIT_GIT_OUTPUT_BYTES, LIMIT_GIT_LIST_BYTES ------------------------------------------- */

SCENE(output_has_a_limit)
{
    for (size_t past = 0; past < 2; past++) {
        auto_git_reply struct git_reply reply = {0};
        const char *const arguments[] = {"cat-file", "blob",
                                         make_blob(LIMIT_GIT_OUTPUT_BYTES + past), NULL};
        const struct git_call call = {.arguments = arguments};
        int r = git_call_run_well(&scene_git, &call, &reply, &scene_err);
        assert_int_equal(r, past == 0 ? 0 : RONDO_ERR_LIMIT);
        assert_int_equal(reply.output.len, past == 0 ? LIMIT_GIT_OUTPUT_BYTES : 0);
    }
    assert_message("git cat-file printed more than 16777216 bytes");
}

#define FILES_OF_A_FOLDER 16

/** A line of `list`: a folder or an empty file. `name` has `len` bytes. */
static void add_line(FILE *file, const char *kind, const char *id, const char *name, size_t len)
{
    fprintf(file, "%s %s\t", kind, id);
    fwrite(name, 1, len, file);
    putc('\n', file);
}

/** Make a folder of files whose names have `bytes` together. @return its id, see make_tree() */
static const char *make_long_folder(size_t bytes)
{
    size_t each = bytes / FILES_OF_A_FOLDER;
    size_t rest = bytes % FILES_OF_A_FOLDER;
    auto_free char *name = memory_new(each + rest);
    FILE *file = fopen(scene_path("list"), "w");
    assert_non_null(file);
    memset(name, 'x', each + rest);
    for (size_t i = 0; i < FILES_OF_A_FOLDER; i++) {
        char number[3];
        snprintf(number, sizeof(number), "%02zu", i);
        memcpy(name, number, 2);
        add_line(file, "100644 blob", EMPTY_BLOB, name, each + (i == 0 ? rest : 0));
    }
    assert_int_equal(fclose(file), 0);
    return make_tree();
}

/**
 * Make folders of 64 files together, with names so long that a list of them has so many bytes. All
 * but the first one have the same content, so that little is stored. @return the id of their folder
 */
static const char *make_long_list(size_t bytes)
{
    static const size_t folders = 4;
    /* ":000000 100644 ID ID A", a NUL, "0/", the name and a NUL */
    size_t around = strlen(":000000 100644  ") + 2 * strlen(EMPTY_BLOB) + strlen(" A") + 2 + 2;
    size_t names = bytes - folders * FILES_OF_A_FOLDER * around;
    char first[GIT_ID_SIZE];
    char others[GIT_ID_SIZE];
    snprintf(first, sizeof(first), "%s", make_long_folder(names / folders + names % folders));
    snprintf(others, sizeof(others), "%s", make_long_folder(names / folders));
    FILE *file = fopen(scene_path("list"), "w");
    assert_non_null(file);
    for (size_t i = 0; i < folders; i++) {
        const char digit = (char)('0' + i);
        add_line(file, "040000 tree", i == 0 ? first : others, &digit, 1);
    }
    assert_int_equal(fclose(file), 0);
    return make_tree();
}

SCENE(a_list_of_paths_has_a_limit)
{
    make_blob(0);
    const char *tree = make_long_list(LIMIT_GIT_LIST_BYTES);
    assert_ok(git_changes_between(&scene_git, EMPTY_TREE, tree, &changes, &scene_err));
    assert_int_equal(changes.count, 64);
    git_changes_fini(&changes);
    tree = make_long_list(LIMIT_GIT_LIST_BYTES + 1);
    assert_int_equal(git_changes_between(&scene_git, EMPTY_TREE, tree, &changes, &scene_err),
                     RONDO_ERR_LIMIT);
    assert_message("git diff-tree printed more than 67108864 bytes");
}

/* ---- LIMIT_GIT_CHANGES ---------------------------------------------------------------------- */

/** Make folders of a thousand files each, all with the same content, and some files more. */
static const char *make_files(int count)
{
    char thousand[GIT_ID_SIZE];
    shell("seq -f '100644 blob " EMPTY_BLOB "\t%%03.0f' 1000 >list");
    snprintf(thousand, sizeof(thousand), "%s", make_tree());
    shell("{ seq -f '040000 tree %s\t%%03.0f' %d; seq -f '100644 blob " EMPTY_BLOB
          "\tx%%03.0f' %d; } >list",
          thousand, count / 1000, count % 1000);
    return make_tree();
}

SCENE(differences_have_a_limit)
{
    make_blob(0);
    for (int past = 0; past < 2; past++) {
        const char *tree = make_files(LIMIT_GIT_CHANGES + past);
        int r = git_changes_between(&scene_git, EMPTY_TREE, tree, &changes, &scene_err);
        assert_int_equal(r, past == 0 ? 0 : RONDO_ERR_LIMIT);
        assert_int_equal(changes.count, past == 0 ? LIMIT_GIT_CHANGES : 0);
        git_changes_fini(&changes);
    }
    assert_message("more than 200000 files differ");
}

static int read_changes(void)
{
    const struct git_changes_request request = {
        .path = scene_path("tree"), .index_path = scene_path("index"), .base = scene_head()};
    return git_changes_read(&scene_git, &request, &changes, &scene_err);
}

CASE(changed_files_have_a_limit)
{
    make_blob(0);
    for (int past = 0; past < 2; past++) {
        /* Three of them are there; the others are tracked and not there: each was deleted. */
        shell("export GIT_INDEX_FILE=../index && cd repo && git read-tree HEAD && "
              "seq -f '100644 " EMPTY_BLOB "\tdeleted-%%06.0f' %d | git update-index --index-info",
              LIMIT_GIT_CHANGES - 3 + past);
        int r = read_changes();
        if (r != (past == 0 ? 0 : RONDO_ERR_LIMIT)) {
            fail_msg("%d: %s", past, scene_err.message);
        }
    }
    assert_message("more than 200000 files have changed; remove them, or list generated files");
}

/* ---- LIMIT_GIT_CHANGED_BYTES ---------------------------------------------------------------- */

CASE(changed_bytes_have_a_limit)
{
    /* Git would read 1 GiB; it fails before, because there is no room for the object of the first
     * file, in whose folder it would be. */
    shell("cd tree && echo x >.gitignore && id=$(git hash-object .gitignore) && "
          "cd ../repo/.git/objects && mv $(echo $id | cut -c1-2) moved; "
          "touch $(echo $id | cut -c1-2)");
    shell("echo large >>repo/.git/info/exclude && truncate -s %ld tree/large", /* is not counted */
          LIMIT_GIT_CHANGED_BYTES);
    shell("truncate -s %ld tree/a", LIMIT_GIT_CHANGED_BYTES - 2);
    assert_int_equal(read_changes(), RONDO_ERR_STATE);
    assert_message("git update-index failed");
    shell("truncate -s %ld tree/a", LIMIT_GIT_CHANGED_BYTES - 1);
    assert_int_equal(read_changes(), RONDO_ERR_LIMIT);
    assert_message("changed files have more than 1024 MiB; remove them, or list generated files");
}

/* ---- LIMIT_GIT_PATCH_BYTES ------------------------------------------------------------------ */

/** Write the patch that adds a file of one line. @return its bytes */
static size_t write_patch(size_t line_len, bool *ret_is_cut)
{
    char tree[GIT_ID_SIZE];
    struct stat status;
    shell("echo '100644 blob %s\tx' >list", make_blob(line_len));
    snprintf(tree, sizeof(tree), "%s", make_tree());
    int fd = open(scene_path("patch"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_ok(git_patch_write(&scene_git, EMPTY_TREE, tree, fd, ret_is_cut, &scene_err));
    assert_int_equal(fstat(fd, &status), 0);
    close(fd);
    return (size_t)status.st_size;
}

SCENE(a_patch_at_the_limit_is_whole_and_a_longer_one_is_cut_and_says_so)
{
    bool is_cut = true;
    size_t around = write_patch(1000, &is_cut) - 1000;
    assert_false(is_cut);
    assert_int_equal(write_patch(LIMIT_GIT_PATCH_BYTES - around, &is_cut), LIMIT_GIT_PATCH_BYTES);
    assert_false(is_cut);
    assert_true(write_patch(LIMIT_GIT_PATCH_BYTES - around + 1, &is_cut) > LIMIT_GIT_PATCH_BYTES);
    assert_true(is_cut);
    assert_string_equal(shell_line("tail -n 1 patch"),
                        "Cut here: the whole patch has more than 64 MiB and cannot be applied.");
}

/* ---- LIMIT_GIT_DRIVERS ---------------------------------------------------------------------- */

SCENE(drivers_have_a_limit)
{
    struct git_repository *repository = NULL;
    shell("for i in $(seq %d); do printf '[diff \"d%%d\"]\\n\\ttextconv = x\\n' $i; done >>"
          "home/.gitconfig",
          LIMIT_GIT_DRIVERS);
    scene_open();
    scene_head();
    shell("git config --global diff.more.textconv x");
    assert_int_equal(git_repository_open(scene_path("repo"), NULL, &repository, &scene_err),
                     RONDO_ERR_INVALID);
    assert_message("more than 512 settings of filters and diff drivers");
}

/* ---- LIMIT_GIT_HOOK_BYTES ------------------------------------------------------------------- */

SCENE(a_hook_at_the_limit_counts_by_its_content_and_a_larger_one_by_size_and_time)
{
    for (long past = 0; past < 2; past++) {
        shell("cd repo/.git/hooks && truncate -s %ld pre-commit && touch -r pre-commit ../time",
              LIMIT_GIT_HOOK_BYTES + past);
        scene_open();
        shell("cd repo/.git/hooks && printf x | dd of=pre-commit conv=notrunc && "
              "touch -r ../time pre-commit");
        int r = git_repository_check(&scene_git, NULL, &scene_err);
        assert_int_equal(r, past == 0 ? RONDO_ERR_DENIED : 0);
    }
    shell("touch -d '@1.5' repo/.git/hooks/pre-commit");
    scene_open();
    shell("touch -d '@1.25' repo/.git/hooks/pre-commit");
    assert_int_equal(git_repository_check(&scene_git, NULL, &scene_err), RONDO_ERR_DENIED);
    assert_message("settings or hooks of git changed");
}

/* ---- LIMIT_GIT_RECORD_BYTES ----------------------------------------------------------------- */

SCENE(a_record_of_a_working_tree_has_a_limit)
{
    struct git_worktree_list list = {0};
    for (int past = 0; past < 2; past++) {
        shell("mkdir -p repo/.git/worktrees/w && cd repo/.git/worktrees/w && "
              "{ printf /; head -c %d /dev/zero | tr '\\0' x; printf /.git; } >gitdir",
              (int)LIMIT_GIT_RECORD_BYTES + past - 6);
        assert_ok(git_worktree_list(scene_repository, NULL, &list, &scene_err));
        assert_int_equal(list.count, 1 - past);
        git_worktree_list_fini(&list);
    }
}

static int inspect(void)
{
    int fd = open(scene_path("tree"), O_PATH | O_DIRECTORY | O_CLOEXEC);
    int r = git_tree_inspect(scene_repository, fd, LIMIT_GIT_FOLDERS, &scene_err);
    close(fd);
    return r;
}

CASE(files_of_a_nested_repository_have_limits)
{
    static const struct {
        const char *name;
        long limit;
    } rows[] = {
        {"HEAD", LIMIT_GIT_RECORD_BYTES},
        {"config", LIMIT_GIT_RULES_BYTES},
        {"packed-refs", (long)LIMIT_GIT_LIST_BYTES},
    };
    shell("cd tree && git init -q n");
    for (size_t i = 0; i < COUNT(rows); i++) {
        shell("truncate -s %ld tree/n/.git/%s", rows[i].limit, rows[i].name);
        assert_ok(inspect());
        shell("truncate -s %ld tree/n/.git/%s", rows[i].limit + 1, rows[i].name);
        assert_int_equal(inspect(), RONDO_ERR_DENIED);
        assert_message(rows[i].name);
        assert_message("regular file of at most");
        shell("rm tree/n/.git/%s", rows[i].name);
    }
}
