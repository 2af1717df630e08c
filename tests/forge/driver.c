// SPDX-License-Identifier: Apache-2.0
/*
 * The client of forges (forge/forge.h) as a program: reads calls from standard input, one a line
 * with TABs between its words, and answers each with a line of JSON. tests/forge/test_client.py
 * drives it against the stand-in, with the same calls for every kind of forge.
 *
 *     forge_client KIND API OWNER NAME TOKEN
 *
 * Waits for limits are not slept but told: the clock of this program jumps. Requests are real.
 */
#include "../support/forge_end.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "base/random.h"
#include "forge/forge.h"
#include "net/client/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_WORDS 8

/** What a call writes its result with. */
struct driver_session {
    struct forge *forge;
    struct json_writer *writer;
};

struct driver_command {
    const char *name;
    int words; /**< that it needs after its name */
    enum forge_end (*call)(struct driver_session *session, char **words);
};

static int64_t jumped_ns;

static int64_t now(const struct clock *clock)
{
    (void)clock;
    return clock_now(clock_system()) + jumped_ns;
}

static int64_t monotonic(const struct clock *clock)
{
    (void)clock;
    return clock_monotonic(clock_system()) + jumped_ns;
}

static void jump(const struct clock *clock, int64_t duration_ns, struct cancel *cancel)
{
    (void)clock;
    (void)cancel;
    jumped_ns += duration_ns;
}

static int64_t number_of(const char *word)
{
    return strtoll(word, NULL, 10);
}

/* ---- Results ---- */

static void write_texts(struct json_writer *writer, const char *key, char **texts)
{
    json_begin_array(writer, key);
    for (size_t i = 0; texts != NULL && texts[i] != NULL; i++) {
        json_write_string(writer, NULL, texts[i]);
    }
    json_end_array(writer);
}

static void write_issue(struct json_writer *writer, const struct forge_issue *issue)
{
    json_begin_object(writer, NULL);
    json_write_int(writer, "number", issue->number);
    json_write_string(writer, "title", issue->title);
    json_write_string(writer, "body", issue->body);
    json_write_string(writer, "url", issue->url);
    json_write_string(writer, "author", issue->author);
    json_write_int(writer, "trust", issue->author_trust);
    json_write_int(writer, "comments", issue->comments);
    json_write_bool(writer, "open", issue->is_open);
    json_write_bool(writer, "pull", issue->is_pull);
    json_write_bool(writer, "locked", issue->is_locked);
    json_write_int(writer, "updated_s", issue->updated_ns / NS_PER_S);
    write_texts(writer, "labels", issue->labels);
    write_texts(writer, "assignees", issue->assignees);
    json_end_object(writer);
}

static void write_issues(struct driver_session *session, struct forge_issues *issues)
{
    json_begin_array(session->writer, "result");
    for (size_t i = 0; i < issues->count; i++) {
        write_issue(session->writer, &issues->items[i]);
    }
    json_end_array(session->writer);
    forge_issues_fini(issues);
}

static void write_comments(struct driver_session *session, struct forge_comments *comments)
{
    json_begin_array(session->writer, "result");
    for (size_t i = 0; i < comments->count; i++) {
        const struct forge_comment *comment = &comments->items[i];
        json_begin_object(session->writer, NULL);
        json_write_int(session->writer, "id", comment->id);
        json_write_string(session->writer, "body", comment->body);
        json_write_string(session->writer, "author", comment->author);
        json_write_int(session->writer, "trust", comment->author_trust);
        json_end_object(session->writer);
    }
    json_end_array(session->writer);
    forge_comments_fini(comments);
}

static void write_pull(struct driver_session *session, struct forge_pull *pull)
{
    static const char *const states[] = {
        [FORGE_PULL_OPEN] = "open", [FORGE_PULL_MERGED] = "merged", [FORGE_PULL_CLOSED] = "closed"};
    json_begin_object(session->writer, "result");
    json_write_int(session->writer, "number", pull->number);
    json_write_string(session->writer, "url", pull->url);
    json_write_string(session->writer, "head", pull->head);
    json_write_string(session->writer, "head_id", pull->head_id);
    json_write_string(session->writer, "base", pull->base);
    json_write_string(session->writer, "state", states[pull->state]);
    json_write_bool(session->writer, "draft", pull->is_draft);
    json_end_object(session->writer);
    forge_pull_fini(pull);
}

/* ---- Calls ---- */

static enum forge_end call_list(struct driver_session *session, char **words)
{
    const char *labels[] = {words[0], words[0] != NULL ? words[1] : NULL, NULL};
    struct forge_issues issues = {0};
    enum forge_end end = forge_list_issues(session->forge, labels, &issues);
    if (end == FORGE_OK) {
        write_issues(session, &issues);
    }
    return end;
}

static enum forge_end call_read(struct driver_session *session, char **words)
{
    struct forge_issue issue = {0};
    enum forge_end end = forge_read_issue(session->forge, number_of(words[0]), &issue);
    if (end == FORGE_OK) {
        json_begin_array(session->writer, "result");
        write_issue(session->writer, &issue);
        json_end_array(session->writer);
        forge_issue_fini(&issue);
    }
    return end;
}

static enum forge_end call_blockers(struct driver_session *session, char **words)
{
    int64_t count = 0;
    enum forge_end end = forge_count_blockers(session->forge, number_of(words[0]), &count);
    if (end == FORGE_OK) {
        json_write_int(session->writer, "result", count);
    }
    return end;
}

static enum forge_end call_children(struct driver_session *session, char **words)
{
    struct forge_issues issues = {0};
    enum forge_end end = forge_list_children(session->forge, number_of(words[0]), &issues);
    if (end == FORGE_OK) {
        write_issues(session, &issues);
    }
    return end;
}

static enum forge_end call_trust(struct driver_session *session, char **words)
{
    enum forge_trust trust = FORGE_STRANGER;
    enum forge_end end = forge_read_trust(session->forge, words[0], &trust);
    if (end == FORGE_OK) {
        json_write_int(session->writer, "result", trust);
    }
    return end;
}

static enum forge_end call_labeller(struct driver_session *session, char **words)
{
    char *login = NULL;
    enum forge_end end = forge_find_labeller(session->forge, number_of(words[0]), words[1], &login);
    if (end == FORGE_OK && login != NULL) {
        json_write_string(session->writer, "result", login);
        free(login);
    }
    return end;
}

static enum forge_end call_ensure(struct driver_session *session, char **words)
{
    return forge_ensure_label(session->forge, words[0], words[1], "");
}

static enum forge_end call_label(struct driver_session *session, char **words)
{
    return forge_add_label(session->forge, number_of(words[0]), words[1]);
}

static enum forge_end call_unlabel(struct driver_session *session, char **words)
{
    return forge_remove_label(session->forge, number_of(words[0]), words[1]);
}

static enum forge_end call_assign(struct driver_session *session, char **words)
{
    return forge_assign(session->forge, number_of(words[0]), words[1]);
}

static enum forge_end call_unassign(struct driver_session *session, char **words)
{
    return forge_unassign(session->forge, number_of(words[0]), words[1]);
}

static enum forge_end call_comments(struct driver_session *session, char **words)
{
    struct forge_comments comments = {0};
    enum forge_end end =
        forge_list_comments(session->forge, number_of(words[0]), number_of(words[1]), &comments);
    if (end == FORGE_OK) {
        write_comments(session, &comments);
    }
    return end;
}

static enum forge_end call_comment(struct driver_session *session, char **words)
{
    int64_t id = 0;
    enum forge_end end = forge_add_comment(session->forge, number_of(words[0]), words[1], &id);
    if (end == FORGE_OK) {
        json_write_int(session->writer, "result", id);
    }
    return end;
}

static enum forge_end call_edit(struct driver_session *session, char **words)
{
    return forge_edit_comment(session->forge, number_of(words[0]), number_of(words[1]), words[2]);
}

static enum forge_end call_delete(struct driver_session *session, char **words)
{
    return forge_delete_comment(session->forge, number_of(words[0]), number_of(words[1]));
}

static enum forge_end call_find_pull(struct driver_session *session, char **words)
{
    struct forge_pull pull = {0};
    enum forge_end end = forge_find_pull(session->forge, words[1], words[0], &pull);
    if (end == FORGE_OK) {
        write_pull(session, &pull);
    }
    return end;
}

static enum forge_end call_pull(struct driver_session *session, char **words)
{
    struct forge_pull pull = {0};
    enum forge_end end = forge_read_pull(session->forge, number_of(words[0]), &pull);
    if (end == FORGE_OK) {
        write_pull(session, &pull);
    }
    return end;
}

static enum forge_end call_create_pull(struct driver_session *session, char **words)
{
    struct forge_pull pull = {0};
    const struct forge_new_pull new_pull = {.title = words[3],
                                            .head = words[0],
                                            .base = words[1],
                                            .body = "Closes #1",
                                            .fork = words[4],
                                            .is_draft = strcmp(words[2], "draft") == 0};
    enum forge_end end = forge_create_pull(session->forge, &new_pull, &pull);
    if (end == FORGE_OK) {
        write_pull(session, &pull);
    }
    return end;
}

static enum forge_end call_reviews(struct driver_session *session, char **words)
{
    struct forge_comments comments = {0};
    bool wants_changes = false;
    enum forge_end end =
        forge_read_reviews(session->forge, number_of(words[0]), 0, &comments, &wants_changes);
    if (end == FORGE_OK) {
        json_write_bool(session->writer, "wants_changes", wants_changes);
        write_comments(session, &comments);
    }
    return end;
}

static enum forge_end call_checks(struct driver_session *session, char **words)
{
    static const char *const names[] = {[FORGE_CHECKS_NONE] = "none",
                                        [FORGE_CHECKS_PENDING] = "pending",
                                        [FORGE_CHECKS_PASSED] = "passed",
                                        [FORGE_CHECKS_FAILED] = "failed"};
    enum forge_checks checks = FORGE_CHECKS_NONE;
    char *failed = NULL;
    enum forge_end end = forge_read_checks(session->forge, words[0], &checks, &failed);
    if (end == FORGE_OK) {
        json_write_string(session->writer, "result", names[checks]);
        json_write_string(session->writer, "failed", failed != NULL ? failed : "");
        free(failed);
    }
    return end;
}

static enum forge_end call_repository(struct driver_session *session, char **words)
{
    (void)words;
    struct forge_repository found = {0};
    enum forge_end end = forge_read_repository(session->forge, &found);
    if (end != FORGE_OK) {
        return end;
    }
    json_begin_object(session->writer, "result");
    json_write_string(session->writer, "default_branch", found.default_branch);
    json_write_string(session->writer, "clone_url", found.clone_url);
    json_write_string(session->writer, "login", found.login != NULL ? found.login : "");
    json_write_bool(session->writer, "push", found.can_push);
    json_write_bool(session->writer, "triage", found.can_triage);
    json_write_bool(session->writer, "pull", found.can_pull);
    json_write_bool(session->writer, "archived", found.is_archived);
    json_write_bool(session->writer, "empty", found.is_empty);
    json_write_bool(session->writer, "issues", found.has_issues);
    json_end_object(session->writer);
    forge_repository_fini(&found);
    return end;
}

static enum forge_end call_fork(struct driver_session *session, char **words)
{
    struct forge_fork found = {0};
    enum forge_end end = forge_read_fork(session->forge, words[0], &found);
    if (end != FORGE_OK) {
        return end;
    }
    json_begin_object(session->writer, "result");
    json_write_string(session->writer, "clone_url", found.clone_url);
    json_write_bool(session->writer, "fork", found.is_fork);
    json_write_bool(session->writer, "push", found.can_push);
    json_write_bool(session->writer, "archived", found.is_archived);
    json_end_object(session->writer);
    forge_fork_fini(&found);
    return end;
}

static enum forge_end call_time(struct driver_session *session, char **words)
{
    (void)words;
    json_write_int(session->writer, "result", forge_now(session->forge) / NS_PER_S);
    json_write_int(session->writer, "jumped_s", jumped_ns / NS_PER_S);
    return FORGE_OK;
}

static const struct driver_command commands[] = {
    {"list", 0, call_list},
    {"read", 1, call_read},
    {"blockers", 1, call_blockers},
    {"children", 1, call_children},
    {"trust", 1, call_trust},
    {"labeller", 2, call_labeller},
    {"ensure", 2, call_ensure},
    {"label", 2, call_label},
    {"unlabel", 2, call_unlabel},
    {"assign", 2, call_assign},
    {"unassign", 2, call_unassign},
    {"comments", 2, call_comments},
    {"comment", 2, call_comment},
    {"edit", 3, call_edit},
    {"delete", 2, call_delete},
    {"find-pull", 1, call_find_pull},
    {"pull", 1, call_pull},
    {"create-pull", 4, call_create_pull},
    {"reviews", 1, call_reviews},
    {"checks", 1, call_checks},
    {"repository", 0, call_repository},
    {"fork", 1, call_fork},
    {"time", 0, call_time},
};

/* ---- The program ---- */

static const struct driver_command *find_command(char **words, int count)
{
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]) && count > 0; i++) {
        if (strcmp(commands[i].name, words[0]) == 0 && count > commands[i].words) {
            return &commands[i];
        }
    }
    return NULL;
}

static void answer(struct forge *forge, char *line)
{
    char *words[MOST_WORDS + 1] = {NULL};
    int count = 0;
    struct buf text = {0};
    struct json_writer writer = json_writer(&text);
    struct driver_session session = {.forge = forge, .writer = &writer};
    line[strcspn(line, "\n")] = '\0';
    char *place = NULL;
    for (char *word = strtok_r(line, "\t", &place); word != NULL && count < MOST_WORDS;
         word = strtok_r(NULL, "\t", &place)) {
        words[count++] = word;
    }
    const struct driver_command *command = find_command(words, count);
    json_begin_object(&writer, NULL);
    if (command != NULL) {
        enum forge_end end = command->call(&session, words + 1);
        json_write_string(&writer, "end", forge_end_name(end));
        json_write_string(&writer, "message", forge_outcome(forge)->message);
    } else {
        json_write_string(&writer, "end", "no such call");
    }
    json_end_object(&writer);
    printf("%s\n", buf_string(&text));
    fflush(stdout);
    buf_fini(&text);
}

static int serve(struct forge *forge)
{
    char *line = NULL;
    size_t size = 0;
    while (getline(&line, &size, stdin) > 0) {
        answer(forge, line);
    }
    free(line);
    return 0;
}

int main(int argc, char **argv)
{
    struct rondo_error err = {0};
    struct http_client *http = NULL;
    struct forge *forge = NULL;
    struct random random = random_seeded(1);
    const struct clock clock = {.now_ns = now, .monotonic_ns = monotonic, .sleep = jump};
    struct forge_place place = {0};
    if (argc != 6 || !forge_kind_from_name(argv[1], &place.kind)) {
        fprintf(stderr, "forge_client KIND API OWNER NAME TOKEN\n");
        return 2;
    }
    char host[64] = "";
    sscanf(argv[2], "%*[a-z]://%63[^/]", host);
    place.host = host;
    place.api = argv[2];
    place.owner = argv[3];
    place.name = argv[4];
    int r = http_client_new(NULL, &http, &err);
    const struct forge_options options = {.place = &place,
                                          .token = argv[5][0] != '\0' ? argv[5] : NULL,
                                          .http = http,
                                          .clock = &clock,
                                          .random = &random};
    r = r == 0 ? forge_open(&options, &forge, &err) : r;
    if (r == 0) {
        r = serve(forge);
    } else {
        fprintf(stderr, "%s\n", err.message);
    }
    forge_close(forge);
    http_client_free(http);
    return r == 0 ? 0 : 1;
}
