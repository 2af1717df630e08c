// SPDX-License-Identifier: Apache-2.0
/* What the routes do. One function for each row of the table in routes.c; each fills in the answer
 * of its call. They run on the threads of the HTTP server. */
#pragma once

#include "server/call.h"

void handle_alive(struct call *call);
void handle_ready(struct call *call);
void handle_ping(struct call *call);
void handle_metrics(struct call *call);
void handle_openapi(struct call *call);
void handle_asset(struct call *call);
void handle_me(struct call *call);
void handle_health(struct call *call);
void handle_tokens(struct call *call);

void handle_list_runs(struct call *call);
void handle_get_run(struct call *call);
void handle_start_run(struct call *call);
/** Answer with a run and its place. */
void handler_answer_run(struct call *call, unsigned status, const char *run_id);
/** Answer with why a run was not begun. @return whether it was */
bool handler_is_taken(struct call *call, enum orchestrator_answer answer);
void handle_stop_run(struct call *call);
void handle_pause_run(struct call *call);
void handle_continue_run(struct call *call);
void handle_resume_run(struct call *call);
void handle_change_limits(struct call *call);

void handle_run_events(struct call *call);
void handle_all_events(struct call *call);
void handle_stream(struct call *call);
void handle_checkpoints(struct call *call);
void handle_checkpoint(struct call *call);
void handle_fork(struct call *call);
/** The checkpoint number of the path, 0 = "latest". @return false: the answer is a problem */
bool handler_checkpoint_number(struct call *call, int64_t *ret_number);
void handle_conditions(struct call *call);
void handle_limits(struct call *call);
void handle_conversation(struct call *call);

void handle_get_policies(struct call *call);
void handle_check_policies(struct call *call);
void handle_put_policies(struct call *call);
void handle_policy_history(struct call *call);
void handle_policy_change(struct call *call);
void handle_explain(struct call *call);

void handle_warnings(struct call *call);
void handle_sinks(struct call *call);
void handle_put_sink(struct call *call);
void handle_remove_sink(struct call *call);
void handle_test_sink(struct call *call);
void handle_deliveries(struct call *call);
void handle_retry_delivery(struct call *call);
