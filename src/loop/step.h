// SPDX-License-Identifier: Apache-2.0
/*
 * The step: from the state of a run to the one thing that happens next. Together with run_fold
 * (journal/state.h) this is the whole logic of the loop. It has no I/O, no clock and no randomness;
 * time comes in as an argument. The driver (loop/driver/driver.h) performs effects and records
 * their results as events, which are folded into the state; then the step is asked again.
 */
#pragma once

#include "base/clock.h"
#include "journal/state.h"
#include "loop/spec.h"
#include "policy/verdict.h"

/**
 * The times of events are the wall clock's; the loop's own clock follows it only where they differ
 * by this much, for threads are not always scheduled at once.
 */
#define LOOP_CLOCKS_DIFFER_NS (500 * NS_PER_MS)

enum loop_effect_kind {
    EFFECT_RECORD,     /**< append `event` to the journal */
    EFFECT_CHECKPOINT, /**< save a checkpoint in the same transaction; `how` says why */
    EFFECT_VERIFY,     /**< evaluate every exit condition */
    EFFECT_PAUSE,      /**< paused: nothing happens until the run is continued */
    EFFECT_DELAY,      /**< wait for `delay_ns`, or until the run is asked to stop */
    EFFECT_GATE,       /**< ask the gate for the next iteration, then loop_step_gate */
    EFFECT_BODY,       /**< an iteration was begun: run its body */
    EFFECT_END,        /**< the run has a final status */
};

struct loop_effect {
    enum loop_effect_kind kind;
    struct journal_event event; /**< EFFECT_RECORD; time and seq are the driver's to set */
    const char *how;            /**< EFFECT_CHECKPOINT: "interval" or "final" */
    int64_t delay_ns;           /**< EFFECT_DELAY */
};

/**
 * What comes next.
 * @param now_ns   the loop's clock: about the wall clock's time
 * @param can_save false while the store fails and the run continues without checkpoints
 * @param ret_effect texts in it are static, or point into `state`
 */
void loop_step(const struct run_state *state, const struct loop_spec *spec, int64_t now_ns,
               bool can_save, struct loop_effect *ret_effect);

/**
 * The event that follows from the gate's verdict: iteration.started or gate.denied.
 * Texts in it point into `verdict`.
 */
struct journal_event loop_step_gate(const struct run_state *state,
                                    const struct policy_verdict *verdict);

/** The event for another step that was denied. Texts in it point into `verdict`. */
struct journal_event loop_step_denied(const struct run_state *state, enum vocabulary_action action,
                                      const struct policy_verdict *verdict);

/**
 * Whether the run comes near a limit that it was not warned about yet.
 * @param begins an iteration begins or continues, and counts as reached
 * @param ret_event then the event to record, without a message
 */
bool loop_step_warning(const struct run_state *state, enum run_limit counter,
                       const struct policy_limit *limit, bool begins,
                       struct journal_event *ret_event);

/** Time that the run has been active, up to `now_ns`. */
int64_t loop_step_active_ns(const struct run_state *state, int64_t now_ns);

/** Time left until the run's time limit; INT64_MAX when it has none; never negative. */
int64_t loop_step_time_left_ns(const struct run_state *state, const struct loop_spec *spec,
                               int64_t now_ns);
