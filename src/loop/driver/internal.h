// SPDX-License-Identifier: Apache-2.0
/* The inside of a loop, shared by the driver's files only. */
#pragma once

#include "loop/driver/body_ports.h"
#include "loop/driver/driver.h"
#include "policy/gate.h"

/** An event that is recorded and folded, but not committed yet. */
struct pending_event {
    int64_t time_ns;
    enum journal_type type;
    char *data;
    size_t data_len;
};

/** Whether the loop must park. */
enum loop_parking {
    PARKING_NONE = 0,
    PARKING_AT_BOUNDARY,
    PARKING_NOW, /**< what is under way is cut off */
};

/** Bytes that are kept of the requester's name. */
#define LOOP_BY_SIZE 256

/** What the commit that begins an iteration relies on, and the loop as it was before the gate. */
struct loop_reliance {
    struct store_premise premise;
    struct run_state state;
    size_t pending_count;
    int64_t clock_offset_ns;
    uint64_t limit_ahead;
    bool is_limit_ahead_old;
    bool is_state_changed;
    bool was_state_changed;
    bool is_state_unsaved;
};

struct loop {
    struct runtime *runtime;
    struct loop_spec spec;
    struct loop *outer;         /* the run that gave this one away and waits for it; or NULL */
    struct loop_family *family; /* with the outer one, on another thread; or NULL */
    int64_t family_tokens;      /* what of it is counted there */
    int64_t family_cost_micro;
    struct policy_gate *gate; /* NULL = nothing will be asked: see loop_taking.has_no_gate */
    struct verify_command_context verify_context;
    struct verifier verifier;
    struct verifier tool_verifier; /* for conditions that name a tool */
    char **verify_denials; /* by condition: why policies deny its verifier; NULL before the first */
    struct cancel cancel;
    _Atomic int stop_level; /* what loop_stop() asked for; the token may be set for other reasons */
    bool is_waiting_for_store; /* its commit was noted as waiting */
    bool is_lease_in_doubt;    /* others may have claimed the run: no effect without a commit */
    char run_id[ID_SIZE];
    char by[LOOP_BY_SIZE]; /* who started or resumed it; "" = unknown */
    bool is_registered;

    struct run_state state;
    int64_t clock_offset_ns; /* wall clock less runtime_active_ns, as last seen */
    struct buf agent_state;
    struct buf former_state; /* what it was when the body began, if the body has replaced it */
    bool has_former_state;
    bool is_state_changed; /* agent_state is not what was saved last, or will be with this commit */
    bool was_state_changed; /* likewise of former_state */
    bool is_state_unsaved;  /* an iteration is finished whose state is in no commit yet */
    char *custom_data;
    struct buf feedback; /* JSON; rebuilt by each round of verification */

    struct pending_event *pending;
    size_t pending_count;
    size_t pending_room;
    size_t pending_bytes;
    size_t tried_count; /* leading events of a commit whose outcome is unknown: must not change, */
    struct store_summary tried_summary; /* nor what belongs to them */
    uint64_t tried_mail;
    struct store_memory_change *memories; /* that wait; their texts are owned */
    size_t memory_count;
    size_t tried_memories;                /* leading ones that belong to the commit that is tried */
    struct checkpoint_record *checkpoint; /* to be committed with pending[checkpoint_at] */
    size_t checkpoint_at;
    const struct loop_update *update;  /* goes with the next commit; the body's, NULL = none */
    struct checkpoint_record *interim; /* of the commit that is tried; NULL = it needs none */

    _Atomic int parking;           /* enum loop_parking */
    bool is_begun;                 /* loop_next was called */
    bool is_over;                  /* ended or parked, committed and released */
    bool has_new_options;          /* the spec was changed and not recorded yet */
    struct rondo_error broken;     /* why this process cannot continue; code 0 = it can */
    struct verify_result *results; /* last ones by condition; NULL before the first */
    bool is_in_body;               /* loop_next handed a body out */
    int64_t body_started_ns;
    struct loop_body_result body; /* without its texts, which are kept in what follows */
    bool has_custom_data;         /* the body has replaced it */
    struct buf body_output;
    char *body_summary;
    char *body_message;

    struct loop_reliance *reliance; /* of the next commit; NULL = it relies on nothing */
    bool must_look; /* before the next gate: letters may wait, or policies have changed */
    bool has_mail;
    uint64_t mail_taken;
    uint64_t limit_ahead;             /* of iterations, for lists; 0 = none, or not known */
    bool is_limit_ahead_old;          /* to be found before the next commit */
    char *unpriced_model;             /**< no price is known for it; NULL = the price is known */
    int64_t time_ahead_ns;            /**< active time at which policies deny; 0 = none is known */
    struct policy_verdict *violation; /* what ended or ends the run; NULL = nothing did */

    bool is_orphan; /**< taken from a process that died: if released before it begins, it is an
                       orphan again */

    bool is_degraded;
    uint64_t storage_failures;
    int64_t degraded_since_ns;
    uint64_t degraded_failures;
    char degraded_message[RONDO_ERROR_MESSAGE_SIZE];
};

/** Make an empty loop around its parts; takes the spec over. */
int loop_new(const struct loop_parts *parts, struct loop_spec *spec, struct loop **ret_loop,
             struct rondo_error *err);

/** Make the loop known to the runtime's keeper. */
int loop_register(struct loop *loop, struct rondo_error *err);

/** Record the claim of this process. @param checkpoint the one that was used, 0 = none */
void loop_record_claimed(struct loop *loop, uint64_t epoch, const char *how, int64_t alive_ns,
                         uint64_t checkpoint);

/** Record that the iteration in flight, if there is one, was cut off. */
void loop_record_interrupted(struct loop *loop, const char *reason);

/** The body under way leaves no state: it was cut off. */
void loop_take_back_state(struct loop *loop);

/** The body's state is that of its iteration, or was saved on demand. */
void loop_keep_state(struct loop *loop);

/** Release the first of the memories that wait: they are committed, or the loop is freed. */
void loop_drop_memories(struct loop *loop, size_t count);

/** Whether an error of the store may go away by itself, so that trying again makes sense. */
bool loop_is_store_failure(int code);

/** Record that the wall clock and the time that the process was active went apart, if they did. */
void loop_note_skipped_time(struct loop *loop);

/** Like loop_record_checkpoint, without flushing: does nothing when a checkpoint waits already. */
void loop_prepare_checkpoint(struct loop *loop, const char *how);

/** Record checkpoint.saved and make the checkpoint ready for the next flush. */
int loop_record_checkpoint(struct loop *loop, const char *how, struct rondo_error *err);

/** Read letters if some may wait, and record what they ask for. */
void loop_take_mail(struct loop *loop);
/** Record what one letter requests, unless that was done. A store_letter_fn. @param context the
 * loop */
bool loop_take_letter(const struct store_letter *letter, void *context);
/** Whether the token is set only because the lease could not be renewed in time. */
bool loop_is_only_late(const struct loop *loop);
/**
 * If that is so, take it back: at a boundary, when nothing is under way. Whether the run is still
 * ours, the commit before the next effect finds out.
 */
void loop_forget_late(struct loop *loop);

/**
 * Whether an iteration can begin without a look at letters and shared policies before: the commit
 * that begins it then has a premise.
 */
bool loop_can_rely(const struct loop *loop);
/** From now on all that is recorded goes into the next commit, with this premise, or is taken back.
 */
void loop_rely(struct loop *loop, const struct store_premise *premise);
/** Nothing is to be taken back any more. */
void loop_forget_reliance(struct loop *loop);
/** The commit found its premise wrong: the loop is what it was at loop_rely(), and has to look. */
void loop_take_back(struct loop *loop);

/** Sleep at a boundary, up to the first letter that changes something or until cancelled. */
void loop_wait_with_mail(struct loop *loop, int64_t duration_ns);

struct loop_limits;
/** Record a request. `by`: the requester. @return false: it changes nothing, and was not recorded
 */
bool loop_record_paused(struct loop *loop, bool is_paused, const char *by);
/** The gate uses them from its next question on. Limits out of range are not taken. */
bool loop_record_limits(struct loop *loop, const struct loop_limits *limits, const char *by);
/** Have the gate use the limits of the spec. */
void loop_use_limits(struct loop *loop);

/** How a run is taken. */
struct loop_taking {
    const char *run_id;
    const char *how;        /**< in run.claimed; NULL = resume, takeover or reopen, as it is */
    loop_change_fn *change; /**< or NULL */
    void *change_context;
    int on_corrupt;    /**< as for loop_resume */
    bool may_reopen;   /**< one that has ended continues; else RONDO_ERR_STATE */
    bool is_continued; /**< a paused one continues */
    bool heeds_stops;  /**< also stops that a former owner did not read */
    bool has_no_gate;  /**< no step will be asked for: the policies need not be there */
    bool is_momentary; /**< it is given back at once: the dead process remains its recorded owner */
};

/** loop_resume in its parts: claim a run, rebuild it, record the claim. Nothing is committed. */
int loop_take(const struct loop_parts *parts, const struct loop_taking *taking,
              struct loop **ret_loop, struct loop_opening *ret_opening, struct rondo_error *err);

enum flush_mode {
    FLUSH_NORMAL = 0, /**< at a boundary */
    FLUSH_HOLD,       /**< at a boundary, also without events: is the run still ours? */
    FLUSH_HARD,       /**< try long even when the store is known to fail: the run is about to end */
    FLUSH_RELEASE,    /**< like FLUSH_HARD, and give the lease up in the same transaction */
};

/**
 * Commit everything that waits. If the commit relies on something that does not hold any more, what
 * it would have begun is taken back instead (loop_take_back()).
 * @return 0, also when the store fails and the run continues in best-effort mode (never in
 *         FLUSH_RELEASE); or a negative code, RONDO_ERR_FENCED when the run was taken over
 */
int loop_flush(struct loop *loop, enum flush_mode mode, struct rondo_error *err);

/** What lists show of a run in this state. */
struct store_summary loop_summary_of(const struct run_state *state, size_t condition_count);

/** The options that event `seq` of a run holds. @param ret_spec loop_spec_fini() */
int loop_load_spec(struct store *store, const char *run_id, uint64_t seq,
                   struct loop_spec *ret_spec, struct rondo_error *err);

/** Create the run's row together with the events recorded so far, in one transaction. */
int loop_create(struct loop *loop, const struct store_run *row,
                struct store_claim_result *ret_claim, struct rondo_error *err);

/** Rebuild the feedback from the journal's last round of verification, on resume. */
int loop_load_feedback(struct loop *loop, struct rondo_error *err);

/** Evaluate every condition as one round. */
int loop_verify(struct loop *loop, struct rondo_error *err);

/** Record the spec as the options in force, if it was changed since it was recorded last. */
void loop_record_options(struct loop *loop);

/** Record how long the store has failed so far. */
void loop_record_degraded(struct loop *loop);

/**
 * Open the gate of the run's policies.
 * @param is_policy_named a person has just named the spec's policies: where agents can write them,
 *                        that confirms what nobody has confirmed before
 */
int loop_open_gate(struct loop *loop, bool is_policy_named, struct rondo_error *err);
/**
 * Bring the policies up to date and ask for the next iteration; records what follows. Where the
 * loop can rely on what it knows, only an iteration that is allowed is recorded; otherwise the loop
 * has to look and ask again.
 */
void loop_ask_to_iterate(struct loop *loop);
/** The run is about to end: warn of limits that its last iteration came near to or went over. */
void loop_warn_at_end(struct loop *loop);
/** Ask ahead of a delay: a denial is recorded at once, anything else not at all. */
bool loop_is_denied_already(struct loop *loop);
/**
 * Ask for another step. A denial is recorded.
 * @param what ACTION_VERIFY: name of the condition; else NULL
 * @return whether it may be taken
 */
bool loop_ask(struct loop *loop, enum vocabulary_action action, const char *what,
              struct policy_verdict *ret_verdict);

/** Whether the run can take further events: 0, RONDO_ERR_STATE after its end, or what broke it. */
int loop_can_record(const struct loop *loop, struct rondo_error *err);

/** Begin a new feedback document, add to it, end it. @param iteration the one that was verified */
void loop_feedback_begin(struct loop *loop, uint64_t iteration);
void loop_feedback_add(struct loop *loop, const struct event_condition_evaluated *event);
void loop_feedback_end(struct loop *loop);
