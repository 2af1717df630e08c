// SPDX-License-Identifier: Apache-2.0
#include "base/json/canonical.h"

#include "base/digest.h"
#include "support/test.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

static int make(const char *text, size_t len, struct buf *ret_text)
{
    struct rondo_error err = {0};
    int r = json_canonical(text, len, ret_text, &err);
    assert_true(r == 0 || err.message[0] != '\0');
    return r;
}

static void assert_form(const char *text, const char *expected)
{
    auto_buf struct buf form = {0};
    assert_int_equal(make(text, strlen(text), &form), 0);
    assert_string_equal(buf_string(&form), expected);
}

static void assert_none(const char *text)
{
    auto_buf struct buf form = {0};
    buf_append_string(&form, "kept");
    if (make(text, strlen(text), &form) != RONDO_ERR_INVALID) {
        fail_msg("%s has the form %s", text, buf_string(&form));
    }
    assert_string_equal(buf_string(&form), "kept");
}

TEST(white_space_goes_and_names_are_in_order)
{
    assert_form(" { \"b\" : [ 1 , true , null ] ,\n \"a\" : { } , \"aa\":[], \"\":0 } ",
                "{\"\":0,\"a\":{},\"aa\":[],\"b\":[1,true,null]}");
    assert_form("{\"b\":{\"d\":1,\"c\":2},\"a\":3}", "{\"a\":3,\"b\":{\"c\":2,\"d\":1}}");
}

/** The example of RFC 8785, section 3.2.3: carriage return, digit, control, accent, euro, emoji,
 * dalet with dagesh. By the bytes of UTF-8 the last two change places. */
TEST(names_are_ordered_as_utf16)
{
    assert_form("{\"\\u20ac\":1,\"\\r\":2,\"\\ufb33\":3,\"1\":4,\"\\ud83d\\ude00\":5,\"\\u0080\":6,"
                "\"\\u00f6\":7}",
                "{\"\\r\":2,\"1\":4,\"\xc2\x80\":6,\"\xc3\xb6\":7,\"\xe2\x82\xac\":1,"
                "\"\xf0\x9f\x98\x80\":5,\"\xef\xac\xb3\":3}");
    assert_form("{\"a\\ue000\":1,\"a\\ud7ff\":2,\"a\\udbff\\udfff\":3}",
                "{\"a\xed\x9f\xbf\":2,\"a\xf4\x8f\xbf\xbf\":3,\"a\xee\x80\x80\":1}");
}

TEST(strings_have_one_form)
{
    assert_form("\"\\u0041\\/\\u20AC\\u000a\\b\\f\\t\\r\\u001F\\u0000\\\"\\\\\\u007f\"",
                "\"A/\xe2\x82\xac\\n\\b\\f\\t\\r\\u001f\\u0000\\\"\\\\\x7f\"");
}

TEST(numbers_have_one_form)
{
    static const char *const cases[][2] = {
        {"0", "0"},
        {"-0", "0"},
        {"-0.0", "0"},
        {"0e99", "0"},
        {"1.0", "1"},
        {"10e-1", "1"},
        {"-1.50", "-1.5"},
        {"100", "100"},
        {"9007199254740992", "9007199254740992"},
        {"-9007199254740992", "-9007199254740992"},
        {"123456789012345680000", "123456789012345680000"},
        {"1152921504606847000", "1152921504606847000"},
        {"99999999999999991611392", "1e+23"},
        {"1e20", "100000000000000000000"},
        {"1e21", "1e+21"},
        {"1000000000000000000000", "1e+21"},
        {"123e-20", "1.23e-18"},
        {"0.000001", "0.000001"},
        {"0.0000001", "1e-7"},
        {"4.50", "4.5"},
        {"2e-3", "0.002"},
        {"333333333.33333329", "333333333.3333333"},
        {"5e-324", "5e-324"},
        {"1.7976931348623157e308", "1.7976931348623157e+308"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_form(cases[i][0], cases[i][1]);
    }
}

TEST(what_readers_understand_differently_has_no_form)
{
    static const char *const texts[] = {
        "",
        "{",
        "1 2",
        "NaN",
        "{\"a\":1,\"a\":1}",
        "{\"a\":1,\"\\u0061\":2}",
        "\"\\ud800\"",
        "\"\xff\"",
        "9007199254740993",
        "[-9007199254740993]",
        "9223372036854775807",
        "18446744073709551615",
        "1152921504606846976",
        "100000000000000000000000",
        "1000000000000000000001",
        "1e400",
        "-1e400",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        assert_none(texts[i]);
    }
}

TEST(the_form_of_a_form_is_itself)
{
    static const char text[] = "{\"args\":{\"host\":\"a\"},\"tool\":\"isolate_host\"}";
    assert_form(text, text);
}

/** SplitMix64. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static double of_bits(uint64_t bits)
{
    double number;
    memcpy(&number, &bits, sizeof(number));
    return number;
}

static void add_number(struct digest *digest, double number)
{
    char text[JSON_NUMBER_SIZE];
    json_canonical_number(number, text);
    digest_add(digest, text, strlen(text));
    digest_add(digest, "\n", 1);
}

/** The digest of what V8 writes for the same numbers: every power of two, 100,000 random patterns
 * of bits, and as many numbers with a short fraction. */
TEST(numbers_are_written_as_javascript_does)
{
    unsigned char result[DIGEST_SIZE];
    char hex[DIGEST_HEX_SIZE];
    uint64_t seed = 0;
    struct digest digest = digest_begin();
    for (uint64_t exponent = 0; exponent < 2047; exponent++) {
        add_number(&digest, of_bits(exponent << 52));
    }
    for (int i = 0; i < 100000; i++) {
        uint64_t bits = next_random(&seed);
        if (isfinite(of_bits(bits))) {
            add_number(&digest, of_bits(bits));
            add_number(&digest, (double)(bits >> 11) / ldexp(1, (int)(bits & 31)));
        }
    }
    digest_finish(&digest, result);
    digest_hex(result, hex);
    assert_string_equal(hex, "32078cd8afe5c58693f0687ca05d078c45b29e4a3bb9a4fa7b49a00e8bb9dac8");
}
