// SPDX-License-Identifier: Apache-2.0
/* Backwards only types are looked at; forwards events are decoded and replayed. */
#include "telemetry/past.h"

#include "journal/reader.h"

#include <string.h>

/** Events that one look backwards reads. */
#define STRIDE 1024

struct claims {
    uint64_t seqs[2];   /* the last one and the one before; 0 = not found */
    uint64_t stride[2]; /* those of the stride being read, in order */
    uint64_t end;
};

static bool find_claim(const struct store_event *event, void *context)
{
    struct claims *claims = context;
    if (event->seq >= claims->end) {
        return false;
    }
    if (strcmp(event->type, "run.claimed") == 0) {
        claims->stride[1] = claims->stride[0];
        claims->stride[0] = event->seq;
    }
    return true;
}

/** The last two claims before an event. */
static int find_claims(struct store *store, const char *run_id, uint64_t seq,
                       struct claims *ret_claims, struct rondo_error *err)
{
    *ret_claims = (struct claims){.end = seq};
    uint64_t floor = seq > PAST_MAX_EVENTS ? seq - PAST_MAX_EVENTS : 1;
    while (ret_claims->end > floor && ret_claims->seqs[1] == 0) {
        uint64_t from = ret_claims->end > floor + STRIDE ? ret_claims->end - STRIDE : floor;
        ret_claims->stride[0] = ret_claims->stride[1] = 0;
        int r = store->ops->read_events(store, run_id, from - 1, 0, find_claim, ret_claims, err);
        if (r < 0) {
            return r;
        }
        if (ret_claims->seqs[0] == 0) {
            ret_claims->seqs[0] = ret_claims->stride[0];
            ret_claims->seqs[1] = ret_claims->stride[1];
        } else {
            ret_claims->seqs[1] = ret_claims->stride[0];
        }
        ret_claims->end = from;
    }
    return 0;
}

struct replaying {
    struct spans *spans;
    uint64_t end;
};

static bool replay(const struct journal_entry *entry, void *context)
{
    const struct replaying *replaying = context;
    if (entry->event.seq >= replaying->end) {
        return false;
    }
    spans_replay(replaying->spans, entry);
    return true;
}

int past_replay(struct store *store, struct spans *spans, const char *run_id, uint64_t seq,
                struct rondo_error *err)
{
    struct claims claims;
    int r = find_claims(store, run_id, seq, &claims, err);
    if (r < 0) {
        return r;
    }
    struct replaying first = {spans, seq < 2 ? seq : 2};
    r = journal_visit(store, run_id, 0, 1, replay, &first, err);
    if (r == 0 && claims.seqs[1] > 1) {
        struct replaying former = {spans, claims.seqs[1] + 1};
        r = journal_visit(store, run_id, claims.seqs[1] - 1, 1, replay, &former, err);
    }
    uint64_t from = claims.seqs[0] > 1 ? claims.seqs[0] - 1 : 1;
    if (claims.seqs[0] == 0 && seq > PAST_MAX_EVENTS) {
        from = seq - 1 - STRIDE; /* too long ago: what is open now is found here */
    }
    struct replaying rest = {spans, seq};
    return r < 0 ? r : journal_visit(store, run_id, from, 0, replay, &rest, err);
}
