// SPDX-License-Identifier: Apache-2.0
/*
 * A model server for tests and figures: OpenAI Chat Completions and Anthropic Messages, whole and
 * streamed, over HTTP/1.1 with keep-alive. One thread and one epoll; thousands of connections.
 * It is the program `mock_model` (options: --help), and a library for programs that want it inside.
 *
 *   POST [/c/ID]/v1/chat/completions   OpenAI
 *   POST [/c/ID]/v1/messages           Anthropic
 *   GET  [/c/ID]/v1/models             in the form of the one whose headers come along
 *   PUT   /c/ID/script                 the conversation begins anew, with this script
 *   GET   /c/ID/stats                  what it has seen, as JSON
 *   GET   /stats                       the sums over all conversations
 *
 * What a request is answered with depends on its turn: the first request of a conversation is turn
 * 1, the one that carries the reply to it is turn 2. The turn is read from the request itself, so a
 * client that was killed and asks again gets the same turn again: ids of calls and the built-in
 * texts hold `_mock_TURN_`, and replies without such a mark are counted after the last one that
 * has it. A history may thus be trimmed at will. Where replies bear no marks and the history is
 * trimmed, a script says "turns_by": "count": then a body that was not seen before is a new turn.
 *
 * Stats of a conversation:
 *   first_ns         CLOCK_MONOTONIC when the first request had come
 *   requests         bodies that came
 *   completed        replies that were written to their end, faults not among them
 *   faults           replies that were faults by the script
 *   refused          requests that a real server would not take (400, 401, 404)
 *   abandoned        replies that the client did not wait for
 *   repeated_bodies  requests with the body of an earlier one
 *   repeated_turns   turns that were completed more than once: paid for twice
 *   went_back        requests for a turn before one that was asked for already; a client that keeps
 *                    what it has received never does that
 *   turns            [{turn, received, completed, faults, digest, same_body, key, same_key}, ...]:
 *                    digest of the first body (not cryptographic) and the first Idempotency-Key,
 * and whether all later ones were the same
 *
 * A script:
 *   {"turns": [TURN, ...],
 *    "after": "finish" | "repeat" | "error",    after the last turn; finish: calls finish_task
 *    "loop": {"iterations": 10, "tool": "NAME", "arguments": {...}, "calls": 1, "text_bytes": 0,
 *             "summary": "..."},                instead of turns
 *    "faults": {"TURN": [FAULT, ...]},          with turns or with a loop
 *    "delay_ms": 0, "piece_bytes": 16, "turns_by": "marks" | "count", "is_checked": true}
 *   The loop: odd turns call the tool, even ones say something; the last one calls finish_task.
 *
 *   TURN: {"text": "...", "thinking": "...", "calls": [CALL, ...], "stop": "end" | "tools" |
 *          "length" | "filtered", "usage": {"input", "output", "cached", "cache_written",
 *          "reasoning"}, "faults": [FAULT, ...], "delay_ms": 0}
 *   CALL: {"name": "...", "arguments": {...} or a text that is sent as it is, "id": "..."}
 *   {turn} in texts and arguments becomes the turn's number.
 *
 *   FAULT: {"kind": KIND, "times": 1, "delay_ms": 0, ...}; the first request of the turn meets the
 *   first fault; when all have happened (times 0 = for ever) the turn is answered.
 *     status         "status": 429, "retry_after": "1", "body": "...", "content_type": "..."; also
 *                    without "kind"
 *     stall_headers  nothing comes for "delay_ms" (default: for ever), then the connection ends
 *     stall          half of the reply ("after_bytes": N) comes, then nothing, as above
 *     cut            half of the reply ("after_bytes": N) comes, then the connection ends
 *     close          the connection ends without a reply
 *     malformed      a body, or an event of the stream, that is no JSON
 *     huge           "bytes" (50 MiB) of text
 *     drip           "bytes" (1) at a time, every "delay_ms" (1)
 *     empty          a reply without a body, or a stream without events
 *     content_type   a page in HTML with status 200
 *     duplicate      each event of the stream comes twice (in whole replies: nothing)
 *     stream_error   an error as an event in the middle of the stream (whole: status 500)
 */
#pragma once

#include "rondo/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mock;

/** Zeroed = defaults. Borrowed for the life of the server. */
struct mock_options {
    uint16_t port;           /**< on 127.0.0.1; 0 = any */
    const char *script;      /**< JSON text; NULL = the built-in loop */
    uint64_t iterations;     /**< of the loop; 0 = 10 */
    const char *tool;        /**< that the loop calls; NULL = "think" */
    const char *arguments;   /**< JSON; NULL = {"thought": "turn {turn}"} */
    unsigned calls;          /**< in one reply of the loop; 0 = 1 */
    size_t text_bytes;       /**< least length of the loop's texts */
    int64_t delay_ms;        /**< before each reply */
    bool is_fast;            /**< requests are only scanned: neither parsed nor checked */
    const char *key;         /**< that requests must carry; NULL = any or none */
    const char *keep_folder; /**< keep bodies and headers as ID-NUMBER.json, .headers; or NULL */
};

/** Listen. @param ret_mock mock_free() */
int mock_new(const struct mock_options *options, struct mock **ret_mock, struct rondo_error *err);
/** When nothing runs it any more. NULL is allowed. */
void mock_free(struct mock *mock);
uint16_t mock_port(const struct mock *mock);
/** Serve until mock_stop(). */
void mock_run(struct mock *mock);
/** End mock_run(). Any thread, also a signal handler. */
void mock_stop(struct mock *mock);
