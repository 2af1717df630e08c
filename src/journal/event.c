// SPDX-License-Identifier: Apache-2.0
/* The tables of event types and fields, and encoding and decoding driven by them. */
#include "journal/event.h"

#include "base/error.h"
#include "base/json/json.h"
#include "base/plain.h"

#include <json-c/json.h>
#include <string.h>

enum kind {
    KIND_INT,
    KIND_COST,   /* an integer; below 0 it is not known, and null */
    KIND_COUNT,  /* a number that is left out when it is 0 */
    KIND_AMOUNT, /* a number that others choose: any but the least */
    KIND_TIME,   /* ns */
    KIND_TEXT,
    KIND_OUTPUT, /* text with a length of its own, which may hold any bytes */
    KIND_JSON,
};

enum field_id {
    F_FORMAT,
    F_EPOCH,
    F_ALIVE,
    F_ITERATION,
    F_ATTEMPT,
    F_LIMIT,
    F_VALUE,
    F_EXIT_CODE,
    F_SIGNAL,
    F_DURATION,
    F_OUTPUT_BYTES,
    F_TOKENS,
    F_COST,
    F_NUMBER,
    F_BYTES,
    F_MET,
    F_TOTAL,
    F_FAILURES,
    F_TURN,
    F_INDEX,
    F_MESSAGES,
    F_DROPPED,
    F_TOKENS_IN,
    F_TOKENS_OUT,
    F_TOKENS_CACHED,
    F_TOKENS_REASONING,
    F_DELAY,
    F_FORKED_SEQ,
    F_CHECKPOINT,
    F_AGENT_ID,
    F_VERSION,
    F_OWNER,
    F_HOW,
    F_OUTCOME,
    F_MESSAGE,
    F_OUTPUT,
    F_FINISH,
    F_SUMMARY,
    F_NAME,
    F_STATUS,
    F_REASON,
    F_POLICY,
    F_LIMIT_NAME,
    F_BY,
    F_SHA256,
    F_OLD_SHA256,
    F_SOURCE,
    F_ACTION,
    F_VERDICT,
    F_DECISION,
    F_ESTIMATE,
    F_MODEL,
    F_PROMPT,
    F_THINKING,
    F_STOP,
    F_CALL_ID,
    F_ARGUMENTS,
    F_REQUEST_ID,
    F_RESPONSE_MODEL,
    F_FORKED_FROM,
    F_SPEC,
    F_ATTRIBUTES,
    F_CUSTOM_DATA,
    F_LIMITS,
    F_OLD_LIMITS,
    F_POLICIES,
    F_ERRORS,
    F_CALLS,
    F_NATIVE,
    F_PLAN,
    FIELD_COUNT,
};

#define FIELD(member, kind_, help_)                                   \
    {                                                                 \
#member, kind_, offsetof(struct journal_event, member), help_ \
    }

static const struct {
    const char *name;
    enum kind kind;
    size_t offset;
    const char *help;
} fields[FIELD_COUNT] = {
    [F_FORMAT] = FIELD(format, KIND_INT, "version of the event format"),
    [F_EPOCH] = FIELD(epoch, KIND_INT, "fencing token: raised by each claim"),
    [F_ALIVE] = FIELD(alive_ns, KIND_TIME, "when the former owner was last seen alive, Unix ns"),
    [F_ITERATION] = FIELD(iteration, KIND_INT, "number of the iteration, from 1"),
    [F_ATTEMPT] = FIELD(attempt, KIND_INT, "1, or more after an interruption"),
    [F_LIMIT] = FIELD(limit, KIND_AMOUNT, "limit in force; 0 = none"),
    [F_VALUE] = FIELD(value, KIND_AMOUNT, "what was measured against the limit"),
    [F_EXIT_CODE] = FIELD(exit_code, KIND_INT, "exit code of the command"),
    [F_SIGNAL] = FIELD(signal, KIND_INT, "signal that ended the command; 0 = none"),
    [F_DURATION] = FIELD(duration_ns, KIND_TIME, "duration in ns"),
    [F_OUTPUT_BYTES] = FIELD(output_bytes, KIND_INT, "bytes written over all"),
    [F_TOKENS] = FIELD(tokens, KIND_AMOUNT, "tokens used"),
    [F_COST] = FIELD(cost_micro, KIND_COST, "cost in millionths; null = not known"),
    [F_NUMBER] = FIELD(number, KIND_INT, "number of the checkpoint"),
    [F_BYTES] = FIELD(bytes, KIND_INT, "size of the agent state"),
    [F_MET] = FIELD(met, KIND_INT, "conditions met"),
    [F_TOTAL] = FIELD(total, KIND_INT, "conditions over all"),
    [F_FAILURES] = FIELD(failures, KIND_INT, "failed tries"),
    [F_TURN] = FIELD(turn, KIND_INT, "number of the model request in the run, from 1"),
    [F_INDEX] = FIELD(index, KIND_INT, "place of the call in its reply, from 0"),
    [F_MESSAGES] = FIELD(messages, KIND_INT, "messages of the conversation"),
    [F_DROPPED] = FIELD(dropped, KIND_COUNT,
                        "messages that were dropped; absent = messages less value, or more"),
    [F_TOKENS_IN] = FIELD(tokens_in, KIND_AMOUNT, "tokens read, cached ones included"),
    [F_TOKENS_OUT] = FIELD(tokens_out, KIND_AMOUNT, "tokens written, reasoning included"),
    [F_TOKENS_CACHED] = FIELD(tokens_cached, KIND_AMOUNT, "tokens read from the provider's cache"),
    [F_TOKENS_REASONING] = FIELD(tokens_reasoning, KIND_AMOUNT, "tokens spent on reasoning"),
    [F_DELAY] = FIELD(delay_ns, KIND_TIME, "time until the next attempt, ns"),
    [F_FORKED_SEQ] = FIELD(forked_seq, KIND_COUNT,
                           "last event that was copied from the other run; what comes behind it is "
                           "the fork's own"),
    [F_CHECKPOINT] =
        FIELD(checkpoint, KIND_COUNT, "checkpoint of the other run that it goes on from"),
    [F_AGENT_ID] = FIELD(agent_id, KIND_TEXT, "stable name of the agent"),
    [F_VERSION] = FIELD(version, KIND_TEXT, "version of Rondo"),
    [F_OWNER] = FIELD(owner, KIND_TEXT, "process that executes the run"),
    [F_HOW] =
        FIELD(how, KIND_TEXT,
              "start, resume, takeover, reopen, control (held for a moment to change something) or "
              "fork; for checkpoints interval, demand or final"),
    [F_OUTCOME] =
        FIELD(outcome, KIND_TEXT,
              "ok, failed, timeout, crashed or error; of a reply the failure's name; of a tool "
              "ok, error, denied, refused or in_doubt; of a person yes, no, none or words"),
    [F_MESSAGE] = FIELD(message, KIND_TEXT, "explanation for people"),
    [F_OUTPUT] = FIELD(output, KIND_OUTPUT, "end of the output"),
    [F_FINISH] = FIELD(finish, KIND_TEXT, "status that the worker asked for"),
    [F_SUMMARY] = FIELD(summary, KIND_TEXT, "the worker's own words"),
    [F_NAME] = FIELD(name, KIND_TEXT, "name of the condition, tool or note"),
    [F_STATUS] = FIELD(status, KIND_TEXT, "met or not_met; for runs the final status"),
    [F_REASON] = FIELD(reason, KIND_TEXT, "reason behind the status"),
    [F_POLICY] = FIELD(policy, KIND_TEXT, "id of the deciding policy"),
    [F_LIMIT_NAME] = FIELD(limit_name, KIND_TEXT, "name of the limit"),
    [F_BY] = FIELD(by, KIND_TEXT, "who asked"),
    [F_SHA256] = FIELD(sha256, KIND_TEXT, "digest of the checkpoint or the policies, hexadecimal"),
    [F_OLD_SHA256] = FIELD(old_sha256, KIND_TEXT, "digest of the policies before"),
    [F_SOURCE] = FIELD(source, KIND_TEXT, "where the policies come from: a path, or built-in"),
    [F_ACTION] = FIELD(action, KIND_TEXT, "what was asked for: iterate, verify, finish, ..."),
    [F_VERDICT] = FIELD(verdict, KIND_TEXT, "deny, or ask when a person may approve"),
    [F_ESTIMATE] = FIELD(estimate, KIND_TEXT,
                         "monotone: the limit was searched, assuming that what is denied once "
                         "stays denied; absent = exact"),
    [F_MODEL] = FIELD(model, KIND_TEXT, "provider and name of the model"),
    [F_PROMPT] = FIELD(prompt, KIND_TEXT, "words that the runtime or the user adds"),
    [F_THINKING] = FIELD(thinking, KIND_TEXT, "reasoning that the model shows"),
    [F_STOP] =
        FIELD(stop, KIND_TEXT, "why the reply ends: end, tools, length, filtered, refused, empty"),
    [F_CALL_ID] = FIELD(call_id, KIND_TEXT, "the provider's id of the call"),
    [F_ARGUMENTS] =
        FIELD(arguments, KIND_TEXT, "arguments, cut for people; model.replied has them whole"),
    [F_REQUEST_ID] = FIELD(request_id, KIND_TEXT, "the provider's id of the request"),
    [F_RESPONSE_MODEL] =
        FIELD(response_model, KIND_TEXT, "name of the model that answered, as the provider says"),
    [F_FORKED_FROM] = FIELD(forked_from, KIND_TEXT, "run that this one is a fork of"),
    [F_DECISION] = FIELD(decision, KIND_TEXT, "Cedar's plain decision: allow or deny"),
    [F_SPEC] = FIELD(spec, KIND_JSON, "options of the run"),
    [F_ATTRIBUTES] = FIELD(attributes, KIND_JSON, "attributes given by the caller"),
    [F_CUSTOM_DATA] = FIELD(custom_data, KIND_JSON, "custom data given by the worker"),
    [F_LIMITS] =
        FIELD(limits, KIND_JSON, "limits from the start of a run on, by name; absent = none"),
    [F_OLD_LIMITS] = FIELD(old_limits, KIND_JSON, "the same for the policies before"),
    [F_POLICIES] = FIELD(policies, KIND_JSON, "ids of the deciding policies"),
    [F_ERRORS] = FIELD(errors, KIND_JSON, "policies that could not be evaluated, and why"),
    [F_CALLS] = FIELD(calls, KIND_JSON, "calls of tools: id, name, arguments as text"),
    [F_NATIVE] = FIELD(native, KIND_JSON, "what the provider needs to get its own words again"),
    [F_PLAN] = FIELD(plan, KIND_JSON, "steps of the plan: description, status, notes"),
};

#define MAX_FIELDS 20
/* Rows end with this; field 0 would be ambiguous. */
#define END FIELD_COUNT

static const struct {
    const char *name;
    const char *help;
    enum field_id fields[MAX_FIELDS];
} types[JOURNAL_TYPE_COUNT] = {
    [JOURNAL_RUN_CREATED] = {"run.created",
                             "The run exists; always event 1.",
                             {F_FORMAT, F_VERSION, F_AGENT_ID, F_BY, F_SPEC, F_FORKED_FROM,
                              F_FORKED_SEQ, F_CHECKPOINT, END}},
    [JOURNAL_RUN_CLAIMED] = {"run.claimed",
                             "A process began to execute the run.",
                             {F_EPOCH, F_OWNER, F_HOW, F_BY, F_ALIVE, F_NUMBER, F_MESSAGE, END}},
    [JOURNAL_RUN_OPTIONS] = {"run.options",
                             "The options were changed: when the run was resumed, or, with `by`, "
                             "limits alone while it went on.",
                             {F_SPEC, F_BY, END}},
    [JOURNAL_STOP_REQUESTED] = {"run.stop_requested",
                                "Somebody asked the run to stop.",
                                {F_BY, F_MESSAGE, END}},
    [JOURNAL_PAUSED] = {"run.paused",
                        "No further iteration begins until the run is continued. Time spent so is "
                        "not active time.",
                        {F_BY, F_MESSAGE, END}},
    [JOURNAL_CONTINUED] = {"run.continued", "A paused run goes on.", {F_BY, END}},
    [JOURNAL_FORKED] = {"run.forked",
                        "The run is a copy of another one up to here, and goes on by itself.",
                        {F_BY, F_FORKED_FROM, F_FORKED_SEQ, F_CHECKPOINT, END}},
    [JOURNAL_POLICY_CHANGED] = {"policy.changed",
                                "Other policies are in force from here on. Also the first event "
                                "of a run's policies, when they come from a file.",
                                {F_SHA256, F_OLD_SHA256, F_SOURCE, F_BY, F_LIMITS, F_OLD_LIMITS,
                                 END}},
    [JOURNAL_POLICY_REFUSED] = {"policy.refused",
                                "The policy file was changed and is wrong; nothing changed.",
                                {F_SOURCE, F_BY, F_SHA256, F_MESSAGE, END}},
    [JOURNAL_LIMIT_WARNING] = {"limit.warning",
                               "The run comes near a limit. Once for each value of a limit.",
                               {F_ITERATION, F_LIMIT_NAME, F_LIMIT, F_VALUE, F_ESTIMATE, F_MESSAGE,
                                END}},
    [JOURNAL_GATE_DENIED] = {"gate.denied",
                             "Policies or limits denied the next iteration; its body was not run.",
                             {F_ITERATION, F_STATUS, F_POLICY, F_LIMIT_NAME, F_LIMIT, F_VALUE,
                              F_REASON, F_MESSAGE, F_ACTION, F_VERDICT, F_DECISION, F_POLICIES,
                              F_ERRORS, F_SHA256, END}},
    [JOURNAL_STEP_DENIED] = {"step.denied",
                             "Policies denied a step; it was not taken, and the run goes on.",
                             {F_ITERATION, F_ACTION, F_NAME, F_POLICY, F_REASON, F_MESSAGE,
                              F_VERDICT, F_DECISION, F_POLICIES, F_ERRORS, F_SHA256, END}},
    [JOURNAL_ITERATION_STARTED] = {"iteration.started",
                                   "Intent: the gate allowed the iteration and its body begins.",
                                   {F_ITERATION, F_ATTEMPT, F_LIMIT, F_ESTIMATE, END}},
    [JOURNAL_ITERATION_FINISHED] =
        {"iteration.finished",
         "Result of the iteration's body. Once for each iteration number.",
         {F_ITERATION, F_OUTCOME, F_EXIT_CODE, F_SIGNAL, F_DURATION, F_TOKENS, F_COST, F_FINISH,
          F_REASON, F_SUMMARY, F_MESSAGE, F_OUTPUT_BYTES, F_OUTPUT, F_CUSTOM_DATA, END}},
    [JOURNAL_ITERATION_INTERRUPTED] = {"iteration.interrupted",
                                       "The body was cut off; the same iteration will run again.",
                                       {F_ITERATION, F_ATTEMPT, F_REASON, END}},
    [JOURNAL_MODEL_REQUESTED] =
        {"model.requested",
         "Intent: the model is being asked. A second one of the same turn repeats a request whose "
         "answer was lost.",
         {F_ITERATION, F_TURN, F_ATTEMPT, F_MODEL, F_MESSAGES, F_PROMPT, END}},
    [JOURNAL_MODEL_RETRYING] = {"model.retrying",
                                "A request failed and will be sent again.",
                                {F_ITERATION, F_TURN, F_ATTEMPT, F_DELAY, F_MESSAGE, END}},
    [JOURNAL_MODEL_REPLIED] = {"model.replied",
                               "Result of a model request; never asked for again.",
                               {F_ITERATION,        F_TURN,           F_OUTCOME,    F_STOP,
                                F_OUTPUT,           F_THINKING,       F_CALLS,      F_NATIVE,
                                F_TOKENS,           F_TOKENS_IN,      F_TOKENS_OUT, F_TOKENS_CACHED,
                                F_TOKENS_REASONING, F_COST,           F_DURATION,   F_ATTEMPT,
                                F_REQUEST_ID,       F_RESPONSE_MODEL, F_MESSAGE,    END}},
    [JOURNAL_TOOL_REQUESTED] = {"tool.requested",
                                "Intent: a tool is being called.",
                                {F_ITERATION, F_TURN, F_INDEX, F_ATTEMPT, F_CALL_ID, F_NAME,
                                 F_ARGUMENTS, END}},
    [JOURNAL_TOOL_FINISHED] = {"tool.finished",
                               "Result of a tool call; never called again.",
                               {F_ITERATION, F_TURN, F_INDEX, F_CALL_ID, F_NAME, F_OUTCOME,
                                F_DURATION, F_OUTPUT_BYTES, F_OUTPUT, END}},
    [JOURNAL_PERSON_ANSWERED] =
        {"person.answered",
         "A person was waited for, so long; that time counts against no limit.",
         {F_ITERATION, F_NAME, F_OUTCOME, F_DURATION, END}},
    [JOURNAL_TIME_SKIPPED] = {"time.skipped",
                              "The clock was set, or the process or the machine stood still: the "
                              "time since the event before is not what the clock says. `value` is "
                              "the time that the run has been active so far, in ns.",
                              {F_VALUE, F_DURATION, F_MESSAGE, END}},
    [JOURNAL_PLAN_UPDATED] = {"plan.updated",
                              "The agent replaced its plan.",
                              {F_ITERATION, F_PLAN, END}},
    [JOURNAL_HISTORY_TRIMMED] = {"history.trimmed",
                                 "Old messages were dropped from the conversation; the first one "
                                 "stays. `value` is the most that may stay, `messages` how many "
                                 "there were before.",
                                 {F_ITERATION, F_VALUE, F_MESSAGES, F_DROPPED, END}},
    [JOURNAL_VERIFICATION_STARTED] =
        {"verification.started",
         "Intent: the exit conditions (or the one named) are being evaluated.",
         {F_ITERATION, F_TOTAL, F_NAME, END}},
    [JOURNAL_CONDITION_EVALUATED] = {"condition.evaluated",
                                     "One exit condition was evaluated by its verifier.",
                                     {F_ITERATION, F_NAME, F_STATUS, F_REASON, F_EXIT_CODE,
                                      F_SIGNAL, F_DURATION, F_MESSAGE, F_OUTPUT_BYTES, F_OUTPUT,
                                      END}},
    [JOURNAL_VERIFICATION_FINISHED] = {"verification.finished",
                                       "All exit conditions were evaluated.",
                                       {F_ITERATION, F_MET, F_TOTAL, END}},
    [JOURNAL_FINISH_REJECTED] = {"finish.rejected",
                                 "The worker said that it is done, but conditions are not met.",
                                 {F_ITERATION, F_MET, F_TOTAL, END}},
    [JOURNAL_CHECKPOINT_SAVED] =
        {"checkpoint.saved",
         "A checkpoint was committed together with this event. Its duration is "
         "that of making it, without the commit.",
         {F_NUMBER, F_ITERATION, F_BYTES, F_SHA256, F_HOW, F_DURATION, END}},
    [JOURNAL_CHECKPOINT_CORRUPT] = {"checkpoint.corrupt",
                                    "A checkpoint failed its digest or format and was not used.",
                                    {F_NUMBER, F_ITERATION, F_MESSAGE, END}},
    [JOURNAL_STORAGE_DEGRADED] =
        {"storage.degraded",
         "The store failed for a time; the run went on without checkpoints.",
         {F_FAILURES, F_DURATION, F_MESSAGE, END}},
    [JOURNAL_NOTE] = {"note",
                      "Something that the program wanted in the journal.",
                      {F_NAME, F_ATTRIBUTES, END}},
    [JOURNAL_RUN_FINISHED] = {"run.finished",
                              "The run has its final status.",
                              {F_STATUS, F_ITERATION, F_SUMMARY, F_MESSAGE, END}},
};

const char *journal_type_name(enum journal_type type)
{
    return (unsigned)type < JOURNAL_TYPE_COUNT ? types[type].name : "unknown";
}

bool journal_type_from_name(const char *name, enum journal_type *ret_type)
{
    for (unsigned i = 0; i < JOURNAL_TYPE_COUNT; i++) {
        if (strcmp(types[i].name, name) == 0) {
            *ret_type = (enum journal_type)i;
            return true;
        }
    }
    return false;
}

static int64_t get_int(const struct journal_event *event, enum field_id id)
{
    int64_t number;
    memcpy(&number, (const char *)event + fields[id].offset, sizeof(number));
    return number;
}

static const char *get_text(const struct journal_event *event, enum field_id id)
{
    const char *text;
    memcpy(&text, (const char *)event + fields[id].offset, sizeof(text));
    return text;
}

static void set_text(struct journal_event *event, enum field_id id, const char *text)
{
    memcpy((char *)event + fields[id].offset, &text, sizeof(text));
}

static bool is_number_kind(enum kind kind)
{
    return kind == KIND_INT || kind == KIND_COUNT || kind == KIND_AMOUNT || kind == KIND_TIME;
}

static void encode_text(const struct journal_event *event, enum field_id id,
                        struct json_writer *writer)
{
    const char *text = get_text(event, id);
    if (text == NULL) {
        return; /* An absent field says the same in fewer bytes. */
    }
    if (fields[id].kind == KIND_JSON) {
        json_write_raw(writer, fields[id].name, text);
    } else if (fields[id].kind == KIND_OUTPUT && event->output_len > 0) {
        json_write_string_len(writer, fields[id].name, text, event->output_len);
    } else {
        json_write_string(writer, fields[id].name, text);
    }
}

static void encode_cost(int64_t cost_micro, const char *name, struct json_writer *writer)
{
    if (cost_micro < 0) {
        json_write_null(writer, name);
    } else {
        json_write_int(writer, name, cost_micro);
    }
}

void journal_encode(const struct journal_event *event, struct buf *ret_buf)
{
    struct json_writer writer = json_writer(ret_buf);
    json_begin_object(&writer, NULL);
    for (const enum field_id *id = types[event->type].fields; *id != END; id++) {
        enum kind kind = fields[*id].kind;
        bool is_number = is_number_kind(kind);
        if (kind == KIND_COST) {
            encode_cost(get_int(event, *id), fields[*id].name, &writer);
        } else if (is_number && (kind != KIND_COUNT || get_int(event, *id) != 0)) {
            json_write_int(&writer, fields[*id].name, get_int(event, *id));
        } else if (!is_number) {
            encode_text(event, *id, &writer);
        }
    }
    json_end_object(&writer);
}

/** Largest number of what Rondo counts: percentages and sums of a few can be computed from it. */
#define MAX_COUNT (INT64_C(1) << 53)
/** Largest time and duration, ns: the year 2116. */
#define MAX_TIME (INT64_C(1) << 62)

static bool is_in_range(enum kind kind, int64_t number)
{
    int64_t most = kind == KIND_AMOUNT ? INT64_MAX : kind == KIND_TIME ? MAX_TIME : MAX_COUNT;
    return number >= -most && number <= most;
}

/** Read one field. @return false when it is there with a wrong type, or out of its range. */
static bool decode_field(struct json_object *root, enum field_id id, struct journal_event *event)
{
    struct json_object *value = NULL;
    if (!json_object_object_get_ex(root, fields[id].name, &value)) {
        return true;
    }
    switch (fields[id].kind) {
    case KIND_COST: {
        int64_t cost_micro = value == NULL ? COST_UNKNOWN : json_object_get_int64(value);
        memcpy((char *)event + fields[id].offset, &cost_micro, sizeof(cost_micro));
        return value == NULL || (json_object_is_type(value, json_type_int) && cost_micro >= 0);
    }
    case KIND_INT:
    case KIND_COUNT:
    case KIND_AMOUNT:
    case KIND_TIME: {
        int64_t number = json_object_get_int64(value);
        memcpy((char *)event + fields[id].offset, &number, sizeof(number));
        return json_object_is_type(value, json_type_int) && is_in_range(fields[id].kind, number);
    }
    case KIND_TEXT:
        set_text(event, id, json_object_get_string(value));
        return json_object_is_type(value, json_type_string);
    case KIND_OUTPUT:
        set_text(event, id, json_object_get_string(value));
        event->output_len = (size_t)json_object_get_string_len(value);
        return json_object_is_type(value, json_type_string);
    case KIND_JSON:
        set_text(event, id, json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN));
        return true;
    }
    return false;
}

int journal_decode(const char *type_name, const char *data, size_t len,
                   struct journal_event *ret_event, struct json_object **ret_root,
                   struct rondo_error *err)
{
    struct journal_event event = {0};
    if (!journal_type_from_name(type_name, &event.type)) {
        return error_set(err, RONDO_ERR_NOT_FOUND, "unknown event type '%s'", type_name);
    }
    auto_json struct json_object *root = NULL;
    int r = json_parse(data, len, &root, err);
    if (r < 0) {
        error_prefix(err, "event %s", type_name);
        return r;
    }
    if (!json_object_is_type(root, json_type_object)) {
        return error_set(err, RONDO_ERR_INVALID, "event %s is not a JSON object", type_name);
    }
    for (const enum field_id *id = types[event.type].fields; *id != END; id++) {
        if (!decode_field(root, *id, &event)) {
            return error_set(err, RONDO_ERR_INVALID,
                             "event %s: field '%s' has the wrong type or range", type_name,
                             fields[*id].name);
        }
    }
    *ret_event = event;
    *ret_root = root;
    root = NULL;
    return 0;
}

void journal_describe(struct buf *ret_buf)
{
    static const char *const kinds[] = {[KIND_INT] = "integer",   [KIND_COST] = "integer or null",
                                        [KIND_COUNT] = "integer", [KIND_AMOUNT] = "integer",
                                        [KIND_TIME] = "integer",  [KIND_TEXT] = "text",
                                        [KIND_OUTPUT] = "text",   [KIND_JSON] = "JSON"};
    for (unsigned i = 0; i < JOURNAL_TYPE_COUNT; i++) {
        buf_printf(ret_buf, "## %s\n\n%s\n\n| field | type | meaning |\n|---|---|---|\n",
                   types[i].name, types[i].help);
        for (const enum field_id *id = types[i].fields; *id != END; id++) {
            buf_printf(ret_buf, "| `%s` | %s | %s |\n", fields[*id].name, kinds[fields[*id].kind],
                       fields[*id].help);
        }
        buf_append_string(ret_buf, "\n");
    }
}
