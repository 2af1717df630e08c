// SPDX-License-Identifier: Apache-2.0
/*
 * Hand-over folders of worker commands: each input is a sequence of iterations, each byte what the
 * command puts in place of a file or of a folder. Nothing from outside is ever read or changed, and
 * the next iteration always finds its files.
 */
#include "fuzz.h"

#include "worker_scene.h"

#define STEPS_MAX 24

static void check_no_secret(struct worker_scene *scene, enum worker_file file)
{
    struct buf content = {0};
    struct rondo_error error = {0};
    int code = worker_files_read(scene->files, file, SCENE_LIMIT, &content, &error);
    FUZZ_CHECK(code <= 0 && content.len <= SCENE_LIMIT);
    FUZZ_CHECK(code == 0 || (content.len == 0 && error.message[0] != '\0'));
    FUZZ_CHECK(memmem(buf_string(&content), content.len, SCENE_SECRET, strlen(SCENE_SECRET)) ==
               NULL);
    FUZZ_CHECK(memmem(buf_string(&content), content.len, "PATH=", 5) == NULL);
    buf_fini(&content);
}

static void check_next_iteration(struct worker_scene *scene)
{
    FUZZ_CHECK(worker_files_begin(scene->files, NULL) == 0);
    for (int file = 0; file < WORKER_FILE_COUNT; file++) {
        FUZZ_CHECK(worker_files_write(scene->files, (enum worker_file)file, "fresh", 5, NULL) == 0);
        FUZZ_CHECK(scene_has(worker_files_path(scene->files, (enum worker_file)file), "fresh"));
    }
    FUZZ_CHECK(scene_is_untouched(scene));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct worker_scene scene;
    FUZZ_CHECK(scene_init(&scene));
    for (size_t i = 0; i < size && i < STEPS_MAX; i++) {
        scene_put(&scene, (data[i] >> 2) % SCENE_KINDS, data[i] & 3);
        if (i % 3 == 2 || i + 1 == size) {
            for (int file = 0; file < WORKER_FILE_COUNT; file++) {
                check_no_secret(&scene, (enum worker_file)file);
            }
            check_next_iteration(&scene);
        }
    }
    FUZZ_CHECK(scene_fini(&scene));
    return 0;
}
