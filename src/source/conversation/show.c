// SPDX-License-Identifier: Apache-2.0
#include "source/conversation/show.h"

#include "base/clock.h"
#include "base/json/json.h"
#include "base/status.h"
#include "journal/run_answer.h"
#include "loop/driver/driver.h"
#include "source/template.h"

#include <stdio.h>

/** Bytes of a prompt that are shown. */
#define PROMPT_SHOWN 4000

void conversation_turn_fini(struct conversation_turn *turn)
{
    buf_fini(&turn->prompt);
    buf_fini(&turn->answer);
}

static int read_run(struct store *store, struct conversation_turn *turn, struct rondo_error *err)
{
    struct loop_spec spec = {0};
    struct run_answer answer = {0};
    int r = loop_recorded_spec(store, turn->run_id, &spec, err);
    if (r == 0 && spec.prompt != NULL) {
        template_show(spec.prompt, PROMPT_SHOWN, &turn->prompt);
    }
    loop_spec_fini(&spec);
    r = r < 0 ? r : run_answer_read(store, turn->run_id, &answer, err);
    if (r == 0 && answer.is_ended) {
        run_answer_write(&answer, &turn->answer);
    }
    run_answer_fini(&answer);
    return r;
}

int conversation_turn_read(struct store *store, const char *run_id,
                           struct conversation_turn *ret_turn, struct rondo_error *err)
{
    struct store_run run;
    *ret_turn = (struct conversation_turn){.status = "deleted"};
    snprintf(ret_turn->run_id, sizeof(ret_turn->run_id), "%s", run_id);
    int r = store->ops->get_run(store, run_id, &run, err);
    if (r == 0) {
        snprintf(ret_turn->status, sizeof(ret_turn->status), "%s",
                 rondo_status_name(run.summary.status));
        r = read_run(store, ret_turn, err);
    }
    return r == RONDO_ERR_NOT_FOUND ? 0 : r;
}

static void write_time(struct json_writer *writer, const char *name, int64_t time_ns)
{
    char text[CLOCK_UTC_SIZE];
    clock_format_utc(time_ns, text);
    json_write_string(writer, name, text);
}

static int write_turn(struct store *store, const char *run_id, struct json_writer *writer,
                      struct rondo_error *err)
{
    struct conversation_turn turn;
    int r = conversation_turn_read(store, run_id, &turn, err);
    if (r == 0) {
        json_begin_object(writer, NULL);
        json_write_string(writer, "run_id", turn.run_id);
        json_write_string(writer, "status", turn.status);
        json_write_string(writer, "prompt", buf_string(&turn.prompt));
        json_write_string(writer, "answer", turn.answer.len == 0 ? NULL : buf_string(&turn.answer));
        json_end_object(writer);
    }
    conversation_turn_fini(&turn);
    return r;
}

int conversation_write(const struct conversation *conversation, struct store *store,
                       struct buf *ret_json, struct rondo_error *err)
{
    struct json_writer writer = json_writer(ret_json);
    size_t count = conversation->run_count;
    size_t first = count > CONVERSATION_TURNS_SHOWN ? count - CONVERSATION_TURNS_SHOWN : 0;
    int r = 0;
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "id", conversation->id);
    json_write_string(&writer, "agent", conversation->agent);
    json_write_string(&writer, "source", conversation->source);
    json_write_string(&writer, "type", conversation->kind);
    json_write_string(&writer, "key", conversation->key);
    write_time(&writer, "begun", conversation->begun_ns);
    write_time(&writer, "last", conversation->last_ns);
    json_write_int(&writer, "turns", (int64_t)conversation->turns);
    json_write_string(&writer, "last_run_id", count == 0 ? NULL : conversation->runs[count - 1]);
    if (store != NULL) {
        json_begin_array(&writer, "last_turns");
        for (size_t i = first; i < count && r == 0; i++) {
            r = write_turn(store, conversation->runs[i], &writer, err);
        }
        json_end_array(&writer);
    }
    json_end_object(&writer);
    return r;
}
