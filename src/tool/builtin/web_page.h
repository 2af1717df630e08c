// SPDX-License-Identifier: Apache-2.0
/*
 * Pages of the web as text, for tools. Only public addresses are reached, and only the hosts that
 * the role allows, at each redirect. What a page says is data that somebody else wrote.
 */
#pragma once

#include "tool/builtin/http_call.h"

/** How a tool reads pages. */
struct web_pages {
    const struct tool_surroundings *around;
    struct json_object *config; /**< of the entry: hosts, sizes, times; borrowed */
    struct tool_headers headers;
};

/** @param pages web_pages_fini() */
void web_pages_init(struct web_pages *pages, const struct tool_surroundings *around,
                    struct json_object *config);
void web_pages_fini(struct web_pages *pages);

/**
 * Read a page: HTML as Markdown, other text as it is, cut to `max_content_bytes`.
 * @return whether the result has its text; else it says why not
 */
bool web_page_read(const struct web_pages *pages, const struct tool_call *call, const char *url,
                   struct tool_result *ret_result);
