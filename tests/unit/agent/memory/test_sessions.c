// SPDX-License-Identifier: Apache-2.0
/* Which conversations of an agent stay open, and that none that somebody needs is ended. */
#include "../agent_fixture.h"

#include "agent/memory/sessions.h"
#include "loop/control/control.h"
#include "loop/owner.h"

#define MEMORY(more) "  memory: {consolidation: {interval: manual}" more "}\n"
#define HELLO        "{\"text\":\"Hello.\",\"forever\":true}"

/** A conversation of one answer that was left, later than those before. */
static void talk(struct agent_scene *scene, const char *lines, char ret_id[ID_SIZE])
{
    struct agent_options options = {
        .mode = AGENT_CHAT, .workspace = scene->world->folder, .system = "You test."};
    struct rondo_error err = {0};
    scene_script(scene, HELLO);
    scene->fixture->now_ns += NS_PER_S;
    scene_start_as(scene, lines, &options);
    memcpy(ret_id, loop_run_id(scene->loop), ID_SIZE);
    assert_int_equal(loop_next(scene->loop, &err), LOOP_BODY);
    assert_int_equal(agent_run(scene->agent, "Hi!", &err), 0);
    assert_int_equal(loop_park(scene->loop, &err), 0);
    scene_leave(scene);
}

static const char *shown(struct agent_scene *scene, const char *run_id)
{
    struct store_run run;
    struct store *store = scene->fixture->memory;
    assert_int_equal(store->ops->get_run(store, run_id, &run, NULL), 0);
    return run_display_status(&run);
}

static struct sessions_ended end_older(struct agent_scene *scene, uint64_t keep)
{
    struct sessions_ended ended;
    struct rondo_error err = {0};
    assert_int_equal(sessions_end_older(scene->fixture->runtime, "tester", keep, &ended, &err), 0);
    return ended;
}

SCENE_TEST(those_that_were_used_last_stay_open)
{
    struct agent_scene *scene = *state;
    char ids[4][ID_SIZE];
    for (int i = 0; i < 4; i++) {
        talk(scene, MEMORY(""), ids[i]);
    }
    struct sessions_ended ended = end_older(scene, 2);
    assert_int_equal(ended.count, 2);
    assert_string_equal(ended.last, ids[1]);
    assert_string_equal(shown(scene, ids[0]), "cancelled");
    assert_string_equal(shown(scene, ids[1]), "cancelled");
    assert_string_equal(shown(scene, ids[2]), "parked");
    assert_string_equal(shown(scene, ids[3]), "parked");
    assert_int_equal(end_older(scene, 2).count, 0);
}

SCENE_TEST(a_paused_conversation_is_neither_ended_nor_counted)
{
    struct agent_scene *scene = *state;
    char ids[3][ID_SIZE];
    struct rondo_error err = {0};
    const struct loop_parts parts = {.runtime = scene->fixture->runtime};
    for (int i = 0; i < 3; i++) {
        talk(scene, MEMORY(""), ids[i]);
    }
    assert_int_equal(loop_pause_run(&parts, ids[0], "ann", &err), LOOP_CONTROL_DONE);
    assert_int_equal(end_older(scene, 1).count, 1);
    assert_string_equal(shown(scene, ids[0]), "paused");
    assert_string_equal(shown(scene, ids[1]), "cancelled");
    assert_int_equal(loop_cancel_parked(&parts, ids[0], "m", &err), LOOP_CONTROL_NOTHING);
    assert_string_equal(shown(scene, ids[0]), "paused");
}

SCENE_TEST(a_conversation_in_use_is_left_alone)
{
    struct agent_scene *scene = *state;
    char ids[3][ID_SIZE];
    struct rondo_error err = {0};
    struct loop_opening opening;
    struct loop *loop = NULL;
    const struct loop_parts parts = {.runtime = scene->fixture->runtime};
    const struct loop_parts others = {.runtime = scene->fixture->other};
    for (int i = 0; i < 3; i++) {
        talk(scene, MEMORY(""), ids[i]);
    }
    assert_int_equal(loop_resume(&others, ids[0], NULL, NULL, -1, &loop, &opening, &err), 0);
    assert_int_equal(loop_next(loop, &err), LOOP_BODY);
    assert_int_equal(loop_cancel_parked(&parts, ids[0], "m", &err), LOOP_CONTROL_HELD);
    assert_int_equal(end_older(scene, 1).count, 1);
    assert_string_equal(shown(scene, ids[0]), "running");
    assert_string_equal(shown(scene, ids[1]), "cancelled");
    loop_free(loop);
}

SCENE_TEST(runs_that_are_no_conversation_are_left_alone)
{
    struct agent_scene *scene = *state;
    char id[ID_SIZE];
    char other[ID_SIZE];
    struct rondo_error err = {0};
    scene_start(scene, MEMORY(""), HELLO);
    memcpy(other, loop_run_id(scene->loop), ID_SIZE);
    assert_int_equal(loop_next(scene->loop, &err), LOOP_BODY);
    assert_int_equal(loop_park(scene->loop, &err), 0);
    scene_leave(scene);
    talk(scene, MEMORY(""), id);
    assert_int_equal(end_older(scene, 1).count, 0);
    assert_string_equal(shown(scene, other), "parked");
}

static uint64_t kept_by(struct agent_scene *scene, const char *lines)
{
    struct agent_options options = {
        .mode = AGENT_CHAT, .workspace = scene->world->folder, .system = "You test."};
    struct loop_spec spec;
    struct rondo_error err = {0};
    struct role *role = scene_role(scene, lines);
    assert_int_equal(agent_spec(role, &options, &spec, &err), 0);
    role_free(role);
    uint64_t kept = sessions_kept(&spec);
    loop_spec_fini(&spec);
    return kept;
}

SCENE_TEST(a_role_says_how_many_stay_open)
{
    struct agent_scene *scene = *state;
    assert_int_equal(kept_by(scene, ""), 0);
    assert_int_equal(kept_by(scene, "  memory: {}\n"), 10);
    assert_int_equal(kept_by(scene, "  memory: {max_sessions: 3}\n"), 3);
    assert_int_equal(kept_by(scene, "  memory: {max_sessions: -3}\n"), 1);
    assert_int_equal(kept_by(scene, "  memory: {max_sessions: 1000}\n"), 1000);
    assert_int_equal(kept_by(scene, "  memory: {max_sessions: 1001}\n"), 1000);
}
