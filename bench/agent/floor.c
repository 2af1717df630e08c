// SPDX-License-Identifier: Apache-2.0
/*
 * The floor under an agent: what a careful person writes in an afternoon with libcurl, json-c and
 * SQLite, and nothing more.
 *
 *   bench_agent_floor run STORE URL FIRST THIRD FOLDER N    N iterations; prints the peak, MiB
 *
 * FIRST and THIRD are the bodies of the first and third request of the engine to the same server
 * with the same tools. The floor takes system prompt, tools and settings from them, and the words
 * that begin each later iteration, so that both send the same and the server does the same.
 *
 * One iteration is: ask the model, make the call that it requests (write a file: temporary
 * file, rename), send the result. Messages are serialised once and spliced; the history keeps
 * its first message (with the system prompt) and a window after it. Made durable, in one SQLite
 * file with WAL and synchronous=FULL, in four transactions:
 *   1. the intent of the first request, with the words that begin the iteration;
 *   2. the first reply and the intent of the call;
 *   3. the call's result and the intent of the second request;
 *   4. the second reply and a checkpoint (iteration, tokens, where the window begins).
 * No checks, takeover, policies, counts or display.
 */
#include "base/buf.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_MESSAGES 512
#define WINDOW       40

struct agent_floor {
    sqlite3 *db;
    sqlite3_stmt *insert;
    CURL *curl;
    struct curl_slist *headers;
    const char *folder;
    char *before; /* of a request: everything in front of its messages */
    char *words;  /* message that begins each later iteration */
    char *messages[MAX_MESSAGES];
    size_t kept; /* messages at the front that are never dropped */
    size_t count;
    struct buf body;
    struct buf reply;
    int64_t tokens;
};

_Noreturn static void die(const char *what, const char *why)
{
    fprintf(stderr, "bench_agent_floor: %s: %s\n", what, why);
    exit(2);
}

/* --- durable facts --- */

static void sql(struct agent_floor *floor, const char *text)
{
    if (sqlite3_exec(floor->db, text, NULL, NULL, NULL) != SQLITE_OK) {
        die(text, sqlite3_errmsg(floor->db));
    }
}

static void open_store(struct agent_floor *floor, const char *path)
{
    if (sqlite3_open(path, &floor->db) != SQLITE_OK) {
        die(path, sqlite3_errmsg(floor->db));
    }
    sql(floor, "PRAGMA journal_mode=WAL");
    sql(floor, "PRAGMA synchronous=FULL");
    sql(floor, "CREATE TABLE facts (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, data TEXT NOT NULL)"
               " STRICT");
    if (sqlite3_prepare_v2(floor->db, "INSERT INTO facts (kind, data) VALUES (?1, ?2)", -1,
                           &floor->insert, NULL) != SQLITE_OK) {
        die("prepare", sqlite3_errmsg(floor->db));
    }
}

static void fact(struct agent_floor *floor, const char *kind, const char *data)
{
    sqlite3_bind_text(floor->insert, 1, kind, -1, SQLITE_STATIC);
    sqlite3_bind_text(floor->insert, 2, data, -1, SQLITE_STATIC);
    if (sqlite3_step(floor->insert) != SQLITE_DONE) {
        die("insert", sqlite3_errmsg(floor->db));
    }
    sqlite3_reset(floor->insert);
}

/* --- the conversation --- */

static void add_message(struct agent_floor *floor, char *message)
{
    if (message == NULL || floor->count == MAX_MESSAGES) {
        die("history", "no memory or no room");
    }
    floor->messages[floor->count++] = message;
}

static bool is_user(const char *message)
{
    return strncmp(message, "{\"role\":\"user\"", strlen("{\"role\":\"user\"")) == 0;
}

/** Drop what is older than the window, up to the next words of the user. */
static void trim(struct agent_floor *floor)
{
    if (floor->count <= WINDOW + floor->kept - 1) {
        return;
    }
    size_t from = floor->count - (WINDOW - 1);
    while (from < floor->count && !is_user(floor->messages[from])) {
        from++;
    }
    for (size_t i = floor->kept; i < from; i++) {
        free(floor->messages[i]);
    }
    memmove(&floor->messages[floor->kept], &floor->messages[from],
            (floor->count - from) * sizeof(floor->messages[0]));
    floor->count -= from - floor->kept;
}

static size_t take_in(char *bytes, size_t size, size_t count, void *context)
{
    buf_append(context, bytes, size * count);
    return size * count;
}

/** One request. @return the reply as JSON */
static struct json_object *ask(struct agent_floor *floor)
{
    buf_clear(&floor->body);
    buf_clear(&floor->reply);
    buf_append_string(&floor->body, floor->before);
    for (size_t i = 0; i < floor->count; i++) {
        buf_append(&floor->body, ",", i == 0 ? 0 : 1);
        buf_append_string(&floor->body, floor->messages[i]);
    }
    buf_append_string(&floor->body, "]}");
    curl_easy_setopt(floor->curl, CURLOPT_POSTFIELDSIZE, (long)floor->body.len);
    curl_easy_setopt(floor->curl, CURLOPT_POSTFIELDS, floor->body.data);
    CURLcode code = curl_easy_perform(floor->curl);
    long status = 0;
    curl_easy_getinfo(floor->curl, CURLINFO_RESPONSE_CODE, &status);
    if (code != CURLE_OK || status != 200) {
        die("request", code != CURLE_OK ? curl_easy_strerror(code) : buf_string(&floor->reply));
    }
    struct json_object *reply = json_tokener_parse(buf_string(&floor->reply));
    if (reply == NULL) {
        die("reply", "no JSON");
    }
    return reply;
}

static struct json_object *at(struct json_object *object, const char *key)
{
    struct json_object *value = NULL;
    json_object_object_get_ex(object, key, &value);
    return value;
}

static const char *text_of(struct json_object *object, const char *key)
{
    return json_object_get_string(at(object, key));
}

/** Keep the reply's message in the history. @return its first call, or NULL; borrowed */
static struct json_object *keep_reply(struct agent_floor *floor, struct json_object *reply)
{
    struct json_object *choice = json_object_array_get_idx(at(reply, "choices"), 0);
    struct json_object *message = at(choice, "message");
    struct json_object *calls = at(message, "tool_calls");
    struct json_object *kept = json_object_new_object();
    json_object_object_add(kept, "role", json_object_new_string("assistant"));
    json_object_object_add(kept, "content", json_object_get(at(message, "content")));
    if (calls != NULL) {
        json_object_object_add(kept, "tool_calls", json_object_get(calls));
    }
    add_message(floor, strdup(json_object_to_json_string_ext(
                           kept, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE)));
    json_object_put(kept);
    floor->tokens += json_object_get_int64(at(at(reply, "usage"), "total_tokens"));
    return calls == NULL ? NULL : json_object_array_get_idx(calls, 0);
}

/** The tool: write a file as a whole. */
static void write_file(struct agent_floor *floor, struct json_object *arguments)
{
    char path[4096];
    char part[4096];
    const char *content = text_of(arguments, "content");
    snprintf(path, sizeof(path), "%s/%s", floor->folder, text_of(arguments, "path"));
    snprintf(part, sizeof(part), "%s/.part", floor->folder);
    int fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    size_t len = strlen(content);
    if (fd < 0 || write(fd, content, len) != (ssize_t)len || close(fd) != 0 ||
        rename(part, path) != 0) {
        die(path, "cannot be written");
    }
}

static char *make_call(struct agent_floor *floor, struct json_object *call)
{
    struct json_object *arguments = json_tokener_parse(text_of(at(call, "function"), "arguments"));
    char text[256];
    if (arguments == NULL) {
        die("arguments", "no JSON");
    }
    write_file(floor, arguments);
    snprintf(text, sizeof(text), "Written %zu bytes to %s", strlen(text_of(arguments, "content")),
             text_of(arguments, "path"));
    json_object_put(arguments);
    struct json_object *message = json_object_new_object();
    json_object_object_add(message, "role", json_object_new_string("tool"));
    json_object_object_add(message, "tool_call_id", json_object_get(at(call, "id")));
    json_object_object_add(message, "content", json_object_new_string(text));
    char *serialised = strdup(json_object_to_json_string_ext(message, JSON_C_TO_STRING_PLAIN));
    json_object_put(message);
    return serialised;
}

/** First request with its call. @return false when the model wants nothing any more */
static void ask_and_call(struct agent_floor *floor)
{
    sql(floor, "BEGIN IMMEDIATE");
    fact(floor, "model.requested", floor->messages[floor->count - 1]);
    sql(floor, "COMMIT");
    struct json_object *reply = ask(floor);
    struct json_object *call = keep_reply(floor, reply);
    if (call == NULL) {
        die("reply", "no call");
    }
    sql(floor, "BEGIN IMMEDIATE");
    fact(floor, "model.replied", floor->messages[floor->count - 1]);
    fact(floor, "tool.started", text_of(call, "id"));
    sql(floor, "COMMIT");
    add_message(floor, make_call(floor, call));
    json_object_put(reply);
}

static void answer_and_save(struct agent_floor *floor, size_t iteration)
{
    char checkpoint[256];
    sql(floor, "BEGIN IMMEDIATE");
    fact(floor, "tool.finished", floor->messages[floor->count - 1]);
    fact(floor, "model.requested", "{}");
    sql(floor, "COMMIT");
    struct json_object *reply = ask(floor);
    keep_reply(floor, reply);
    json_object_put(reply);
    snprintf(checkpoint, sizeof(checkpoint), "{\"iteration\":%zu,\"tokens\":%lld,\"messages\":%zu}",
             iteration, (long long)floor->tokens, floor->count);
    sql(floor, "BEGIN IMMEDIATE");
    fact(floor, "model.replied", floor->messages[floor->count - 1]);
    fact(floor, "checkpoint", checkpoint);
    sql(floor, "COMMIT");
}

static struct json_object *read_body(const char *path)
{
    struct json_object *body = json_object_from_file(path);
    if (body == NULL || at(body, "messages") == NULL) {
        die(path, "no request");
    }
    return body;
}

/** Take over what the engine sends besides replies and answers. */
static void learn(struct agent_floor *floor, const char *first_path, const char *third_path)
{
    struct json_object *first = read_body(first_path);
    struct json_object *third = read_body(third_path);
    struct json_object *messages = at(first, "messages");
    struct json_object *later = at(third, "messages");
    int form = JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE;
    floor->kept = json_object_array_length(messages);
    for (size_t i = 0; i < floor->kept; i++) {
        add_message(floor, strdup(json_object_to_json_string_ext(
                               json_object_array_get_idx(messages, i), form)));
    }
    floor->words = strdup(json_object_to_json_string_ext(
        json_object_array_get_idx(later, json_object_array_length(later) - 1), form));
    json_object_object_del(first, "messages");
    struct buf before = {0};
    buf_append_string(&before, json_object_to_json_string_ext(first, form));
    before.data[--before.len] = '\0'; /* The closing brace. */
    buf_append_string(&before, ",\"messages\":[");
    floor->before = buf_steal(&before);
    json_object_put(first);
    json_object_put(third);
}

static void open_connection(struct agent_floor *floor, const char *url)
{
    floor->curl = curl_easy_init();
    floor->headers = curl_slist_append(NULL, "Content-Type: application/json");
    floor->headers = curl_slist_append(floor->headers, "Authorization: Bearer bench");
    curl_easy_setopt(floor->curl, CURLOPT_URL, url);
    curl_easy_setopt(floor->curl, CURLOPT_HTTPHEADER, floor->headers);
    curl_easy_setopt(floor->curl, CURLOPT_WRITEFUNCTION, take_in);
    curl_easy_setopt(floor->curl, CURLOPT_WRITEDATA, &floor->reply);
    curl_easy_setopt(floor->curl, CURLOPT_TCP_NODELAY, 1L);
}

static void close_all(struct agent_floor *floor)
{
    sqlite3_finalize(floor->insert);
    sqlite3_close(floor->db);
    curl_slist_free_all(floor->headers);
    curl_easy_cleanup(floor->curl);
    for (size_t i = 0; i < floor->count; i++) {
        free(floor->messages[i]);
    }
    free(floor->before);
    free(floor->words);
    buf_fini(&floor->body);
    buf_fini(&floor->reply);
}

static double peak_mib(void)
{
    FILE *file = fopen("/proc/self/status", "re");
    char line[256];
    double kib = 0;
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, "VmHWM:", 6) == 0) {
            kib = strtod(line + 6, NULL);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return kib / 1024;
}

static int run(char **arguments)
{
    static struct agent_floor floor;
    size_t count = strtoul(arguments[5], NULL, 10);
    floor.folder = arguments[4];
    learn(&floor, arguments[2], arguments[3]);
    open_store(&floor, arguments[0]);
    open_connection(&floor, arguments[1]);
    for (size_t i = 1; i <= count; i++) {
        if (i > 1) {
            add_message(&floor, strdup(floor.words));
        }
        ask_and_call(&floor);
        answer_and_save(&floor, i);
        trim(&floor);
    }
    close_all(&floor);
    printf("%.4f\n", peak_mib());
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 8 && strcmp(argv[1], "run") == 0) {
        return run(argv + 2);
    }
    return 2;
}
