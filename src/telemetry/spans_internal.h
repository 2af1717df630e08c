// SPDX-License-Identifier: Apache-2.0
/* What the files of spans share: the memory of a run, and how a span begins and is handed over. */
#pragma once

#include "telemetry/spans.h"

#include <uthash.h>

/** Bytes of a name that is kept of a call or a model. */
#define SPANS_NAME_SIZE 96

/** One execution of the run, from its claim on. */
struct execution_span {
    bool is_open;
    uint64_t epoch;
    uint64_t former_epoch; /* 0 = none */
    int64_t start_ns;
    int64_t checkpoint; /* it continued from; 0 = from the events */
    char how[16];
    struct buf events; /* of its span */
    unsigned event_count;
    unsigned dropped_events;
    int64_t tokens_in;
    int64_t tokens_out;
    int64_t tokens; /* as counted against the limit */
    int64_t cost_micro;
    uint64_t iterations;
};

struct iteration {
    bool is_open;
    bool is_parent; /* of what comes: also a while after it was handed over */
    bool is_body_done;
    bool is_failed;
    uint64_t number;
    uint64_t attempt;
    int64_t limit;
    int64_t start_ns;
    int64_t last_ns; /* end of what belongs to it so far */
    int64_t tokens_in;
    int64_t tokens_out;
    int64_t tokens;
    int64_t cost_micro;
    int64_t exit_code;
    char outcome[24];
};

struct verification {
    bool is_open;
    bool is_single; /* of one condition: no event ends it */
    uint64_t seq;
    int64_t iteration;
    int64_t start_ns;
};

struct model_span {
    bool is_open;
    uint64_t turn;
    uint64_t attempt;
    int64_t start_ns;
    int64_t retries;
    char model[SPANS_NAME_SIZE];
    char *prompt; /* owned; when content is shown */
};

struct tool_span {
    uint64_t turn;
    uint64_t index;
    int64_t start_ns;
    char name[SPANS_NAME_SIZE];
    char call_id[SPANS_NAME_SIZE];
    char *arguments; /* owned; when content is shown */
};

/** A call that waits for a person. */
struct wait_span {
    uint64_t seq;
    int64_t start_ns;
    char request_id[ID_SIZE];
    char tool[SPANS_NAME_SIZE];
    char call_id[SPANS_NAME_SIZE];
    char place_id[TRACE_SPAN_SIZE]; /* span in which it was requested */
};

struct span_run {
    char run_id[ID_SIZE];
    char trace_id[TRACE_ID_SIZE];
    uint64_t seq; /* last event taken in */
    uint64_t copied_until;
    char source_id[ID_SIZE]; /* of a fork */
    uint64_t source_epoch;
    char *agent_id;
    char *version;
    char model[SPANS_NAME_SIZE]; /* asked last */
    struct execution_span execution;
    struct iteration iteration;
    struct verification verification;
    struct model_span call;
    struct tool_span *tools; /* the open ones */
    size_t tool_count;
    struct wait_span *waits;
    size_t wait_count;
    char policy_sha256[65];
    int64_t met;   /* conditions, as last verified */
    int64_t total; /* -1 = never */
    int64_t last_ns;
    UT_hash_handle hh;
};

struct spans {
    struct spans_options options;
    struct span_run *runs; /* the one that was quiet for longest comes first */
    bool is_replaying;
};

/** Begin a span of the run with what all of them carry; its parent is what is open. */
struct span spans_begin(const struct span_run *run, enum trace_span kind, uint64_t number,
                        uint64_t part, int64_t start_ns, int64_t end_ns);
/** Hand it over, unless the past is replayed. */
void spans_emit(struct spans *spans, struct span *span);
/** The span is an error of a type. */
void spans_set_error(struct span *span, const char *type);
/** Add an event to the execution's span. */
void spans_add_event(struct span_run *run, const struct span_event *event);

/* spans_parts.c: what happens inside an iteration. Each takes in one event. */
void spans_model_requested(struct spans *spans, struct span_run *run,
                           const struct journal_event *event);
void spans_model_replied(struct spans *spans, struct span_run *run,
                         const struct journal_event *event);
void spans_tool_requested(struct spans *spans, struct span_run *run,
                          const struct journal_event *event);
void spans_tool_finished(struct spans *spans, struct span_run *run,
                         const struct journal_event *event);
void spans_verification_started(struct spans *spans, struct span_run *run,
                                const struct journal_event *event);
void spans_condition_evaluated(struct spans *spans, struct span_run *run,
                               const struct journal_event *event);
void spans_verification_finished(struct spans *spans, struct span_run *run,
                                 const struct journal_event *event);
void spans_checkpoint_saved(struct spans *spans, struct span_run *run,
                            const struct journal_event *event);
void spans_denied(struct spans *spans, struct span_run *run, const struct journal_event *event);
/** Hand over what is open inside the iteration as cut off. */
void spans_cut_parts(struct spans *spans, struct span_run *run, int64_t end_ns);
/** Forget it without handing it over. */
void spans_forget_parts(struct span_run *run);

/* spans_handoff.c: the time in which a call waits for a person. */
void spans_handoff_requested(struct spans *spans, struct span_run *run,
                             const struct journal_event *event);
void spans_handoff_decided(struct spans *spans, struct span_run *run,
                           const struct journal_event *event);
/** The run ends: nobody decides any more. */
void spans_end_waits(struct spans *spans, struct span_run *run, int64_t end_ns);

/* spans_content.c: prompts, replies, arguments and results. */

/** A bounded copy without secrets, or NULL when content is not shown. Owned. */
char *spans_content_keep(const struct spans *spans, const char *text, size_t len);
/** Messages as the GenAI conventions have them; nothing when content is not shown. */
void spans_content_prompt(const struct spans *spans, const char *prompt, struct buf *ret_json);
void spans_content_reply(const struct spans *spans, const struct event_model_replied *event,
                         const char *finish_reason, struct buf *ret_json);
