// SPDX-License-Identifier: Apache-2.0
/* State and checkpoints as the caller sees them. */
#include "api/internal.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/memory.h"
#include "store/find.h"

#include <stdlib.h>

/** The public record, with the verified checkpoint that its pointers point into. */
struct loaded {
    struct rondo_checkpoint shown;
    struct checkpoint checkpoint;
};

int rondo_loop_set_state(struct rondo_loop *loop, const void *state, size_t len,
                         struct rondo_error *err)
{
    return loop_set_agent_state(loop->loop, state, len, err);
}

const void *rondo_loop_state(const struct rondo_loop *loop, size_t *ret_len)
{
    const struct buf *state = loop_agent_state(loop->loop);
    *ret_len = state->len;
    return state->data;
}

int rondo_loop_save_checkpoint(struct rondo_loop *loop, const char *custom_data_json,
                               struct rondo_error *err)
{
    return loop_save_checkpoint(loop->loop, custom_data_json, err);
}

static struct rondo_checkpoint *load(struct store *store, const char *run_id, uint64_t number,
                                     struct rondo_error *err)
{
    struct loaded *loaded = memory_new_zero(1, sizeof(*loaded));
    struct checkpoint *checkpoint = &loaded->checkpoint;
    if (checkpoint_load(store, run_id, number, checkpoint, err) < 0) {
        free(loaded);
        return NULL;
    }
    loaded->shown = (struct rondo_checkpoint){
        .number = checkpoint->number,
        .iteration = checkpoint->iteration,
        .time_ns = checkpoint->time_ns,
        .state = checkpoint->agent_state.data,
        .state_len = checkpoint->agent_state.len,
        .custom_data = checkpoint->custom_data,
        .conditions = checkpoint->conditions,
    };
    digest_hex(checkpoint->sha256, loaded->shown.sha256);
    return &loaded->shown;
}

struct rondo_checkpoint *rondo_loop_load_checkpoint(struct rondo_loop *loop, uint64_t number,
                                                    struct rondo_error *err)
{
    return load(loop->rondo->store, loop_run_id(loop->loop), number, err);
}

struct rondo_checkpoint *rondo_load_checkpoint(struct rondo *rondo, const char *run_id,
                                               uint64_t number, struct rondo_error *err)
{
    struct store_run run;
    if (store_find_run(rondo->store, run_id, NULL, &run, err) < 0) {
        return NULL;
    }
    return load(rondo->store, run.id, number, err);
}

void rondo_checkpoint_free(struct rondo_checkpoint *checkpoint)
{
    if (checkpoint == NULL) {
        return;
    }
    struct loaded *loaded = (struct loaded *)(void *)checkpoint; /* its first member */
    checkpoint_fini(&loaded->checkpoint);
    free(loaded);
}
