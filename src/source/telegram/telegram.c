// SPDX-License-Identifier: Apache-2.0
/*
 * Telegram: messages of those who may write to the bot become start requests, a conversation per
 * chat, and the answer of each run is sent to its chat. Everybody else is ignored.
 *
 * One thread polls and sends. The mark holds the next update and what has no answer yet; it changes
 * in the transaction that accepts a message, so none is lost or worked on twice. Of several daemons
 * with the role one has the lease of the bot (source/lease.h), polls and sends; each change of the
 * mark is made on condition of its version, so one that has lost the lease changes nothing.
 * Telegram offers no way to make sending idempotent. So that no reply is sent twice, "sending" is
 * stored before each part; a part whose fate is not known is not sent again, and the log says so.
 */
#include "source/telegram/telegram_api.h"

#include "base/auto.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "base/text/utf8.h"
#include "journal/run_answer.h"
#include "model/key/environment.h"
#include "source/intake/mark.h"
#include "source/lease.h"
#include "source/source.h"
#include "source/telegram/telegram_chats.h"
#include "source/template.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/** How long a poll waits while nothing else is to be done, and while answers are awaited. */
#define POLL_S      20
#define POLL_BUSY_S 1
/** Between two polls of a service that does not wait, and after a failure. */
#define PAUSE_NS   NS_PER_S
#define FAILURE_NS (30 * NS_PER_S)
/** While another daemon has the bot. */
#define STANDBY_NS (5 * NS_PER_S)

extern const struct source_type telegram_source_type;

/** The source: one bot. */
struct telegram {
    struct source source;
    struct telegram_api api;
    struct cancel cancel;
    char **users;
    int64_t *ids;
    size_t id_count;
    bool allows_all; /* everybody may write, whatever the lists say */
    char *template;

    pthread_t thread;
    bool has_thread;
    /* Of the thread alone. */
    struct telegram_chats chats;
    struct source_lease lease;
    uint64_t version;     /**< of the mark; 0 = it must be read again */
    char *stored;         /**< the mark as it is stored */
    int64_t offset;       /**< the next update to take; chats.offset is stored */
    bool is_stopped;      /**< nothing more of this answer is taken */
    int64_t last_ignored; /**< user that was named in the log */

    pthread_mutex_t lock;              /**< guards `problem` */
    char problem[SOURCE_PROBLEM_SIZE]; /**< why nothing is fetched, as it was logged; "" = none */
    char shown_problem[SOURCE_PROBLEM_SIZE]; /**< of the thread that calls the source */

    atomic_bool is_standby; /**< another daemon has the bot */
    atomic_uint accepted;   /**< since it was opened, as the next one */
    atomic_uint ignored;
};

__attribute__((format(printf, 2, 3))) static void log_line(const struct telegram *bot,
                                                           const char *format, ...)
{
    const struct source_host *host = bot->source.host;
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (host->log != NULL) {
        auto_buf struct buf line = {0};
        buf_printf(&line, "%s: %s", host->id, text);
        host->log(host->context, buf_string(&line));
    }
}

/** What keeps messages from being fetched has changed. @param text as it is shown; "" = nothing */
static void set_problem(struct telegram *bot, const char *text)
{
    const struct source_host *host = bot->source.host;
    pthread_mutex_lock(&bot->lock);
    bool was_failing = bot->problem[0] != '\0';
    bool is_changed = strncmp(bot->problem, text, sizeof(bot->problem) - 1) != 0;
    snprintf(bot->problem, sizeof(bot->problem), "%s", text);
    pthread_mutex_unlock(&bot->lock);
    if (text[0] != '\0' && !was_failing) {
        log_line(bot, "%s", text);
    }
    if (is_changed && host->wake != NULL) {
        host->wake(host->context); /* It is shown then. */
    }
}

/* ---- The mark -------------------------------------------------------------------------------- */

static void keep_mark(struct telegram *bot, struct buf *mark)
{
    free(bot->stored);
    bot->stored = buf_steal(mark);
}

/** Take back what could not be stored. */
static void restore(struct telegram *bot)
{
    struct rondo_error err = {0};
    bot->chats = (struct telegram_chats){0};
    if (bot->stored != NULL && telegram_chats_decode(bot->stored, &bot->chats, &err) < 0) {
        bot->chats = (struct telegram_chats){0};
        log_line(bot, "%s", err.message);
    }
}

/** It may be another one in the store now: it is read again before anything else is done. */
static void lose_mark(struct telegram *bot)
{
    bot->version = 0;
    bot->is_stopped = true;
    restore(bot);
}

/** @return whether it is stored; else it is as before */
static bool store(struct telegram *bot)
{
    auto_buf struct buf mark = {0};
    struct rondo_error err = {0};
    const struct source_host *host = bot->source.host;
    telegram_chats_encode(&bot->chats, &mark);
    int r = bot->version == 0 ? 0
                              : intake_replace_mark(host->intake, host->id, buf_string(&mark),
                                                    &bot->version, &err);
    if (r <= 0) {
        if (r < 0) {
            log_line(bot, "%s", err.message);
        }
        lose_mark(bot);
        return false;
    }
    keep_mark(bot, &mark);
    return true;
}

/* ---- Messages -------------------------------------------------------------------------------- */

static bool is_allowed(const struct telegram *bot, const struct telegram_message *message)
{
    bool is_allowed = bot->allows_all;
    for (size_t i = 0; i < bot->id_count; i++) {
        is_allowed |= bot->ids[i] == message->user;
    }
    for (size_t i = 0; bot->users[i] != NULL; i++) {
        const char *name = bot->users[i] + (bot->users[i][0] == '@');
        is_allowed |= name[0] != '\0' && strcasecmp(name, message->user_name) == 0;
    }
    return is_allowed;
}

static void ignore(struct telegram *bot, const struct telegram_message *message)
{
    atomic_fetch_add(&bot->ignored, 1);
    if (message->user != bot->last_ignored) {
        bot->last_ignored = message->user;
        log_line(bot,
                 "a message of the user %" PRId64 " is ignored: allowed_user_ids and "
                 "allowed_users do not name them",
                 message->user);
    }
}

static int make_prompt(const struct telegram *bot, const struct telegram_message *message,
                       struct buf *ret_prompt, struct rondo_error *err)
{
    const struct template_value values[] = {
        {.name = "message",
         .text = message->text,
         .len = strlen(message->text),
         .is_instruction = true},
        {0},
    };
    return template_fill(bot->template, values, ret_prompt, err);
}

static int submit(struct telegram *bot, const struct telegram_message *message,
                  struct intake_result *ret_result, struct rondo_error *err)
{
    char key[24];
    char conversation[40];
    auto_buf struct buf prompt = {0};
    auto_buf struct buf context = {0};
    auto_buf struct buf mark = {0};
    int r = make_prompt(bot, message, &prompt, err);
    if (r < 0) {
        return r;
    }
    snprintf(key, sizeof(key), "%" PRId64, message->update);
    snprintf(conversation, sizeof(conversation), "telegram:%" PRId64, message->chat);
    buf_printf(&context, "{\"chat\":%" PRId64 ",\"user\":%" PRId64 "}", message->chat,
               message->user);
    bot->chats.offset = message->update + 1;
    telegram_chats_encode(&bot->chats, &mark);
    const struct intake_event event = {
        .prompt = buf_string(&prompt),
        .key = key,
        .context = buf_string(&context),
        .conversation = conversation,
        .mark = buf_string(&mark),
        .mark_version = bot->version,
    };
    r = source_submit(&bot->source, &event, ret_result, err);
    if (r < 0 || ret_result->outcome == INTAKE_OVERTAKEN) {
        lose_mark(bot);
    } else if (ret_result->outcome != INTAKE_FULL) {
        bot->version++;
        keep_mark(bot, &mark);
    }
    return r;
}

/** A message of somebody who may write. What cannot be stored now comes again with the next poll.
 */
static void accept(struct telegram *bot, const struct telegram_message *message)
{
    struct intake_result result = {0};
    struct rondo_error err = {0};
    if (!telegram_chats_add(&bot->chats, message->chat, message->update)) {
        bot->is_stopped = true;
        return;
    }
    int r = submit(bot, message, &result, &err);
    if (r == 0 && result.outcome == INTAKE_OVERTAKEN) {
        return; /* Another daemon has the bot, and the message. */
    }
    if (r < 0 || result.outcome == INTAKE_FULL) {
        log_line(bot, "a message is not accepted yet: %s", r < 0 ? err.message : result.reason);
        bot->is_stopped = true;
        restore(bot);
        return;
    }
    atomic_fetch_add(&bot->accepted, 1);
}

static void take_message(void *context, const struct telegram_message *message)
{
    struct telegram *bot = context;
    if (bot->is_stopped || message->update < bot->offset) {
        return;
    }
    if (message->is_text && is_allowed(bot, message)) {
        accept(bot, message);
    } else if (message->is_text) {
        ignore(bot, message);
    }
    bot->offset = bot->is_stopped ? bot->offset : message->update + 1;
}

/** @return nanoseconds to wait before the next poll */
static int64_t poll_messages(struct telegram *bot)
{
    auto_buf struct buf body = {0};
    struct telegram_answer answer;
    struct rondo_error err = {0};
    bool is_busy = bot->chats.count > 0;
    int64_t began_ns = clock_monotonic(bot->source.host->clock);
    telegram_get_updates(&bot->api, bot->offset, is_busy ? POLL_BUSY_S : POLL_S, &body, &answer);
    if (cancel_is_set(&bot->cancel)) {
        return 0;
    }
    if (answer.outcome != TELEGRAM_DONE) {
        char text[SOURCE_PROBLEM_SIZE];
        snprintf(text, sizeof(text), "cannot fetch messages from Telegram: %.200s", answer.reason);
        set_problem(bot, text);
        return answer.wait_s > 0 ? answer.wait_s * NS_PER_S : FAILURE_NS;
    }
    int64_t before = bot->offset;
    bot->is_stopped = false;
    if (telegram_read_updates(body.data, body.len, take_message, bot, &err) < 0) {
        set_problem(bot, err.message);
        return FAILURE_NS;
    }
    set_problem(bot, "");
    /* What was ignored is stored with the rest of the answer. */
    if (bot->version != 0 && bot->offset != bot->chats.offset) {
        bot->chats.offset = bot->offset;
        bot->is_stopped |= !store(bot);
    }
    bool is_hurried = clock_monotonic(bot->source.host->clock) - began_ns < PAUSE_NS;
    return bot->is_stopped || (is_hurried && bot->offset == before) ? PAUSE_NS : 0;
}

/* ---- Answers --------------------------------------------------------------------------------- */

/** The length of a part: whole characters. */
static size_t part_len(const char *text)
{
    size_t left = strlen(text);
    size_t len = 0;
    for (size_t step = 0; len < left; len += step) {
        step = utf8_sequence_len(text + len, left - len);
        step = step == 0 ? 1 : step;
        if (len + step > TELEGRAM_TEXT_BYTES) {
            break;
        }
    }
    return len;
}

/** A part of a text, from 0; NULL after the last one, or past LIMIT_CHAT_REPLY_PARTS. Owned. */
static char *cut_part(const char *text, unsigned part)
{
    for (unsigned i = 0; i < part; i++) {
        text += part_len(text);
    }
    bool is_over = *text == '\0' || part >= LIMIT_CHAT_REPLY_PARTS;
    return is_over ? NULL : memory_dup_bytes(text, part_len(text));
}

static void end_turn(struct telegram *bot, size_t index)
{
    telegram_chats_remove(&bot->chats, index);
    store(bot);
}

/** Send the next part of an answer. @return whether there may be another one to send now */
static bool send_part(struct telegram *bot, size_t index, const char *text)
{
    struct chat_turn *turn = &bot->chats.turns[index];
    struct telegram_answer answer;
    auto_free char *part = cut_part(text, turn->part);
    if (part == NULL) {
        end_turn(bot, index);
        return false;
    }
    turn->state = TURN_SENDING;
    if (!store(bot)) {
        return false;
    }
    telegram_send(&bot->api, turn->chat, part, &answer);
    if (answer.outcome == TELEGRAM_NOT_SENT) {
        turn->state = TURN_WAITING;
        store(bot);
        clock_sleep(bot->source.host->clock,
                    answer.wait_s > 0 ? answer.wait_s * NS_PER_S : PAUSE_NS, &bot->cancel);
        return false;
    }
    if (answer.outcome != TELEGRAM_DONE) {
        log_line(bot, "the reply to the chat %" PRId64 " %s: %s", turn->chat,
                 answer.outcome == TELEGRAM_UNKNOWN ? "may not have arrived, and is not sent again"
                                                    : "was refused",
                 answer.reason);
        end_turn(bot, index);
        return false;
    }
    turn->part++;
    turn->state = TURN_WAITING;
    return store(bot);
}

static void send_answer(struct telegram *bot, size_t index, const char *text)
{
    /* A mark that could not be stored brings back other turns. */
    while (!cancel_is_set(&bot->cancel) && send_part(bot, index, text)) {
    }
}

/** @return whether the run of a turn has ended; then what to send */
static bool find_answer(struct telegram *bot, const struct chat_turn *turn, struct buf *ret_text)
{
    static const char refused[] = "Your message could not be processed.";
    char key[24];
    char run_id[ID_SIZE];
    struct rondo_error err = {0};
    struct run_answer answer = {0};
    const struct source_host *host = bot->source.host;
    snprintf(key, sizeof(key), "%" PRId64, turn->update);
    int r = intake_find_run(host->intake, host->id, key, run_id, &err);
    int pending = r == 1 ? intake_is_pending_anywhere(host->intake, run_id, &err) : 0;
    if (pending != 0) { /* Also while the store cannot be read. */
        return false;
    }
    r = r == 1  ? run_answer_read(host->store, run_id, &answer, &err)
        : r < 0 ? r
                : RONDO_ERR_NOT_FOUND;
    bool is_over = r == RONDO_ERR_NOT_FOUND || (r == 0 && answer.is_ended);
    if (r == RONDO_ERR_NOT_FOUND) {
        buf_append_string(ret_text, refused);
    } else if (is_over) {
        run_answer_write(&answer, ret_text);
    }
    run_answer_fini(&answer);
    return is_over;
}

static void send_answers(struct telegram *bot)
{
    size_t i = 0;
    while (i < bot->chats.count && !cancel_is_set(&bot->cancel)) {
        auto_buf struct buf text = {0};
        size_t before = bot->chats.count;
        const struct chat_turn *turn = &bot->chats.turns[i];
        if (turn->state == TURN_WAITING && find_answer(bot, turn, &text)) {
            send_answer(bot, i, buf_string(&text));
        }
        i += bot->chats.count == before;
    }
}

/** Replies that were being sent when the process ended. */
static void settle_doubts(struct telegram *bot)
{
    for (size_t i = bot->chats.count; i > 0; i--) {
        const struct chat_turn *turn = &bot->chats.turns[i - 1];
        if (turn->state == TURN_SENDING) {
            log_line(bot,
                     "the reply to the chat %" PRId64 " may not have arrived, and is not sent "
                     "again: the daemon ended while it was sent",
                     turn->chat);
            telegram_chats_remove(&bot->chats, i - 1);
        }
    }
}

/** Continue where the mark is, as this or another process has left it. */
static int read_mark(struct telegram *bot, struct rondo_error *err)
{
    char *mark = NULL;
    uint64_t version = 0;
    const struct source_host *host = bot->source.host;
    int r = source_mark_read(host->store, host->id, &mark, &version, err);
    if (r == 0 && mark == NULL) {
        r = intake_begin_mark(host->intake, host->id, "{}", &mark, err);
        version = 1;
    }
    if (r < 0) {
        free(mark);
        return r;
    }
    free(bot->stored);
    bot->stored = mark;
    restore(bot);
    bot->version = version;
    bot->offset = bot->chats.offset;
    settle_doubts(bot);
    return 0;
}

/** Have the bot and its mark. @return whether it may be worked with */
static bool hold(struct telegram *bot)
{
    struct rondo_error err = {0};
    bool was_held = bot->lease.is_held;
    int r = source_lease_hold(&bot->lease, &err);
    atomic_store(&bot->is_standby, r == 0);
    if (r == 1 && (!was_held || bot->version == 0)) {
        r = read_mark(bot, &err);
        r = r < 0 ? r : 1;
    }
    if (r < 0) {
        set_problem(bot, err.message);
    }
    return r == 1;
}

static void *work(void *context)
{
    struct telegram *bot = context;
    while (!cancel_is_set(&bot->cancel)) {
        int64_t pause_ns = STANDBY_NS;
        if (hold(bot)) {
            pause_ns = poll_messages(bot);
            send_answers(bot);
        }
        if (pause_ns > 0) {
            clock_sleep(bot->source.host->clock, pause_ns, &bot->cancel);
        }
    }
    return NULL;
}

/* ---- The source ------------------------------------------------------------------------------ */

static int open_api(struct telegram *bot, struct json_object *config, struct rondo_error *err)
{
    struct dotenv *dotenv = NULL;
    const char *name = json_get_string(config, "token_env", "TELEGRAM_BOT_TOKEN");
    const char *base = getenv("RONDO_TELEGRAM_URL");
    int r = dotenv_read(bot->source.host->folder, &dotenv, err);
    if (r < 0) {
        return r;
    }
    const char *token = dotenv_get(dotenv, name);
    if (token == NULL || token[0] == '\0') {
        r = error_set(err, RONDO_ERR_INVALID,
                      "the environment variable %.64s with the bot's token is not set", name);
    } else {
        r = telegram_api_init(&bot->api, base == NULL ? TELEGRAM_URL : base, token, err);
    }
    dotenv_free(dotenv);
    bot->api.http = bot->source.host->http;
    bot->api.cancel = &bot->cancel;
    return r;
}

static void read_users(struct telegram *bot, struct json_object *config)
{
    struct json_object *users = json_member(config, "allowed_users");
    struct json_object *ids = json_member(config, "allowed_user_ids");
    bot->allows_all = json_get_bool(config, "allow_all", false);
    size_t count = json_length(users);
    bot->users = memory_new_zero(count + 1, sizeof(*bot->users));
    for (size_t i = 0; i < count; i++) {
        bot->users[i] =
            memory_dup_string(json_object_get_string(json_object_array_get_idx(users, i)));
    }
    bot->id_count = json_length(ids);
    bot->ids = memory_new_zero(bot->id_count + 1, sizeof(*bot->ids));
    for (size_t i = 0; i < bot->id_count; i++) {
        bot->ids[i] = json_object_get_int64(json_object_array_get_idx(ids, i));
    }
}

static int check_users(const struct telegram *bot, struct rondo_error *err)
{
    return bot->allows_all || bot->users[0] != NULL || bot->id_count > 0
               ? 0
               : error_set(err, RONDO_ERR_INVALID,
                           "nobody may write to the bot: name users in `allowed_user_ids` or "
                           "`allowed_users`, or set `allow_all: true`");
}

static void close_bot(struct source *source)
{
    struct telegram *bot = (struct telegram *)source;
    if (bot->has_thread) {
        cancel_set(&bot->cancel, CANCEL_NOW);
        pthread_join(bot->thread, NULL);
    }
    source_lease_release(&bot->lease);
    cancel_fini(&bot->cancel);
    telegram_api_fini(&bot->api);
    pthread_mutex_destroy(&bot->lock);
    memory_free_list(bot->users);
    free(bot->ids);
    free(bot->stored);
    free(bot->template);
    free(bot);
}

static int start_bot(struct telegram *bot, struct json_object *config, struct rondo_error *err)
{
    const struct source_host *host = bot->source.host;
    read_users(bot, config);
    int r = check_users(bot, err);
    r = r < 0 ? r : open_api(bot, config, err);
    r = r < 0 ? r : cancel_init(&bot->cancel, err);
    if (r < 0) {
        return r;
    }
    bot->lease = (struct source_lease){.store = host->store,
                                       .clock = host->clock,
                                       .source = host->id,
                                       .owner = intake_owner(host->intake)};
    (void)hold(bot); /* Else the thread tries again. */
    if (pthread_create(&bot->thread, NULL, work, bot) != 0) {
        return error_set(err, RONDO_ERR_SYSTEM, "no thread for the Telegram bot");
    }
    bot->has_thread = true;
    return 0;
}

static int open_bot(struct json_object *config, const struct source_host *host, const char *mark,
                    struct source **ret_source, struct rondo_error *err)
{
    (void)mark; /* It is read when the bot is held. */
    struct telegram *bot = memory_new_zero(1, sizeof(*bot));
    pthread_mutex_init(&bot->lock, NULL);
    bot->source = (struct source){.type = &telegram_source_type, .host = host};
    bot->template = memory_dup_string(json_get_string(config, "prompt_template", "{message}"));
    int r = start_bot(bot, config, err);
    if (r < 0) {
        close_bot(&bot->source);
        return r;
    }
    *ret_source = &bot->source;
    return 0;
}

static void describe(struct source *source, struct json_writer *writer)
{
    struct telegram *bot = (struct telegram *)source;
    json_write_int(writer, "accepted", atomic_load(&bot->accepted));
    json_write_int(writer, "ignored", atomic_load(&bot->ignored));
    json_write_bool(writer, "standby", atomic_load(&bot->is_standby));
}

static const char *problem(struct source *source)
{
    struct telegram *bot = (struct telegram *)source;
    pthread_mutex_lock(&bot->lock);
    memcpy(bot->shown_problem, bot->problem, SOURCE_PROBLEM_SIZE);
    pthread_mutex_unlock(&bot->lock);
    return bot->shown_problem;
}

static const char *const identity[] = {"token_env", NULL};
static const char *const summary[] = {"token_env", NULL};

const struct source_type telegram_source_type = {
    .name = "telegram",
    .identity = identity,
    .summary = summary,
    .open = open_bot,
    .close = close_bot,
    .describe = describe,
    .problem = problem,
};
