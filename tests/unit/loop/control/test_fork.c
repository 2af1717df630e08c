// SPDX-License-Identifier: Apache-2.0
/* Forks: copies of runs that continue from a checkpoint, of programs and of agents. */
#include "../../agent/agent_fixture.h"

#include "base/digest.h"
#include "base/error.h"
#include "journal/checkpoint.h"
#include "journal/trace.h"
#include "loop/control/control.h"

static struct store_run row_of(struct loop_fixture *fixture, const char *run_id)
{
    struct store_run run;
    assert_int_equal(fixture->memory->ops->get_run(fixture->memory, run_id, &run, NULL), 0);
    return run;
}

static int fork_it(struct loop_fixture *fixture, const char *run_id, uint64_t checkpoint,
                   char *ret_id, struct rondo_error *err)
{
    struct loop_parts parts = fixture_parts(fixture);
    return loop_fork(&parts, run_id, checkpoint, NULL, "ann", ret_id, err);
}

/** A run of `iterations` whose agent state is the number of the iteration, parked. */
static void run_of(struct loop_fixture *fixture, int iterations, struct loop_spec spec,
                   char ret_id[ID_SIZE])
{
    struct loop *loop = fixture_start(fixture, spec);
    for (int i = 1; i <= iterations; i++) {
        fixture_iterate(loop, 1);
        char text[32];
        snprintf(text, sizeof(text), "state %d", i);
        loop_set_agent_state(loop, text, strlen(text), NULL);
        loop_report(loop, &(struct loop_body_result){.tokens = 10, .cost_micro = 7});
    }
    fixture_iterate(loop, 1);
    memcpy(ret_id, loop_run_id(loop), ID_SIZE);
    assert_int_equal(loop_park(loop, NULL), 0);
    loop_free(loop);
}

FIXTURE_TEST(a_fork_continues_where_the_checkpoint_was)
{
    struct loop_fixture *fixture = *state;
    char id[ID_SIZE];
    char fork_id[ID_SIZE];
    struct loop *loop = NULL;
    struct loop_opening opening;
    run_of(fixture, 5, fixture_spec(0), id);
    assert_int_equal(fork_it(fixture, id, 3, fork_id, NULL), 0);
    assert_string_not_equal(id, fork_id);
    assert_int_equal(row_of(fixture, fork_id).summary.status, RONDO_RUNNING);
    assert_int_equal(row_of(fixture, fork_id).owner[0], '\0');
    assert_int_equal(row_of(fixture, fork_id).summary.tokens, 30);
    assert_int_equal(row_of(fixture, fork_id).ended_ns, 0);
    assert_int_equal(fixture_resume(fixture, fork_id, -1, &loop, &opening), 0);
    assert_int_equal(opening.from_checkpoint, 1);
    assert_string_equal(buf_string(loop_agent_state(loop)), "state 3");
    assert_int_equal(loop_state(loop)->finished, 3);
    assert_int_equal(loop_state(loop)->tokens, 30);
    fixture_iterate(loop, 1);
    assert_int_equal(loop_state(loop)->iteration, 4);
    assert_int_equal(loop_state(loop)->attempt, 1);
    assert_int_equal(fixture_events(fixture, id, "iteration.finished", NULL), 5);
    loop_free(loop);
}

FIXTURE_TEST(a_fork_says_what_it_is_a_copy_of)
{
    struct loop_fixture *fixture = *state;
    char id[ID_SIZE];
    char fork_id[ID_SIZE];
    char text[128];
    run_of(fixture, 3, fixture_spec(0), id);
    assert_int_equal(fork_it(fixture, id, 2, fork_id, NULL), 0);
    struct checkpoint checkpoint;
    assert_int_equal(checkpoint_load(fixture->memory, id, 2, &checkpoint, NULL), 0);
    snprintf(text, sizeof(text), "\"forked_from\":\"%s\",\"forked_seq\":%d,\"checkpoint\":2", id,
             (int)checkpoint.state.seq);
    assert_int_equal(fixture_events(fixture, fork_id, "run.created", text), 1);
    assert_int_equal(fixture_events(fixture, fork_id, "run.forked", text), 1);
    assert_int_equal(fixture_events(fixture, fork_id, "run.forked", "\"by\":\"ann\""), 1);
    assert_int_equal(fixture_events(fixture, fork_id, "iteration.finished", NULL), 2);
    checkpoint_fini(&checkpoint);
}

struct one_event {
    char *data;
    char *type;
    int64_t time_ns;
};

static bool keep_one(const struct store_event *event, void *context)
{
    struct one_event *one = context;
    one->data = memory_dup_string(event->data);
    one->type = memory_dup_string(event->type);
    one->time_ns = event->time_ns;
    return false;
}

FIXTURE_TEST(the_copy_is_the_same_event_for_event)
{
    struct loop_fixture *fixture = *state;
    char id[ID_SIZE];
    char fork_id[ID_SIZE];
    struct loop_spec spec = fixture_spec(0);
    spec.max_iterations = 300;
    run_of(fixture, 200, spec, id); /* more than one batch */
    assert_int_equal(fork_it(fixture, id, 150, fork_id, NULL), 0);
    struct checkpoint checkpoint;
    assert_int_equal(checkpoint_load(fixture->memory, id, 150, &checkpoint, NULL), 0);
    assert_true(checkpoint.state.seq > 300);
    for (uint64_t seq = 1; seq < checkpoint.state.seq; seq++) {
        struct one_event a = {0};
        struct one_event b = {0};
        fixture->memory->ops->read_events(fixture->memory, id, seq, 1, keep_one, &a, NULL);
        fixture->memory->ops->read_events(fixture->memory, fork_id, seq, 1, keep_one, &b, NULL);
        assert_string_equal(a.type, b.type);
        assert_string_equal(a.data, b.data);
        assert_int_equal(a.time_ns, b.time_ns);
        free(a.type);
        free(a.data);
        free(b.type);
        free(b.data);
    }
    checkpoint_fini(&checkpoint);
}

FIXTURE_TEST(the_newest_checkpoint_is_number_0)
{
    struct loop_fixture *fixture = *state;
    char id[ID_SIZE];
    char fork_id[ID_SIZE];
    struct loop *loop = NULL;
    struct loop_opening opening;
    run_of(fixture, 4, fixture_spec(0), id);
    assert_int_equal(fork_it(fixture, id, 0, fork_id, NULL), 0);
    assert_int_equal(fixture_resume(fixture, fork_id, -1, &loop, &opening), 0);
    assert_string_equal(buf_string(loop_agent_state(loop)), "state 4");
    loop_free(loop);
    assert_int_equal(fork_it(fixture, id, 99, fork_id, NULL), RONDO_ERR_NOT_FOUND);
    assert_int_equal(fork_it(fixture, "nothing", 0, fork_id, NULL), RONDO_ERR_NOT_FOUND);
}

FIXTURE_TEST(time_between_the_checkpoint_and_the_fork_is_not_active)
{
    struct loop_fixture *fixture = *state;
    char id[ID_SIZE];
    char fork_id[ID_SIZE];
    struct loop *loop = NULL;
    struct loop_opening opening;
    run_of(fixture, 4, fixture_spec(0), id);
    fixture->now_ns += 1000 * NS_PER_S;
    assert_int_equal(fork_it(fixture, id, 0, fork_id, NULL), 0);
    fixture->now_ns += 1000 * NS_PER_S;
    assert_int_equal(fixture_resume(fixture, fork_id, -1, &loop, &opening), 0);
    assert_int_equal(loop_state(loop)->active_ns, 0);
    loop_free(loop);
}

FIXTURE_TEST(an_ended_run_is_forked_and_continues_with_more_room)
{
    struct loop_fixture *fixture = *state;
    struct loop_spec spec = fixture_spec(0);
    spec.max_iterations = 3;
    struct loop *loop = fixture_start(fixture, spec);
    fixture_iterate(loop, 3);
    assert_int_equal(loop_next(loop, NULL), LOOP_ENDED);
    char fork_id[ID_SIZE];
    struct loop_parts parts = fixture_parts(fixture);
    struct loop_limits more = {.max_iterations = 5};
    assert_int_equal(loop_fork(&parts, loop_run_id(loop), 0, &more, "ann", fork_id, NULL), 0);
    loop_free(loop);
    struct loop_opening opening;
    assert_int_equal(fixture_resume(fixture, fork_id, -1, &loop, &opening), 0);
    assert_int_equal(loop_spec(loop)->max_iterations, 5);
    fixture_iterate(loop, 2);
    assert_int_equal(loop_next(loop, NULL), LOOP_ENDED);
    assert_int_equal(loop_state(loop)->status, RONDO_MAX_ITERATIONS);
    loop_free(loop);
    struct loop_limits wrong = {.max_iterations = -7};
    assert_int_equal(loop_fork(&parts, fork_id, 0, &wrong, "ann", fork_id, NULL),
                     RONDO_ERR_INVALID);
}

static int refuse_cost(const struct loop_spec *spec, struct rondo_error *err)
{
    return spec->max_cost_micro == 0 ? 0 : error_set(err, RONDO_ERR_INVALID, "no price");
}

FIXTURE_TEST(a_fork_gets_no_limit_that_its_body_cannot_honour)
{
    struct loop_fixture *fixture = *state;
    struct loop_spec spec = fixture_spec(0);
    spec.max_iterations = 1;
    struct loop *loop = fixture_start(fixture, spec);
    fixture_iterate(loop, 1);
    assert_int_equal(loop_next(loop, NULL), LOOP_ENDED);
    char fork_id[ID_SIZE];
    struct loop_parts parts = fixture_parts(fixture);
    struct loop_limits limits = {.max_cost_micro = 5};
    parts.check_limits = refuse_cost;
    assert_int_equal(loop_fork(&parts, loop_run_id(loop), 0, &limits, "ann", fork_id, NULL),
                     RONDO_ERR_INVALID);
    limits = (struct loop_limits){.max_iterations = 5};
    assert_int_equal(loop_fork(&parts, loop_run_id(loop), 0, &limits, "ann", fork_id, NULL), 0);
    loop_free(loop);
}

FIXTURE_TEST(a_checkpoint_inside_a_body_is_forked_as_one_that_was_cut_off)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = fixture_start(fixture, fixture_spec(0));
    char fork_id[ID_SIZE];
    fixture_iterate(loop, 2);
    loop_set_agent_state(loop, "half", 4, NULL);
    assert_int_equal(loop_save_checkpoint(loop, "{\"progress\":50}", NULL), 0);
    assert_int_equal(fork_it(fixture, loop_run_id(loop), 0, fork_id, NULL), 0);
    fixture_iterate(loop, 1); /* the original continues beside it */
    struct loop *other = NULL;
    struct loop_opening opening;
    assert_int_equal(fixture_resume(fixture, fork_id, -1, &other, &opening), 0);
    fixture_iterate(other, 1);
    assert_int_equal(loop_state(other)->iteration, 2);
    assert_int_equal(loop_state(other)->attempt, 2);
    assert_string_equal(buf_string(loop_agent_state(other)), "half");
    assert_string_equal(loop_custom_data(other), "{\"progress\":50}");
    loop_free(other);
    loop_free(loop);
}

FIXTURE_TEST(a_fork_is_forked)
{
    struct loop_fixture *fixture = *state;
    char id[ID_SIZE];
    char first[ID_SIZE];
    char second[ID_SIZE];
    struct loop *loop = NULL;
    struct loop_opening opening;
    run_of(fixture, 3, fixture_spec(0), id);
    assert_int_equal(fork_it(fixture, id, 2, first, NULL), 0);
    assert_int_equal(fork_it(fixture, first, 0, second, NULL), 0);
    assert_int_equal(fixture_events(fixture, second, "run.created", first), 1);
    assert_int_equal(fixture_events(fixture, second, "run.created", id), 0);
    assert_int_equal(fixture_resume(fixture, second, -1, &loop, &opening), 0);
    assert_string_equal(buf_string(loop_agent_state(loop)), "state 2");
    loop_free(loop);
}

static bool keep_run(const struct store_run *run, void *context)
{
    *(struct store_run *)context = *run;
    return false;
}

FIXTURE_TEST(half_a_copy_is_never_executed)
{
    struct loop_fixture *fixture = *state;
    char id[ID_SIZE];
    char fork_id[ID_SIZE] = "";
    struct loop *loop = NULL;
    struct loop_opening opening;
    struct rondo_error err = {0};
    struct loop_spec spec = fixture_spec(0);
    spec.max_iterations = 300;
    run_of(fixture, 200, spec, id);
    fixture_fail(fixture, "commit", 1, RONDO_ERR_INVALID, STORE_FAULT_BEFORE);
    assert_int_equal(fork_it(fixture, id, 150, fork_id, &err), RONDO_ERR_INVALID);
    assert_string_equal(fork_id, "");
    struct store_run_counts counts;
    struct store_run_query query = {0};
    fixture->memory->ops->count_runs(fixture->memory, &query, &counts, NULL);
    assert_int_equal(counts.by_status[RONDO_ERROR], 1);
    query = (struct store_run_query){.statuses = 1U << RONDO_ERROR};
    struct store_run found = {0};
    fixture->memory->ops->list_runs(fixture->memory, &query, keep_run, &found, NULL);
    runtime_tick(fixture->runtime); /* ends the lease of what was parked */
    assert_int_equal(fixture_resume(fixture, found.id, -1, &loop, &opening), RONDO_ERR_STATE);
    assert_null(loop);
    assert_int_equal(row_of(fixture, found.id).summary.status, RONDO_ERROR);
}

/* ---- Damaged checkpoints -------------------------------------------------------------------- */

static struct store *damaged_inner;
static struct store_ops damaged_ops;

static bool hand_on_damaged(const struct store_checkpoint *checkpoint, void *context)
{
    struct scene_reading *reading = context;
    struct store_checkpoint damaged = *checkpoint;
    damaged.sha256[0] ^= 1;
    return reading->on_checkpoint(&damaged, reading->context);
}

static int read_damaged(struct store *store, const char *run_id, uint64_t number,
                        store_checkpoint_fn *fn, void *context, struct rondo_error *err)
{
    (void)store;
    struct scene_reading reading = {.on_checkpoint = fn, .context = context};
    return damaged_inner->ops->get_checkpoint(damaged_inner, run_id, number, hand_on_damaged,
                                              &reading, err);
}

FIXTURE_TEST(a_damaged_checkpoint_is_not_forked)
{
    struct loop_fixture *fixture = *state;
    char id[ID_SIZE];
    char fork_id[ID_SIZE];
    struct rondo_error err = {0};
    run_of(fixture, 3, fixture_spec(0), id);
    damaged_inner = fixture->memory;
    damaged_ops = *fixture->store->ops;
    damaged_ops.get_checkpoint = read_damaged;
    const struct store_ops *before = fixture->store->ops;
    fixture->store->ops = &damaged_ops;
    assert_int_equal(fork_it(fixture, id, 2, fork_id, &err), RONDO_ERR_CORRUPT);
    assert_int_equal(fork_it(fixture, id, 0, fork_id, &err), RONDO_ERR_CORRUPT);
    fixture->store->ops = before;
    struct store_run_counts counts;
    fixture->memory->ops->count_runs(fixture->memory, &(struct store_run_query){0}, &counts, NULL);
    assert_int_equal(counts.by_status[RONDO_RUNNING], 1);
    assert_int_equal(counts.by_status[RONDO_ERROR], 0);
}

FIXTURE_TEST(an_exclusive_run_is_not_forked_while_it_is_executed)
{
    struct loop_fixture *fixture = *state;
    struct loop_spec spec = fixture_spec(0);
    spec.is_exclusive = true;
    struct loop *loop = fixture_start(fixture, spec);
    fixture_iterate(loop, 2);
    char fork_id[ID_SIZE];
    assert_int_equal(fork_it(fixture, loop_run_id(loop), 0, fork_id, NULL), RONDO_ERR_BUSY);
    assert_int_equal(loop_park(loop, NULL), 0);
    assert_int_equal(fork_it(fixture, loop_run_id(loop), 0, fork_id, NULL), 0);
    loop_free(loop);
}

/* ---- Agents --------------------------------------------------------------------------------- */

#define MOST_TURNS 16

/** What the model was sent, by turn. */
struct book {
    char *requests[MOST_TURNS];
    bool is_written;
    unsigned compared;
};

static void look_at_request(struct agent_scene *scene, const struct model_request *request)
{
    struct book *book = scene->mine;
    auto_buf struct buf all = {0};
    assert_in_range(request->turn, 1, MOST_TURNS - 1);
    for (size_t i = 0; i < request->message_count; i++) {
        buf_append(&all, request->messages[i].bytes, request->messages[i].len);
        buf_append_string(&all, "\n");
    }
    assert_memory_equal(request->idempotency_key, loop_run_id(scene->loop), ID_SIZE - 1);
    char parent[TRACE_PARENT_SIZE];
    trace_parent(loop_run_id(scene->loop), TRACE_MODEL, request->turn, 1, parent);
    assert_string_equal(request->traceparent, parent);
    if (book->is_written) {
        assert_string_equal(buf_string(&all), book->requests[request->turn]);
        book->compared++;
    } else {
        book->requests[request->turn] = memory_dup_string(buf_string(&all));
    }
}

static const char turns[] =
    CALL("look", "a") SAY("one") CALL("put", "b") SAY("two") CALL("put", "c") CALL("look", "d")
        SAY("three") CALL("send", "e") SAY("four") FINISH("completed");
#define TURNS      10
#define CHECKPOINT 4

SCENE_TEST(a_fork_of_an_agent_has_its_conversation)
{
    struct agent_scene *scene = *state;
    struct book book = {0};
    scene->mine = &book;
    scene->on_ask = look_at_request;
    scene_start(scene, "  autonomy: {max_history_messages: 6}\n", turns);
    scene_expect(scene, RONDO_COMPLETED);
    scene_leave(scene);
    book.is_written = true;
    char original[ID_SIZE];
    snprintf(original, sizeof(original), "%s", scene->world->run_id);
    for (uint64_t number = 1; number <= CHECKPOINT; number++) {
        char fork_id[ID_SIZE];
        struct rondo_error err = {0};
        assert_int_equal(fork_it(scene->fixture, original, number, fork_id, &err), 0);
        snprintf(scene->world->run_id, sizeof(scene->world->run_id), "%s", fork_id);
        book.compared = 0;
        scene_resume(scene);
        uint64_t before = loop_state(scene->loop)->turn;
        assert_int_equal(loop_state(scene->loop)->finished, number);
        scene_expect(scene, RONDO_COMPLETED);
        assert_int_equal(book.compared, TURNS - before);
        assert_int_equal(scene_events(scene, "model.replied", NULL), TURNS);
        scene_leave(scene);
    }
    for (size_t i = 0; i < MOST_TURNS; i++) {
        free(book.requests[i]);
    }
}
