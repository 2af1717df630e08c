// SPDX-License-Identifier: Apache-2.0
/* What the tests of MCP share: surroundings, clients of the scripted server, short ways to ask. */
#pragma once

#include "../../support/hand_clock.h"
#include "base/buf.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/json/json.h"
#include "mcp/mcp.h"
#include "os/file.h"
#include "os/file_folder.h"
#include "support/test.h"

#include <json-c/json.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/** Nothing here takes this long, even on a slow machine under a sanitizer. */
#define GENEROUS_NS (60 * NS_PER_S)
/** A deadline that is meant to pass. */
#define SHORT_NS (200 * NS_PER_MS)

struct mcp_world {
    char folder[64];
    char starts[96]; /**< the scripted server leaves a byte here for each start */
    struct tool_surroundings around;
    struct mcp_client *client;
    struct rondo_error err;
    char text[4096]; /**< of the latest call */
};

static inline int world_set_up(void **state)
{
    struct mcp_world *world = calloc(1, sizeof(*world));
    snprintf(world->folder, sizeof(world->folder), "/tmp/rondo-test-XXXXXX");
    assert_non_null(mkdtemp(world->folder));
    snprintf(world->starts, sizeof(world->starts), "%s/starts", world->folder);
    world->around = (struct tool_surroundings){.workspace = world->folder, .clock = clock_system()};
    *state = world;
    return 0;
}

static inline int world_tear_down(void **state)
{
    struct mcp_world *world = *state;
    mcp_client_free(world->client);
    assert_int_equal(file_remove_tree(world->folder, NULL), 0);
    free(world);
    return 0;
}

#define WORLD_TEST(test) TEST_WITH(test, world_set_up, world_tear_down)

static inline int64_t in(int64_t ns)
{
    return clock_monotonic(clock_system()) + ns;
}

/** A client of the scripted server. @param options further ones, or NULL */
static inline void begin(struct mcp_world *world, const char *how,
                         const struct mcp_options *options)
{
    const char *const args[] = {how, world->starts, NULL};
    struct mcp_options all = options == NULL ? (struct mcp_options){0} : *options;
    all.name = "peer";
    all.transport = MCP_STDIO;
    all.command = all.command == NULL ? MCP_PEER : all.command;
    all.args = args;
    all.surroundings = &world->around;
    assert_int_equal(mcp_client_new(&all, &world->client, &world->err), 0);
}

/** How often the scripted server was started. */
static inline int starts(const struct mcp_world *world)
{
    struct stat status;
    return stat(world->starts, &status) == 0 ? (int)status.st_size : 0;
}

/** Call a tool. @return code; the text is in world->text */
static inline int call_within(struct mcp_world *world, const char *name, const char *arguments,
                              int64_t deadline_ns)
{
    auto_json struct json_object *object = NULL;
    struct json_object *result = NULL;
    assert_int_equal(json_parse(arguments, strlen(arguments), &object, NULL), 0);
    world->err = (struct rondo_error){0};
    int code = mcp_call_tool(world->client, name, object, deadline_ns, NULL, &result, &world->err);
    if (code == 0) {
        struct tool_result read = {0};
        mcp_read_result(result, &read);
        snprintf(world->text, sizeof(world->text), "%s", buf_string(&read.text));
        buf_fini(&read.text);
        json_object_put(result);
    }
    return code;
}

static inline int call(struct mcp_world *world, const char *name, const char *arguments)
{
    return call_within(world, name, arguments, in(GENEROUS_NS));
}

#define assert_contains(text, part)                                     \
    do {                                                                \
        if (strstr(text, part) == NULL) {                               \
            fail_msg("\"%s\" does not contain \"%s\"", (text), (part)); \
        }                                                               \
    } while (0)
