// SPDX-License-Identifier: Apache-2.0
/* One pass over the text: at each byte the known values, at each beginning of a word the shapes. */
#include "base/text/redact.h"

#include "base/ascii.h"
#include "base/memory.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define REPLACEMENT "[redacted]"

struct value {
    char *bytes;
    size_t len;
};

struct redact {
    struct value values[REDACT_MAX_VALUES]; /* longest first: one may be the beginning of another */
    size_t count;
    bool is_first[256]; /* bytes that a value begins with */
};

/** Parts of names of variables that hold secrets. */
static const char *const secret_names[] = {"KEY",  "TOKEN",   "SECRET", "PASSWORD",  "PASSWD",
                                           "AUTH", "HEADERS", "COOKIE", "CREDENTIAL"};

/** Tokens by how they begin and how many bytes of a word follow at least. */
static const struct {
    const char *prefix;
    size_t min_rest;
} shapes[] = {
    {"sk-", 16},   {"rk_live_", 16}, {"sk_live_", 16}, {"ghp_", 20},   {"gho_", 20},
    {"ghs_", 20},  {"ghu_", 20},     {"ghr_", 20},     {"glpat-", 16}, {"github_pat_", 20},
    {"xoxa-", 10}, {"xoxb-", 10},    {"xoxp-", 10},    {"xoxr-", 10},  {"xoxs-", 10},
    {"AKIA", 16},  {"ASIA", 16},     {"AIza", 30},     {"hf_", 20},    {"npm_", 30},
    {"pypi-", 30}, {"whsec_", 16},   {"rondo_", 20},   {"eyJ", 30},    {"dop_v1_", 30},
    {"ya29.", 20}, {"sq0csp-", 20},  {"SG.", 30},      {"key-", 30},   {"shpat_", 20},
};

static bool is_secret_name(const char *name, size_t len)
{
    char upper[128];
    if (len >= sizeof(upper)) {
        len = sizeof(upper) - 1;
    }
    for (size_t i = 0; i < len; i++) {
        upper[i] = ascii_upper(name[i]);
    }
    upper[len] = '\0';
    for (size_t i = 0; i < sizeof(secret_names) / sizeof(secret_names[0]); i++) {
        if (strstr(upper, secret_names[i]) != NULL) {
            return true;
        }
    }
    return false;
}

static void add_value(struct redact *redact, const char *bytes)
{
    size_t len = strlen(bytes);
    if (len < REDACT_MIN_VALUE_BYTES || redact->count == REDACT_MAX_VALUES) {
        return;
    }
    redact->values[redact->count++] = (struct value){memory_dup_bytes(bytes, len), len};
    redact->is_first[(unsigned char)bytes[0]] = true;
}

static int longest_first(const void *left, const void *right)
{
    const struct value *a = left;
    const struct value *b = right;
    return (a->len < b->len) - (a->len > b->len);
}

struct redact *redact_new(const char *const *envp)
{
    struct redact *redact = memory_new_zero(1, sizeof(*redact));
    for (size_t i = 0; envp != NULL && envp[i] != NULL; i++) {
        const char *equals = strchr(envp[i], '=');
        if (equals != NULL && is_secret_name(envp[i], (size_t)(equals - envp[i]))) {
            add_value(redact, equals + 1);
        }
    }
    qsort(redact->values, redact->count, sizeof(redact->values[0]), longest_first);
    return redact;
}

void redact_free(struct redact *redact)
{
    if (redact == NULL) {
        return;
    }
    for (size_t i = 0; i < redact->count; i++) {
        explicit_bzero(redact->values[i].bytes, redact->values[i].len);
        free(redact->values[i].bytes);
    }
    free(redact);
}

static bool is_word(char c)
{
    return ascii_is_letter_or_digit(c) || (c != '\0' && strchr("-_.+/=~", c) != NULL);
}

static size_t word_len(const char *text, size_t len)
{
    size_t n = 0;
    while (n < len && is_word(text[n])) {
        n++;
    }
    return n;
}

static size_t known_value(const struct redact *redact, const char *text, size_t len)
{
    if (redact == NULL || !redact->is_first[(unsigned char)text[0]]) {
        return 0;
    }
    for (size_t i = 0; i < redact->count; i++) {
        const struct value *value = &redact->values[i];
        if (value->len <= len && memcmp(text, value->bytes, value->len) == 0) {
            return value->len;
        }
    }
    return 0;
}

/** A word of a well-known shape. @return its length, 0 = none begins here */
static size_t token(const char *text, size_t len)
{
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        size_t prefix = strlen(shapes[i].prefix);
        if (prefix < len && memcmp(text, shapes[i].prefix, prefix) == 0) {
            size_t word = word_len(text, len);
            return word >= prefix + shapes[i].min_rest ? word : 0;
        }
    }
    return 0;
}

/** "Bearer WORD": only the word goes. @return bytes before the word, 0 = it is none */
static size_t scheme(const char *text, size_t len)
{
    static const char *const schemes[] = {"Bearer ", "Basic "};
    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
        size_t n = strlen(schemes[i]);
        if (len > n && strncasecmp(text, schemes[i], n) == 0 && word_len(text + n, len - n) >= 8) {
            return n;
        }
    }
    return 0;
}

/** A private key in PEM form up to its last line, or to the end when that is missing. */
static size_t private_key(const char *text, size_t len)
{
    static const char begin[] = "-----BEGIN ";
    static const char mark[] = "PRIVATE KEY-----";
    static const char end[] = "-----END ";
    if (len < sizeof(begin) - 1 || memcmp(text, begin, sizeof(begin) - 1) != 0) {
        return 0;
    }
    const char *line = memchr(text, '\n', len);
    size_t head = line == NULL ? len : (size_t)(line - text);
    if (memmem(text, head, mark, sizeof(mark) - 1) == NULL) {
        return 0;
    }
    const char *last = memmem(text, len, end, sizeof(end) - 1);
    if (last == NULL) {
        return len;
    }
    const char *stop = memchr(last, '\n', len - (size_t)(last - text));
    return stop == NULL ? len : (size_t)(stop - text);
}

/** Secret that begins at a word's beginning. @param ret_kept bytes of it that are shown */
static size_t shape(const char *text, size_t len, size_t *ret_kept)
{
    *ret_kept = scheme(text, len);
    if (*ret_kept > 0) {
        return *ret_kept + word_len(text + *ret_kept, len - *ret_kept);
    }
    size_t n = token(text, len);
    return n > 0 ? n : private_key(text, len);
}

void redact_text(const struct redact *redact, const char *text, size_t len, struct buf *ret_text)
{
    size_t kept_from = 0;
    for (size_t i = 0; i < len;) {
        size_t shown = 0;
        size_t n = known_value(redact, text + i, len - i);
        if (n == 0 && (i == 0 || !ascii_is_letter_or_digit(text[i - 1]))) {
            n = shape(text + i, len - i, &shown);
        }
        if (n == 0) {
            i++;
            continue;
        }
        buf_append(ret_text, text + kept_from, i + shown - kept_from);
        buf_append_string(ret_text, REPLACEMENT);
        i += n;
        kept_from = i;
    }
    buf_append(ret_text, text + kept_from, len - kept_from);
}

bool redact_is_secret_name(const char *name)
{
    return is_secret_name(name, strlen(name));
}

bool redact_has_token(const char *text)
{
    auto_buf struct buf redacted = {0};
    redact_text(NULL, text, strlen(text), &redacted);
    return strcmp(buf_string(&redacted), text) != 0;
}
