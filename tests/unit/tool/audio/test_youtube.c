// SPDX-License-Identifier: Apache-2.0
/* What is read of YouTube's addresses, pages, replies and transcripts. */
#include "support/test.h"

#include "base/json/json.h"
#include "tool/audio/youtube.h"

#include <json-c/json.h>
#include <string.h>

static void expect_id(const char *url, const char *expected)
{
    char id[YOUTUBE_ID_LEN + 1] = "";
    bool is_found = youtube_video_id(url, id);
    assert_int_equal(is_found, expected != NULL);
    assert_string_equal(id, expected == NULL ? "" : expected);
}

TEST(a_video_is_found_in_each_form_of_its_address)
{
    expect_id("https://www.youtube.com/watch?v=dQw4w9WgXcQ", "dQw4w9WgXcQ");
    expect_id("https://m.youtube.com/watch?t=4s&v=a-_4w9WgXcQ&list=x", "a-_4w9WgXcQ");
    expect_id("https://youtu.be/dQw4w9WgXcQ?t=1", "dQw4w9WgXcQ");
    expect_id("https://www.youtube.com/embed/dQw4w9WgXcQ", "dQw4w9WgXcQ");
    expect_id("https://youtube.com/shorts/dQw4w9WgXcQ", "dQw4w9WgXcQ");
    expect_id("https://www.youtube.com/watch?v=short", NULL);
    expect_id("https://www.youtube.com/playlist?list=dQw4w9WgXcQ", NULL);
    expect_id("https://example.org/watch?v=dQw4w9WgXcQ", NULL);
    expect_id("", NULL);
}

TEST(the_key_and_the_consent_of_a_page_are_found)
{
    auto_buf struct buf key = {0};
    auto_buf struct buf cookie = {0};
    assert_true(youtube_page_key("x\"INNERTUBE_API_KEY\":\"AIza-_9\",y", &key));
    assert_string_equal(buf_string(&key), "AIza-_9");
    assert_false(youtube_page_key("\"INNERTUBE_API_KEY\":\"a&b\"", &key));
    assert_false(youtube_page_key("nothing", &key));
    assert_true(youtube_page_consent("<form action=\"https://consent.youtube.com/s\"><input "
                                     "name=\"v\" value=\"cb.2-p\r\nX: y\">",
                                     &cookie));
    assert_string_equal(buf_string(&cookie), "CONSENT=YES+cb.2-p");
    assert_false(youtube_page_consent("name=\"v\" value=\"a\"", &cookie));
}

static void expect_track(const char *reply, const char *languages, const char *expected)
{
    struct json_object *parsed = NULL;
    struct json_object *list = NULL;
    auto_buf struct buf url = {0};
    assert_int_equal(json_parse(reply, strlen(reply), &parsed, NULL), 0);
    assert_int_equal(json_parse(languages, strlen(languages), &list, NULL), 0);
    bool is_found = youtube_find_track(parsed, "dQw4w9WgXcQ", list, &url);
    assert_string_equal(buf_string(&url), expected);
    assert_int_equal(is_found, strncmp(expected, "Error", 5) != 0);
    json_object_put(parsed);
    json_object_put(list);
}

#define TRACKS(list) \
    "{\"captions\":{\"playerCaptionsTracklistRenderer\":{\"captionTracks\":[" list "]}}}"
#define TRACK(url, code) "{\"baseUrl\":\"" url "\",\"languageCode\":\"" code "\"}"
#define GENERATED(url, code) \
    "{\"baseUrl\":\"" url "\",\"languageCode\":\"" code "\",\"kind\":\"asr\"}"

TEST(the_first_language_counts_and_in_it_what_a_person_made)
{
    expect_track(TRACKS(GENERATED("u1", "en") "," TRACK("u2", "en") "," TRACK("u3", "de")),
                 "[\"en\"]", "u2");
    expect_track(TRACKS(GENERATED("u1", "en") "," TRACK("u3", "de")), "[\"en\",\"de\"]", "u1");
    expect_track(TRACKS(GENERATED("u1", "en") "," TRACK("u3&fmt=srv3&a=b", "de")),
                 "[\"fr\",\"de\"]", "u3&a=b");
    expect_track(TRACKS(GENERATED("u1", "en") "," TRACK("u3", "de")), "[\"fr\"]",
                 "Error: no transcript found for video 'dQw4w9WgXcQ' in languages [\"fr\"]. There "
                 "are: en, de");
}

TEST(why_there_is_no_track_is_said)
{
    expect_track("{}", "[]", "Error: transcripts are disabled for this video.");
    expect_track("[]", "[]", "Error: transcripts are disabled for this video.");
    expect_track("{\"playabilityStatus\":{\"status\":\"ERROR\",\"reason\":\"Video gone\"}}", "[]",
                 "Error fetching transcript: the video is not available: Video gone");
    expect_track(TRACKS("3,null,{}"), "[3]",
                 "Error: no transcript found for video 'dQw4w9WgXcQ' in languages [3]. There are: "
                 "?, ?, ?");
}

static void expect_words(const char *xml, bool has_times, const char *expected)
{
    auto_buf struct buf words = {0};
    assert_true(youtube_write_words(xml, has_times, &words));
    assert_string_equal(buf_string(&words), expected);
}

#define XML(lines) "<?xml version=\"1.0\"?><transcript>" lines "</transcript>"

TEST(words_are_joined_and_their_two_layers_of_escapes_undone)
{
    expect_words(XML("<text start=\"0\" dur=\"1\">We&amp;#39;re no</text>"
                     "<text start=\"1.25\">strangers &amp;lt;i&amp;gt;to&amp;lt;/i&amp;gt;\nlove"
                     "</text>"),
                 false, "We're no strangers to love");
    expect_words(XML("<text start=\"0\">a</text><text start=\"61.25\">b</text><text>c</text>"),
                 true, "[0.0s] a [61.2s] b [0.0s] c");
    expect_words(
        XML("<text start=\"0\">&amp;#xE4;&amp;amp;&amp;nope;&amp;#0;&amp;#x110000;</text>"), false,
        "\xc3\xa4&&nope;&#0;&#x110000;");
    expect_words(XML("<text start=\"0\">1 &amp;lt; 2</text>"), false, "1 < 2");
    expect_words(XML(""), false, "");
}

TEST(what_is_no_transcript_is_refused)
{
    auto_buf struct buf words = {0};
    assert_false(youtube_write_words("<html><text>a", false, &words));
    assert_false(youtube_write_words("", false, &words));
}
