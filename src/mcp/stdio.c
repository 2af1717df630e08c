// SPDX-License-Identifier: Apache-2.0
/*
 * A server that is a child of ours. One thread for each running server does all its input and
 * output, so that no caller's deadline can leave half a message in the pipe; callers put their
 * message into a queue and wait on an eventfd of their own.
 *
 * A server that floods, sends what is too large, or is not a server at all, is ended. One that
 * ended is started again by the next call, with a growing delay; after MAX_FAILURES starts without
 * a reply in between, calls fail at once for a while.
 *
 * Under `lock`: everything of struct mcp_stdio below the lock. The rest belongs to the thread, or,
 * while there is none, to the caller that starts it.
 */
#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "mcp/place.h"
#include "mcp/transport.h"
#include "os/spawn/pipe_child.h"
#include "os/spawn/spawn_output.h"

#include <errno.h>
#include <json-c/json.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define STACK_BYTES ((size_t)256 * 1024)
#define READ_BYTES  ((size_t)64 * 1024)
/* The end of stderr that is kept, and what of it an error message shows. */
#define ERRORS_KEEP_BYTES ((size_t)8 * 1024)
#define ERRORS_SHOW_BYTES 240
/* Messages that wait because the server does not read. */
#define QUEUE_MAX_BYTES MCP_FRAME_MAX_BYTES
/* A bucket takes in what is no reply: each message, and each KiB, is one; it leaks steadily. */
#define FLOOD_LIMIT      50000
#define FLOOD_LEAK_PER_S 1000
/* Starts in a row without a reply; then calls fail at once for so long. */
#define MAX_FAILURES 5
#define COOL_DOWN_NS (60 * NS_PER_S)
#define DELAY_MIN_NS (200 * NS_PER_MS)
/* How long a server may take to end by itself, and after TERM. */
#define GRACE_NS (1 * NS_PER_S)
/* How long the exit code and last words of a server are waited for after its output has ended. */
#define LAST_WORDS_NS (2 * NS_PER_S)

/** A caller that waits for a reply. On its stack; in the list under `lock`. */
struct reply_waiter {
    struct reply_waiter *next;
    int64_t id;
    int event_fd;
    struct json_object *reply;
    bool has_failed;
    struct rondo_error err;
};

struct mcp_stdio {
    char *name;
    struct json_object
        *form; /* the server's question to a person, until a waiter takes it; or NULL */
    struct mcp_place place;
    const char *supervisor;
    const struct clock *clock;
    struct mcp_inbox *inbox;
    int wake_fd; /* tells the thread that there is something to do */
    int gone_fd; /* readable when the thread has ended */

    pthread_mutex_t lock;
    struct reply_waiter *waiters;
    struct buf queue; /* to be written */
    uint64_t session;
    bool is_running;
    bool must_stop;
    bool has_thread;
    unsigned failures;
    int64_t next_start_ns;
    struct rondo_error last_end;
    pthread_t thread;

    struct pipe_child *child;
    struct mcp_lines lines;
    struct output_tail errors;
    struct buf writing;
    size_t written;
    int64_t flood;
    int64_t flood_at_ns;
    struct rondo_error fault; /* why the server must be ended */
};

static int64_t now_ns(const struct mcp_stdio *self)
{
    return clock_monotonic(self->clock);
}

static void raise_event(int fd)
{
    uint64_t one = 1;
    ssize_t written = write(fd, &one, sizeof(one));
    (void)written; /* EAGAIN: it is readable already. */
}

static void clear_event(int fd)
{
    uint64_t count;
    ssize_t got = read(fd, &count, sizeof(count));
    (void)got;
}

/* --- what comes in (the thread) --- */

/** @return whether the server may continue */
static bool count_flood(struct mcp_stdio *self, size_t len)
{
    int64_t now = now_ns(self);
    int64_t leaked = (now - self->flood_at_ns) / (NS_PER_S / FLOOD_LEAK_PER_S);
    if (leaked > 0) {
        self->flood = self->flood > leaked ? self->flood - leaked : 0;
        self->flood_at_ns = now;
    }
    self->flood += 1 + (int64_t)(len / 1024);
    if (self->flood > FLOOD_LIMIT) {
        error_set(&self->fault, RONDO_ERR_LIMIT, "flooded its client with messages");
        return false;
    }
    return true;
}

/**
 * Pass a reply to the caller that waits for it.
 * @param message taken over when somebody does: json-c's counters are not for two threads
 */
static bool hand_over(struct mcp_stdio *self, int64_t id, struct json_object **message)
{
    bool is_taken = false;
    pthread_mutex_lock(&self->lock);
    for (struct reply_waiter *waiter = self->waiters; waiter != NULL; waiter = waiter->next) {
        if (waiter->id == id && waiter->reply == NULL && !waiter->has_failed) {
            waiter->reply = steal_pointer(message);
            raise_event(waiter->event_fd);
            is_taken = true;
            break;
        }
    }
    pthread_mutex_unlock(&self->lock);
    return is_taken;
}

/** Leave a form to a thread that waits for the server. @return false when there is none */
static bool defer(struct mcp_stdio *self, struct json_object *message)
{
    pthread_mutex_lock(&self->lock);
    bool is_deferred = self->waiters != NULL && self->form == NULL;
    if (is_deferred) {
        self->form = json_object_get(message);
        raise_event(self->waiters->event_fd);
    }
    pthread_mutex_unlock(&self->lock);
    return is_deferred;
}

static void answer_server(struct mcp_stdio *self, struct json_object *message)
{
    auto_buf struct buf text = {0};
    if (mcp_inbox_is_form(self->inbox, message) && defer(self, message)) {
        return;
    }
    mcp_inbox_take(self->inbox, message, &text);
    if (text.len == 0) {
        return;
    }
    buf_append(&text, "\n", 1);
    pthread_mutex_lock(&self->lock);
    if (self->queue.len + text.len <= QUEUE_MAX_BYTES) {
        buf_append(&self->queue, text.data, text.len);
    }
    pthread_mutex_unlock(&self->lock);
}

/** Lines that are no messages are what careless servers log; half a message is a broken server. */
static bool take_noise(struct mcp_stdio *self, const char *line, size_t len)
{
    if (line[0] == '{' && memmem(line, len, "\"jsonrpc\"", 9) != NULL) {
        error_set(&self->fault, RONDO_ERR_CORRUPT, "sent a message that is not valid JSON");
        return false;
    }
    return count_flood(self, len);
}

static bool take_line(void *context, const char *line, size_t len)
{
    struct mcp_stdio *self = context;
    auto_json struct json_object *message = NULL;
    if (json_parse(line, len, &message, NULL) != 0) {
        return take_noise(self, line, len);
    }
    int64_t id = -1;
    switch (mcp_message_kind(message, &id)) {
    case MCP_REPLY:
        return hand_over(self, id, &message) || count_flood(self, len);
    case MCP_REQUEST:
    case MCP_NOTIFICATION:
        answer_server(self, message);
        return count_flood(self, len);
    case MCP_NOISE:
        return count_flood(self, len);
    }
    return true;
}

/** @return whether more output may follow */
static bool read_output(struct mcp_stdio *self, char *room)
{
    ssize_t got = read(pipe_child_output(self->child), room, READ_BYTES);
    if (got < 0) {
        return errno == EAGAIN || errno == EINTR;
    }
    return got > 0 &&
           mcp_lines_feed(&self->lines, room, (size_t)got, take_line, self, &self->fault) == 0 &&
           self->fault.code == 0;
}

/** @return whether stderr is still open */
static bool read_errors(struct mcp_stdio *self, char *room)
{
    ssize_t got = read(pipe_child_errors(self->child), room, READ_BYTES);
    if (got > 0) {
        output_tail_add(&self->errors, room, (size_t)got);
    }
    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

/* --- what goes out (the thread) --- */

/** @return whether the server still takes input */
static bool write_input(struct mcp_stdio *self)
{
    size_t left = self->writing.len - self->written;
    ssize_t put = write(pipe_child_input(self->child), self->writing.data + self->written, left);
    if (put < 0) {
        return errno == EAGAIN || errno == EINTR;
    }
    self->written += (size_t)put;
    if (self->written == self->writing.len) {
        self->written = 0;
        buf_fini(&self->writing);
    }
    return true;
}

/** Take what callers have queued. @return false when the server must be stopped */
static bool take_queue(struct mcp_stdio *self)
{
    pthread_mutex_lock(&self->lock);
    bool must_stop = self->must_stop;
    if (self->writing.len == 0) {
        self->writing = self->queue;
        self->queue = (struct buf){0};
    }
    pthread_mutex_unlock(&self->lock);
    return !must_stop;
}

/** A server that takes no more input may have replied before: read that. */
static void read_rest(struct mcp_stdio *self, char *room)
{
    int64_t deadline = now_ns(self) + LAST_WORDS_NS;
    bool continues = true;
    while (continues && now_ns(self) < deadline) {
        struct pollfd slot = {.fd = pipe_child_output(self->child), .events = POLLIN};
        int ready = poll(&slot, 1, (int)(LAST_WORDS_NS / NS_PER_MS));
        continues = ready > 0 && read_output(self, room);
    }
}

/** One turn. @return whether there is another */
static bool turn(struct mcp_stdio *self, char *room, bool *has_errors)
{
    if (!take_queue(self)) {
        return false;
    }
    struct pollfd slots[] = {
        {.fd = self->wake_fd, .events = POLLIN},
        {.fd = pipe_child_output(self->child), .events = POLLIN},
        {.fd = *has_errors ? pipe_child_errors(self->child) : -1, .events = POLLIN},
        {.fd = self->writing.len > 0 ? pipe_child_input(self->child) : -1, .events = POLLOUT},
    };
    if (poll(slots, 4, -1) < 0) {
        return errno == EINTR || errno == EAGAIN;
    }
    if (slots[0].revents != 0) {
        clear_event(self->wake_fd);
    }
    if (slots[2].revents != 0) {
        *has_errors = read_errors(self, room);
    }
    if (slots[1].revents != 0 && !read_output(self, room)) {
        return false;
    }
    if (slots[3].revents != 0 && !write_input(self)) {
        read_rest(self, room);
        return false;
    }
    return true;
}

/* --- the end of a server (the thread) --- */

/** The last lines of stderr, in one line. */
static void last_words(struct mcp_stdio *self, char *ret_text, size_t size)
{
    size_t len = 0;
    char *text = output_tail_steal(&self->errors, &len);
    while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r' || text[len - 1] == ' ')) {
        len--;
    }
    size_t from = len > ERRORS_SHOW_BYTES ? len - ERRORS_SHOW_BYTES : 0;
    while (from > 0 && from < len && ((unsigned char)text[from] & 0xc0) == 0x80) {
        from++;
    }
    mcp_clean_text(text + from, len - from, ret_text, size);
    free(text);
}

/** Say what became of a server that has ended by itself. */
static void describe_end(struct mcp_stdio *self, char *room, struct rondo_error *ret_err)
{
    char words[ERRORS_SHOW_BYTES + 1];
    char end[PIPE_CHILD_END_SIZE];
    pipe_child_wait(self->child, LAST_WORDS_NS);
    uint64_t before;
    do {
        before = self->errors.total;
    } while (read_errors(self, room) && self->errors.total > before);
    pipe_child_describe_end(self->child, end);
    last_words(self, words, sizeof(words));
    const char *colon = words[0] == '\0' ? "" : ": ";
    if (end[0] != '\0') {
        error_set(ret_err, RONDO_ERR_IO, "MCP server \"%s\" has ended (%s)%s%s", self->name, end,
                  colon, words);
    } else {
        error_set(ret_err, RONDO_ERR_IO, "MCP server \"%s\" has closed its output%s%s", self->name,
                  colon, words);
    }
}

/** Why those that wait get no reply. */
static void explain_end(struct mcp_stdio *self, char *room, struct rondo_error *ret_err)
{
    pthread_mutex_lock(&self->lock);
    bool is_stopped = self->must_stop;
    pthread_mutex_unlock(&self->lock);
    if (is_stopped) {
        error_set(ret_err, RONDO_ERR_IO, "MCP server \"%s\" was stopped", self->name);
    } else if (self->fault.code != 0) {
        error_set(ret_err, self->fault.code, "MCP server \"%s\" %s, and was ended", self->name,
                  self->fault.message);
    } else {
        describe_end(self, room, ret_err);
    }
}

static void fail_waiters(struct mcp_stdio *self, const struct rondo_error *err)
{
    for (struct reply_waiter *waiter = self->waiters; waiter != NULL; waiter = waiter->next) {
        if (waiter->reply == NULL && !waiter->has_failed) {
            waiter->has_failed = true;
            waiter->err = *err;
            raise_event(waiter->event_fd);
        }
    }
}

static void note_end(struct mcp_stdio *self, const struct rondo_error *err)
{
    pthread_mutex_lock(&self->lock);
    self->is_running = false;
    self->last_end = *err;
    if (!self->must_stop) {
        int64_t delay = self->failures == 0 ? 0 : DELAY_MIN_NS << (self->failures - 1);
        self->failures++;
        self->next_start_ns = now_ns(self) + (self->failures > MAX_FAILURES ? COOL_DOWN_NS : delay);
    }
    buf_fini(&self->queue);
    fail_waiters(self, err);
    pthread_mutex_unlock(&self->lock);
}

static void *serve(void *context)
{
    struct mcp_stdio *self = context;
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL); /* SIGPIPE too: a write says EPIPE instead. */
    char *room = memory_new(READ_BYTES);
    bool has_errors = true;
    while (turn(self, room, &has_errors)) {
    }
    struct rondo_error err = {0};
    explain_end(self, room, &err);
    note_end(self, &err);
    pipe_child_stop(self->child, GRACE_NS);
    pipe_child_free(self->child);
    self->child = NULL;
    mcp_lines_fini(&self->lines);
    buf_fini(&self->errors.buf);
    buf_fini(&self->writing);
    free(room);
    raise_event(self->gone_fd);
    return NULL;
}

/* --- starting --- */

/** Wait for a descriptor, a cancellation or a deadline. @return 0 when it is readable */
static int wait_readable(struct mcp_stdio *self, int fd, int64_t deadline_ns, struct cancel *cancel,
                         struct rondo_error *err)
{
    for (;;) {
        int64_t left = deadline_ns - now_ns(self);
        struct pollfd slots[] = {
            {.fd = fd, .events = POLLIN},
            {.fd = cancel == NULL ? -1 : cancel->event_fd, .events = POLLIN},
        };
        struct timespec timeout = {0};
        if (left > 0) {
            timeout = (struct timespec){.tv_sec = left / NS_PER_S, .tv_nsec = left % NS_PER_S};
        }
        ppoll(slots, 2, &timeout, NULL);
        if (slots[0].revents != 0) {
            return 0;
        }
        if (cancel_is_set(cancel)) {
            return error_set(err, RONDO_ERR_CANCELLED, "cancelled");
        }
        if (left <= 0) {
            return error_set(err, RONDO_ERR_TIMEOUT, "MCP server \"%s\" did not answer in time",
                             self->name);
        }
    }
}

/** Join the thread of a server that has ended, or is ending. */
static int leave_former(struct mcp_stdio *self, int64_t deadline_ns, struct cancel *cancel,
                        struct rondo_error *err)
{
    if (!self->has_thread) {
        return 0;
    }
    int r = wait_readable(self, self->gone_fd, deadline_ns, cancel, err);
    if (r == 0) {
        pthread_join(self->thread, NULL);
        clear_event(self->gone_fd);
        self->has_thread = false;
    }
    return r;
}

/** Wait as long as the rule for restarts says. */
static int wait_turn(struct mcp_stdio *self, int64_t deadline_ns, struct cancel *cancel,
                     struct rondo_error *err)
{
    pthread_mutex_lock(&self->lock);
    int64_t next = self->next_start_ns;
    bool gives_up = self->failures > MAX_FAILURES;
    struct rondo_error last = self->last_end;
    pthread_mutex_unlock(&self->lock);
    int64_t wait = next - now_ns(self);
    if (wait <= 0) {
        return 0;
    }
    if (gives_up || next > deadline_ns) {
        return error_set(err, last.code, "%.400s (%s)", last.message,
                         gives_up ? "again and again; it is left alone for a minute"
                                  : "not started again before the deadline");
    }
    clock_sleep(self->clock, wait, cancel);
    return cancel_is_set(cancel) ? error_set(err, RONDO_ERR_CANCELLED, "cancelled") : 0;
}

static int start_thread(struct mcp_stdio *self, struct rondo_error *err)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    int os_errno = pthread_create(&self->thread, &attributes, serve, self);
    pthread_attr_destroy(&attributes);
    if (os_errno != 0) {
        return error_set_errno(err, RONDO_ERR_SYSTEM, os_errno, "cannot start a thread");
    }
    self->has_thread = true;
    return 0;
}

static int start_server(struct mcp_stdio *self, struct rondo_error *err)
{
    const struct pipe_child_request request = {
        .argv = (const char *const *)self->place.argv,
        .envp = (const char *const *)self->place.envp,
        .directory = self->place.directory,
        .supervisor = self->supervisor,
        .sandbox = self->place.policy.tier == SANDBOX_NONE ? NULL : &self->place.policy,
    };
    int r = pipe_child_start(&request, &self->child, err);
    if (r != 0) {
        error_prefix(err, "while starting MCP server \"%s\"", self->name);
        return r;
    }
    self->errors = (struct output_tail){.keep = ERRORS_KEEP_BYTES};
    self->fault = (struct rondo_error){0};
    self->written = 0;
    self->flood = 0;
    self->flood_at_ns = now_ns(self);
    pthread_mutex_lock(&self->lock);
    self->session++;
    self->is_running = true;
    self->must_stop = false;
    pthread_mutex_unlock(&self->lock);
    r = start_thread(self, err);
    if (r != 0) {
        pthread_mutex_lock(&self->lock);
        self->is_running = false;
        pthread_mutex_unlock(&self->lock);
        pipe_child_free(self->child);
        self->child = NULL;
    }
    return r;
}

static int stdio_start(void *context, int64_t deadline_ns, struct cancel *cancel,
                       uint64_t *ret_session, struct rondo_error *err)
{
    struct mcp_stdio *self = context;
    pthread_mutex_lock(&self->lock);
    bool is_running = self->is_running && !self->must_stop;
    pthread_mutex_unlock(&self->lock);
    int r = 0;
    if (!is_running) {
        r = leave_former(self, deadline_ns, cancel, err);
        if (r == 0) {
            r = wait_turn(self, deadline_ns, cancel, err);
        }
        if (r == 0) {
            r = start_server(self, err);
        }
    }
    if (r == 0) {
        *ret_session = self->session;
    }
    return r;
}

static bool stdio_is_alive(void *context, uint64_t session)
{
    struct mcp_stdio *self = context;
    pthread_mutex_lock(&self->lock);
    bool is_alive = self->is_running && !self->must_stop && self->session == session;
    pthread_mutex_unlock(&self->lock);
    return is_alive;
}

/* --- calls --- */

/** Put a message into the queue; with `lock` held. */
static int enqueue(struct mcp_stdio *self, uint64_t session, const char *body, size_t len,
                   struct rondo_error *err)
{
    if (!self->is_running || self->must_stop || self->session != session) {
        if (self->last_end.code != 0) {
            return error_set(err, self->last_end.code, "%s", self->last_end.message);
        }
        return error_set(err, RONDO_ERR_IO, "MCP server \"%s\" has ended", self->name);
    }
    if (self->queue.len + len + 1 > QUEUE_MAX_BYTES) {
        return error_set(err, RONDO_ERR_LIMIT, "MCP server \"%s\" does not read its input",
                         self->name);
    }
    buf_append(&self->queue, body, len);
    buf_append(&self->queue, "\n", 1);
    raise_event(self->wake_fd);
    return 0;
}

static int send_request(struct mcp_stdio *self, uint64_t session,
                        const struct mcp_exchange *exchange, struct reply_waiter *waiter,
                        struct rondo_error *err)
{
    pthread_mutex_lock(&self->lock);
    int r = enqueue(self, session, exchange->body, exchange->body_len, err);
    if (r == 0) {
        waiter->next = self->waiters;
        self->waiters = waiter;
    }
    pthread_mutex_unlock(&self->lock);
    return r;
}

/** Take the waiter out of the list; tell the server when nobody waits any more. */
static void leave(struct mcp_stdio *self, uint64_t session, const struct mcp_exchange *exchange,
                  const struct reply_waiter *waiter, bool has_given_up)
{
    pthread_mutex_lock(&self->lock);
    for (struct reply_waiter **slot = &self->waiters; *slot != NULL; slot = &(*slot)->next) {
        if (*slot == waiter) {
            *slot = waiter->next;
            break;
        }
    }
    if (waiter->reply != NULL && strcmp(exchange->method, "initialize") != 0) {
        self->failures = 0;
        self->next_start_ns = 0;
    }
    if (has_given_up && waiter->reply == NULL && !waiter->has_failed &&
        strcmp(exchange->method, "initialize") != 0) {
        auto_buf struct buf text = {0};
        const struct mcp_outgoing cancelled = {
            .id = -1, .method = "notifications/cancelled", .cancels = exchange->id};
        mcp_write(&cancelled, &text);
        enqueue(self, session, text.data, text.len, NULL);
    }
    pthread_mutex_unlock(&self->lock);
}

/** The form that waits, for a thread without a reply yet. @return owned, or NULL */
static struct json_object *take_form(struct mcp_stdio *self, const struct reply_waiter *waiter)
{
    struct json_object *form = NULL;
    pthread_mutex_lock(&self->lock);
    if (waiter->reply == NULL && !waiter->has_failed) {
        uint64_t count;
        ssize_t len = read(waiter->event_fd, &count, sizeof(count)); /* Nothing to read is fine. */
        (void)len;
        form = self->form;
        self->form = NULL;
    }
    pthread_mutex_unlock(&self->lock);
    return form;
}

/** Wait for the reply; meanwhile a person may be asked, which takes no time of the call. */
static int wait_for_reply(struct mcp_stdio *self, uint64_t session, struct mcp_exchange *exchange,
                          struct reply_waiter *waiter, struct rondo_error *err)
{
    for (;;) {
        int64_t deadline_ns = mcp_exchange_deadline(self->inbox, exchange);
        int r = wait_readable(self, waiter->event_fd, deadline_ns, exchange->cancel, err);
        if (r == RONDO_ERR_TIMEOUT && mcp_exchange_deadline(self->inbox, exchange) > deadline_ns) {
            continue;
        }
        auto_json struct json_object *form = r == 0 ? take_form(self, waiter) : NULL;
        if (form == NULL) {
            return r;
        }
        auto_buf struct buf text = {0};
        int64_t before_ns = now_ns(self);
        mcp_inbox_answer(self->inbox, form, &text);
        exchange->deadline_ns += now_ns(self) - before_ns;
        pthread_mutex_lock(&self->lock);
        enqueue(self, session, text.data, text.len, NULL);
        pthread_mutex_unlock(&self->lock);
    }
}

static int stdio_exchange(void *context, uint64_t session, struct mcp_exchange *exchange,
                          struct rondo_error *err)
{
    struct mcp_stdio *self = context;
    struct reply_waiter waiter = {.id = exchange->id,
                                  .event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    if (waiter.event_fd < 0) {
        return error_set_errno(err, RONDO_ERR_SYSTEM, errno, "cannot wait for an MCP server");
    }
    int r = send_request(self, session, exchange, &waiter, err);
    if (r == 0) {
        r = wait_for_reply(self, session, exchange, &waiter, err);
        leave(self, session, exchange, &waiter, r != 0);
        if (waiter.reply != NULL) {
            exchange->reply = waiter.reply;
            r = 0;
        } else if (waiter.has_failed) {
            r = error_set(err, waiter.err.code, "%s", waiter.err.message);
        }
    }
    close(waiter.event_fd);
    return r;
}

static int stdio_notify(void *context, uint64_t session, const struct mcp_exchange *exchange,
                        struct rondo_error *err)
{
    struct mcp_stdio *self = context;
    pthread_mutex_lock(&self->lock);
    int r = enqueue(self, session, exchange->body, exchange->body_len, err);
    pthread_mutex_unlock(&self->lock);
    return r;
}

static void stdio_stop(void *context, uint64_t session)
{
    struct mcp_stdio *self = context;
    pthread_mutex_lock(&self->lock);
    if (self->session == session && self->is_running) {
        self->must_stop = true;
        raise_event(self->wake_fd);
    }
    pthread_mutex_unlock(&self->lock);
}

/* --- making and freeing --- */

static void stdio_free(void *context)
{
    struct mcp_stdio *self = context;
    json_object_put(self->form);
    stdio_stop(self, self->session);
    if (self->has_thread) {
        pthread_join(self->thread, NULL);
    }
    close(self->wake_fd);
    close(self->gone_fd);
    buf_fini(&self->queue);
    pthread_mutex_destroy(&self->lock);
    mcp_place_fini(&self->place);
    free(self->name);
    free(self);
}

int mcp_stdio_new(const struct mcp_options *options, struct mcp_inbox *inbox, void **ret_self,
                  struct rondo_error *err)
{
    if (options->command == NULL || options->command[0] == '\0') {
        return error_set(err, RONDO_ERR_INVALID, "MCP server \"%s\" has no command", options->name);
    }
    struct mcp_place place;
    int r = mcp_place_make(options, &place, err);
    if (r != 0) {
        return r;
    }
    int wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int gone_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wake_fd < 0 || gone_fd < 0) {
        int os_errno = errno;
        close(wake_fd);
        close(gone_fd);
        mcp_place_fini(&place);
        return error_set_errno(err, RONDO_ERR_SYSTEM, os_errno, "cannot make an event");
    }
    struct mcp_stdio *self = memory_new_zero(1, sizeof(*self));
    const struct tool_surroundings *surroundings = options->surroundings;
    *self = (struct mcp_stdio){
        .name = memory_dup_string(options->name),
        .place = place,
        .supervisor = surroundings->supervisor,
        .clock = surroundings->clock == NULL ? clock_system() : surroundings->clock,
        .inbox = inbox,
        .wake_fd = wake_fd,
        .gone_fd = gone_fd,
    };
    pthread_mutex_init(&self->lock, NULL);
    *ret_self = self;
    return 0;
}

const struct mcp_transport_ops mcp_stdio_ops = {
    .start = stdio_start,
    .is_alive = stdio_is_alive,
    .exchange = stdio_exchange,
    .notify = stdio_notify,
    .stop = stdio_stop,
    .free = stdio_free,
};
