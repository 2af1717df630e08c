// SPDX-License-Identifier: Apache-2.0
/*
 * Results of runs for the sinks of their roles (spec.sinks). The monitor makes a delivery to each
 * sink when it reads that a run has ended, in the transaction that moves its cursor: so each end of
 * a run is delivered at least once, whatever dies in between. The sink of such a delivery is not
 * one of the store's: its name says which of the role's it is, and the run keeps the role. Any
 * thread.
 */
#pragma once

#include "alert/delivery.h"
#include "alert/webhook.h"

struct json_object;
struct journal_event;

/**
 * The sinks of a run, by the names that their deliveries have: "AGENT/webhook-0".
 * @param created data of the run's first event
 * @return NULL-terminated, memory_free_list(); NULL = none
 */
char **result_sinks(struct json_object *created);

/** Whether the results of a run go to sinks. @param agent its agent options, JSON; or NULL */
bool result_is_wanted(const char *agent);

/** Whether a delivery's sink is one of a role. */
bool result_is_sink(const char *name);

/**
 * What a delivery says of a run that has ended, in the form of a warning.
 * @param event  run.finished, with its seq and time
 * @param ret_id WARNING_ID_SIZE bytes
 */
void result_note(const struct journal_event *event, const char *run_id, const char *agent_id,
                 char *ret_id, struct buf *ret_json);

/** Attempt a delivery to a sink of a role. As webhook_attempt(). */
void result_attempt(const struct webhook_ports *ports, struct store *store,
                    struct delivery *delivery, int64_t now_ns, struct webhook_result *ret_result);
