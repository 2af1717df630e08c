// SPDX-License-Identifier: Apache-2.0
/*
 * A client of an HTTP server that sends any bytes at all, for tests and fuzz targets. Every wait
 * has a deadline; nothing here asserts.
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Time that a test waits for what has to happen, ns. */
#define HTTP_RAW_PATIENCE_NS INT64_C(600000000000)

/** Connect to "HOST:PORT", "[V6]:PORT" or "unix:PATH". @return a descriptor, or -1 */
int http_raw_connect(const char *address);
/** The same with a receive buffer of about so many bytes; 0 = the system's. */
int http_raw_connect_with(const char *address, int receive_bytes);
/** Send all of it. @return false when the peer does not take it any more */
bool http_raw_send(int fd, const void *bytes, size_t len);
bool http_raw_send_text(int fd, const char *text);

/**
 * Read until the peer ends or time is over.
 * @return whether the peer ended the connection
 */
bool http_raw_read_all(int fd, struct buf *ret_bytes, int64_t timeout_ns);
/** Read until the text has come, after what is in the buffer already. @return whether it came */
bool http_raw_read_until(int fd, struct buf *bytes, const char *text, int64_t timeout_ns);
/** Read one whole answer with a Content-Length (of HEAD: its head). @return its status, or -1 */
int http_raw_read_answer(int fd, struct buf *ret_head, struct buf *ret_body, bool is_head);
/** Send a text on a connection of its own and read until the end. @return the status, or -1 */
int http_raw_ask(const char *address, const char *request, struct buf *ret_bytes);
/** Status of the first answer in some bytes, or -1. */
int http_raw_status(const char *bytes);
/**
 * Append the body of whole chunks. A chunk that has not come whole yet is left.
 * @return bytes of the chunks that were taken
 */
size_t http_raw_unchunk(const char *bytes, size_t len, struct buf *body);
