// SPDX-License-Identifier: Apache-2.0
/* What the tests of tools share: a workspace, a toolbox with one entry, short ways to call. */
#pragma once

#include "base/buf.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/json/json.h"
#include "os/file.h"
#include "os/file_folder.h"
#include "support/test.h"
#include "tool/toolbox.h"

#include <json-c/json.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/** Nothing here takes this long, even on a slow machine under a sanitizer. */
#define GENEROUS_NS (600 * NS_PER_S)

struct tool_world {
    char folder[PATH_MAX];         /**< holds everything of one test */
    char workspace[PATH_MAX + 16]; /**< folder/work */
    struct tool_surroundings around;
    struct toolbox *toolbox;
    struct cancel *cancel;
    int64_t deadline_ns;
};

static inline int world_set_up(void **state)
{
    struct tool_world *world = calloc(1, sizeof(*world));
    snprintf(world->folder, sizeof(world->folder), "/tmp/rondo-test-XXXXXX");
    assert_non_null(mkdtemp(world->folder));
    snprintf(world->workspace, sizeof(world->workspace), "%s/work", world->folder);
    assert_int_equal(mkdir(world->workspace, 0755), 0);
    world->around = (struct tool_surroundings){
        .workspace = world->workspace, .clock = clock_system(), .sandbox = "none"};
    *state = world;
    return 0;
}

static inline int world_tear_down(void **state)
{
    struct tool_world *world = *state;
    toolbox_free(world->toolbox);
    assert_int_equal(file_remove_tree(world->folder, NULL), 0);
    free(world);
    return 0;
}

#define WORLD_TEST(test) TEST_WITH(test, world_set_up, world_tear_down)

static inline struct json_object *json_of(const char *text)
{
    struct json_object *value = NULL;
    struct rondo_error err = {0};
    if (json_parse(text, strlen(text), &value, &err) < 0) {
        fail_msg("%s: %s", text, err.message);
    }
    return value;
}

/** Open an entry; the toolbox is made with the first one. @return what toolbox_open says */
static inline int world_try_open(struct tool_world *world, const char *config,
                                 struct rondo_error *err)
{
    if (world->toolbox == NULL) {
        world->toolbox = toolbox_new(&world->around);
    }
    struct json_object *object = json_of(config);
    int code = toolbox_open(world->toolbox, object, err);
    json_object_put(object);
    return code;
}

static inline void world_open(struct tool_world *world, const char *config)
{
    struct rondo_error err = {0};
    if (world_try_open(world, config, &err) != 0) {
        fail_msg("%s", err.message);
    }
}

/** Prepare a call and, where that goes well, make it. The caller finishes the result. */
static inline struct tool_result world_call(struct tool_world *world, const char *name,
                                            const char *arguments)
{
    struct tool_result result = {0};
    struct json_object *object = NULL;
    if (toolbox_prepare(world->toolbox, name, arguments, &object, &result) == TOOL_READY) {
        const struct tool_call call = {
            .id = "call-1",
            .idempotency_key = "key-1",
            .arguments = object,
            .deadline_ns = world->deadline_ns > 0 ? world->deadline_ns
                                                  : clock_monotonic(clock_system()) + GENEROUS_NS,
            .cancel = world->cancel,
        };
        toolbox_call(world->toolbox, toolbox_find(world->toolbox, name), &call, &result);
        json_object_put(object);
    }
    return result;
}

/** Call, and insist on the text of a success. */
static inline void world_expect(struct tool_world *world, const char *name, const char *arguments,
                                const char *text)
{
    struct tool_result result = world_call(world, name, arguments);
    assert_string_equal(buf_string(&result.text), text);
    assert_false(result.is_error);
    tool_result_fini(&result);
}

/** Call, and insist on a failure whose text holds `part`. */
static inline void world_expect_error(struct tool_world *world, const char *name,
                                      const char *arguments, const char *part)
{
    struct tool_result result = world_call(world, name, arguments);
    if (strstr(buf_string(&result.text), part) == NULL) {
        fail_msg("\"%s\" is not in: %s", part, buf_string(&result.text));
    }
    assert_true(result.is_error);
    tool_result_fini(&result);
}

/** Write a file of the workspace (or `../name` beside it). */
static inline void world_write(const struct tool_world *world, const char *name, const char *text)
{
    char path[2 * PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", world->workspace, name);
    assert_int_equal(file_replace_durably(path, text, strlen(text), NULL), 0);
}

/** Insist on the content of a file; NULL = there is none. */
static inline void world_expect_file(const struct tool_world *world, const char *name,
                                     const char *text)
{
    char path[2 * PATH_MAX];
    struct buf content = {0};
    snprintf(path, sizeof(path), "%s/%s", world->workspace, name);
    int code = file_read(path, (size_t)16 * 1024 * 1024, &content, NULL);
    if (text == NULL) {
        assert_int_equal(code, RONDO_ERR_NOT_FOUND);
    } else {
        assert_int_equal(code, 0);
        assert_string_equal(buf_string(&content), text);
    }
    buf_fini(&content);
}

static inline void world_make_folder(const struct tool_world *world, const char *name)
{
    char path[2 * PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", world->workspace, name);
    assert_int_equal(file_make_folder(path, NULL), 0);
}

static inline void world_link(const struct tool_world *world, const char *target, const char *name)
{
    char path[2 * PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", world->workspace, name);
    assert_int_equal(symlink(target, path), 0);
}
