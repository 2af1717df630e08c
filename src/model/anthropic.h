// SPDX-License-Identifier: Apache-2.0
/*
 * The dialect of Anthropic's Messages. Thinking blocks go back with their signatures, in their
 * order among texts and calls; the prefix of a conversation is cached up to its newest message.
 * Format: the API reference of Anthropic, "Messages" and "Streaming".
 */
#pragma once

#include "model/dialect.h"

/** Members of `anthropic_ops` and its wire; see struct model_ops and struct model_wire. */
void anthropic_write_tools(const struct model_tool *tools, size_t count, struct buf *ret_json);
void anthropic_write_prefix(const struct model *model, struct buf *ret_json);
void anthropic_write_suffix(const struct model *model, const struct model_request *request,
                            struct buf *ret_json);
void anthropic_splice(const struct model_request *request, struct request_body *body);
void anthropic_write_user(const char *text, struct buf *ret_json);
void anthropic_write_assistant(const struct model_reply *reply, struct buf *ret_json);
void anthropic_write_answers(const struct model_answer *answers, size_t count,
                             struct buf *ret_json);
