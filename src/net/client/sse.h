// SPDX-License-Identifier: Apache-2.0
/*
 * Server-sent events (WHATWG HTML, section 9.2): an incremental parser. Takes bytes as they come,
 * cut anywhere, with LF, CR or CRLF line ends. Pure; one thread a parser.
 */
#pragma once

#include "base/buf.h"
#include "rondo/error.h"

#include <stdbool.h>
#include <stdint.h>

struct sse_event {
    const char *name; /**< "message" when none is given */
    const char *data; /**< lines joined by LF, NUL-terminated */
    size_t data_len;
    const char *id; /**< last id so far, "" = none */
};

struct sse_parser {
    struct buf line;
    struct buf name;
    struct buf data;
    struct buf id;
    int64_t retry_ms; /**< last `retry` so far; -1 = none */
    size_t max_bytes; /**< of one event; a longer one is RONDO_ERR_LIMIT */
    bool has_data;
    bool is_after_cr;
    bool is_begun; /**< the first bytes, where a BOM may be, were read */
};

void sse_parser_init(struct sse_parser *parser, size_t max_bytes);
void sse_parser_fini(struct sse_parser *parser);

/**
 * Take in bytes.
 * @param on_event called for each complete event; what it gets is borrowed. Returns whether
 *                 to continue; false ends the call, and the rest of the bytes is dropped
 * @return 0, or RONDO_ERR_LIMIT for an event above max_bytes
 */
int sse_parser_feed(struct sse_parser *parser, const char *bytes, size_t len,
                    bool (*on_event)(void *context, const struct sse_event *event), void *context,
                    struct rondo_error *err);
