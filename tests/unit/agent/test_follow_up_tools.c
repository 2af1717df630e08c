// SPDX-License-Identifier: Apache-2.0
/* What agents may schedule for themselves, what they are told, and that a crash doubles nothing. */
#include "agent/follow_up.h"
#include "agent_fixture.h"

#define AUTONOMY "  autonomy: {}\n"
#define AFTER(seconds) \
    CALLS(ONE("schedule_followup", "{\"prompt\":\"look\",\"delay_seconds\":" #seconds "}"))
#define AT(time) \
    CALLS(ONE("schedule_followup_at", "{\"prompt\":\"look\",\"iso_datetime\":\"" time "\"}"))
/** Finish, if the answer to the call before says this. */
#define FINISH_IF(text) \
    "{\"tool_calls\":[" DONE("completed") "],\"expect\":{\"last_contains\":\"" text "\"}}\n"

/** Start a run as a daemon does. @param depth of the run; -1 = as no daemon does */
static void start_on_duty(struct agent_scene *scene, const char *lines, const char *turns,
                          int64_t depth)
{
    struct loop_spec spec;
    struct rondo_error err = {0};
    struct agent_options options = {
        .prompt = "Do it.", .workspace = scene->world->folder, .system = "You test."};
    struct role *role = scene_role(scene, lines);
    scene_script(scene, turns);
    int r = agent_spec(role, &options, &spec, &err);
    if (r == 0 && depth >= 0) {
        r = agent_allow_follow_ups(&spec, depth, &err);
    }
    if (r < 0) {
        fail_msg("%s", err.message);
    }
    role_free(role);
    free(spec.policy);
    spec.policy = NULL;
    scene_open(scene, &spec);
    scene->loop = start(scene->world, spec);
    scene_attach(scene);
}

static void play(struct agent_scene *scene, const char *lines, const char *turns, int64_t depth)
{
    start_on_duty(scene, lines, turns, depth);
    scene_expect(scene, RONDO_COMPLETED);
}

struct seen {
    int count;
    int64_t due_ns, created_ns, depth;
    char asked_by[ID_SIZE];
};

static bool see(const struct follow_up *follow_up, void *context)
{
    struct seen *seen = context;
    seen->count++;
    seen->due_ns = follow_up->due_ns;
    seen->created_ns = follow_up->created_ns;
    seen->depth = follow_up->depth;
    memcpy(seen->asked_by, follow_up->asked_by, ID_SIZE);
    return true;
}

static struct seen look(const struct agent_scene *scene)
{
    struct seen seen = {0};
    struct store *store = runtime_store(scene->fixture->runtime);
    assert_int_equal(follow_ups_read(store, "tester", see, &seen, NULL), 0);
    return seen;
}

SCENE_TEST(a_run_on_duty_schedules_a_follow_up)
{
    struct agent_scene *scene = *state;
    play(scene, AUTONOMY, AFTER(60) FINISH_IF("Scheduled follow-up in 60s (task_id="), 0);
    struct seen seen = look(scene);
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.due_ns - seen.created_ns, 60 * NS_PER_S);
    assert_int_equal(seen.depth, 1);
    assert_string_equal(seen.asked_by, scene->world->run_id);
}

SCENE_TEST(a_time_without_a_zone_is_utc)
{
    struct agent_scene *scene = *state;
    char turns[800];
    char time[CLOCK_UTC_SIZE];
    int64_t due = clock_now(runtime_clock(scene->fixture->runtime)) / NS_PER_S + 3600;
    clock_format_utc(due * NS_PER_S, time);
    time[strlen("2026-01-15T14:30:00")] = '\0';
    snprintf(turns, sizeof(turns), AT("%s") FINISH_IF("Scheduled follow-up at %s+00:00 (task_id="),
             time, time);
    play(scene, AUTONOMY, turns, 0);
    assert_int_equal(look(scene).due_ns, due * NS_PER_S);
}

SCENE_TEST(other_runs_do_not_have_the_tools)
{
    struct agent_scene *scene = *state;
    play(scene, AUTONOMY, AFTER(60) FINISH_IF("schedule_followup"), -1);
    assert_int_equal(look(scene).count, 0);
}

SCENE_TEST(a_role_without_autonomy_does_not_have_the_tools)
{
    struct agent_scene *scene = *state;
    play(scene, "", AFTER(60) FINISH_IF("schedule_followup"), 0);
    assert_int_equal(look(scene).count, 0);
}

SCENE_TEST(delays_have_bounds)
{
    struct agent_scene *scene = *state;
    play(scene, AUTONOMY,
         AFTER(0) AFTER(86401) FINISH_IF("Cannot schedule: delay exceeds maximum (86400s)."), 0);
    assert_int_equal(
        scene_events(scene, "tool.finished", "Cannot schedule: delay must be at least 1 second."),
        1);
    assert_int_equal(look(scene).count, 0);
}

SCENE_TEST(times_must_be_times_and_to_come)
{
    struct agent_scene *scene = *state;
    play(scene, AUTONOMY,
         AT("1969-01-01") AT("tomorrow") FINISH_IF("Invalid ISO datetime: tomorrow"), 0);
    assert_int_equal(
        scene_events(scene, "tool.finished", "Cannot schedule: target time is in the past."), 1);
    assert_int_equal(look(scene).count, 0);
}

SCENE_TEST(a_run_schedules_three)
{
    struct agent_scene *scene = *state;
    play(scene, AUTONOMY,
         AFTER(1) AFTER(1) AFTER(1) AFTER(1)
             FINISH_IF("Cannot schedule: per-run limit (3) reached."),
         0);
    assert_int_equal(look(scene).count, 3);
}

SCENE_TEST(an_agent_has_a_limit_of_pending_ones)
{
    struct agent_scene *scene = *state;
    play(scene, "  autonomy: {max_scheduled_total: 2}\n",
         AFTER(1) AFTER(1) AFTER(1)
             FINISH_IF("Maximum scheduled tasks (2) reached. Cannot schedule more."),
         0);
    assert_int_equal(look(scene).count, 2);
}

SCENE_TEST(a_chain_of_follow_ups_ends)
{
    struct agent_scene *scene = *state;
    play(scene, "  autonomy: {max_schedule_depth: 7}\n",
         AFTER(1) FINISH_IF("Cannot schedule: this run is follow-up 7 in a row"), 7);
    assert_int_equal(look(scene).count, 0);
}

SCENE_TEST(the_last_of_a_chain_has_its_depth)
{
    struct agent_scene *scene = *state;
    play(scene, "  autonomy: {max_schedule_depth: 7}\n", AFTER(1) FINISH_IF("Scheduled"), 6);
    assert_int_equal(look(scene).depth, 7);
}

/** A process dies at each commit, before and after it took effect. */
SCENE_TEST(a_crash_neither_loses_nor_doubles_a_follow_up)
{
    struct agent_scene *scene = *state;
    static const char turns[] = AFTER(60) AFTER(90) FINISH_IF("Scheduled follow-up in 90s");
    start_on_duty(scene, AUTONOMY, turns, 0);
    for (int i = 0; i < 12; i++) {
        struct rondo_error err = {0};
        scene->fault = i % 2 == 0 ? STORE_FAULT_BEFORE : STORE_FAULT_AFTER;
        scene->crash_at = scene->commits + 1 + (uint64_t)i % 3;
        if (scene_run(scene, &err) == LOOP_ENDED) {
            break;
        }
        scene_restart(scene);
    }
    scene->crash_at = 0;
    if (loop_state(scene->loop)->status == RONDO_RUNNING) {
        scene_expect(scene, RONDO_COMPLETED);
    }
    assert_int_equal(look(scene).count, 2);
}
