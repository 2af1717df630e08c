// SPDX-License-Identifier: Apache-2.0
/* Headers and a body in base64. */
#include "tool/mail/compose.h"

#include "base/ascii.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/text/base64.h"
#include "base/text/utf8.h"
#include "base/time/calendar.h"

#include <stdlib.h>
#include <string.h>

#define ADDRESS_BYTES 254
#define SUBJECT_BYTES 900
/** Bytes of an encoded word, which has 75 characters at most. */
#define WORD_BYTES 42
/** Bytes of a line of the body, 76 characters. */
#define LINE_BYTES 57

/* ---- Addresses ------------------------------------------------------------------------------- */

const char *compose_domain(const char *address)
{
    const char *at = strrchr(address, '@');
    return at == NULL ? address : at + 1;
}

bool compose_is_address(const char *text)
{
    const char *at = strchr(text, '@');
    size_t len = strlen(text);
    if (at == NULL || at == text || at[1] == '\0' || strchr(at + 1, '@') != NULL ||
        len > ADDRESS_BYTES) {
        return false;
    }
    for (const char *one = text; *one != '\0'; one++) {
        if (*one <= ' ' || *one > '~' || strchr("<>(),;:\\\"[]", *one) != NULL) {
            return false;
        }
    }
    return true;
}

static void add_recipient(struct composed_mail *mail, char *address)
{
    mail->recipients = memory_resize(mail->recipients, mail->count + 2, sizeof(char *));
    mail->recipients[mail->count++] = address;
    mail->recipients[mail->count] = NULL;
}

/** The address in "Name <address>" or "address". Owned */
static char *pick_address(const char *text, size_t len)
{
    const char *open = memchr(text, '<', len);
    if (open != NULL && len > 0 && text[len - 1] == '>') {
        return memory_dup_bytes(open + 1, (size_t)(text + len - 1 - (open + 1)));
    }
    return memory_dup_bytes(text, len);
}

static int add_address(const char *text, size_t len, struct composed_mail *mail,
                       struct buf *ret_header, struct rondo_error *err)
{
    while (len > 0 && *text == ' ') {
        text++;
        len--;
    }
    while (len > 0 && text[len - 1] == ' ') {
        len--;
    }
    auto_free char *address = pick_address(text, len);
    if (!compose_is_address(address)) {
        return error_set(err, RONDO_ERR_INVALID, "'%.80s' is not an address of mail", address);
    }
    if (mail->count == LIMIT_MAIL_RECIPIENTS) {
        return error_set(err, RONDO_ERR_INVALID, "a mail has at most %d recipients",
                         LIMIT_MAIL_RECIPIENTS);
    }
    buf_printf(ret_header, "%s%s", ret_header->len > 0 ? ",\r\n " : "", address);
    add_recipient(mail, steal_pointer(&address));
    return 0;
}

/** Append addresses as the value of a header. */
static int add_addresses(const char *list, struct composed_mail *mail, struct buf *ret_header,
                         struct rondo_error *err)
{
    int r = 0;
    while (r == 0 && *list != '\0') {
        size_t len = strcspn(list, ",");
        r = add_address(list, len, mail, ret_header, err);
        list += len;
        list += *list == ',' ? 1 : 0;
    }
    return r;
}

/* ---- Headers --------------------------------------------------------------------------------- */

static bool is_one_line(const char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < ' ' || *text == 0x7F) {
            return false;
        }
    }
    return true;
}

static bool is_short_ascii(const char *text)
{
    size_t len = strlen(text);
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)text[i] > '~') {
            return false;
        }
    }
    return len <= 70 && strstr(text, "=?") == NULL;
}

/** Append words of RFC 2047, none of which ends within a character. */
static void add_encoded(const char *text, struct buf *out)
{
    size_t left = strlen(text);
    while (left > 0) {
        size_t len = 0;
        while (len < left) {
            size_t step = utf8_sequence_len(text + len, left - len);
            step = step == 0 ? 1 : step;
            if (len + step > WORD_BYTES) {
                break;
            }
            len += step;
        }
        buf_append_string(out, "=?UTF-8?B?");
        base64_encode(text, len, out);
        buf_append_string(out, left > len ? "?=\r\n " : "?=");
        text += len;
        left -= len;
    }
}

static void add_date(int64_t now_ns, struct buf *out)
{
    char date[CALENDAR_HEADER_SIZE];
    calendar_format_header(now_ns / NS_PER_S, date);
    buf_printf(out, "Date: %s +0000\r\n", date);
}

static void add_id(const struct compose_mail *mail, struct buf *out)
{
    unsigned char bytes[DIGEST_SIZE];
    char digest[DIGEST_HEX_SIZE];
    struct digest hash = digest_begin();
    digest_add(&hash, mail->key, strlen(mail->key));
    digest_finish(&hash, bytes);
    digest_hex(bytes, digest);
    buf_printf(out, "Message-ID: <%.32s@%s>\r\n", digest, compose_domain(mail->from));
}

static void add_body(const char *body, struct buf *out)
{
    size_t left = strlen(body);
    while (left > 0) {
        size_t len = left < LINE_BYTES ? left : LINE_BYTES;
        base64_encode(body, len, out);
        buf_append_string(out, "\r\n");
        body += len;
        left -= len;
    }
}

static int check(const struct compose_mail *mail, struct rondo_error *err)
{
    size_t id_len = strlen(mail->reply_to);
    if (!compose_is_address(mail->from)) {
        return error_set(err, RONDO_ERR_INVALID,
                         "the user name of the role is not an address that mail can be sent from");
    }
    if (!is_one_line(mail->subject) || strlen(mail->subject) > SUBJECT_BYTES) {
        return error_set(err, RONDO_ERR_INVALID, "a subject is one line of at most %d bytes",
                         SUBJECT_BYTES);
    }
    if (strlen(mail->body) > (size_t)LIMIT_MAIL_TEXT_BYTES) {
        return error_set(err, RONDO_ERR_INVALID, "a mail has at most %ld bytes",
                         (long)LIMIT_MAIL_TEXT_BYTES);
    }
    if (id_len > 0 && (mail->reply_to[0] != '<' || mail->reply_to[id_len - 1] != '>' ||
                       id_len > LIMIT_MAIL_ID_BYTES || !is_one_line(mail->reply_to) ||
                       strchr(mail->reply_to, ' ') != NULL)) {
        return error_set(err, RONDO_ERR_INVALID, "reply_to is a Message-ID: <...>");
    }
    return 0;
}

int compose(const struct compose_mail *mail, struct composed_mail *ret_mail,
            struct rondo_error *err)
{
    auto_buf struct buf to = {0};
    auto_buf struct buf cc = {0};
    struct buf *text = &ret_mail->text;
    *ret_mail = (struct composed_mail){0};
    int r = check(mail, err);
    r = r < 0 ? r : add_addresses(mail->to, ret_mail, &to, err);
    if (r == 0 && ret_mail->count == 0) {
        r = error_set(err, RONDO_ERR_INVALID, "it has no recipient");
    }
    r = r < 0 ? r : add_addresses(mail->cc, ret_mail, &cc, err);
    if (r < 0) {
        return r;
    }
    add_date(mail->now_ns, text);
    buf_printf(text, "From: %s\r\nTo: %s\r\n", mail->from, buf_string(&to));
    if (cc.len > 0) {
        buf_printf(text, "Cc: %s\r\n", buf_string(&cc));
    }
    buf_append_string(text, "Subject: ");
    if (is_short_ascii(mail->subject)) {
        buf_append_string(text, mail->subject);
    } else {
        add_encoded(mail->subject, text);
    }
    buf_append_string(text, "\r\n");
    add_id(mail, text);
    if (mail->reply_to[0] != '\0') {
        buf_printf(text, "In-Reply-To: %s\r\nReferences: %s\r\n", mail->reply_to, mail->reply_to);
    }
    buf_append_string(text, "MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n"
                            "Content-Transfer-Encoding: base64\r\n\r\n");
    add_body(mail->body, text);
    return 0;
}

void composed_mail_fini(struct composed_mail *mail)
{
    buf_fini(&mail->text);
    for (size_t i = 0; i < mail->count; i++) {
        free(mail->recipients[i]);
    }
    free(mail->recipients);
    *mail = (struct composed_mail){0};
}
