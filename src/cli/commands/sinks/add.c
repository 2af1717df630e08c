// SPDX-License-Identifier: Apache-2.0
/* rondo sinks add: from options to the JSON object that the store and the API take. */
#include "alert/sink.h"
#include "base/auto.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "cli/commands/sinks/commands.h"
#include "cli/commands/tools_source.h"
#include "cli/framework/common_options.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/report.h"
#include "cli/framework/session.h"
#include "model/key/secret.h"

#include <json-c/json.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Words besides the command's own. */
#define WORDS_MAX 1000

struct add_values {
    char *urls[SINK_KIND_COUNT];        /* by kind; of kinds with an address */
    int64_t are_given[SINK_KIND_COUNT]; /* by kind; of kinds with a command */
    char *kinds;
    char *agents;
    char *store;
    int64_t wants_json;
};

/* One option for each kind. */
#define OPTION_SINK_HAS_URL(ID, id, text)                    \
    {.name = #id,                                            \
     .kind = OPTION_TEXT,                                    \
     .offset = offsetof(struct add_values, urls[SINK_##ID]), \
     .argument = "URL",                                      \
     .help = (text),                                         \
     .group = SINK_##ID == 0 ? "Destination" : NULL},
#define OPTION_SINK_HAS_COMMAND(ID, id, text)                     \
    {.name = #id,                                                 \
     .kind = OPTION_FLAG,                                         \
     .offset = offsetof(struct add_values, are_given[SINK_##ID]), \
     .help = (text)},
#define KIND(ID, id, target, text) OPTION_##target(ID, id, text)

const struct option_row sinks_add_options[] = {
    /* clang-format off */
    SINK_KINDS(KIND)
    /* clang-format on */
    {.name = "kinds",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct add_values, kinds),
     .argument = "A,B",
     .help = "Only these kinds: limit, policy, ended, stalled, storage, policy_refused, handoff, "
             "event, task",
     .group = "Which warnings"},
    {.name = "agents",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct add_values, agents),
     .argument = "A,B",
     .help = "Only warnings of these agents"},
    OPTION_ROW_STORE(struct add_values),
    OPTION_ROW_JSON(struct add_values, "The sink's name and new secret as a JSON object"),
    {0},
};

/** Split "a,b" into a list. */
static struct json_object *list_of(const char *text)
{
    struct json_object *list = json_object_new_array();
    while (*text != '\0') {
        size_t len = strcspn(text, ",");
        json_object_array_add(list, json_object_new_string_len(text, (int)len));
        text += len + (text[len] == ',');
    }
    return list;
}

static struct json_object *command_of(char *const *words)
{
    struct json_object *list = json_object_new_array();
    for (size_t i = 0; words[i] != NULL; i++) {
        char path[PATH_MAX];
        /* The server has another working folder, and what is named by its path is pinned. */
        bool is_relative =
            words[i][0] != '/' && words[i][0] != '-' && strchr(words[i], '/') != NULL;
        /* opens: only a name; the sink is confirmed with it */
        const char *word = is_relative && realpath(words[i], path) != NULL ? path : words[i];
        json_object_array_add(list, json_object_new_string(word));
    }
    return list;
}

/** An address as given, or a line of the standard input. @return owned */
static char *url_of(const char *given)
{
    if (strcmp(given, "-") != 0) {
        return memory_dup_string(given);
    }
    char line[LIMIT_SINK_URL_BYTES + 3] = "";
    if (fgets(line, sizeof(line), stdin) != NULL) {
        line[strcspn(line, "\r\n")] = '\0';
    }
    return memory_dup_string(line);
}

static bool is_given(const struct add_values *values, enum sink_kind kind)
{
    return values->urls[kind] != NULL || values->are_given[kind] != 0;
}

/** @param values one kind is given */
static struct json_object *describe(const struct add_values *values, const char *name, char **words)
{
    struct json_object *sink = json_object_new_object();
    enum sink_kind kind = 0;
    while (!is_given(values, kind)) {
        kind++;
    }
    const char *url = values->urls[kind];
    json_object_object_add(sink, "name", json_object_new_string(name));
    json_object_object_add(sink, "kind", json_object_new_string(sink_kind_name(kind)));
    if (url != NULL) {
        char *address = url_of(url);
        json_object_object_add(sink, "url", json_object_new_string(address));
        secret_free_string(address);
    } else {
        json_object_object_add(sink, "command", command_of(words));
    }
    if (values->kinds != NULL) {
        json_object_object_add(sink, "kinds", list_of(values->kinds));
    }
    if (values->agents != NULL) {
        json_object_object_add(sink, "agents", list_of(values->agents));
    }
    return sink;
}

static int check(const struct invocation *invocation, const struct add_values *values, int argc,
                 char **words)
{
    int ways = 0;
    bool has_command = false;
    for (enum sink_kind kind = 0; kind < SINK_KIND_COUNT; kind++) {
        ways += is_given(values, kind) ? 1 : 0;
        has_command = has_command || values->are_given[kind] != 0;
    }
    if (argc != 1) {
        return command_misuse(invocation->command, "expected one name");
    }
    if (ways != 1) {
#define NAME(ID, id, target, help) " --" #id
        return command_misuse(invocation->command, "expected one of" SINK_KINDS(NAME));
    }
    if (has_command != (words != NULL && words[0] != NULL)) {
        return command_misuse(invocation->command, "--command requires a command after --");
    }
    return 0;
}

static void print_added(const struct add_values *values, const char *name, const char *secret)
{
    auto_buf struct buf out = {0};
    if (values->wants_json) {
        struct json_writer writer = json_writer(&out);
        json_begin_object(&writer, NULL);
        json_write_string(&writer, "name", name);
        json_write_string(&writer, "secret", secret[0] == '\0' ? NULL : secret);
        json_end_object(&writer);
        buf_append_string(&out, "\n");
    } else if (secret[0] != '\0') {
        fputs("the secret of the webhook, which is shown only once:\n", stderr);
        buf_printf(&out, "%s\n", secret);
    }
    report_output(&out);
    fprintf(
        stderr,
        "warnings are sent to %s while a server is running; test it with `rondo sinks test %s`\n",
        name, name);
}

static int add(const struct invocation *invocation, const struct add_values *values, int after,
               int argc, char **argv)
{
    char **words = tools_split_command(after, &argc, argv);
    int exit_code = check(invocation, values, argc, words);
    if (exit_code != 0) {
        return exit_code;
    }
    struct session session;
    struct rondo_error err = {0};
    struct session_options options = {.store = values->store, .access = STORE_CREATING};
    char secret[SINK_SECRET_SIZE] = "";
    auto_json struct json_object *sink = describe(values, argv[0], words);
    int r = session_open(&options, &session, &err);
    if (r == 0) {
        r = sink_put(session.store, sink, secret, &err);
        session_close(&session);
    }
    if (r < 0) {
        return report_error_as(&err, values->wants_json != 0);
    }
    print_added(values, argv[0], secret);
    explicit_bzero(secret, sizeof(secret));
    return 0;
}

int cmd_sinks_add(const struct invocation *invocation)
{
    struct add_values values = {0};
    struct option_set set = {.rows = sinks_add_options, .values = &values};
    int after = tools_words_after(invocation);
    struct parsed parsed = command_parse(invocation, &set, 1, WORDS_MAX);
    int exit_code = parsed.is_over ? parsed.exit_code
                                   : add(invocation, &values, after, parsed.argc, parsed.argv);
    option_set_fini(&set);
    return exit_code;
}
