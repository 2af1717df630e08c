// SPDX-License-Identifier: Apache-2.0
/* Checkpoints are only used when nothing in them was changed. */
#include "journal/checkpoint.h"

#include "../../support/store/memory_store.h"
#include "base/memory.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUN_ID "018bcfe5-6800-7000-8000-000000000000"

/** A store whose one checkpoint is served with a change. */
struct serving_store {
    struct store base;
    struct store_ops ops;
    struct store_checkpoint served;
};

static int serve(struct store *base, const char *run_id, uint64_t number, store_checkpoint_fn *fn,
                 void *context, struct rondo_error *err)
{
    (void)run_id;
    (void)number;
    (void)err;
    fn(&((struct serving_store *)base)->served, context);
    return 0;
}

struct checkpoint_fixture {
    struct checkpoint_record record;
    struct serving_store serving;
    struct buf agent_state;
};

static struct run_state some_state(void)
{
    struct run_state run = {.seq = 12, .iteration = 3, .finished = 3, .checkpoint_number = 2};
    run.condition_count = 1;
    snprintf(run.conditions[0].name, sizeof(run.conditions[0].name), "all_tests_pass");
    return run;
}

static void set_up(struct checkpoint_fixture *fixture, size_t state_len)
{
    *fixture = (struct checkpoint_fixture){0};
    for (size_t i = 0; i < state_len; i++) {
        buf_append(&fixture->agent_state, i % 7 == 0 ? "x" : "y", 1);
    }
    struct run_state run = some_state();
    checkpoint_record_init(&fixture->record, RUN_ID, &run, &fixture->agent_state, "{\"a\":1}", 99);
    fixture->serving.ops.get_checkpoint = serve;
    fixture->serving.base.ops = &fixture->serving.ops;
    fixture->serving.served = fixture->record.stored;
}

static void tear_down(struct checkpoint_fixture *fixture)
{
    checkpoint_record_fini(&fixture->record);
    buf_fini(&fixture->agent_state);
}

static int load(struct checkpoint_fixture *fixture, const char *run_id)
{
    struct checkpoint checkpoint = {0};
    struct rondo_error err;
    int r = checkpoint_load(&fixture->serving.base, run_id, 2, &checkpoint, &err);
    if (r == 0) {
        checkpoint_fini(&checkpoint);
    }
    return r;
}

TEST(states_of_every_size_come_back)
{
    static const size_t sizes[] = {0, 1, LIMIT_STATE_COMPRESS_FROM_BYTES - 1,
                                   LIMIT_STATE_COMPRESS_FROM_BYTES, 1024 * 1024};
    for (size_t i = 0; i < COUNT(sizes); i++) {
        struct checkpoint_fixture fixture;
        set_up(&fixture, sizes[i]);
        bool should_pack = sizes[i] >= LIMIT_STATE_COMPRESS_FROM_BYTES;
        assert_int_equal(fixture.serving.served.is_packed, should_pack);
        struct checkpoint checkpoint = {0};
        assert_int_equal(checkpoint_load(&fixture.serving.base, RUN_ID, 2, &checkpoint, NULL), 0);
        assert_int_equal(checkpoint.agent_state.len, sizes[i]);
        assert_true(sizes[i] == 0 ||
                    memcmp(checkpoint.agent_state.data, fixture.agent_state.data, sizes[i]) == 0);
        assert_string_equal(checkpoint.custom_data, "{\"a\":1}");
        assert_int_equal(checkpoint.state.seq, 12);
        checkpoint_fini(&checkpoint);
        tear_down(&fixture);
    }
}

static void change_number(struct store_checkpoint *served)
{
    served->number++;
}
static void change_seq(struct store_checkpoint *served)
{
    served->seq++;
}
static void change_iteration(struct store_checkpoint *served)
{
    served->iteration++;
}
static void change_time(struct store_checkpoint *served)
{
    served->time_ns++;
}
static void change_digest(struct store_checkpoint *served)
{
    served->sha256[31] ^= 1;
}
static void change_fold(struct store_checkpoint *served)
{
    served->fold = "{}";
}
static void change_custom_data(struct store_checkpoint *served)
{
    served->custom_data = "{\"a\":2}";
}
static void drop_custom_data(struct store_checkpoint *served)
{
    served->custom_data = NULL;
}
static void change_conditions(struct store_checkpoint *served)
{
    served->conditions = "{\"all_tests_pass\":\"met\"}";
}
static void shorten_state(struct store_checkpoint *served)
{
    served->state_len--;
}
static void change_state(struct store_checkpoint *served)
{
    ((char *)(uintptr_t)served->state)[5] ^= 1;
}
static void change_size(struct store_checkpoint *served)
{
    served->state_size++;
    served->is_packed = true;
}
static void claim_a_huge_size(struct store_checkpoint *served)
{
    served->state_size = UINT64_MAX;
}

TEST(each_change_is_noticed)
{
    static void (*const changes[])(struct store_checkpoint *) = {
        change_number, change_seq,         change_iteration,  change_time,       change_digest,
        change_fold,   change_custom_data, drop_custom_data,  change_conditions, shorten_state,
        change_state,  change_size,        claim_a_huge_size,
    };
    static const size_t sizes[] = {100, 10000};
    for (size_t i = 0; i < COUNT(changes); i++) {
        for (size_t k = 0; k < COUNT(sizes); k++) {
            struct checkpoint_fixture fixture;
            set_up(&fixture, sizes[k]);
            changes[i](&fixture.serving.served);
            assert_int_equal(load(&fixture, RUN_ID), RONDO_ERR_CORRUPT);
            tear_down(&fixture);
        }
    }
}

TEST(a_checkpoint_of_another_run_is_noticed)
{
    struct checkpoint_fixture fixture;
    set_up(&fixture, 10);
    assert_int_equal(load(&fixture, "018bcfe5-6800-7000-8000-000000000001"), RONDO_ERR_CORRUPT);
    tear_down(&fixture);
}

TEST(a_newer_format_is_refused_as_such)
{
    struct checkpoint_fixture fixture;
    set_up(&fixture, 10);
    fixture.serving.served.format = CHECKPOINT_FORMAT + 1;
    assert_int_equal(load(&fixture, RUN_ID), RONDO_ERR_VERSION);
    tear_down(&fixture);
}

TEST(a_checkpoint_that_is_not_there_is_not_found)
{
    struct store *store = store_memory_new(NULL);
    struct checkpoint checkpoint = {0};
    assert_int_equal(checkpoint_load(store, RUN_ID, 0, &checkpoint, NULL), RONDO_ERR_NOT_FOUND);
    store_close(store);
}
