// SPDX-License-Identifier: Apache-2.0
/* What the routes of the inbox share: the handoffs of the store, and which of them a caller sees.
 */
#pragma once

#include "handoff/inbox/inbox.h"
#include "server/call.h"

/** The handoffs of the server's store. */
struct handoff_store call_handoffs(const struct call *call);

/** The person who looks; NULL = a token of no person. */
const char *call_viewer(const struct call *call);

/** How the caller sees them. */
struct inbox_view_options call_inbox_view(struct call *call, bool has_thread);

/** Whether the caller sees a handoff. */
bool call_sees_handoff(const struct call *call, const struct handoff *handoff);
