// SPDX-License-Identifier: Apache-2.0
/* Commands and responses of IMAP. */
#include "tool/mail/imap.h"

#include "base/ascii.h"
#include "base/auto.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/text/plain.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/** A line of a response, without literals. */
#define LINE_BYTES ((size_t)64 * 1024)
/** Bytes read at a time. */
#define READ_BYTES ((size_t)16 * 1024)
/** Responses to one command. */
#define MOST_RESPONSES 20000
/** Pieces of a command, between literals. */
#define MOST_PIECES 8
/** Folders that are listed. */
#define MOST_FOLDERS 2000
/** What is shown of a server's words. */
#define SHOWN_BYTES 200
/** Where a literal was in a response. */
#define LITERAL '\x01'

/* ---- Responses ------------------------------------------------------------------------------- */

static int broken(struct rondo_error *err, const char *what)
{
    return error_set(err, RONDO_ERR_SYSTEM, "the server's response is not IMAP: %s", what);
}

/** Receive more. */
static int fill(struct imap *imap, struct rondo_error *err)
{
    char bytes[READ_BYTES];
    if (imap->received >= (size_t)LIMIT_MAIL_SESSION_BYTES) {
        return broken(err, "it has too many bytes");
    }
    int64_t n = imap->wire.read(imap->wire.context, bytes, sizeof(bytes), err);
    if (n <= 0) {
        return n < 0 ? (int)n
                     : error_set(err, RONDO_ERR_SYSTEM, "the server has closed the connection");
    }
    imap->received += (size_t)n;
    if (imap->at > 0) {
        memmove(imap->in.data, imap->in.data + imap->at, imap->in.len - imap->at);
        imap->in.len -= imap->at;
        imap->at = 0;
    }
    buf_append(&imap->in, bytes, (size_t)n);
    return 0;
}

/** Append a line to the text, without its end. */
static int read_line(struct imap *imap, struct rondo_error *err)
{
    const char *end = NULL;
    while (imap->at == imap->in.len ||
           (end = memchr(imap->in.data + imap->at, '\n', imap->in.len - imap->at)) == NULL) {
        if (imap->in.len - imap->at > LINE_BYTES) {
            return broken(err, "a line is too long");
        }
        int r = fill(imap, err);
        if (r < 0) {
            return r;
        }
    }
    size_t len = (size_t)(end - (imap->in.data + imap->at));
    const char *line = imap->in.data + imap->at;
    imap->at += len + 1;
    len -= len > 0 && line[len - 1] == '\r' ? 1 : 0;
    if (imap->text.len + len > LINE_BYTES) {
        return broken(err, "a line is too long");
    }
    for (size_t i = 0; i < len; i++) {
        bool is_control = (unsigned char)line[i] < ' ' || line[i] == 0x7F;
        buf_append(&imap->text, is_control ? "?" : &line[i], 1);
    }
    return 0;
}

/** Whether the text ends with the head of a literal, which is cut off then. */
static bool takes_literal(struct buf *text, size_t *ret_len)
{
    size_t at = text->len;
    uint64_t len = 0;
    if (at < 3 || text->data[at - 1] != '}') {
        return false;
    }
    at--;
    size_t end = at;
    while (at > 0 && ascii_is_digit(text->data[at - 1]) && end - at < 12) {
        at--;
    }
    if (at == end || at == 0 || text->data[at - 1] != '{') {
        return false;
    }
    for (size_t i = at; i < end; i++) {
        len = len * 10 + (uint64_t)(text->data[i] - '0');
    }
    text->len = at - 1;
    *ret_len = (size_t)len;
    return true;
}

static int read_literal(struct imap *imap, size_t len, struct rondo_error *err)
{
    if (len > (size_t)LIMIT_MAIL_BYTES + 1024) {
        return broken(err, "a literal is too long");
    }
    while (imap->in.len - imap->at < len) {
        int r = fill(imap, err);
        if (r < 0) {
            return r;
        }
    }
    if (imap->literal_count < IMAP_LITERALS) {
        imap->literal_at[imap->literal_count] = imap->literals.len;
        imap->literal_len[imap->literal_count] = len;
        imap->literal_count++;
        buf_append(&imap->literals, imap->in.data + imap->at, len);
        buf_append(&imap->text, &(char){LITERAL}, 1);
    }
    imap->at += len;
    return 0;
}

static int read_response(struct imap *imap, struct rondo_error *err)
{
    size_t len = 0;
    buf_clear(&imap->text);
    buf_clear(&imap->literals);
    imap->literal_count = 0;
    int r = read_line(imap, err);
    while (r == 0 && takes_literal(&imap->text, &len)) {
        r = read_literal(imap, len, err);
        r = r < 0 ? r : read_line(imap, err);
    }
    return r;
}

/* ---- Commands -------------------------------------------------------------------------------- */

/** A command in pieces: before each but the first, the server must ask for a literal. */
struct imap_command {
    struct buf pieces[MOST_PIECES];
    size_t count;
    bool is_too_long; /* more literals than pieces */
};

static void command_fini(struct imap_command *command)
{
    for (size_t i = 0; i < MOST_PIECES; i++) {
        buf_fini(&command->pieces[i]);
    }
}
#define auto_command __attribute__((cleanup(command_fini)))

static void add(struct imap_command *command, const char *text)
{
    command->count = command->count == 0 ? 1 : command->count;
    buf_append_string(&command->pieces[command->count - 1], text);
}

static bool is_plain(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] < ' ' || text[i] > '~') {
            return false;
        }
    }
    return true;
}

/** Add a string of any bytes but NUL: quoted, or as a literal. */
static void add_string(struct imap_command *command, const char *text, size_t len)
{
    if (is_plain(text, len)) {
        add(command, "\"");
        for (size_t i = 0; i < len; i++) {
            struct buf *piece = &command->pieces[command->count - 1];
            if (text[i] == '"' || text[i] == '\\') {
                buf_append_string(piece, "\\");
            }
            buf_append(piece, &text[i], 1);
        }
        add(command, "\"");
        return;
    }
    char head[32];
    snprintf(head, sizeof(head), "{%zu}\r\n", len);
    add(command, head);
    if (command->count == MOST_PIECES) {
        command->is_too_long = true;
        return;
    }
    buf_append(&command->pieces[command->count++], text, len);
}

/** Called for each untagged response, which is in imap->text. */
typedef void response_fn(void *context, struct imap *imap);

static int send_piece(struct imap *imap, const struct buf *piece, struct rondo_error *err)
{
    return imap->wire.write(imap->wire.context, piece->data, piece->len, err);
}

/** The words after a status, made safe to show. */
static int refuse(const struct imap *imap, size_t skip, struct rondo_error *err)
{
    auto_buf struct buf clean = {0};
    text_clean(imap->text.data + skip, imap->text.len - skip, &clean);
    return error_set(err, RONDO_ERR_SYSTEM, "the server has refused it: %.*s", SHOWN_BYTES,
                     buf_string(&clean));
}

/** Read responses until the tagged one. */
static int finish(struct imap *imap, const char *tag, struct imap_command *command, response_fn *fn,
                  void *context, struct rondo_error *err)
{
    size_t next = 1;
    size_t tag_len = strlen(tag);
    for (int i = 0; i < MOST_RESPONSES; i++) {
        int r = read_response(imap, err);
        if (r < 0) {
            return r;
        }
        const char *text = buf_string(&imap->text);
        if (text[0] == '+') {
            if (next == command->count) {
                return broken(err, "it waits for something that nobody has offered");
            }
            r = send_piece(imap, &command->pieces[next++], err);
        } else if (strncmp(text, tag, tag_len) == 0) {
            return strncasecmp(text + tag_len, "OK", 2) == 0 ? 0 : refuse(imap, tag_len, err);
        } else if (text[0] == '*' && fn != NULL) {
            fn(context, imap);
        }
        if (r < 0) {
            return r;
        }
    }
    return broken(err, "there are too many responses");
}

static int run(struct imap *imap, struct imap_command *command, response_fn *fn, void *context,
               struct rondo_error *err)
{
    char tag[16];
    auto_buf struct buf first = {0};
    if (command->is_too_long) {
        return error_set(err, RONDO_ERR_INVALID, "there are too many texts in it");
    }
    snprintf(tag, sizeof(tag), "a%u ", ++imap->tags);
    add(command, "\r\n");
    buf_append_string(&first, tag);
    buf_append(&first, command->pieces[0].data, command->pieces[0].len);
    int r = send_piece(imap, &first, err);
    return r < 0 ? r : finish(imap, tag, command, fn, context, err);
}

/* ---- The session ----------------------------------------------------------------------------- */

int imap_begin(const struct imap_wire *wire, struct imap *ret_imap, struct rondo_error *err)
{
    *ret_imap = (struct imap){.wire = *wire};
    int r = read_response(ret_imap, err);
    if (r == 0 && strncasecmp(buf_string(&ret_imap->text), "* OK", 4) != 0) {
        r = broken(err, "it does not greet");
    }
    return r;
}

void imap_fini(struct imap *imap)
{
    buf_fini(&imap->in);
    buf_fini(&imap->text);
    buf_fini(&imap->literals);
}

int imap_login(struct imap *imap, const char *user, const char *password, struct rondo_error *err)
{
    auto_command struct imap_command command = {0};
    struct rondo_error why = {0};
    add(&command, "LOGIN ");
    add_string(&command, user, strlen(user));
    add(&command, " ");
    add_string(&command, password, strlen(password));
    unsigned tag = imap->tags + 1;
    int r = run(imap, &command, NULL, NULL, &why);
    for (size_t i = 0; i < command.count; i++) {
        explicit_bzero(command.pieces[i].data, command.pieces[i].len);
    }
    if (r < 0) {
        char prefix[16];
        snprintf(prefix, sizeof(prefix), "a%u ", tag);
        bool is_refused = strncmp(buf_string(&imap->text), prefix, strlen(prefix)) == 0;
        return is_refused ? error_set(err, RONDO_ERR_DENIED,
                                      "the server has refused the user name or the password")
                          : error_set(err, r, "%s", why.message);
    }
    return 0;
}

void imap_logout(struct imap *imap)
{
    auto_command struct imap_command command = {0};
    add(&command, "LOGOUT");
    run(imap, &command, NULL, NULL, NULL);
}

/* ---- Folders --------------------------------------------------------------------------------- */

/** Append a string of a response: an atom, "quoted" or a literal. @return where it ends */
static const char *take_string(const struct imap *imap, const char *at, struct buf *ret_text)
{
    if (*at == LITERAL && imap->literal_count > 0) {
        buf_append(ret_text, imap->literals.data + imap->literal_at[0], imap->literal_len[0]);
        return at + 1;
    }
    if (*at != '"') {
        size_t len = strcspn(at, " ()");
        buf_append(ret_text, at, len);
        return at + len;
    }
    for (at++; *at != '\0' && *at != '"'; at++) {
        at += *at == '\\' && at[1] != '\0' ? 1 : 0;
        buf_append(ret_text, at, 1);
    }
    return *at == '"' ? at + 1 : at;
}

struct listing_folders {
    struct buf *names;
    size_t count;
};

static void take_folder(void *context, struct imap *imap)
{
    struct listing_folders *listing = context;
    auto_buf struct buf name = {0};
    auto_buf struct buf separator = {0};
    const char *text = buf_string(&imap->text);
    const char *at = strchr(text, ')');
    if (strncasecmp(text, "* LIST (", 8) != 0 || at == NULL || at[1] != ' ' ||
        listing->count >= MOST_FOLDERS) {
        return;
    }
    at = take_string(imap, at + 2, &separator);
    if (*at != ' ') {
        return;
    }
    take_string(imap, at + 1, &name);
    /* One that cannot be written in a line cannot be asked for either. */
    if (name.len > 0 && is_plain(name.data, name.len)) {
        buf_append(listing->names, name.data, name.len);
        buf_append_string(listing->names, "\n");
        listing->count++;
    }
}

int imap_list(struct imap *imap, struct buf *ret_names, struct rondo_error *err)
{
    auto_command struct imap_command command = {0};
    struct listing_folders listing = {.names = ret_names};
    add(&command, "LIST \"\" \"*\"");
    return run(imap, &command, take_folder, &listing, err);
}

int imap_examine(struct imap *imap, const char *folder, struct rondo_error *err)
{
    auto_command struct imap_command command = {0};
    size_t len = strlen(folder);
    if (len == 0 || len > LIMIT_MAIL_FOLDER_BYTES || !is_plain(folder, len)) {
        return error_set(err, RONDO_ERR_INVALID,
                         "a folder is named as list_folders shows it, in one line of ASCII");
    }
    add(&command, "EXAMINE ");
    add_string(&command, folder, len);
    return run(imap, &command, NULL, NULL, err);
}

/* ---- Search ---------------------------------------------------------------------------------- */

struct finding_uids {
    uint32_t *uids; /* falling */
    size_t most;
    size_t count;
};

/** Keep a number, if it is among the highest. */
static void keep_uid(struct finding_uids *finding, uint32_t uid)
{
    size_t at = 0;
    while (at < finding->count && finding->uids[at] > uid) {
        at++;
    }
    if (at == finding->most || (at < finding->count && finding->uids[at] == uid)) {
        return;
    }
    size_t last = finding->count < finding->most ? finding->count++ : finding->most - 1;
    memmove(&finding->uids[at + 1], &finding->uids[at], (last - at) * sizeof(finding->uids[0]));
    finding->uids[at] = uid;
}

static uint32_t read_number(const char *at, char **ret_end)
{
    char *end = NULL;
    unsigned long long value = ascii_is_digit(*at) ? strtoull(at, &end, 10) : 0;
    if (ret_end != NULL) {
        *ret_end = end == NULL ? (char *)at : end;
    }
    return value > UINT32_MAX ? 0 : (uint32_t)value;
}

static void take_found(void *context, struct imap *imap)
{
    static const char prefix[] = "* SEARCH";
    const char *text = buf_string(&imap->text);
    if (strncasecmp(text, prefix, sizeof(prefix) - 1) != 0) {
        return;
    }
    char *at = (char *)text + sizeof(prefix) - 1;
    while (*at == ' ' && ascii_is_digit(at[1])) {
        uint32_t uid = read_number(at + 1, &at);
        if (uid > 0) {
            keep_uid(context, uid);
        }
    }
}

/** Add a query; texts in it that are not ASCII become literals. */
static int add_query(struct imap_command *command, const char *query, struct rondo_error *err)
{
    const char *at = query;
    while (*at != '\0') {
        if (*at == '"') {
            auto_buf struct buf text = {0};
            struct imap none = {0};
            const char *end = take_string(&none, at, &text);
            if (end[-1] != '"' || end == at + 1) {
                return error_set(err, RONDO_ERR_INVALID, "a quote in the query has no end");
            }
            add_string(command, buf_string(&text), text.len);
            at = end;
        } else if (*at < ' ' || *at > '~' || *at == '{' || *at == '\\') {
            return error_set(err, RONDO_ERR_INVALID,
                             "the query is one line in the language of IMAP's SEARCH; put other "
                             "texts into \"quotes\"");
        } else {
            add(command, (const char[]){*at, '\0'});
            at++;
        }
    }
    return 0;
}

static bool is_ascii(const char *text)
{
    while (*text != '\0' && (unsigned char)*text < 0x80) {
        text++;
    }
    return *text == '\0';
}

int imap_search(struct imap *imap, const char *query, size_t most, uint32_t *ret_uids,
                size_t *ret_count, struct rondo_error *err)
{
    auto_command struct imap_command command = {0};
    struct finding_uids finding = {.uids = ret_uids, .most = most};
    *ret_count = 0;
    if (query[0] == '\0' || strlen(query) > LIMIT_MAIL_QUERY_BYTES) {
        return error_set(err, RONDO_ERR_INVALID, "a query has 1 to %d bytes",
                         LIMIT_MAIL_QUERY_BYTES);
    }
    add(&command, is_ascii(query) ? "UID SEARCH " : "UID SEARCH CHARSET UTF-8 ");
    int r = add_query(&command, query, err);
    r = r < 0 || most == 0 ? r : run(imap, &command, take_found, &finding, err);
    *ret_count = r < 0 ? 0 : finding.count;
    return r;
}

int imap_find(struct imap *imap, const char *message_id, uint32_t *ret_uid, struct rondo_error *err)
{
    auto_command struct imap_command command = {0};
    struct finding_uids finding = {.uids = ret_uid, .most = 1};
    size_t len = strlen(message_id);
    *ret_uid = 0;
    if (len == 0 || len > LIMIT_MAIL_ID_BYTES || !is_plain(message_id, len)) {
        return error_set(err, RONDO_ERR_INVALID,
                         "a Message-ID is one line, as search_inbox "
                         "shows it");
    }
    add(&command, "UID SEARCH HEADER Message-ID ");
    add_string(&command, message_id, len);
    return run(imap, &command, take_found, &finding, err);
}

/* ---- Fetch ----------------------------------------------------------------------------------- */

struct fetching {
    imap_mail_fn *fn;
    void *context;
};

/** The number after a word in a response. */
static uint32_t number_after(const char *text, const char *word)
{
    const char *at = strcasestr(text, word);
    return at == NULL ? 0 : read_number(at + strlen(word), NULL);
}

static void take_mail(void *context, struct imap *imap)
{
    struct fetching *fetching = context;
    auto_buf struct buf quoted = {0};
    const char *text = buf_string(&imap->text);
    const char *begin = strcasestr(text, " FETCH (");
    const char *body = strcasestr(text, "BODY[");
    uint32_t uid = number_after(text, "UID ");
    if (begin == NULL || body == NULL || uid == 0) {
        return;
    }
    int64_t size = number_after(text, "RFC822.SIZE ");
    const char *at = strchr(body, ']');
    at = at == NULL ? NULL : strpbrk(at, " ");
    if (at == NULL) {
        return;
    }
    take_string(imap, at + 1, &quoted);
    bool is_nil = at[1] != '"' && at[1] != LITERAL;
    fetching->fn(fetching->context, uid, size, buf_string(&quoted), is_nil ? 0 : quoted.len);
}

int imap_fetch_headers(struct imap *imap, const uint32_t *uids, size_t count, imap_mail_fn *fn,
                       void *context, struct rondo_error *err)
{
    auto_command struct imap_command command = {0};
    struct fetching fetching = {fn, context};
    add(&command, "UID FETCH ");
    for (size_t i = 0; i < count; i++) {
        char number[24];
        snprintf(number, sizeof(number), "%s%" PRIu32, i > 0 ? "," : "", uids[i]);
        add(&command, number);
    }
    add(&command, " (UID BODY.PEEK[HEADER.FIELDS (FROM SUBJECT DATE MESSAGE-ID)])");
    return count == 0 ? 0 : run(imap, &command, take_mail, &fetching, err);
}

int imap_fetch_mail(struct imap *imap, uint32_t uid, imap_mail_fn *fn, void *context,
                    struct rondo_error *err)
{
    auto_command struct imap_command command = {0};
    struct fetching fetching = {fn, context};
    char text[128];
    snprintf(text, sizeof(text), "UID FETCH %" PRIu32 " (UID RFC822.SIZE BODY.PEEK[]<0.%ld>)", uid,
             (long)LIMIT_MAIL_BYTES);
    add(&command, text);
    return run(imap, &command, take_mail, &fetching, err);
}
