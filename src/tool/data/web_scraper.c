// SPDX-License-Identifier: Apache-2.0
/*
 * The tool type `web_scraper`: fetches a page as `web_reader` does and keeps its text with the
 * documents of the agent, where search_documents finds it, in this run and in later ones.
 */
#include "base/auto.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "base/text/utf8.h"
#include "tool/builtin/web_page.h"
#include "tool/canonical.h"
#include "tool/data/documents.h"
#include "tool/toolbox.h"
#include "tool/types.h"

#include <stdlib.h>

static void free_pages(void *owned)
{
    web_pages_fini(owned);
    free(owned);
}

static size_t count_characters(const struct buf *text)
{
    size_t count = 0;
    for (size_t i = 0; i < text->len; i++) {
        count += ((unsigned char)text->data[i] & 0xC0) != 0x80;
    }
    return count;
}

static void run_scrape(const struct tool *tool, const struct tool_call *call,
                       struct tool_result *ret_result)
{
    const struct web_pages *pages = tool->context;
    const char *url = json_get_string(call->arguments, "url", "");
    struct rondo_error err = {0};
    size_t pieces = 0;
    if (!web_page_read(pages, call, url, ret_result)) {
        return;
    }
    tool_result_make_text(ret_result);
    if (documents_keep_page(pages->around->documents, call, url, &ret_result->text, &pieces, &err) <
        0) {
        tool_fail(ret_result, "Error: the page was read and not stored: %s", err.message);
        return;
    }
    size_t characters = count_characters(&ret_result->text);
    buf_clear(&ret_result->text);
    buf_printf(&ret_result->text, "Stored %zu chunks from %s (%zu chars)", pieces, url, characters);
}

static const struct tool_argument arguments[] = {{"url", ARGUMENT_URL}, {0}};

static const struct tool_function scrape_function = {
    .name = "scrape_page",
    .description = "Fetch a web page and store its text, in place of what was stored of it before, "
                   "so that search_documents finds it.",
    .schema = "{\"type\":\"object\",\"properties\":{\"url\":{\"type\":\"string\","
              "\"description\":\"Address: http or https\"}},\"required\":[\"url\"],"
              "\"additionalProperties\":false}",
    .run = run_scrape,
    .is_idempotent = true,
    .arguments = arguments,
};

static int open_web_scraper(struct toolbox *toolbox, struct json_object *config,
                            struct rondo_error *err)
{
    const struct tool_surroundings *around = toolbox_surroundings(toolbox);
    if (around->documents == NULL) {
        return error_set(err, RONDO_ERR_UNSUPPORTED, "web_scraper needs the store of a run");
    }
    struct web_pages *pages = memory_new_zero(1, sizeof(*pages));
    web_pages_init(pages, around, config);
    toolbox_own(toolbox, pages, free_pages);
    return toolbox_add_function(toolbox, web_scraper_tool_type.name, &scrape_function, pages, err);
}

const struct tool_type web_scraper_tool_type = {.name = "web_scraper", .open = open_web_scraper};
