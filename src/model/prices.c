// SPDX-License-Identifier: Apache-2.0
/*
 * Prices. The table is a convenience that ages: it was reviewed on the day below, and users with
 * other prices put them into a file.
 */
#include "model/prices.h"

#include "base/ascii.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/text/plain.h"
#include "model/key/secret.h"
#include "model/model.h"
#include "os/file_untrusted.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#define MICRO 1000000.0
/** Dearest price that is believed, dollars for a million tokens. */
#define MAX_PRICE 1000000.0

struct price_row {
    const char *provider;
    const char *name; /**< also with a date after it: "gpt-4o-2024-08-06" */
    unsigned input;   /**< thousandths of a dollar for a million tokens, as all four */
    unsigned output;
    unsigned cached;
    unsigned cache_written;
};

/* List prices as published up to the day that prices_date() names. */
static const struct price_row rows[] = {
    {"openai", "gpt-5.2", 1750, 14000, 175, 1750},
    {"openai", "gpt-5.1", 1250, 10000, 125, 1250},
    {"openai", "gpt-5", 1250, 10000, 125, 1250},
    {"openai", "gpt-5-chat", 1250, 10000, 125, 1250},
    {"openai", "gpt-5-mini", 250, 2000, 25, 250},
    {"openai", "gpt-5-nano", 50, 400, 5, 50},
    {"openai", "gpt-5-pro", 15000, 120000, 15000, 15000},
    {"openai", "gpt-4.1", 2000, 8000, 500, 2000},
    {"openai", "gpt-4.1-mini", 400, 1600, 100, 400},
    {"openai", "gpt-4.1-nano", 100, 400, 25, 100},
    {"openai", "gpt-4o", 2500, 10000, 1250, 2500},
    {"openai", "gpt-4o-mini", 150, 600, 75, 150},
    {"openai", "gpt-4-turbo", 10000, 30000, 10000, 10000},
    {"openai", "gpt-4", 30000, 60000, 30000, 30000},
    {"openai", "gpt-3.5-turbo", 500, 1500, 500, 500},
    {"openai", "o1", 15000, 60000, 7500, 15000},
    {"openai", "o1-mini", 1100, 4400, 550, 1100},
    {"openai", "o3", 2000, 8000, 500, 2000},
    {"openai", "o3-mini", 1100, 4400, 550, 1100},
    {"openai", "o3-pro", 20000, 80000, 20000, 20000},
    {"openai", "o4-mini", 1100, 4400, 275, 1100},
    {"openai", "text-embedding-3-small", 20, 0, 20, 20},
    {"openai", "text-embedding-3-large", 130, 0, 130, 130},
    {"openai", "text-embedding-ada-002", 100, 0, 100, 100},
    {"anthropic", "claude-opus-4-8", 5000, 25000, 500, 6250},
    {"anthropic", "claude-opus-4-7", 5000, 25000, 500, 6250},
    {"anthropic", "claude-opus-4-6", 5000, 25000, 500, 6250},
    {"anthropic", "claude-sonnet-4-6", 3000, 15000, 300, 3750},
    {"anthropic", "claude-opus-4-5", 5000, 25000, 500, 6250},
    {"anthropic", "claude-opus-4-1", 15000, 75000, 1500, 18750},
    {"anthropic", "claude-opus-4", 15000, 75000, 1500, 18750},
    {"anthropic", "claude-sonnet-4-5", 3000, 15000, 300, 3750},
    {"anthropic", "claude-sonnet-4", 3000, 15000, 300, 3750},
    {"anthropic", "claude-haiku-4-5", 1000, 5000, 100, 1250},
    {"anthropic", "claude-3-7-sonnet", 3000, 15000, 300, 3750},
    {"anthropic", "claude-3-5-sonnet", 3000, 15000, 300, 3750},
    {"anthropic", "claude-3-5-haiku", 800, 4000, 80, 1000},
    {"anthropic", "claude-3-opus", 15000, 75000, 1500, 18750},
    {"anthropic", "claude-3-haiku", 250, 1250, 30, 300},
    {"google", "gemini-2.5-flash", 300, 2500, 30, 300},
    {"google", "gemini-2.5-flash-lite", 100, 400, 10, 100},
    {"google", "gemini-2.0-flash", 100, 400, 25, 100},
    {"google", "gemini-2.0-flash-lite", 75, 300, 75, 75},
    {"mistral", "mistral-large", 2000, 6000, 2000, 2000},
    {"mistral", "mistral-medium", 400, 2000, 400, 400},
    {"mistral", "mistral-small", 100, 300, 100, 100},
    {"mistral", "mistral-embed", 100, 0, 100, 100},
    {"mistral", "codestral", 300, 900, 300, 300},
    {"groq", "llama-3.3-70b-versatile", 590, 790, 590, 590},
    {"groq", "llama-3.1-8b-instant", 50, 80, 50, 50},
    {"xai", "grok-4", 3000, 15000, 750, 3000},
    {"xai", "grok-3", 3000, 15000, 750, 3000},
    {"xai", "grok-3-mini", 300, 500, 75, 300},
    {"deepseek", "deepseek-chat", 280, 420, 28, 280},
    {"deepseek", "deepseek-reasoner", 280, 420, 28, 280},
    {"cohere", "command-a", 2500, 10000, 2500, 2500},
    {"cohere", "command-r-plus", 2500, 10000, 2500, 2500},
    {"cohere", "command-r", 150, 600, 150, 150},
};

#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

/** The month the table was last looked over, "2026-06". Static. */
static const char *prices_date(void)
{
    return "2026-06";
}

/** "-latest", or "-" and a date: "-20250929", "-2024-08-06", "-08-2024", "-2411", "-0613". */
static bool is_version(const char *text)
{
    size_t digits = 0;
    if (strcmp(text, "") == 0 || strcmp(text, "-latest") == 0) {
        return true;
    }
    for (size_t i = 0; text[i] != '\0'; i++) {
        if (text[i] != '-' && !ascii_is_digit(text[i])) {
            return false;
        }
        digits += text[i] != '-' ? 1 : 0;
    }
    return text[0] == '-' && digits >= 4;
}

static bool is_row(const struct price_row *row, const char *provider, const char *name)
{
    size_t len = strlen(row->name);
    return strcmp(row->provider, provider) == 0 && strncmp(row->name, name, len) == 0 &&
           is_version(name + len);
}

struct prices prices_find(const char *provider, const char *name)
{
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (is_row(&rows[i], provider, name)) {
            return (struct prices){
                .input = rows[i].input * INT64_C(1000),
                .output = rows[i].output * INT64_C(1000),
                .cached = rows[i].cached * INT64_C(1000),
                .cache_written = rows[i].cache_written * INT64_C(1000),
                .is_known = true,
            };
        }
    }
    return (struct prices){0};
}

/** @return 1 = it is there, 0 = it is absent */
static int read_price(struct json_object *entry, const char *key, int64_t *price,
                      struct rondo_error *err)
{
    struct json_object *value = json_member(entry, key);
    bool is_number =
        json_object_is_type(value, json_type_int) || json_object_is_type(value, json_type_double);
    double dollars = is_number ? json_object_get_double(value) : -1;
    if (value == NULL) {
        return 0;
    }
    if (!(dollars >= 0) || dollars > MAX_PRICE) {
        return error_set(err, RONDO_ERR_INVALID,
                         "%s: dollars for a million tokens are expected, from 0 to %.0f", key,
                         MAX_PRICE);
    }
    *price = (int64_t)(dollars * MICRO + 0.5);
    return 1;
}

static int read_entry(struct json_object *entry, struct prices *prices, struct rondo_error *err)
{
    struct prices found = *prices;
    int has_input = read_price(entry, "input", &found.input, err);
    int has_output = has_input < 0 ? has_input : read_price(entry, "output", &found.output, err);
    if (has_output < 0) {
        return has_output;
    }
    if (has_input > 0) {
        found.cached = found.input;
        found.cache_written = found.input;
    }
    int r = read_price(entry, "cached", &found.cached, err);
    r = r < 0 ? r : read_price(entry, "cache_write", &found.cache_written, err);
    if (r < 0) {
        return r;
    }
    found.is_known = prices->is_known || (has_input > 0 && has_output > 0);
    *prices = found;
    return 0;
}

int prices_read(const char *path, const char *text, size_t len, const char *provider,
                const char *name, struct prices *prices, struct rondo_error *err)
{
    auto_json struct json_object *root = NULL;
    auto_buf struct buf key = {0};
    int r = json_parse(text, len, &root, err);
    if (r == 0 && !json_object_is_type(root, json_type_object)) {
        r = error_set(err, RONDO_ERR_INVALID, "{\"provider:model\": {\"input\": ...}} is expected");
    }
    if (r == 0) {
        buf_printf(&key, "%s:%s", provider, name);
        struct json_object *entry = json_member(root, buf_string(&key));
        if (entry != NULL && !json_object_is_type(entry, json_type_object)) {
            r = error_set(err, RONDO_ERR_INVALID, "%s: an object is expected", buf_string(&key));
        } else if (entry != NULL) {
            r = read_entry(entry, prices, err);
        }
    }
    if (r < 0) {
        error_prefix(err, "prices %s", path);
    }
    return r;
}

int prices_read_file(const char *path, const char *provider, const char *name,
                     struct prices *prices, struct rondo_error *err)
{
    auto_buf struct buf text = {0};
    int r = file_read_named(NULL, path, PRICES_FILE_MAX_BYTES, &text, err);
    return r < 0 ? r : prices_read(path, buf_string(&text), text.len, provider, name, prices, err);
}

__extension__ typedef unsigned __int128 wide;

static wide part(int64_t tokens, int64_t price)
{
    return tokens > 0 && price > 0 ? (wide)tokens * (wide)price : 0;
}

int64_t prices_cost(const struct prices *prices, const struct model_usage *usage)
{
    /* Four products of two numbers below 2^63 are below 2^128 together. */
    wide sum = part(usage->input - usage->cached - usage->cache_written, prices->input) +
               part(usage->cached, prices->cached) +
               part(usage->cache_written, prices->cache_written) +
               part(usage->output, prices->output);
    wide micro = sum / 1000000 + (sum % 1000000 > 0 ? 1 : 0);
    return micro > INT64_MAX ? INT64_MAX : (int64_t)micro;
}

static void write_dollars(unsigned thousandths, struct buf *ret_text)
{
    buf_append_string(ret_text, " ");
    text_money(thousandths * INT64_C(1000), ret_text);
    buf_append_string(ret_text, " |");
}

void model_describe_prices(struct buf *ret_text)
{
    buf_printf(ret_text,
               "Dollars for a million tokens, as of %s.\n\n"
               "| model | input | output | cached input | cache write |\n|---|---|---|---|---|\n",
               prices_date());
    for (size_t i = 0; i < ROW_COUNT; i++) {
        buf_printf(ret_text, "| `%s:%s` |", rows[i].provider, rows[i].name);
        write_dollars(rows[i].input, ret_text);
        write_dollars(rows[i].output, ret_text);
        write_dollars(rows[i].cached, ret_text);
        write_dollars(rows[i].cache_written, ret_text);
        buf_append_string(ret_text, "\n");
    }
}
