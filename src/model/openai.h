// SPDX-License-Identifier: Apache-2.0
/*
 * The dialect of OpenAI's Chat Completions, also that of everything which calls itself compatible
 * with it. Readers take what real servers send: missing indexes, arguments as objects, usage in odd
 * places, a whole reply where a stream was asked for.
 * Format: the API reference of OpenAI, "Chat Completions".
 */
#pragma once

#include "model/dialect.h"

/** Members of `openai_ops` and its wire; see struct model_ops and struct model_wire. */
void openai_write_tools(const struct model_tool *tools, size_t count, struct buf *ret_json);
void openai_write_prefix(const struct model *model, struct buf *ret_json);
void openai_write_suffix(const struct model *model, const struct model_request *request,
                         struct buf *ret_json);
void openai_splice(const struct model_request *request, struct request_body *body);
void openai_write_user(const char *text, struct buf *ret_json);
void openai_write_assistant(const struct model_reply *reply, struct buf *ret_json);
void openai_write_answers(const struct model_answer *answers, size_t count, struct buf *ret_json);
