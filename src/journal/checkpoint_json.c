// SPDX-License-Identifier: Apache-2.0
/* Checkpoints as programs get them. */
#include "journal/checkpoint_json.h"

#include "base/clock.h"
#include "base/digest.h"
#include "base/json/json.h"
#include "base/text/base64.h"
#include "base/text/utf8.h"

#include <json-c/json.h>
#include <string.h>

static void write_head(struct json_writer *writer, uint64_t number, uint64_t iteration,
                       int64_t time_ns, const unsigned char *sha256, uint64_t state_bytes)
{
    char time[CLOCK_UTC_SIZE];
    char hex[DIGEST_HEX_SIZE];
    clock_format_utc(time_ns, time);
    digest_hex(sha256, hex);
    json_write_int(writer, "number", (int64_t)number);
    json_write_int(writer, "iteration", (int64_t)iteration);
    json_write_string(writer, "time", time);
    json_write_string(writer, "sha256", hex);
    json_write_int(writer, "state_bytes", (int64_t)state_bytes);
}

void checkpoint_row_json(const struct store_checkpoint *checkpoint, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    write_head(&writer, checkpoint->number, checkpoint->iteration, checkpoint->time_ns,
               checkpoint->sha256, checkpoint->state_size);
    json_write_int(&writer, "seq", (int64_t)checkpoint->seq);
    auto_json struct json_object *conditions = NULL; /* Not verified yet: it may be damaged. */
    const char *text = checkpoint->conditions == NULL ? "" : checkpoint->conditions;
    bool is_json = json_parse(text, strlen(text), &conditions, NULL) == 0;
    json_write_raw(&writer, "conditions", is_json ? text : "null");
    json_end_object(&writer);
}

bool checkpoint_is_text(const struct buf *state)
{
    for (size_t at = 0; at < state->len;) {
        unsigned char c = (unsigned char)state->data[at];
        size_t sequence = utf8_sequence_len(state->data + at, state->len - at);
        if (sequence == 0 || (c < 0x20 && strchr("\n\t\r", c) == NULL) || c == 0) {
            return false;
        }
        at += sequence;
    }
    return true;
}

void checkpoint_json(const struct checkpoint *checkpoint, struct buf *ret_json)
{
    const struct buf *state = &checkpoint->agent_state;
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    write_head(&writer, checkpoint->number, checkpoint->iteration, checkpoint->time_ns,
               checkpoint->sha256, state->len);
    json_write_int(&writer, "seq", (int64_t)checkpoint->state.seq);
    json_write_raw(&writer, "conditions",
                   checkpoint->conditions == NULL ? "{}" : checkpoint->conditions);
    json_write_raw(&writer, "custom_data",
                   checkpoint->custom_data == NULL ? "null" : checkpoint->custom_data);
    auto_buf struct buf fold = {0};
    run_state_encode(&checkpoint->state, &fold);
    json_write_raw(&writer, "fold", buf_string(&fold));
    if (checkpoint_is_text(state)) {
        json_write_string_len(&writer, "state", buf_string(state), state->len);
    } else {
        auto_buf struct buf encoded = {0};
        base64_encode(state->data, state->len, &encoded);
        json_write_string(&writer, "state_base64", buf_string(&encoded));
    }
    json_end_object(&writer);
}
