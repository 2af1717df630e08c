// SPDX-License-Identifier: Apache-2.0
/* One source that follows the clock, in a world whose time stands still. */
#pragma once

#include "base/error.h"
#include "base/json/json.h"
#include "intake_world.h"
#include "source/intake/mark.h"
#include "source/source.h"

#include <json-c/json.h>

struct source_world {
    struct intake_world *intake;
    struct source_host host;
    struct json_object *config;
    struct source *source;
    char id[SOURCE_ID_SIZE];
    char folder[128]; /* of the role; "" = none */
    char line[800];   /* the last one of the log */
};

static inline void source_world_log(void *context, const char *line)
{
    struct source_world *world = context;
    snprintf(world->line, sizeof(world->line), "%s", line);
}

/** Open a source with the mark that the store has. @return its error code */
static inline int source_world_open(struct source_world *world, const char *config,
                                    struct rondo_error *err)
{
    char *mark = NULL;
    if (world->source != NULL) {
        world->source->type->close(world->source);
        world->source = NULL;
    }
    json_object_put(world->config);
    assert_int_equal(json_parse(config, strlen(config), &world->config, NULL), 0);
    const struct source_type *type = source_type_find(json_get_string(world->config, "type", ""));
    source_id(type, "fixer", world->config, world->id);
    world->host = (struct source_host){
        .intake = world->intake->intake,
        .clock = &world->intake->clock,
        .random = &world->intake->random,
        .store = world->intake->store,
        .id = world->id,
        .role = "fixer",
        .folder = world->folder,
        .workspace = world->folder[0] == '\0' ? NULL : world->folder,
        .log = source_world_log,
        .context = world,
    };
    assert_int_equal(source_mark_read(world->intake->memory, world->id, &mark, NULL, NULL), 0);
    int r = type->open(world->config, &world->host, mark, &world->source, err);
    free(mark);
    return r;
}

/** The daemon and its source start again. */
static inline void source_world_restart(struct source_world *world)
{
    char *config = strdup(json_object_to_json_string(world->config));
    world->source->type->close(world->source);
    world->source = NULL;
    world_open(world->intake);
    assert_int_equal(source_world_open(world, config, NULL), 0);
    free(config);
}

/** Let time pass to a moment, with each wake-up that the source asks for. @return how many */
static inline unsigned source_world_advance(struct source_world *world, int64_t to_ns)
{
    unsigned fired = 0;
    for (;;) {
        int64_t due = world->source->type->next_due(world->source);
        if (due > to_ns) {
            break;
        }
        world->intake->now_ns = due > world->intake->now_ns ? due : world->intake->now_ns;
        assert_int_equal(world->source->type->fire(world->source, world->intake->now_ns, NULL), 0);
        fired++;
    }
    world->intake->now_ns = to_ns;
    return fired;
}

/** Start and end what waits. @return how many runs */
static inline unsigned source_world_run_all(struct source_world *world)
{
    unsigned runs = 0;
    struct start_request request = {0};
    while (intake_next(world->intake->intake, &request, NULL) == 1) {
        assert_int_equal(intake_started(world->intake->intake, &request, NULL), 0);
        intake_ended(world->intake->intake, request.id);
        start_request_fini(&request);
        runs++;
    }
    return runs;
}

static inline int make_source_world(void **state)
{
    struct source_world *world = memory_new_zero(1, sizeof(*world));
    make_world((void **)&world->intake);
    *state = world;
    return 0;
}

static inline int end_source_world(void **state)
{
    struct source_world *world = *state;
    if (world->source != NULL) {
        world->source->type->close(world->source);
    }
    json_object_put(world->config);
    end_world((void **)&world->intake);
    free(world);
    return 0;
}

/** A second daemon with the same trigger on the same store, whose time is its own. */
static inline struct source_world *source_world_beside(struct source_world *first)
{
    struct source_world *world = memory_new_zero(1, sizeof(*world));
    struct intake_world *intake = memory_new_zero(1, sizeof(*intake));
    intake->now_ns = first->intake->now_ns;
    intake->random = random_seeded(8);
    intake->clock = first->intake->clock;
    intake->clock.context = intake;
    intake->memory = first->intake->memory;
    owner_new(&intake->random, intake->owner);
    world_open(intake);
    world->intake = intake;
    memcpy(world->folder, first->folder, sizeof(world->folder));
    assert_int_equal(source_world_open(world, json_object_to_json_string(first->config), NULL), 0);
    return world;
}

static inline void source_world_end_beside(struct source_world *world)
{
    world->source->type->close(world->source);
    json_object_put(world->config);
    intake_close(world->intake->intake);
    store_close(world->intake->store);
    free(world->intake);
    free(world);
}
