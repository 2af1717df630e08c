// SPDX-License-Identifier: Apache-2.0
/* Notices as documents. */
#include "alert/notice.h"

#include "base/json/json.h"

void notice_encode(const struct notice *notice, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "kind", warning_kind_name(notice->kind));
    json_write_string(&writer, "agent_id", notice->agent_id);
    json_write_string(&writer, "message", notice->message);
    json_write_int(&writer, "time_ns", notice->time_ns);
    json_end_object(&writer);
}
