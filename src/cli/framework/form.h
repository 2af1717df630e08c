// SPDX-License-Identifier: Apache-2.0
/* Forms of MCP servers, filled in at the terminal field by field. */
#pragma once

#include "cli/terminal/line_input.h"
#include "tool/tool.h"

/** Fields that a form may have. */
#define FORM_FIELDS_MAX 32

/**
 * Show a form and read the answers. Everything of the server's is shown with hidden characters
 * written out.
 * @param server, params, ret_content see mcp_ask_fn
 */
enum mcp_consent form_ask(struct line_input *input, const char *server, struct json_object *params,
                          struct cancel *cancel, struct json_object **ret_content);
