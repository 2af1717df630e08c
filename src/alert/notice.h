// SPDX-License-Identifier: Apache-2.0
/*
 * Notices: what people should know and no run's journal says, such as an event that did not become
 * a run. Who notices it stores a document in the transaction of the thing itself; the monitor makes
 * a warning of it and deletes it in one transaction, so each becomes one warning over any kill.
 *
 * Collection "notice"; the key is an id that its maker chooses, at most ID_SIZE bytes. Who makes
 * notices limits how many: there is a warning for each. Any thread.
 */
#pragma once

#include "alert/warning.h"
#include "base/buf.h"

#include <stdint.h>

#define NOTICE_COLLECTION "notice"

struct notice {
    enum warning_kind kind;
    const char *agent_id; /**< whom it is about; "" = nobody */
    const char *message;  /**< one sentence */
    int64_t time_ns;
};

/** Append it as JSON. */
void notice_encode(const struct notice *notice, struct buf *ret_json);
