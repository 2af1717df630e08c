// SPDX-License-Identifier: Apache-2.0
/*
 * From notices to warnings. The documents that were read are deleted in the transaction that makes
 * their warnings.
 */
#include "alert/monitor_internal.h"
#include "alert/notice.h"
#include "base/json/json.h"

#include <inttypes.h>
#include <stdio.h>

static bool take_notice(const struct store_document *document, void *context)
{
    struct monitor *monitor = context;
    auto_json struct json_object *root = NULL;
    snprintf(monitor->notices[monitor->notice_count++], ID_SIZE, "%s", document->key);
    if (json_parse(document->data, document->data_len, &root, NULL) < 0) {
        return true;
    }
    struct warning *warning = monitor_add_found(monitor, 0);
    warning->kind = WARNING_EVENT; /* An older version wrote no kind. */
    (void)warning_kind_from_name(json_get_string(root, "kind", "event"), &warning->kind);
    snprintf(warning->id, sizeof(warning->id), "%020" PRIu64 "-event-%.*s", monitor->reached,
             ID_SIZE - 1, document->key);
    warning_set_text(warning->agent_id, sizeof(warning->agent_id),
                     json_get_string(root, "agent_id", ""));
    warning_set_text(warning->message, sizeof(warning->message),
                     json_get_string(root, "message", ""));
    warning->time_ns = json_get_int(root, "time_ns", 0);
    warning->position = monitor->reached;
    return true;
}

int monitor_read_notices(struct monitor *monitor, struct rondo_error *err)
{
    struct store_document_query query = {
        .collection = NOTICE_COLLECTION,
        .limit = MONITOR_NOTICES,
    };
    monitor->notice_count = 0;
    return monitor->store->ops->read_documents(monitor->store, &query, take_notice, monitor, err);
}
