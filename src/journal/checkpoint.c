// SPDX-License-Identifier: Apache-2.0
/* Building, digesting and verifying checkpoints. No state of its own; any thread. */
#include "journal/checkpoint.h"

#include "base/digest.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/zip.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void checkpoint_fini(struct checkpoint *checkpoint)
{
    buf_fini(&checkpoint->agent_state);
    free(checkpoint->custom_data);
    free(checkpoint->conditions);
    *checkpoint = (struct checkpoint){0};
}

static void digest_add_text(struct digest *digest, const char *text)
{
    size_t len = text == NULL ? 0 : strlen(text);
    digest_add_u64(digest, len);
    digest_add(digest, text, len);
}

static void compute_digest(const char *run_id, const struct store_checkpoint *stored,
                           const void *agent_state, size_t agent_state_len,
                           unsigned char *ret_sha256)
{
    struct digest digest = digest_begin();
    digest_add_text(&digest, "rondo-checkpoint-1");
    digest_add_text(&digest, run_id);
    digest_add_u64(&digest, stored->number);
    digest_add_u64(&digest, stored->seq);
    digest_add_u64(&digest, stored->iteration);
    digest_add_u64(&digest, (uint64_t)stored->time_ns);
    digest_add_text(&digest, stored->fold);
    digest_add_text(&digest, stored->custom_data);
    digest_add_text(&digest, stored->conditions);
    digest_add_u64(&digest, agent_state_len);
    digest_add(&digest, agent_state, agent_state_len);
    digest_finish(&digest, ret_sha256);
}

static void init_record(struct checkpoint_record *record, const char *run_id, uint64_t number,
                        const struct run_state *state, const struct buf *agent_state,
                        const char *custom_data, int64_t time_ns)
{
    *record = (struct checkpoint_record){0};
    run_state_encode(state, &record->fold);
    run_conditions_encode(state, &record->conditions);
    record->custom_data = memory_dup_string(custom_data);
    bool is_packed = agent_state->len >= LIMIT_STATE_COMPRESS_FROM_BYTES;
    if (is_packed) {
        zip_pack(agent_state->data, agent_state->len, &record->agent_state);
    } else {
        buf_append(&record->agent_state, agent_state->data, agent_state->len);
    }
    record->stored = (struct store_checkpoint){
        .number = number,
        .seq = state->seq,
        .iteration = run_current_iteration(state),
        .time_ns = time_ns,
        .format = CHECKPOINT_FORMAT,
        .state = record->agent_state.data,
        .state_len = record->agent_state.len,
        .state_size = agent_state->len,
        .is_packed = is_packed,
        .fold = buf_string(&record->fold),
        .custom_data = record->custom_data,
        .conditions = buf_string(&record->conditions),
    };
    compute_digest(run_id, &record->stored, agent_state->data, agent_state->len,
                   record->stored.sha256);
}

void checkpoint_record_init(struct checkpoint_record *record, const char *run_id,
                            const struct run_state *state, const struct buf *agent_state,
                            const char *custom_data, int64_t time_ns)
{
    init_record(record, run_id, state->checkpoint_number, state, agent_state, custom_data, time_ns);
}

void checkpoint_interim_init(struct checkpoint_record *record, const char *run_id,
                             const struct run_state *state, const struct buf *agent_state,
                             const char *custom_data, int64_t time_ns)
{
    init_record(record, run_id, 0, state, agent_state, custom_data, time_ns);
}

void checkpoint_record_fini(struct checkpoint_record *record)
{
    buf_fini(&record->agent_state);
    free(record->custom_data);
    buf_fini(&record->fold);
    buf_fini(&record->conditions);
    *record = (struct checkpoint_record){0};
}

void checkpoint_record_free(struct checkpoint_record *record)
{
    if (record != NULL) {
        checkpoint_record_fini(record);
        free(record);
    }
}

struct checkpoint_loading {
    const char *run_id;
    struct checkpoint *checkpoint;
    struct rondo_error *err;
    int result;
};

static int unpack_state(const struct store_checkpoint *stored, struct buf *ret_state,
                        struct rondo_error *err)
{
    if (stored->state_size > LIMIT_STATE_BYTES) {
        return error_set(err, RONDO_ERR_CORRUPT, "its state claims to have %" PRIu64 " bytes",
                         stored->state_size);
    }
    if (stored->is_packed) {
        return zip_unpack(stored->state, stored->state_len, stored->state_size, ret_state, err);
    }
    buf_append(ret_state, stored->state, stored->state_len);
    return 0;
}

static int verify(const char *run_id, const struct store_checkpoint *stored,
                  struct checkpoint *ret_checkpoint, struct rondo_error *err)
{
    if (stored->format > CHECKPOINT_FORMAT) {
        return error_set(err, RONDO_ERR_VERSION,
                         "it has format %" PRIu32 ", this Rondo reads up to %d; use a newer one",
                         stored->format, CHECKPOINT_FORMAT);
    }
    int r = unpack_state(stored, &ret_checkpoint->agent_state, err);
    if (r < 0) {
        return r;
    }
    unsigned char sha256[32];
    compute_digest(run_id, stored, ret_checkpoint->agent_state.data,
                   ret_checkpoint->agent_state.len, sha256);
    if (memcmp(sha256, stored->sha256, sizeof(sha256)) != 0) {
        return error_set(err, RONDO_ERR_CORRUPT, "its SHA-256 does not fit its content");
    }
    return run_state_decode(stored->fold, strlen(stored->fold), &ret_checkpoint->state, err);
}

static bool on_checkpoint(const struct store_checkpoint *stored, void *context)
{
    struct checkpoint_loading *loading = context;
    struct checkpoint *checkpoint = loading->checkpoint;
    checkpoint->number = stored->number;
    checkpoint->iteration = stored->iteration;
    checkpoint->time_ns = stored->time_ns;
    memcpy(checkpoint->sha256, stored->sha256, sizeof(checkpoint->sha256));
    checkpoint->custom_data = memory_dup_string(stored->custom_data);
    checkpoint->conditions = memory_dup_string(stored->conditions);
    loading->result = verify(loading->run_id, stored, checkpoint, loading->err);
    if (loading->result < 0 && stored->number == 0) {
        error_prefix(loading->err, "the interim checkpoint of iteration %" PRIu64,
                     stored->iteration);
    } else if (loading->result < 0) {
        error_prefix(loading->err, "checkpoint %" PRIu64 " of iteration %" PRIu64, stored->number,
                     stored->iteration);
    }
    return false;
}

int checkpoint_load(struct store *store, const char *run_id, uint64_t number,
                    struct checkpoint *ret_checkpoint, struct rondo_error *err)
{
    struct checkpoint checkpoint = {0};
    struct checkpoint_loading loading = {.run_id = run_id, .checkpoint = &checkpoint, .err = err};
    int r = store->ops->get_checkpoint(store, run_id, number, on_checkpoint, &loading, err);
    if (r == 0) {
        r = loading.result;
    }
    if (r < 0) {
        checkpoint_fini(&checkpoint);
        return r;
    }
    *ret_checkpoint = checkpoint;
    return 0;
}
