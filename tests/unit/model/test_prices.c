// SPDX-License-Identifier: Apache-2.0
/* Prices: which row is a model's, files that override it, and sums. */
#include "asking.h"

#include "model/prices.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TEST(a_model_is_found_with_its_version_after_it)
{
    static const struct {
        const char *provider, *name;
        int64_t input; /* -1 = unknown */
    } cases[] = {
        {"openai", "gpt-4o", 2500000},
        {"openai", "gpt-4o-2024-08-06", 2500000},
        {"openai", "gpt-4o-mini", 150000},
        {"openai", "gpt-4o-mini-2024-07-18", 150000},
        {"openai", "gpt-4o-audio-preview", -1},
        {"openai", "gpt-5.1", 1250000},
        {"openai", "gpt-5", 1250000},
        {"openai", "gpt-4-0613", 30000000},
        {"anthropic", "claude-sonnet-4-5-20250929", 3000000},
        {"anthropic", "claude-sonnet-4-20250514", 3000000},
        {"anthropic", "claude-opus-4-5", 5000000},
        {"anthropic", "claude-opus-4-1-20250805", 15000000},
        {"anthropic", "claude-3-5-haiku-latest", 800000},
        {"anthropic", "claude-opus-9", -1},
        {"groq", "gpt-4o", -1},
        {"openai", "", -1},
        {"openai", "gpt-4o-", -1},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct prices prices = prices_find(cases[i].provider, cases[i].name);
        assert_int_equal(prices.is_known, cases[i].input >= 0);
        assert_int_equal(prices.input, cases[i].input >= 0 ? cases[i].input : 0);
    }
}

TEST(a_cost_is_the_sum_of_its_parts_rounded_up)
{
    struct prices prices = {2500000, 10000000, 1250000, 3000000, true};
    struct model_usage usage = {
        .input = 1000, .output = 100, .cached = 400, .cache_written = 100, .reasoning = 50};
    /* 500 x 2.5 + 400 x 1.25 + 100 x 3 + 100 x 10 millionths */
    assert_int_equal(prices_cost(&prices, &usage), 3050);
    usage = (struct model_usage){.input = 1};
    assert_int_equal(prices_cost(&prices, &usage), 3);
    usage = (struct model_usage){0};
    assert_int_equal(prices_cost(&prices, &usage), 0);
}

TEST(a_cost_stops_at_its_limit)
{
    struct prices prices = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, true};
    struct model_usage usage = {.input = INT64_MAX, .output = INT64_MAX, .cached = INT64_MAX};
    assert_int_equal(prices_cost(&prices, &usage), INT64_MAX);
}

static int read_prices(const char *text, struct prices *prices, struct rondo_error *err)
{
    return prices_read("p.json", text, strlen(text), "local", "m:7b", prices, err);
}

TEST(a_file_names_prices_of_a_model)
{
    struct prices prices = {0};
    assert_int_equal(
        read_prices("{\"local:m:7b\":{\"input\":0.5,\"output\":2},\"x:y\":7}", &prices, NULL), 0);
    assert_true(prices.is_known);
    assert_int_equal(prices.input, 500000);
    assert_int_equal(prices.output, 2000000);
    assert_int_equal(prices.cached, 500000);
    assert_int_equal(
        read_prices("{\"local:m:7b\":{\"cached\":0.05,\"cache_write\":0.75}}", &prices, NULL), 0);
    assert_int_equal(prices.input, 500000);
    assert_int_equal(prices.cached, 50000);
    assert_int_equal(prices.cache_written, 750000);
}

TEST(half_a_price_makes_no_cost)
{
    struct prices prices = {0};
    assert_int_equal(read_prices("{\"local:m:7b\":{\"input\":1}}", &prices, NULL), 0);
    assert_false(prices.is_known);
    assert_int_equal(read_prices("{}", &prices, NULL), 0);
    assert_false(prices.is_known);
}

TEST(a_wrong_file_is_refused)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"{", "prices p.json: not valid JSON: 1:2: expected a key in quotes, found the end"},
        {"[]", "prices p.json: {\"provider:model\": {\"input\": ...}} is expected"},
        {"{\"local:m:7b\":7}", "prices p.json: local:m:7b: an object is expected"},
        {"{\"local:m:7b\":{\"input\":\"1\"}}",
         "prices p.json: input: dollars for a million tokens are expected, from 0 to 1000000"},
        {"{\"local:m:7b\":{\"output\":-1}}",
         "prices p.json: output: dollars for a million tokens are expected, from 0 to 1000000"},
        {"{\"local:m:7b\":{\"cached\":1000000.1}}",
         "prices p.json: cached: dollars for a million tokens are expected, from 0 to 1000000"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct prices prices = {0};
        struct rondo_error err = {0};
        assert_int_equal(read_prices(cases[i].text, &prices, &err), RONDO_ERR_INVALID);
        assert_string_equal(err.message, cases[i].message);
        assert_false(prices.is_known);
    }
}

TEST(a_file_of_a_mebibyte_is_read_and_a_larger_one_refused)
{
    char path[] = "/tmp/rondo-test-prices-XXXXXX";
    struct rondo_error err = {0};
    char *text = malloc(PRICES_FILE_MAX_BYTES + 1);
    memset(text, ' ', PRICES_FILE_MAX_BYTES + 1);
    memcpy(text, "{}", 2);
    int fd = mkstemp(path);
    for (size_t extra = 0; extra <= 1; extra++) {
        struct prices prices = {0};
        assert_int_equal(pwrite(fd, text, PRICES_FILE_MAX_BYTES + extra, 0),
                         (ssize_t)(PRICES_FILE_MAX_BYTES + extra));
        assert_int_equal(prices_read_file(path, "a", "b", &prices, &err),
                         extra == 0 ? 0 : RONDO_ERR_LIMIT);
    }
    free(text);
    close(fd);
    unlink(path);
}

TEST(the_table_has_each_model_once)
{
    struct buf table = {0};
    model_describe_prices(&table);
    char *line = strstr(buf_string(&table), "| `");
    size_t count = 0;
    while (line != NULL) {
        char *end = strchr(line + 3, '`');
        size_t len = (size_t)(end + 1 - line);
        assert_null(memmem(end, strlen(end), line, len));
        line = strstr(end, "| `");
        count++;
    }
    assert_true(count > 30);
    buf_fini(&table);
}
