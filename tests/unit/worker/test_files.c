// SPDX-License-Identifier: Apache-2.0
/* What a worker command leaves in place of its hand-over files and folders. */
#include "base/clock.h"
#include "support/test.h"

#include "../../fuzz/worker_scene.h"

/** Refusing takes no time; a FIFO or a device would keep a careless reader for ever. */
#define GENEROUS_NS (600 * NS_PER_S)

static void check_answer(struct worker_scene *scene, const struct scene_kind *kind,
                         enum worker_file file)
{
    struct buf content = {0};
    struct rondo_error error = {0};
    int code = worker_files_read(scene->files, file, SCENE_LIMIT, &content, &error);
    enum scene_answer answer = code == 0                     ? SCENE_FOUND
                               : code == RONDO_ERR_NOT_FOUND ? SCENE_MISSING
                                                             : SCENE_REFUSED;
    const char *said = code == 0 ? buf_string(&content) : error.message;
    if (answer != kind->answer || strstr(said, kind->message) == NULL) {
        fail_msg("%s in place of '%s': %d, '%s'", kind->name, scene_names[file], code, said);
    }
    assert_null(strstr(buf_string(&content), SCENE_SECRET));
    buf_fini(&content);
}

static void check_kind(const struct scene_kind *kind, enum worker_file file)
{
    struct worker_scene scene;
    int64_t deadline_ns = clock_monotonic(clock_system()) + GENEROUS_NS;
    assert_true(scene_init(&scene));
    assert_int_equal(worker_files_write(scene.files, WORKER_FILE_PROMPT, "task", 4, NULL), 0);
    scene_put(&scene, (size_t)(kind - scene_kinds), file);
    check_answer(&scene, kind, file);
    struct rondo_error error = {0};
    if (worker_files_begin(scene.files, &error) != 0 ||
        worker_files_write(scene.files, file, "fresh", 5, &error) != 0) {
        fail_msg("after %s: %s", kind->name, error.message);
    }
    if (!scene_has(worker_files_path(scene.files, file), "fresh")) {
        fail_msg("after %s the next command finds something else", kind->name);
    }
    assert_true(scene_is_untouched(&scene));
    assert_true(scene_fini(&scene));
    assert_true(clock_monotonic(clock_system()) < deadline_ns);
}

TEST(whatever_is_in_place_of_the_state_is_refused_or_read)
{
    for (size_t i = 0; i < SCENE_KINDS; i++) {
        check_kind(&scene_kinds[i], WORKER_FILE_STATE);
    }
}

TEST(whatever_is_in_place_of_the_result_is_refused_or_read)
{
    for (size_t i = 0; i < SCENE_KINDS; i++) {
        check_kind(&scene_kinds[i], WORKER_FILE_RESULT);
    }
}

TEST(the_folder_goes_wherever_the_command_moved_it)
{
    for (size_t i = 0; i < SCENE_KINDS; i++) {
        struct worker_scene scene;
        assert_true(scene_init(&scene));
        scene_put(&scene, i, WORKER_FILE_STATE);
        assert_true(scene_fini(&scene));
    }
}

TEST(another_owner_of_the_run_has_a_folder_of_its_own)
{
    struct worker_scene scene;
    struct worker_files *heir = NULL;
    struct buf content = {0};
    assert_true(scene_init(&scene));
    assert_int_equal(worker_files_new(scene.work, "run", 8, &heir, NULL), 0);
    assert_int_equal(worker_files_write(heir, WORKER_FILE_STATE, "new", 3, NULL), 0);
    assert_int_equal(worker_files_write(scene.files, WORKER_FILE_STATE, "old", 3, NULL), 0);
    assert_int_equal(worker_files_read(heir, WORKER_FILE_STATE, 10, &content, NULL), 0);
    assert_string_equal(buf_string(&content), "new");
    assert_string_equal(worker_files_lock(heir), worker_files_lock(scene.files));
    buf_fini(&content);
    worker_files_free(heir);
    assert_true(scene_has(worker_files_path(scene.files, WORKER_FILE_STATE), "old"));
    assert_true(scene_fini(&scene));
}

TEST(what_a_killed_owner_left_is_gone_when_the_folder_is_made)
{
    struct worker_scene scene;
    struct worker_files *again = NULL;
    assert_true(scene_init(&scene));
    scene_put(&scene, 0, WORKER_FILE_RESULT);
    assert_int_equal(worker_files_new(scene.work, "run", 7, &again, NULL), 0);
    assert_false(file_exists(worker_files_path(again, WORKER_FILE_RESULT)));
    worker_files_free(again);
    assert_true(scene_fini(&scene));
}

TEST(a_folder_for_temporary_files_is_used_in_the_same_way)
{
    struct worker_scene scene;
    char first[PATH_MAX];
    char away[PATH_MAX];
    const char *before = getenv("TMPDIR");
    assert_true(scene_init(&scene));
    setenv("TMPDIR", scene.outside, 1);
    assert_int_equal(worker_files_move(scene.files, NULL), 0);
    snprintf(first, sizeof(first), "%s", worker_files_folder(scene.files));
    assert_memory_equal(first, scene.outside, strlen(scene.outside));
    assert_int_equal(worker_files_write(scene.files, WORKER_FILE_STATE, "x", 1, NULL), 0);
    assert_true(scene_has(worker_files_path(scene.files, WORKER_FILE_STATE), "x"));
    /* Exchanged, it is not used any more. */
    struct buf content = {0};
    snprintf(away, sizeof(away), "%s/away", scene.root);
    assert_int_equal(rename(first, away), 0);
    assert_int_equal(symlink(scene.outside, first), 0);
    assert_int_equal(worker_files_read(scene.files, WORKER_FILE_STATE, 10, &content, NULL),
                     RONDO_ERR_INVALID);
    assert_int_equal(worker_files_begin(scene.files, NULL), 0);
    assert_string_not_equal(worker_files_folder(scene.files), first);
    assert_int_equal(worker_files_write(scene.files, WORKER_FILE_STATE, "y", 1, NULL), 0);
    assert_true(scene_is_untouched(&scene));
    if (before == NULL) {
        unsetenv("TMPDIR");
    } else {
        setenv("TMPDIR", before, 1);
    }
    assert_true(scene_fini(&scene));
}
