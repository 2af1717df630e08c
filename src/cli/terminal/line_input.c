// SPDX-License-Identifier: Apache-2.0
/* Reading lines with poll, so that a cancel token is heard. */
#include "cli/terminal/line_input.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/text/plain.h"
#include "base/text/utf8.h"
#include "cli/terminal/text.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

/** Lines that come closer together than a person types were pasted. */
#define PASTE_MS 30
/** Columns of a tool's name and of the reason in a question. */
#define NAME_COLUMNS 60
#define WHY_COLUMNS  400
#define READ_BYTES   4096
/** Bytes that are shown at a time of what is too long for a question. */
#define PAGE_BYTES ((size_t)4096)

void line_input_init(struct line_input *input, int fd, FILE *stream, bool no_colour)
{
    *input = (struct line_input){
        .fd = fd,
        .stream = stream,
        .is_terminal = isatty(fd) != 0,
        .style = style_for(stream, no_colour),
    };
}

void line_input_fini(struct line_input *input)
{
    buf_fini(&input->waiting);
    for (size_t i = 0; i < input->allowed_count; i++) {
        free(input->allowed[i]);
    }
    input->allowed_count = 0;
}

bool line_input_can_ask(const struct line_input *input)
{
    return input->is_terminal && isatty(fileno(input->stream)) != 0 && !input->is_over;
}

static void put(const struct line_input *input, const char *text)
{
    fputs(text, input->stream);
    fflush(input->stream);
}

/* ---- Reading -------------------------------------------------------------------------------- */

enum arrival { CAME, CAME_NOT, CAME_END, CAME_CANCEL };

/** Wait for bytes and take them. @param timeout_ms -1 = as long as it takes */
static enum arrival take_bytes(struct line_input *input, struct cancel *cancel, int timeout_ms)
{
    struct pollfd fds[] = {
        {.fd = input->fd, .events = POLLIN},
        {.fd = cancel == NULL ? -1 : cancel->event_fd, .events = POLLIN},
    };
    int ready;
    do {
        ready = poll(fds, 2, timeout_ms);
    } while (ready < 0 && errno == EINTR && !cancel_is_set(cancel));
    if (cancel_is_set(cancel)) {
        return CAME_CANCEL;
    }
    if (ready == 0) {
        return CAME_NOT;
    }
    ssize_t len;
    do {
        len = read(input->fd, buf_room(&input->waiting, READ_BYTES), READ_BYTES);
    } while (len < 0 && errno == EINTR);
    if (len <= 0) {
        return CAME_END;
    }
    buf_grown(&input->waiting, (size_t)len);
    return CAME;
}

/** Take `len` bytes off the front. */
static void drop_front(struct buf *buf, size_t len)
{
    memmove(buf->data, buf->data + len, buf->len - len + 1);
    buf->len -= len;
}

/** Time that is left until a deadline; -1 = there is none. */
static int wait_ms(int64_t deadline_ns)
{
    int64_t left_ns = deadline_ns - clock_monotonic(clock_system());
    int64_t left_ms = left_ns <= 0 ? 0 : left_ns / NS_PER_MS + 1;
    return deadline_ns == 0 ? -1 : left_ms < INT32_MAX ? (int)left_ms : INT32_MAX;
}

/**
 * Take one line, without its end. @param deadline_ns monotonic; 0 = none. What is beyond the limit
 * is thrown away while it comes.
 * @return LINE_WORDS also for an empty line
 */
static enum line_result take_line_until(struct line_input *input, struct cancel *cancel,
                                        int64_t deadline_ns, struct buf *ret_line)
{
    size_t looked = 0;
    bool is_too_long = false;
    for (;;) {
        const char *end = looked < input->waiting.len ? memchr(input->waiting.data + looked, '\n',
                                                               input->waiting.len - looked)
                                                      : NULL;
        size_t len = end == NULL ? input->waiting.len : (size_t)(end - input->waiting.data);
        is_too_long = is_too_long || len > LIMIT_PROMPT_BYTES;
        if (end != NULL || (input->is_over && input->waiting.len > 0)) {
            buf_append(ret_line, is_too_long ? "" : input->waiting.data, is_too_long ? 0 : len);
            drop_front(&input->waiting, len + (end != NULL));
            return is_too_long ? LINE_TOO_LONG : LINE_WORDS;
        }
        if (is_too_long) {
            buf_clear(&input->waiting);
        }
        looked = input->waiting.len;
        if (input->is_over) {
            return is_too_long ? LINE_TOO_LONG : LINE_END;
        }
        enum arrival arrival = take_bytes(input, cancel, wait_ms(deadline_ns));
        if (arrival == CAME_CANCEL) {
            return LINE_CANCELLED;
        }
        if (arrival == CAME_NOT && wait_ms(deadline_ns) == 0) {
            return LINE_LATE;
        }
        input->is_over = arrival == CAME_END;
    }
}

static enum line_result take_line(struct line_input *input, struct cancel *cancel,
                                  struct buf *ret_line)
{
    return take_line_until(input, cancel, 0, ret_line);
}

/** Whether the next line is there already or comes at once: then it was pasted. */
static bool is_pasted(struct line_input *input, struct cancel *cancel)
{
    if (!input->is_terminal || input->is_over) {
        return false;
    }
    return input->waiting.len > 0 || take_bytes(input, cancel, PASTE_MS) == CAME;
}

/** A line that ends in a backslash continues; the backslash is removed. */
static bool is_continued(const struct line_input *input, struct buf *words)
{
    bool is_continued = input->is_terminal && words->len > 0 && words->data[words->len - 1] == '\\';
    if (is_continued) {
        words->data[--words->len] = '\0';
    }
    return is_continued;
}

static bool has_words(const struct buf *words)
{
    return strspn(buf_string(words), " \t\r\n") < words->len;
}

/** The rest of what belongs to a first line. */
static enum line_result take_more(struct line_input *input, struct cancel *cancel,
                                  struct buf *words)
{
    enum line_result result = LINE_WORDS;
    while (result == LINE_WORDS) {
        bool continues = is_continued(input, words);
        if (!continues && !is_pasted(input, cancel)) {
            break;
        }
        if (continues && input->waiting.len == 0) {
            put(input, "... ");
        }
        buf_append(words, "\n", 1);
        result = take_line(input, cancel, words);
        result = words->len > LIMIT_PROMPT_BYTES ? LINE_TOO_LONG : result;
    }
    return result == LINE_END ? LINE_WORDS : result;
}

enum line_result line_input_read(struct line_input *input, const char *prompt,
                                 struct cancel *cancel, struct buf *ret_words)
{
    for (;;) {
        auto_buf struct buf words = {0};
        if (input->is_terminal) {
            put(input, prompt);
        }
        enum line_result result = take_line(input, cancel, &words);
        if (result == LINE_WORDS) {
            result = take_more(input, cancel, &words);
        }
        if (result != LINE_WORDS) {
            return result;
        }
        while (words.len > 0 && strchr("\r\n", words.data[words.len - 1]) != NULL) {
            words.data[--words.len] = '\0';
        }
        if (has_words(&words)) {
            buf_append(ret_words, words.data, words.len);
            return LINE_WORDS;
        }
    }
}

/* ---- Questions ------------------------------------------------------------------------------ */

/**
 * Append a text so that a person sees all of it: control and hidden characters are written out.
 * What does not fit is counted, since it is agreed to as well.
 */
static void add_shown(const char *text, size_t columns, struct buf *ret_buf)
{
    size_t used = 0;
    size_t len = strlen(text);
    for (size_t at = 0; at < len;) {
        size_t sequence = utf8_sequence_len(text + at, len - at);
        uint32_t point = sequence == 0 ? (unsigned char)text[at] : text_point(text + at, sequence);
        struct buf piece = {0};
        if (sequence == 0) {
            buf_printf(&piece, "\\x%02x", point);
        } else if (point < 0x20 || point == 0x7f || text_is_hidden(point)) {
            buf_printf(&piece, point < 0x10000 ? "\\u%04x" : "\\U%08x", point);
        } else {
            buf_append(&piece, text + at, sequence);
        }
        used += text_width(buf_string(&piece));
        if (used <= columns) {
            buf_append(ret_buf, piece.data, piece.len);
        }
        buf_fini(&piece);
        if (used > columns) {
            buf_printf(ret_buf, "... (%zu more bytes)", len - at);
            return;
        }
        at += sequence == 0 ? 1 : sequence;
    }
}

void line_input_append_shown(const char *text, struct buf *ret_buf)
{
    add_shown(text, SIZE_MAX, ret_buf);
}

/** The word of an answer: "y", "yes", ...; anything else is a no. */
static bool is_word(const struct buf *answer, const char *letter, const char *word)
{
    const char *text = buf_string(answer);
    text += strspn(text, " \t");
    size_t len = strcspn(text, " \t\r\n");
    bool is_alone = text[len + strspn(text + len, " \t\r\n")] == '\0';
    return is_alone && ((len == strlen(letter) && strncasecmp(text, letter, len) == 0) ||
                        (len == strlen(word) && strncasecmp(text, word, len) == 0));
}

/** Whether a question is too long to be shown at once. */
static bool is_long(const struct line_question *question)
{
    return question->arguments != NULL && strlen(question->arguments) > LIMIT_QUESTION_BYTES;
}

/** The beginning and the end of what is too long, and a digest of all. */
static void add_arguments(const char *arguments, struct buf *ret_buf)
{
    size_t len = strlen(arguments);
    if (len <= LIMIT_QUESTION_BYTES) {
        add_shown(arguments, SIZE_MAX, ret_buf);
        return;
    }
    unsigned char digest[DIGEST_SIZE];
    char hex[DIGEST_HEX_SIZE];
    struct digest whole = digest_begin();
    digest_add(&whole, arguments, len);
    digest_finish(&whole, digest);
    digest_hex(digest, hex);
    auto_free char *head = memory_dup_bytes(arguments, PAGE_BYTES);
    add_shown(head, SIZE_MAX, ret_buf);
    buf_printf(ret_buf, "\n... (%zu bytes in all, SHA-256 %s; v shows them) ...\n", len, hex);
    add_shown(arguments + len - PAGE_BYTES, SIZE_MAX, ret_buf);
}

/** What may be answered: what was not shown whole cannot be allowed yet. */
static void add_choices(const struct line_question *question, bool must_see, struct buf *ret_buf)
{
    buf_append_string(ret_buf, must_see            ? "? [v/N] "
                               : question->is_once ? "? [y/N] "
                                                   : "? [y/N/a] ");
}

void line_input_question(const struct line_question *question, const struct style *style,
                         struct buf *ret_buf)
{
    auto_buf struct buf name = {0};
    add_shown(question->tool, NAME_COLUMNS, &name);
    if (question->why != NULL && question->why[0] != '\0') {
        auto_buf struct buf why = {0};
        add_shown(question->why, WHY_COLUMNS, &why);
        style_append(style, COLOUR_DIM, buf_string(&why), ret_buf);
        buf_append(ret_buf, "\n", 1);
    }
    buf_append_string(ret_buf, "Allow tool ");
    style_append(style, COLOUR_BOLD, buf_string(&name), ret_buf);
    if (question->arguments != NULL && question->arguments[0] != '\0') {
        buf_append_string(ret_buf, ": ");
        add_arguments(question->arguments, ret_buf);
    }
    add_choices(question, is_long(question), ret_buf);
}

/**
 * Show all that is asked about, as many lines at a time as fit.
 * @return whether the person saw it to its end
 */
static bool show_all(struct line_input *input, const char *arguments, struct cancel *cancel)
{
    size_t len = strlen(arguments);
    for (size_t at = 0; at < len;) {
        size_t end = at + PAGE_BYTES < len ? at + PAGE_BYTES : len;
        while (end < len && end > at && ((unsigned char)arguments[end] & 0xc0) == 0x80) {
            end--; /* not inside of a character */
        }
        end = end == at ? len : end;
        auto_free char *page = memory_dup_bytes(arguments + at, end - at);
        auto_buf struct buf shown = {0};
        auto_buf struct buf answer = {0};
        add_shown(page, SIZE_MAX, &shown);
        buf_printf(&shown, end < len ? "\n(%zu of %zu bytes; Enter: continue, q: stop) " : "\n",
                   end, len);
        put(input, buf_string(&shown));
        if (end < len &&
            (take_line(input, cancel, &answer) != LINE_WORDS || is_word(&answer, "q", "quit"))) {
            return false;
        }
        at = end;
    }
    return true;
}

static bool is_allowed(const struct line_input *input, const char *tool)
{
    for (size_t i = 0; i < input->allowed_count; i++) {
        if (strcmp(input->allowed[i], tool) == 0) {
            return true;
        }
    }
    return false;
}

static void allow(struct line_input *input, const char *tool)
{
    if (input->allowed_count < LINE_INPUT_ALLOWED && !is_allowed(input, tool)) {
        input->allowed[input->allowed_count++] = memory_dup_string(tool);
    }
}

static enum line_consent consent_of(struct line_input *input, const struct line_question *question,
                                    enum line_result result, const struct buf *answer)
{
    auto_buf struct buf identity = {0};
    buf_printf(&identity, "%u %s", question->generation, question->tool);
    if (result == LINE_WORDS && !question->is_once && is_word(answer, "a", "always")) {
        allow(input, buf_string(&identity));
        return LINE_YES;
    }
    return result == LINE_WORDS && is_word(answer, "y", "yes") ? LINE_YES : LINE_NO;
}

enum line_consent line_input_confirm(struct line_input *input, const struct line_question *question,
                                     struct cancel *cancel)
{
    auto_buf struct buf identity = {0};
    buf_printf(&identity, "%u %s", question->generation, question->tool);
    if (!question->is_once && is_allowed(input, buf_string(&identity))) {
        return LINE_YES;
    }
    if (!line_input_can_ask(input)) {
        return LINE_NOBODY;
    }
    bool must_see = is_long(question);
    auto_buf struct buf text = {0};
    line_input_question(question, &input->style, &text);
    for (;;) {
        auto_buf struct buf answer = {0};
        tcflush(input->fd, TCIFLUSH);
        buf_clear(&input->waiting);
        put(input, buf_string(&text));
        enum line_result result = take_line(input, cancel, &answer);
        if (result == LINE_END || result == LINE_CANCELLED) {
            put(input, "\n");
            return result == LINE_END ? LINE_NOBODY : LINE_NO;
        }
        if (result != LINE_WORDS || !must_see || !is_word(&answer, "v", "view")) {
            return must_see ? LINE_NO : consent_of(input, question, result, &answer);
        }
        must_see = !show_all(input, question->arguments, cancel);
        buf_clear(&text);
        buf_append_string(&text, "Allow it");
        add_choices(question, must_see, &text);
    }
}

enum line_consent line_input_ask(struct line_input *input, const char *question,
                                 struct cancel *cancel)
{
    if (!line_input_can_ask(input)) {
        return LINE_NOBODY;
    }
    tcflush(input->fd, TCIFLUSH);
    buf_clear(&input->waiting);
    auto_buf struct buf answer = {0};
    put(input, question);
    put(input, " [y/N] ");
    enum line_result result = take_line(input, cancel, &answer);
    if (result == LINE_END || result == LINE_CANCELLED) {
        put(input, "\n");
        return result == LINE_END ? LINE_NOBODY : LINE_NO;
    }
    return result == LINE_WORDS && is_word(&answer, "y", "yes") ? LINE_YES : LINE_NO;
}

static enum line_result read_field(struct line_input *input, const char *prompt,
                                   struct cancel *cancel, int64_t deadline_ns,
                                   struct buf *ret_words)
{
    tcflush(input->fd, TCIFLUSH);
    buf_clear(&input->waiting);
    put(input, prompt);
    enum line_result result = take_line_until(input, cancel, deadline_ns, ret_words);
    while (ret_words->len > 0 && strchr("\r\n", ret_words->data[ret_words->len - 1]) != NULL) {
        ret_words->data[--ret_words->len] = '\0';
    }
    if (result != LINE_WORDS) {
        put(input, "\n");
    }
    return result;
}

enum line_result line_input_field(struct line_input *input, const char *prompt,
                                  struct cancel *cancel, struct buf *ret_words)
{
    return read_field(input, prompt, cancel, 0, ret_words);
}

enum line_result line_input_answer(struct line_input *input, const char *prompt,
                                   struct cancel *cancel, int64_t timeout_ns, struct buf *ret_words)
{
    int64_t deadline_ns = clock_monotonic(clock_system()) + timeout_ns;
    return read_field(input, prompt, cancel, deadline_ns, ret_words);
}
