// SPDX-License-Identifier: Apache-2.0
/* Digests of actions, and ids of requests. */
#include "handoff/identity.h"

#include "base/buf.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/json/canonical.h"
#include "base/json/json.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

/** The UUIDv5 of "urn:relaytrace:request:v1" among URLs. */
#define REQUEST_SPACE "c60e442f-b463-5748-9819-3614d2cd0976"

int handoff_check_object(const char *json, const char *what, struct rondo_error *err)
{
    auto_json struct json_object *object = NULL;
    int r = json_parse_strict(json, strlen(json), &object, err);
    if (r < 0) {
        return r;
    }
    if (!json_object_is_type(object, json_type_object)) {
        return error_set(err, RONDO_ERR_INVALID, "%s must be a JSON object", what);
    }
    return 0;
}

void handoff_digest_bytes(const void *bytes, size_t len, char *ret_digest)
{
    unsigned char digest[DIGEST_SIZE];
    char hex[DIGEST_HEX_SIZE];
    struct digest hash = digest_begin();
    digest_add(&hash, bytes, len);
    digest_finish(&hash, digest);
    digest_hex(digest, hex);
    snprintf(ret_digest, HANDOFF_DIGEST_SIZE, "sha256:%s", hex);
}

int handoff_digest(const char *json, size_t len, char *ret_digest, struct rondo_error *err)
{
    auto_buf struct buf canonical = {0};
    int r = json_canonical(json, len, &canonical, err);
    if (r == 0) {
        handoff_digest_bytes(canonical.data, canonical.len, ret_digest);
    }
    return r;
}

int handoff_action_digest(const struct handoff_action *action, char *ret_digest,
                          struct rondo_error *err)
{
    auto_buf struct buf text = {0};
    struct json_writer writer = json_writer(&text);
    int r = handoff_check_object(action->arguments, "the arguments of an action", err);
    if (r < 0) {
        return r;
    }
    json_begin_object(&writer, NULL);
    json_write_raw(&writer, "args", action->arguments);
    if (action->operand_count > 0) {
        json_begin_array(&writer, "operands");
        for (size_t i = 0; i < action->operand_count; i++) {
            json_begin_object(&writer, NULL);
            json_write_string(&writer, "digest", action->operands[i].digest);
            json_write_string(&writer, "path", action->operands[i].path);
            json_end_object(&writer);
        }
        json_end_array(&writer);
    }
    if (action->resource != NULL) {
        json_write_string(&writer, "resource", action->resource);
    }
    json_write_string(&writer, "tool", action->tool);
    json_end_object(&writer);
    return handoff_digest(text.data, text.len, ret_digest, err);
}

int handoff_request_id(const struct handoff_place *place, char *ret_id, struct rondo_error *err)
{
    auto_buf struct buf text = {0};
    auto_buf struct buf canonical = {0};
    struct json_writer writer = json_writer(&text);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "action_digest", place->action_digest);
    json_write_string(&writer, "agent_id", place->agent_id);
    json_write_int(&writer, "attempt", place->attempt);
    json_write_string(&writer, "lane_id", place->lane_id);
    json_write_string(&writer, "run_id", place->run_id);
    json_write_string(&writer, "step_id", place->step_id);
    json_write_string(&writer, "workflow_id", place->workflow_id);
    json_end_object(&writer);
    int r = json_canonical(text.data, text.len, &canonical, err);
    if (r == 0) {
        id_from_name(REQUEST_SPACE, canonical.data, canonical.len, ret_id);
    }
    return r;
}
