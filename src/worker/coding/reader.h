// SPDX-License-Identifier: Apache-2.0
/*
 * What the readers of the formats share: they get one line after the other as JSON, and say what
 * it means. Implemented by worker/coding/stream.c. Numbers and texts that a line gets wrong are as
 * if they were not there.
 */
#pragma once

#include "worker/coding/said.h"

struct coding_reader;
struct json_object;

/** Read one line. The object is borrowed; anything may be in it. */
typedef void coding_read_fn(struct coding_reader *reader, struct json_object *line);

#define FORMAT(ID, id, name, help) coding_read_fn coding_read_##id;
#include "worker/coding/formats.def"

/** What was said so far: readers change it. */
struct coding_said *coding_reader_said(struct coding_reader *reader);

/** Keep a word in a field of CODING_WORD_SIZE bytes; NULL changes nothing. */
void coding_keep_word(char field[CODING_WORD_SIZE], const char *word);

/** Words of the agent; the last ones are its answer. Empty ones are none. */
void coding_say(struct coding_reader *reader, const char *text);
/** More of the words that coding_say() or this had: nothing is reported until they are whole. */
void coding_say_part(struct coding_reader *reader, const char *text);
/** The parts are whole. */
void coding_say_whole(struct coding_reader *reader);
/** @param input any JSON; NULL = none */
void coding_call(struct coding_reader *reader, const char *id, const char *name,
                 struct json_object *input);
/** @param output a text or any JSON; NULL = none */
void coding_result(struct coding_reader *reader, const char *id, const char *name,
                   struct json_object *output, bool is_error);
/** A call was refused for want of permission. */
void coding_deny(struct coding_reader *reader, const char *name);

/**
 * The agent reports an error. A status that is not given is read from the beginning of the message
 * ("401 {...}") or after the word "status" in it, for agents that have no field for it.
 * @param message NULL = none
 */
void coding_fail(struct coding_reader *reader, int64_t status, const char *kind,
                 const char *message, bool is_retryable);
/** The error did not end anything: a later attempt went through. */
void coding_recover(struct coding_reader *reader);

/** Add to a counter of tokens; negative and absurd numbers count as 0. */
void coding_add_tokens(int64_t *counter, int64_t tokens);
/** Dollars, as a JSON number, to millionths; COST_UNKNOWN when it is none. */
int64_t coding_cost(struct json_object *dollars);
/** Add a cost; the sum is known once one is. */
void coding_add_cost(struct coding_said *said, int64_t cost_micro);
