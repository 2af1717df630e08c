// SPDX-License-Identifier: Apache-2.0
/* What the routes do. One function for each row of routes.def; each fills in the answer of its
 * call. They run on the threads of the HTTP server. */
#pragma once

#include "server/call.h"

#define ROUTE(id, ...) void handle_##id(struct call *call);
#include "server/api/routes.def"

/** Answer with a run and its place. */
void handler_answer_run(struct call *call, unsigned status, const char *run_id);
/** Write the member `stores`: those that the caller reaches. */
void handler_write_stores(const struct call *call, struct json_writer *writer);
/** Answer with why a run was not begun. @return whether it was */
bool handler_is_taken(struct call *call, enum orchestrator_answer answer);

/** The checkpoint number of the path, 0 = "latest". @return false: the answer is a problem */
bool handler_checkpoint_number(struct call *call, int64_t *ret_number);
