// SPDX-License-Identifier: Apache-2.0
/*
 * What an error reply means: HTTP status and the error object, of whichever shape, to one
 * model_failure with a short message for people. Pure; one thread a reading.
 */
#pragma once

#include "model/reading.h"
#include "net/client/http.h"

/** An error object in JSON. @param status the HTTP status it came with, or the one it names */
void failure_read(struct model_reading *reading, long status, struct json_object *reply);

/** The body of a reply with an error status: JSON, a web page, a text, or nothing. */
void failure_read_body(struct model_reading *reading, long status, const char *body, size_t len);

/** A body that should have been JSON and is not. */
void failure_not_json(struct model_reading *reading, const char *body, size_t len);

/** A call that has no complete reply. */
void failure_of_call(struct model_reading *reading, const struct http_response *response);
