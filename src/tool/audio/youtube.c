// SPDX-License-Identifier: Apache-2.0
#include "tool/audio/youtube.h"

#include "base/ascii.h"
#include "base/json/json.h"
#include "base/text/utf8.h"

#include <json-c/json.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static bool is_id_byte(char c)
{
    return ascii_is_letter_or_digit(c) || c == '_' || c == '-';
}

static size_t id_len(const char *text)
{
    size_t len = 0;
    while (is_id_byte(text[len])) {
        len++;
    }
    return len;
}

/* ---- Addresses and pages -------------------------------------------------------------------- */

/** After a host: "watch?...v=", "embed/", "shorts/". @return where the id begins, or NULL */
static const char *after_path(const char *path)
{
    static const char *const folders[] = {"embed/", "shorts/"};
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        if (strncmp(path, folders[i], strlen(folders[i])) == 0) {
            return path + strlen(folders[i]);
        }
    }
    if (strncmp(path, "watch", 5) != 0) {
        return NULL;
    }
    for (const char *at = strpbrk(path, "?&"); at != NULL; at = strpbrk(at + 1, "?&")) {
        if (strncmp(at + 1, "v=", 2) == 0) {
            return at + 3;
        }
    }
    return NULL;
}

bool youtube_video_id(const char *url, char ret_id[static YOUTUBE_ID_LEN + 1])
{
    static const char whole[] = "youtube.com/";
    static const char brief[] = "youtu.be/";
    const char *host = strstr(url, whole);
    const char *id = host != NULL ? after_path(host + strlen(whole)) : NULL;
    if (id == NULL && (host = strstr(url, brief)) != NULL) {
        id = host + strlen(brief);
    }
    if (id == NULL || id_len(id) < YOUTUBE_ID_LEN) {
        return false;
    }
    memcpy(ret_id, id, YOUTUBE_ID_LEN);
    ret_id[YOUTUBE_ID_LEN] = '\0';
    return true;
}

bool youtube_page_key(const char *page, struct buf *ret_key)
{
    static const char name[] = "\"INNERTUBE_API_KEY\":";
    const char *at = strstr(page, name);
    if (at == NULL) {
        return false;
    }
    at += strlen(name);
    at += strspn(at, " ");
    size_t len = *at == '"' ? id_len(at + 1) : 0;
    if (len == 0 || at[1 + len] != '"') {
        return false;
    }
    buf_append(ret_key, at + 1, len);
    return true;
}

bool youtube_page_consent(const char *page, struct buf *ret_cookie)
{
    static const char field[] = "name=\"v\" value=\"";
    const char *at = strstr(page, "action=\"https://consent.youtube.com/s\"") == NULL
                         ? NULL
                         : strstr(page, field);
    size_t len = 0;
    if (at == NULL) {
        return false;
    }
    at += strlen(field);
    while (is_id_byte(at[len]) || at[len] == '.' || at[len] == '+') {
        len++;
    }
    buf_append_string(ret_cookie, "CONSENT=YES+");
    buf_append(ret_cookie, at, len);
    return true;
}

/* ---- Tracks --------------------------------------------------------------------------------- */

static bool is_generated(struct json_object *track)
{
    return strcmp(json_get_string(track, "kind", ""), "asr") == 0;
}

static struct json_object *find_in(struct json_object *tracks, const char *language,
                                   bool wants_generated)
{
    for (size_t i = 0; i < json_object_array_length(tracks); i++) {
        struct json_object *track = json_object_array_get_idx(tracks, i);
        if (is_generated(track) == wants_generated &&
            strcmp(json_get_string(track, "languageCode", ""), language) == 0) {
            return track;
        }
    }
    return NULL;
}

static struct json_object *find_best(struct json_object *tracks, struct json_object *languages)
{
    struct json_object *track = NULL;
    size_t count = languages == NULL ? 0 : json_object_array_length(languages);
    for (size_t i = 0; i < count && track == NULL; i++) {
        const char *code = json_object_get_string(json_object_array_get_idx(languages, i));
        track = find_in(tracks, code == NULL ? "" : code, false);
        track = track != NULL ? track : find_in(tracks, code == NULL ? "" : code, true);
    }
    return track;
}

/** Which languages there are: the model can ask for one of them. */
static void write_languages(struct json_object *tracks, struct buf *ret_why)
{
    const char *separator = " There are: ";
    for (size_t i = 0; i < json_object_array_length(tracks) && i < 20; i++) {
        struct json_object *track = json_object_array_get_idx(tracks, i);
        buf_printf(ret_why, "%s%.20s", separator, json_get_string(track, "languageCode", "?"));
        separator = ", ";
    }
}

/** Another format is not requested. */
static void write_url(const char *url, struct buf *ret_url)
{
    static const char format[] = "&fmt=srv3";
    const char *at = strstr(url, format);
    buf_append(ret_url, url, at == NULL ? strlen(url) : (size_t)(at - url));
    buf_append_string(ret_url, at == NULL ? "" : at + strlen(format));
}

bool youtube_find_track(struct json_object *reply, const char *video_id,
                        struct json_object *languages, struct buf *ret_url)
{
    struct json_object *status = json_member(reply, "playabilityStatus");
    struct json_object *captions = json_member(reply, "captions");
    struct json_object *list = json_member(captions, "playerCaptionsTracklistRenderer");
    struct json_object *tracks = json_member(list, "captionTracks");
    const char *state = json_get_string(status, "status", "OK");
    if (strcmp(state, "OK") != 0) {
        buf_printf(ret_url, "Error fetching transcript: the video is not available: %.200s",
                   json_get_string(status, "reason", state));
        return false;
    }
    if (!json_object_is_type(tracks, json_type_array)) {
        buf_append_string(ret_url, "Error: transcripts are disabled for this video.");
        return false;
    }
    struct json_object *track = find_best(tracks, languages);
    const char *url = json_get_string(track, "baseUrl", "");
    if (url[0] == '\0') {
        buf_printf(ret_url, "Error: no transcript found for video '%s' in languages %s.", video_id,
                   languages == NULL
                       ? "[]"
                       : json_object_to_json_string_ext(languages, JSON_C_TO_STRING_PLAIN));
        write_languages(tracks, ret_url);
        return false;
    }
    write_url(url, ret_url);
    return true;
}

/* ---- Words ---------------------------------------------------------------------------------- */

/** A number in "&#...;". @return bytes of the reference, 0 = it is none */
static size_t read_number(const char *at, const char *end, uint32_t *ret_point)
{
    uint32_t point = 0;
    size_t digits = 0;
    bool is_hex = at + 2 < end && (at[2] == 'x' || at[2] == 'X');
    const char *digit = at + (is_hex ? 3 : 2);
    for (; digit < end && digits < 7; digit++, digits++) {
        int value = is_hex ? ascii_hex_value(*digit) : ascii_is_digit(*digit) ? *digit - '0' : -1;
        if (value < 0) {
            break;
        }
        point = point * (is_hex ? 16 : 10) + (uint32_t)value;
    }
    bool is_right = digits > 0 && digit < end && *digit == ';' && point > 0 && point <= 0x10ffff &&
                    (point < 0xd800 || point > 0xdfff);
    *ret_point = point;
    return is_right ? (size_t)(digit + 1 - at) : 0;
}

/** A reference to a character. @return its bytes, 0 = it is none */
static size_t read_reference(const char *at, const char *end, struct buf *ret_text)
{
    static const struct {
        const char *name;
        char byte;
    } names[] = {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};
    uint32_t point = 0;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        size_t len = strlen(names[i].name);
        if ((size_t)(end - at) >= len && memcmp(at, names[i].name, len) == 0) {
            buf_append(ret_text, &names[i].byte, 1);
            return len;
        }
    }
    size_t len = at + 1 < end && at[1] == '#' ? read_number(at, end, &point) : 0;
    if (len > 0) {
        utf8_append(ret_text, point);
    }
    return len;
}

static void unescape(const char *text, size_t len, struct buf *ret_text)
{
    const char *end = text + len;
    while (text < end) {
        size_t step = *text == '&' ? read_reference(text, end, ret_text) : 0;
        if (step == 0) {
            buf_append(ret_text, text, 1);
            step = 1;
        }
        text += step;
    }
}

static void drop_tags(const struct buf *text, struct buf *ret_text)
{
    const char *at = buf_string(text);
    const char *end = at + text->len;
    bool may_close = true; /* or no `>` is left: hostile text is not searched again and again */
    while (at < end) {
        const char *close = *at == '<' && may_close ? memchr(at, '>', (size_t)(end - at)) : NULL;
        may_close = may_close && (*at != '<' || close != NULL);
        if (close == NULL) {
            buf_append(ret_text, *at == '\n' ? " " : at, 1);
            close = at;
        }
        at = close + 1;
    }
}

/** The words of an element: escaped for XML, and within that for HTML. */
static void write_line(const char *words, size_t len, struct buf *ret_text)
{
    auto_buf struct buf html = {0};
    auto_buf struct buf marked = {0};
    unescape(words, len, &html);
    unescape(buf_string(&html), html.len, &marked);
    drop_tags(&marked, ret_text);
}

/** "start" of a tag in seconds, as far as it makes sense. */
static double start_of(const char *tag, const char *end)
{
    static const char name[] = " start=\"";
    const char *at = memmem(tag, (size_t)(end - tag), name, strlen(name));
    double start = at != NULL ? strtod(at + strlen(name), NULL) : 0;
    return start >= 0 && start < 1e9 ? start : 0;
}

bool youtube_write_words(const char *xml, bool has_times, struct buf *ret_text)
{
    size_t before = ret_text->len;
    const char *tag = strstr(xml, "<text");
    while (tag != NULL) {
        const char *begin = strchr(tag, '>');
        const char *end = begin == NULL ? NULL : strstr(begin, "</text>");
        if (end == NULL) {
            break;
        }
        buf_append_string(ret_text, ret_text->len > before ? " " : "");
        if (has_times) {
            buf_printf(ret_text, "[%.1fs] ", start_of(tag, begin));
        }
        write_line(begin + 1, (size_t)(end - begin - 1), ret_text);
        tag = strstr(end, "<text");
    }
    return strstr(xml, "<transcript") != NULL;
}
