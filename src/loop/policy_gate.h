// SPDX-License-Identifier: Apache-2.0
/* The gate that asks Cedar policies: one for each loop, used by its thread only. */
#pragma once

#include "loop/gate.h"
#include "loop/runtime.h"
#include "loop/spec.h"

struct policy_gate;
struct ruleset;
struct subject_resource;

/**
 * Open the gate of a run: find its policies and read them.
 * @param spec   its policy path and limits count; copied
 * @param in_force digest that the run's journal has last, "" = built in: the first refresh tells
 *               when it is another one
 * @param is_named a person has just named the spec's policies: where agents can write them, that
 *               confirms what nobody has confirmed before
 * @return 0 with *ret_gate for policy_gate_free(); RONDO_ERR_INVALID, RONDO_ERR_NOT_FOUND when
 *         there are no valid policies; RONDO_ERR_DENIED when they must be confirmed
 */
int policy_gate_new(struct runtime *runtime, const struct loop_spec *spec, const char *run_id,
                    const char *in_force, bool is_named, struct policy_gate **ret_gate,
                    struct rondo_error *err);
/** NULL is allowed. */
void policy_gate_free(struct policy_gate *policy_gate);

/** The rules in force at the last step. Borrowed until the next. */
const struct ruleset *policy_gate_ruleset(const struct policy_gate *policy_gate);

/**
 * Tell the policies of the model and tools of the run.
 * @param resources copied
 */
void policy_gate_set_resources(struct policy_gate *policy_gate, const struct loop_spec *spec,
                               const char *run_id, const struct subject_resource *resources,
                               size_t count);

/** Use the limits of the spec from the next decision on. */
void policy_gate_set_limits(struct policy_gate *policy_gate, const struct loop_spec *spec,
                            const char *run_id);

/** The interface for the driver. Borrowed. */
struct gate policy_gate_as_gate(struct policy_gate *policy_gate);
