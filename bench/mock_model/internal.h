// SPDX-License-Identifier: Apache-2.0
/* What the parts of the mock model server share. One thread. */
#pragma once

#include "mock_model.h"

#include "base/buf.h"

#include <sys/types.h>

struct json_object;
struct json_writer;

/** Turns of one conversation, and numbers that a script may give. */
#define MOCK_MAX_TURNS UINT64_C(10000000)
/** A request's body. */
#define MOCK_MAX_BODY ((size_t)256 * 1024 * 1024)
/** A request's head. */
#define MOCK_MAX_HEAD ((size_t)64 * 1024)
/** Length of a conversation's id. */
#define MOCK_MAX_ID  128
#define MOCK_FOREVER INT64_MAX

/* --- scripts: script.c --- */

enum mock_fault_kind {
    MOCK_FAULT_NONE = 0,
    MOCK_FAULT_STATUS,
    MOCK_FAULT_STALL_HEADERS,
    MOCK_FAULT_STALL,
    MOCK_FAULT_CUT,
    MOCK_FAULT_CLOSE,
    MOCK_FAULT_MALFORMED,
    MOCK_FAULT_HUGE,
    MOCK_FAULT_DRIP,
    MOCK_FAULT_EMPTY,
    MOCK_FAULT_CONTENT_TYPE,
    MOCK_FAULT_DUPLICATE,
    MOCK_FAULT_STREAM_ERROR,
};

struct mock_fault {
    enum mock_fault_kind kind;
    int status;
    uint64_t times; /**< 0 = for ever */
    int64_t delay_ms;
    int64_t bytes; /**< or after_bytes; -1 = not given */
    char *retry_after;
    char *body;
    char *content_type;
};

struct mock_faults {
    uint64_t turn; /**< in a script's table */
    struct mock_fault *items;
    size_t count;
};

struct mock_call {
    char *id; /**< NULL = one with the turn's mark */
    char *name;
    char *arguments;
};

struct mock_usage {
    int64_t input; /**< -1 = estimated, like the others */
    int64_t output;
    int64_t cached;
    int64_t cache_written;
    int64_t reasoning;
};

struct mock_turn {
    char *text; /**< NULL = none */
    char *thinking;
    char *stop; /**< "end", "tools", ...; NULL = what follows from the calls */
    struct mock_call *calls;
    size_t call_count;
    struct mock_usage usage;
    struct mock_faults faults;
    int64_t delay_ms;
};

enum mock_after { MOCK_AFTER_FINISH = 0, MOCK_AFTER_REPEAT, MOCK_AFTER_ERROR };

struct mock_script {
    struct mock_turn *turns; /**< none = a loop */
    size_t turn_count;
    enum mock_after after;
    struct mock_turn loop_call; /**< turns of the loop */
    struct mock_turn loop_text;
    struct mock_turn finish;
    uint64_t iterations;
    struct mock_faults *faults;
    size_t fault_count;
    int64_t delay_ms;
    size_t piece_bytes;
    bool is_counted; /**< turns_by count */
    bool is_checked;
};

/** The built-in loop. */
struct mock_script *mock_script_loop(const struct mock_options *options);
int mock_script_parse(const char *text, size_t len, struct mock_script **ret_script,
                      struct rondo_error *err);
void mock_script_free(struct mock_script *script);
/** What to say in a turn; NULL = the script is over and that is an error. Borrowed. */
const struct mock_turn *mock_script_turn(const struct mock_script *script, uint64_t turn);
/** What goes wrong with the `attempt`-th request of a turn, from 1; NULL = nothing. Borrowed. */
const struct mock_fault *mock_script_fault(const struct mock_script *script, uint64_t turn,
                                           uint64_t attempt);

/* --- conversations: mock_model_stats.c --- */

struct mock_turn_stats {
    uint64_t digest;
    uint64_t key; /**< digest of the Idempotency-Key; 0 = none */
    uint32_t received;
    uint32_t completed;
    uint32_t faults;
    bool has_other_body;
    bool has_other_key;
};

struct mock_conversation {
    char id[MOCK_MAX_ID + 1];
    struct mock_script *script;    /**< its own, or NULL */
    struct mock_turn_stats *turns; /**< turn N is turns[N - 1] */
    uint64_t turn_count;
    uint64_t turn_room;
    uint64_t requests;
    uint64_t completed;
    uint64_t faults;
    uint64_t refused;
    uint64_t abandoned;
    uint64_t repeated_bodies;
    uint64_t repeated_turns;
    uint64_t went_back;
    int64_t last_input; /**< tokens of the latest completed request */
    int64_t first_ns;   /**< CLOCK_MONOTONIC when its first request was there; 0 = none yet */
    struct mock_conversation *next;
};

struct mock_conversations {
    struct mock_conversation **slots;
    size_t slot_count;
    size_t count;
};

/** Find one, or begin it. */
struct mock_conversation *mock_conversation_of(struct mock_conversations *all, const char *id,
                                               size_t len);
/** Forget all that it has seen. @param script taken over */
void mock_conversation_begin(struct mock_conversation *conversation, struct mock_script *script);
void mock_conversations_fini(struct mock_conversations *all);
/** Digest of bytes; not cryptographic. Never 0. */
uint64_t mock_digest(const void *bytes, size_t len);
/** Note a request. @return how often the turn has been asked for, this one included */
uint64_t mock_conversation_request(struct mock_conversation *conversation, uint64_t turn,
                                   uint64_t digest, uint64_t key);
/** Turn of a body that was seen before, else the next one. */
uint64_t mock_conversation_counted_turn(const struct mock_conversation *conversation,
                                        uint64_t digest);
void mock_conversation_completed(struct mock_conversation *conversation, uint64_t turn);
void mock_conversation_json(const struct mock_conversation *conversation, struct buf *ret_json);
void mock_conversations_json(const struct mock_conversations *all, struct buf *ret_json);

/* --- requests: mock_model_request.c --- */

enum mock_dialect { MOCK_OPENAI, MOCK_ANTHROPIC };

/** A request of which all bytes are there. Texts point into it and are not terminated. */
struct mock_text {
    const char *bytes;
    size_t len;
};

struct mock_request {
    struct mock_text method;
    struct mock_text path;
    struct mock_text head; /**< header lines */
    struct mock_text authorization;
    struct mock_text api_key;
    struct mock_text version; /**< anthropic-version */
    struct mock_text idempotency_key;
    char *body; /**< chunked ones are put together in place */
    size_t body_len;
    bool is_kept_alive;
    bool expects_continue;
    size_t total; /**< bytes on the connection */
};

/** Outcomes of reading a request. */
enum mock_reading { MOCK_READ_WHOLE, MOCK_READ_MORE, MOCK_READ_CONTINUE, MOCK_READ_BAD };

/** Read a request from the beginning of what a connection has received. */
enum mock_reading mock_request_read(char *bytes, size_t len, struct mock_request *ret_request);
bool mock_text_is(struct mock_text text, const char *word);

/** What the mock needs to know of a request to a model. */
struct mock_question {
    enum mock_dialect dialect;
    uint64_t turn; /**< 0 = not to be told from the request */
    bool is_streaming;
    bool wants_usage; /**< OpenAI: stream_options.include_usage */
    bool is_cached;   /**< Anthropic: something is marked for the cache */
    char model[128];
};

/** Scan a body for what a question needs, trusting it. */
void mock_question_scan(const char *body, size_t len, struct mock_question *ret_question);
/**
 * Read and check a body as the real servers do.
 * @param ret_message why not; at least 256 bytes
 * @return whether it is right
 */
bool mock_question_read(const char *body, size_t len, struct mock_question *ret_question,
                        char *ret_message);

/** Checks of the dialects: mock_model_check.c. */
bool mock_check_openai(struct json_object *request, char *ret_message);
bool mock_check_anthropic(struct json_object *request, char *ret_message);

/* --- replies: reply.c; dialects: openai.c, anthropic.c --- */

/** Bytes to send, with pauses. */
struct mock_segment {
    size_t end;       /**< of the bytes that may go */
    uint64_t fill;    /**< letters that follow them */
    int64_t delay_ns; /**< before; MOCK_FOREVER */
};

struct mock_output {
    struct buf bytes;
    struct mock_segment *segments;
    size_t segment_count;
    size_t segment_room;
    bool should_close;
    bool is_complete; /**< counts as a completed turn once it is sent */
};

/** One answer while it is written. */
struct mock_answer {
    const struct mock_question *question;
    const struct mock_turn *turn;
    const struct mock_fault *fault; /**< or NULL */
    const char *conversation;
    uint64_t number;    /**< of the turn */
    size_t piece_bytes; /**< of a delta */
    struct mock_usage usage;
    uint64_t fill;       /**< letters in place of the text */
    size_t fill_at;      /**< where in `body` they belong */
    size_t event_fill;   /**< letters within the event that is being written */
    struct buf *body;    /**< without the framing of whole replies, with that of streams */
    struct buf *scratch; /**< the event that is being written */
    size_t event_count;
};

/** `{turn}` replaced. NULL reads as "". Clears `ret_text`. */
const char *mock_expand(struct buf *ret_text, const char *text, uint64_t turn);
/** Id of a call: its own, or `PREFIX_mock_TURN_INDEX`. */
const char *mock_call_id(char ret_id[64], const struct mock_answer *answer, size_t index,
                         const char *prefix);
/** Begin an event of the stream: clears and returns the scratch. */
struct buf *mock_event_begin(struct mock_answer *answer, const char *name);
/** Frame the event as server-sent event and HTTP chunk, with the faults that concern events. */
void mock_event_end(struct mock_answer *answer);
/** Write the text as a JSON string, or leave room for letters in its place. */
void mock_write_text(struct mock_answer *answer, struct json_writer *writer, const char *key,
                     const char *text);

void mock_openai_whole(struct mock_answer *answer);
void mock_openai_stream(struct mock_answer *answer);
void mock_anthropic_whole(struct mock_answer *answer);
void mock_anthropic_stream(struct mock_answer *answer);
/** An error's body in the form of the dialect. */
void mock_error_body(enum mock_dialect dialect, int status, const char *message,
                     struct buf *ret_body);

/** Add bytes to send, after a pause. */
void mock_output_segment(struct mock_output *output, int64_t delay_ns, uint64_t fill);
/** A reply that is complete in itself. */
void mock_output_plain(struct mock_output *output, int status, const char *content_type,
                       const char *headers, const char *body, size_t len);

/** The server's state that replies need. */
struct mock_service {
    const struct mock_options *options;
    struct mock_script *script;
    struct mock_conversations conversations;
    struct buf body;
    struct buf scratch;
};

/** Where a reply belongs, for when it has been sent. */
struct mock_ticket {
    struct mock_conversation *conversation; /**< NULL = nobody's */
    uint64_t turn;
};

/** Answer a request: fill the output. */
void mock_answer_request(struct mock_service *service, const struct mock_request *request,
                         struct mock_output *output, struct mock_ticket *ret_ticket);
