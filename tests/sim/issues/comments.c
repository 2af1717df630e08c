// SPDX-License-Identifier: Apache-2.0
/*
 * sim_comments [--seed N] [--count N] [--verbose]: simulate seeds N, N+1, ... of claims in
 * comments.
 *
 * A few workers of two accounts, and a stranger, want one issue. They do what src/issues/
 * queue_comments.c does, by the rules of issues/claim_comment.h; between any two steps one may die
 * or freeze, answers are lost, and edits arrive late. Who has the issue works on it: an effect
 * needs a proof that is seconds old. What must be true:
 *  - after one tenure has begun to work, no earlier one does anything any more
 *  - when all is quiet, somebody gets the issue
 */
#include "sim_seeds.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "issues/claim_comment.h"
#include "issues/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORKERS = 4, COMMENTS = 600, LATE = 16, TICKS = 500, QUIET_TICKS = 4000 };

#define MINUTE    (60 * NS_PER_S)
#define PROOF_NS  (5 * NS_PER_S)
#define SETTLE_NS (10 * NS_PER_S)
/** A new comment is not shown for so long. */
#define HIDDEN_NS (4 * NS_PER_S)

/** An edit whose connection was cut arrives within this time, or never. */
#define LATEST_NS MINUTE

enum contender_phase { IDLE = 0, SETTLING, HOLDING };

struct contender {
    unsigned number;
    char *login;
    enum contender_phase phase;
    char nonce[ID_SIZE];
    int64_t comment_id; /* 0 = not known */
    int64_t until_ns;   /* it settles, or is frozen, until then */
    int64_t proven_ns;  /* 0 = not */
    int64_t renewed_ns;
    int64_t confirmed_ns; /* beginning of the last lease that was certainly written */
    bool is_settled, has_lapsed;
    int64_t superseded[LIMIT_CLAIM_SUPERSEDED];
    size_t superseded_count;
    uint64_t tenure; /* rising with each that was won */
};

/** An edit that is on its way. */
struct contest_late {
    int64_t due_ns; /* 0 = free */
    int64_t id;
    char *body;
};

struct contest_seen {
    uint64_t won, lost, fenced, effects, renewals, lapsed, freezes, deaths, late, strangers;
};

struct contest {
    struct random random;
    uint64_t seed;
    bool is_verbose, is_quiet;
    int64_t now_ns;
    struct forge_comment comments[COMMENTS];
    size_t count;
    int64_t last_id;
    struct contender workers[WORKERS];
    struct contest_late late[LATE];
    uint64_t tenures, working; /* the last tenure that did something */
    struct contest_seen *seen;
};

_Noreturn __attribute__((format(printf, 2, 3))) static void fail(const struct contest *sim,
                                                                 const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    sim_violation("sim_comments", sim->seed, format, arguments);
}

__attribute__((format(printf, 2, 3))) static void say(const struct contest *sim, const char *format,
                                                      ...)
{
    va_list arguments;
    if (!sim->is_verbose) {
        return;
    }
    va_start(arguments, format);
    sim_print(sim->now_ns, format, arguments);
    va_end(arguments);
}

static unsigned below(struct contest *sim, unsigned bound)
{
    return (unsigned)random_below(&sim->random, bound);
}

static bool strikes(struct contest *sim, unsigned chances)
{
    return !sim->is_quiet && below(sim, chances) == 0;
}

/* ---- The forge ------------------------------------------------------------------------------ */

static struct forge_comment *find(struct contest *sim, int64_t id)
{
    for (size_t i = 0; i < sim->count; i++) {
        if (sim->comments[i].id == id) {
            return &sim->comments[i];
        }
    }
    return NULL;
}

static int64_t post(struct contest *sim, char *login, const char *body)
{
    if (sim->count == COMMENTS) {
        fail(sim, "too many comments");
    }
    sim->comments[sim->count++] = (struct forge_comment){.id = ++sim->last_id,
                                                         .author = login,
                                                         .body = memory_dup_string(body),
                                                         .created_ns = sim->now_ns,
                                                         .updated_ns = sim->now_ns};
    return sim->last_id;
}

static void edit(struct contest *sim, int64_t id, const char *body)
{
    struct forge_comment *comment = find(sim, id);
    if (comment != NULL) {
        free(comment->body);
        comment->body = memory_dup_string(body);
        comment->updated_ns = sim->now_ns;
    }
}

static void remove_comment(struct contest *sim, int64_t id)
{
    struct forge_comment *comment = find(sim, id);
    if (comment != NULL) {
        free(comment->body);
        size_t after = sim->count - (size_t)(comment - sim->comments) - 1;
        memmove(comment, comment + 1, after * sizeof(*comment));
        sim->count--;
    }
}

static void send_late(struct contest *sim, int64_t id, const char *body)
{
    for (size_t i = 0; i < LATE; i++) {
        if (sim->late[i].due_ns == 0) {
            sim->late[i] = (struct contest_late){
                .due_ns = sim->now_ns + 1 + (int64_t)random_below(&sim->random, LATEST_NS),
                .id = id,
                .body = memory_dup_string(body)};
            sim->seen->late++;
            return;
        }
    }
}

static void deliver(struct contest *sim)
{
    for (size_t i = 0; i < LATE; i++) {
        struct contest_late *late = &sim->late[i];
        if (late->due_ns != 0 && late->due_ns <= sim->now_ns) {
            edit(sim, late->id, late->body);
            free(late->body);
            *late = (struct contest_late){0};
        }
    }
}

/** What a list shows now: the newest comments of others only a moment later. */
static void list(const struct contest *sim, const char *login, struct forge_comments *ret_list)
{
    ret_list->items = memory_new_zero(sim->count + 1, sizeof(*ret_list->items));
    for (size_t i = 0; i < sim->count; i++) {
        const struct forge_comment *comment = &sim->comments[i];
        if (comment->author == login || sim->now_ns - comment->created_ns >= HIDDEN_NS) {
            ret_list->items[ret_list->count++] = *comment;
        }
    }
}

/* ---- A worker ------------------------------------------------------------------------------- */

static bool keeps(void *context, int64_t pull)
{
    (void)context;
    (void)pull;
    return false;
}

static struct claim_asker asker_of(const struct contest *sim, const struct contender *worker)
{
    return (struct claim_asker){
        .login = worker->login,
        .nonce = worker->phase == IDLE ? "" : worker->nonce,
        .comment_id = worker->phase == HOLDING ? worker->comment_id : 0,
        .now_ns = sim->now_ns,
        .is_settled = worker->is_settled,
        .has_lapsed = worker->has_lapsed ||
                      (worker->is_settled && sim->now_ns - worker->confirmed_ns > CLAIM_LEASE_NS),
        .keeps = keeps};
}

/** @param proven_ns the lease is from then on */
static void write_body(const struct contender *worker, int64_t proven_ns, struct buf *ret_body)
{
    struct item item = {.number = 1, .state = ITEM_IN_PROGRESS};
    struct item_report report = {.prefix = "rondo:"};
    auto_buf struct buf status = {0};
    struct claim claim = {.number = 1,
                          .owner = "worker",
                          .written_ns = proven_ns,
                          .lease_ns = proven_ns + CLAIM_LEASE_NS,
                          .superseded_count = worker->superseded_count};
    memcpy(claim.superseded, worker->superseded, sizeof(claim.superseded));
    snprintf(claim.nonce, sizeof(claim.nonce), "%s", worker->nonce);
    item_write_comment(&item, &report, &status);
    claim_comment_write(buf_string(&status), &claim, ret_body);
}

static enum claim_fact ask(struct contest *sim, struct contender *worker)
{
    struct forge_comments all = {0};
    auto_claim_comments struct claim_comments comments = {0};
    const struct claim_asker asker = asker_of(sim, worker);
    list(sim, worker->login, &all);
    claim_comments_read(1, &all, &comments);
    enum claim_fact fact = claim_comments_judge(&comments, &asker);
    const struct claim_comment *own = claim_comments_find(&comments, &asker);
    say(sim,
        "w%u asks: %d own %ld sup %d ended %d lapsed %d settled %d confirmed %.1f written %.1f upd "
        "%.1f",
        worker->number, fact, own ? (long)own->id : 0L, own ? own->is_superseded : 0,
        own ? own->is_ended : 0, asker.has_lapsed, asker.is_settled,
        (double)(worker->confirmed_ns % (1000000 * NS_PER_S)) / 1e9,
        own ? (double)(own->claim.written_ns % (1000000 * NS_PER_S)) / 1e9 : 0.0,
        own ? (double)(own->updated_ns % (1000000 * NS_PER_S)) / 1e9 : 0.0);
    worker->comment_id = own == NULL ? worker->comment_id : own->id;
    worker->proven_ns = fact == CLAIM_OURS ? sim->now_ns : 0;
    if (fact == CLAIM_OURS && !worker->is_settled) {
        worker->confirmed_ns = own->claim.written_ns;
        worker->is_settled = true;
    }
    free(all.items);
    return fact;
}

static void leave(struct contest *sim, struct contender *worker, const char *why)
{
    say(sim, "w%u %s", worker->number, why);
    worker->phase = IDLE;
    worker->is_settled = false;
    worker->has_lapsed = false;
    worker->comment_id = 0;
    worker->proven_ns = 0;
    worker->until_ns = sim->now_ns + 30 * NS_PER_S;
}

/** Look whether the issue is free, and write a comment. */
static void claim(struct contest *sim, struct contender *worker)
{
    struct forge_comments all = {0};
    auto_claim_comments struct claim_comments comments = {0};
    auto_buf struct buf body = {0};
    struct claim claim = {0};
    const struct claim_asker asker = asker_of(sim, worker);
    list(sim, worker->login, &all);
    claim_comments_read(1, &all, &comments);
    bool is_free = claim_comments_holder(&comments, &asker) == NULL;
    claim_comments_supersede(&comments, &asker, &claim);
    free(all.items);
    worker->until_ns = sim->now_ns + 30 * NS_PER_S;
    if (!is_free) {
        return;
    }
    id_new(sim->now_ns, &sim->random, worker->nonce);
    worker->superseded_count = claim.superseded_count;
    memcpy(worker->superseded, claim.superseded, sizeof(worker->superseded));
    worker->phase = SETTLING;
    write_body(worker, sim->now_ns, &body);
    int64_t id = strikes(sim, 20) ? 0 : post(sim, worker->login, buf_string(&body));
    worker->until_ns = sim->now_ns + SETTLE_NS;
    say(sim, "w%u claims with %" PRId64 ", superseding %zu", worker->number, id,
        worker->superseded_count);
}

static void settle(struct contest *sim, struct contender *worker)
{
    enum claim_fact fact = ask(sim, worker);
    if (fact == CLAIM_OURS) {
        worker->phase = HOLDING;
        worker->tenure = ++sim->tenures;
        worker->renewed_ns = sim->now_ns;
        sim->seen->won++;
        say(sim, "w%u has won, tenure %" PRIu64, worker->number, worker->tenure);
        return;
    }
    sim->seen->lost++;
    remove_comment(sim, fact == CLAIM_FOREIGN ? worker->comment_id : 0);
    leave(sim, worker, "has lost");
}

/** @return whether the claim is proven; else it is given up, if it is not ours */
static bool prove(struct contest *sim, struct contender *worker)
{
    if (worker->proven_ns == 0 || sim->now_ns - worker->proven_ns >= PROOF_NS) {
        if (ask(sim, worker) != CLAIM_OURS) {
            sim->seen->fenced++;
            leave(sim, worker, "is fenced");
            return false;
        }
        worker->has_lapsed = false;
    }
    return true;
}

static void renew(struct contest *sim, struct contender *worker)
{
    auto_buf struct buf body = {0};
    write_body(worker, worker->proven_ns, &body);
    sim->seen->renewals++;
    if (strikes(sim, 15)) {
        send_late(sim, worker->comment_id, buf_string(&body));
        return;
    }
    edit(sim, worker->comment_id, buf_string(&body));
    worker->has_lapsed = sim->now_ns - worker->confirmed_ns > CLAIM_LEASE_NS;
    worker->confirmed_ns = worker->proven_ns;
    worker->proven_ns = worker->has_lapsed ? 0 : worker->proven_ns;
    worker->renewed_ns = sim->now_ns;
    sim->seen->lapsed += worker->has_lapsed ? 1 : 0;
}

/** Something outside: it needs the proof, and is too late when that is old. */
static void work(struct contest *sim, struct contender *worker)
{
    if (worker->proven_ns == 0 || sim->now_ns - worker->proven_ns >= PROOF_NS) {
        return;
    }
    if (worker->tenure < sim->working) {
        fail(sim, "w%u works in tenure %" PRIu64 " after tenure %" PRIu64, worker->number,
             worker->tenure, sim->working);
    }
    sim->working = worker->tenure;
    sim->seen->effects++;
}

static void hold(struct contest *sim, struct contender *worker)
{
    if (!prove(sim, worker)) {
        return;
    }
    if (strikes(sim, 25)) {
        worker->until_ns = sim->now_ns + (int64_t)random_below(&sim->random, 40 * MINUTE);
        sim->seen->freezes++; /* between the proof and what it is for */
        return;
    }
    if (sim->now_ns - worker->renewed_ns >= CLAIM_HEARTBEAT_NS) {
        renew(sim, worker);
    } else if (strikes(sim, 60)) {
        edit(sim, worker->comment_id, "<!-- rondo:status 1 -->\nGiven back.\n");
        leave(sim, worker, "gives back");
    } else {
        work(sim, worker);
    }
}

/** Like `kill -9`: only the item survives, and its comment is found by the nonce. */
static void die(struct contest *sim, struct contender *worker)
{
    sim->seen->deaths++;
    say(sim, "w%u dies", worker->number);
    bool forgets = worker->phase == IDLE || below(sim, 2) == 0;
    worker->proven_ns = 0;
    worker->is_settled = false;
    worker->has_lapsed = false;
    worker->until_ns = sim->now_ns + (int64_t)random_below(&sim->random, 20 * MINUTE);
    if (forgets) {
        worker->phase = IDLE;
        worker->comment_id = 0;
    }
}

static void tick(struct contest *sim, struct contender *worker)
{
    if (strikes(sim, 80)) {
        die(sim, worker);
    }
    if (sim->now_ns < worker->until_ns) {
        return;
    }
    switch (worker->phase) {
    case IDLE:
        claim(sim, worker);
        break;
    case SETTLING:
        settle(sim, worker);
        break;
    case HOLDING:
        hold(sim, worker);
        break;
    }
}

/** A claim that says it supersedes all others; or an old comment is edited into one. */
static void disturb(struct contest *sim)
{
    static char eve[] = "eve";
    struct contender stranger = {.login = eve};
    auto_buf struct buf body = {0};
    id_new(sim->now_ns, &sim->random, stranger.nonce);
    for (size_t i = sim->count; i-- > 0 && stranger.superseded_count < LIMIT_CLAIM_SUPERSEDED;) {
        stranger.superseded[stranger.superseded_count++] = sim->comments[i].id;
    }
    write_body(&stranger, sim->now_ns, &body);
    for (size_t i = 0; i < sim->count; i++) {
        if (sim->comments[i].author == eve && below(sim, 3) == 0) {
            edit(sim, sim->comments[i].id, buf_string(&body));
            return;
        }
    }
    post(sim, eve, buf_string(&body));
    sim->seen->strangers++;
}

/* ---- A seed --------------------------------------------------------------------------------- */

static void run_seed(uint64_t seed, void *context, bool is_verbose)
{
    struct contest_seen *seen = context;
    static char bot[] = "bot";
    static char ann[] = "ann";
    static struct contest sim;
    sim = (struct contest){.random = random_seeded(seed),
                           .seed = seed,
                           .is_verbose = is_verbose,
                           .now_ns = INT64_C(1700000000000000000),
                           .seen = seen};
    for (unsigned i = 0; i < WORKERS; i++) {
        sim.workers[i] = (struct contender){.number = i, .login = i < 2 ? bot : ann};
    }
    bool has_stranger = below(&sim, 2) == 0;
    for (int i = 0; i < TICKS; i++) {
        bool is_long = below(&sim, 10) == 0;
        sim.now_ns += (int64_t)random_below(&sim.random, is_long ? 6 * MINUTE : 4 * NS_PER_S);
        deliver(&sim);
        if (has_stranger && strikes(&sim, 60)) {
            disturb(&sim);
        }
        tick(&sim, &sim.workers[below(&sim, WORKERS)]);
    }
    sim.is_quiet = true;
    uint64_t done = seen->effects;
    for (int i = 0; i < QUIET_TICKS && seen->effects == done; i++) {
        sim.now_ns += 2 * NS_PER_S;
        deliver(&sim);
        tick(&sim, &sim.workers[i % WORKERS]);
    }
    if (seen->effects == done) {
        fail(&sim, "nobody gets the issue");
    }
    for (size_t i = 0; i < sim.count; i++) {
        free(sim.comments[i].body);
    }
    for (size_t i = 0; i < LATE; i++) {
        free(sim.late[i].body);
    }
}

static void print_seen(const struct contest_seen *seen)
{
    printf("%" PRIu64 " won, %" PRIu64 " lost, %" PRIu64 " fenced, %" PRIu64 " effects, %" PRIu64
           " renewals (%" PRIu64 " lapsed, %" PRIu64 " late), %" PRIu64 " freezes, %" PRIu64
           " deaths, %" PRIu64 " claims of strangers\n",
           seen->won, seen->lost, seen->fenced, seen->effects, seen->renewals, seen->lapsed,
           seen->late, seen->freezes, seen->deaths, seen->strangers);
}

int main(int argc, char **argv)
{
    struct contest_seen seen = {0};
    int r = sim_seeds(argc, argv, run_seed, &seen);
    if (r == 0) {
        print_seen(&seen);
    }
    return r;
}
