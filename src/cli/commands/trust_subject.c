// SPDX-License-Identifier: Apache-2.0
/* What decides in files, by kind. The text and the bytes of a subject come from one reading. */
#include "cli/commands/trust_subject.h"

#include "agent/spec/pin.h"
#include "base/auto.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "cli/terminal/line_input.h"
#include "handoff/desks/desks.h"
#include "mcp/mcp.h"
#include "model/key/dotenv.h"
#include "model/key/environment.h"
#include "model/key/secret.h"
#include "os/file_untrusted.h"
#include "policy/cedar/policies.h"
#include "policy/change.h"
#include "role/role.h"
#include "store/locate/locate.h"
#include "store/locate/origin.h"
#include "store/log_files.h"
#include "store/store.h"

#include <fcntl.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/** Runs of a store that are shown one by one. */
#define STORE_RUNS_SHOWN 20

/* ---- Parts of the text ---------------------------------------------------------------------- */

/** Begin a line: "  LABEL: ", made safe. */
static void begin_line(struct buf *text, const char *label)
{
    buf_append_string(text, "  ");
    line_input_append_shown(label, text);
    buf_append_string(text, ": ");
}

/** A word of a command line, in quotes where it would be read as several. */
static void add_word(struct buf *text, const char *word)
{
    bool is_plain = word[0] != '\0' && strpbrk(word, " \t\n\"'\\$`;&|<>()") == NULL;
    auto_buf struct buf quoted = {0};
    if (!is_plain) {
        struct json_writer writer = json_writer(&quoted);
        json_write_string(&writer, NULL, word);
    }
    line_input_append_shown(is_plain ? word : buf_string(&quoted), text);
}

/** Whether a value says nothing: null, false, "", [], {}. */
static bool is_empty(struct json_object *value)
{
    switch (json_object_get_type(value)) {
    case json_type_null:
        return true;
    case json_type_boolean:
        return !json_object_get_boolean(value);
    case json_type_string:
        return json_object_get_string_len(value) == 0;
    case json_type_array:
        return json_object_array_length(value) == 0;
    case json_type_object:
        return json_object_object_length(value) == 0;
    case json_type_int:
    case json_type_double:
        return false;
    }
    return false;
}

/**
 * Append members that say something: "KEY VALUE, KEY VALUE".
 * @param skip     NULL-terminated keys
 * @param defaults members with these values are left out; may be NULL
 */
static void add_members(struct buf *text, struct json_object *object, const char *const *skip,
                        struct json_object *defaults)
{
    bool is_first = true;
    struct json_object_iter member;
    json_object_object_foreachC(object, member)
    {
        struct json_object *usual = NULL;
        bool is_skipped =
            is_empty(member.val) || (json_object_object_get_ex(defaults, member.key, &usual) &&
                                     json_object_equal(usual, member.val));
        for (size_t i = 0; skip[i] != NULL; i++) {
            is_skipped = is_skipped || strcmp(skip[i], member.key) == 0;
        }
        if (!is_skipped) {
            buf_append_string(text, is_first ? "" : ", ");
            line_input_append_shown(member.key, text);
            buf_append_string(text, " ");
            line_input_append_shown(
                json_object_to_json_string_ext(member.val, JSON_C_TO_STRING_PLAIN |
                                                               JSON_C_TO_STRING_NOSLASHESCAPE),
                text);
            is_first = false;
        }
    }
}

/** Append a server or a tool: its command line, then the rest. */
static void add_program(struct buf *text, struct json_object *config)
{
    static const char *const shown[] = {"command", "args", "type", NULL};
    struct json_object *args = NULL;
    const char *type = json_get_string(config, "type", NULL);
    const char *command = json_get_string(config, "command", NULL);
    auto_buf struct buf rest = {0};
    json_object_object_get_ex(config, "args", &args);
    if (type != NULL) {
        add_word(text, type);
        buf_append_string(text, command == NULL ? "" : " ");
    }
    if (command != NULL) {
        add_word(text, command);
    }
    size_t count = json_length(args);
    for (size_t i = 0; i < count; i++) {
        buf_append_string(text, " ");
        add_word(text, json_object_get_string(json_object_array_get_idx(args, i)));
    }
    add_members(&rest, config, shown, NULL);
    if (rest.len > 0) {
        buf_printf(text, "%s%s", command == NULL && type == NULL ? "" : "; ", buf_string(&rest));
    }
    buf_append_string(text, "\n");
}

/* ---- Kinds ---------------------------------------------------------------------------------- */

static int read_config(struct trust_subject *subject, const char *skill_folder,
                       struct rondo_error *err)
{
    struct mcp_shared *shared = NULL;
    (void)skill_folder;
    int r = file_read_named(NULL, subject->path, LIMIT_CONFIG_FILE_BYTES, &subject->bytes, err);
    r = r < 0 ? r
              : mcp_shared_parse(subject->path, buf_string(&subject->bytes), subject->bytes.len,
                                 NULL, &shared, err);
    if (r < 0) {
        return r;
    }
    for (size_t i = 0; i < mcp_shared_count(shared); i++) {
        begin_line(&subject->text, mcp_shared_name(shared, i));
        add_program(&subject->text, mcp_shared_config(shared, i));
    }
    mcp_shared_free(shared);
    return 0;
}

/** The names alone: values are secrets. An absent file is confirmed as absent. */
static int read_variables(struct trust_subject *subject, const char *skill_folder,
                          struct rondo_error *err)
{
    struct buf text = {0};
    struct dotenv variables = {0};
    char digest[DIGEST_HEX_SIZE];
    (void)skill_folder;
    int r = file_read_named(NULL, subject->path, DOTENV_FILE_MAX_BYTES, &text, err);
    if (r < 0 && r != RONDO_ERR_NOT_FOUND) {
        return r;
    }
    dotenv_parse(&variables, buf_string(&text), text.len);
    dotenv_digest(&text, digest);
    secret_fini_buf(&text);
    buf_append_string(&subject->bytes, digest);
    for (size_t i = 0; i < variables.count; i++) {
        begin_line(&subject->text, "variable");
        line_input_append_shown(variables.entries[i].name, &subject->text);
        buf_append_string(&subject->text, "\n");
    }
    dotenv_fini(&variables);
    return 0;
}

/** What decides in a role that gives nothing but what it must. json_object_put() */
static struct json_object *usual_decisions(void)
{
    static const char text[] = "apiVersion: initrunner/v1\nkind: Agent\nmetadata: {name: any}\n"
                               "spec: {role: x, model: {provider: x, name: x}}\n";
    struct role_findings findings = {0};
    struct role *role = NULL;
    struct json_object *decisions = NULL;
    auto_buf struct buf json = {0};
    if (role_parse(text, sizeof(text) - 1, "/role.yaml", ROLE_SCHEMA_1_13, &findings, &role,
                   NULL) == 0 &&
        role != NULL) {
        role_decisions_write(role, &json);
        json_parse(buf_string(&json), json.len, &decisions, NULL);
    }
    role_free(role);
    role_findings_fini(&findings);
    return decisions;
}

static struct json_object *member_of(struct json_object *object, const char *key)
{
    struct json_object *value = NULL;
    json_object_object_get_ex(object, key, &value);
    return value;
}

/** One section of a role, as far as it says anything. */
static void describe_section(struct buf *text, const char *key, struct json_object *value,
                             struct json_object *usual)
{
    static const char *const none[] = {NULL};
    auto_buf struct buf members = {0};
    if (json_object_is_type(value, json_type_object)) {
        add_members(&members, value, none, usual);
    } else if (!is_empty(value) && !json_object_equal(value, usual)) {
        line_input_append_shown(json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN),
                                &members);
    }
    if (members.len > 0) {
        begin_line(text, key);
        buf_printf(text, "%s\n", buf_string(&members));
    }
}

/** One line for each tool, one for each other section of what decides. */
static void describe_role(struct trust_subject *subject, struct json_object *decisions)
{
    auto_json struct json_object *usual = usual_decisions();
    struct json_object_iter member;
    begin_line(&subject->text, "agent");
    line_input_append_shown(json_get_string(member_of(decisions, "metadata"), "name", ""),
                            &subject->text);
    buf_append_string(&subject->text, "\n");
    json_object_object_foreachC(member_of(decisions, "spec"), member)
    {
        size_t count = strcmp(member.key, "tools") == 0 ? json_object_array_length(member.val) : 0;
        for (size_t i = 0; i < count; i++) {
            begin_line(&subject->text, "tool");
            add_program(&subject->text, json_object_array_get_idx(member.val, i));
        }
        if (count == 0) {
            describe_section(&subject->text, member.key, member.val,
                             member_of(member_of(usual, "spec"), member.key));
        }
    }
}

/** The instructions, which count for a daemon only: shown when they are not the confirmed ones. */
static int describe_words(struct trust_subject *subject, const char *prompt,
                          struct rondo_error *err)
{
    enum trust_verdict verdict = TRUST_UNKNOWN;
    int r = trust_look(TRUST_DUTY, subject->path, subject->whole.data, subject->whole.len, &verdict,
                       err);
    if (r == 0 && verdict == TRUST_CHANGED) {
        subject->is_whole_changed = true;
        begin_line(&subject->text, "instructions");
        line_input_append_shown(prompt, &subject->text);
        buf_append_string(&subject->text, "\n");
    }
    return r;
}

static int read_role(struct trust_subject *subject, const char *skill_folder,
                     struct rondo_error *err)
{
    struct role_findings findings = {0};
    struct role *role = NULL;
    auto_buf struct buf prompt = {0};
    int r = role_read(subject->path, ROLE_SCHEMA_1_13, &findings, &role, err);
    if (r == 0 && role == NULL) {
        r = error_set(err, RONDO_ERR_INVALID,
                      "%s is not a valid role; `rondo validate` shows the errors", subject->path);
    }
    r = r < 0 ? r : role_resolve_skills(role, skill_folder, &findings, &prompt, err);
    if (r == 0) {
        auto_json struct json_object *decisions = NULL;
        role_decisions_write(role, &subject->bytes);
        r = json_parse(buf_string(&subject->bytes), subject->bytes.len, &decisions, err);
        if (r == 0) {
            describe_role(subject, decisions);
            role_whole_write(role, buf_string(&prompt), &subject->whole);
            r = describe_words(subject, buf_string(&prompt), err);
        }
    }
    role_free(role);
    role_findings_fini(&findings);
    return r;
}

static int read_policy(struct trust_subject *subject, const char *skill_folder,
                       struct rondo_error *err)
{
    struct policy_findings findings = {0};
    struct ruleset *ruleset = NULL;
    (void)skill_folder;
    int r = policy_load(subject->path, false, &findings, &ruleset, err);
    policy_findings_fini(&findings);
    if (r < 0) {
        return r;
    }
    buf_append_string(&subject->bytes, ruleset->digest);
    for (size_t i = 0; i < ruleset->given_count; i++) {
        const struct policy *policy = ruleset->policies->policies[i];
        auto_buf struct buf id = {0};
        buf_append(&id, policy->id->bytes, policy->id->len);
        begin_line(&subject->text, policy->is_forbid ? "forbid" : "permit");
        line_input_append_shown(buf_string(&id), &subject->text);
        buf_append_string(&subject->text, "\n");
    }
    ruleset_unref(ruleset);
    return 0;
}

static bool describe_run(const struct store_run *run, void *context)
{
    auto_buf struct buf label = {0};
    struct buf *text = context;
    buf_printf(&label, "run %s of", run->id);
    begin_line(text, buf_string(&label));
    line_input_append_shown(run->agent_id, text);
    buf_append_string(text, run->ended_ns == 0 ? ", not ended: a server resumes it\n" : "\n");
    return true;
}

/** The newest runs of a store, whose commands a resume executes. */
static int read_store(struct trust_subject *subject, const char *skill_folder,
                      struct rondo_error *err)
{
    struct store *store = NULL;
    struct store_run_query query = {.limit = STORE_RUNS_SHOWN};
    struct store_run_counts counts = {0};
    (void)skill_folder;
    int r = store_origin_identity(subject->path, &subject->bytes, err);
    r = r < 0 ? r : store_origin_open_copy(subject->path, &store, err);
    r = r < 0 ? r : store->ops->list_runs(store, &query, describe_run, &subject->text, err);
    query.limit = 0;
    r = r < 0 ? r : store->ops->count_runs(store, &query, &counts, err);
    store_close(store);
    uint64_t count = 0;
    for (size_t i = 0; r == 0 && i < RONDO_STATUS_COUNT; i++) {
        count += counts.by_status[i];
    }
    buf_printf(&subject->text,
               "  %" PRIu64 " runs in total, with the commands that a resume executes; tokens and "
               "sinks of a server; policies and roles next to it\n",
               count);
    return r;
}

static bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text);
    size_t end_len = strlen(end);
    return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

static bool is_config(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strcmp(slash == NULL ? path : slash + 1, "rondo.yaml") == 0;
}

static bool is_variables(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strcmp(slash == NULL ? path : slash + 1, ".env") == 0;
}

static bool is_policy(const char *path)
{
    struct stat status;
    /* opens: only tells a folder from a file */
    return ends_with(path, ".cedar") || (stat(path, &status) == 0 && S_ISDIR(status.st_mode));
}

static bool is_desks(const char *path)
{
    return ends_with(path, "/" DESKS_FILE) || strcmp(path, DESKS_FILE) == 0;
}

/** Who decides, desk by desk, and nothing of it left out. */
static int read_desks(struct trust_subject *subject, const char *skill_folder,
                      struct rondo_error *err)
{
    struct desks *desks = NULL;
    (void)skill_folder;
    int r = file_read_named(NULL, subject->path, LIMIT_DESKS_BYTES, &subject->bytes, err);
    r = r < 0
            ? r
            : desks_read(buf_string(&subject->bytes), subject->bytes.len, DESKS_FILE, &desks, err);
    if (r == 0) {
        auto_buf struct buf shown = {0};
        desks_write(desks, &shown);
        begin_line(&subject->text, "desks");
        line_input_append_shown(buf_string(&shown), &subject->text);
        buf_append_string(&subject->text, "\n");
    }
    desks_free(desks);
    return r;
}

static bool is_role(const char *path)
{
    return ends_with(path, ".yaml") || ends_with(path, ".yml");
}

static bool is_store(const char *path)
{
    static const char magic[16] = "SQLite format 3";
    char start[sizeof(magic)] = "";
    /* opens: sixteen bytes of a file that is no link, to tell a store */
    auto_close int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    return fd >= 0 && read(fd, start, sizeof(start)) == (ssize_t)sizeof(start) &&
           memcmp(start, magic, sizeof(magic)) == 0;
}

/** Kinds that people confirm by naming a file, in the order in which they are recognised. */
static const struct {
    enum trust_kind kind;
    bool (*matches)(const char *path);
    /** Fill `bytes` and `text`. */
    int (*read)(struct trust_subject *subject, const char *skill_folder, struct rondo_error *err);
} rows[] = {
    {TRUST_STORE, is_store, read_store},
    {TRUST_CONFIG, is_config, read_config},
    {TRUST_VARIABLES, is_variables, read_variables},
    {TRUST_POLICY, is_policy, read_policy},
    {TRUST_DESKS, is_desks, read_desks},
    {TRUST_ROLE, is_role, read_role},
};

int trust_subject_read(const char *path, const char *skill_folder,
                       struct trust_subject *ret_subject, struct rondo_error *err)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (!rows[i].matches(path)) {
            continue;
        }
        struct trust_subject subject = {.kind = rows[i].kind, .path = path};
        int r = rows[i].read(&subject, skill_folder, err);
        r = r < 0 ? r
                  : trust_look(subject.kind, path, subject.bytes.data, subject.bytes.len,
                               &subject.verdict, err);
        if (r < 0) {
            trust_subject_fini(&subject);
            return r;
        }
        if (subject.is_whole_changed) {
            subject.verdict = TRUST_CHANGED;
        }
        if (subject.kind == TRUST_STORE && subject.verdict == TRUST_CONFIRMED &&
            !store_log_files_are_own(path)) {
            subject.verdict = TRUST_CHANGED;
        }
        *ret_subject = subject;
        return 0;
    }
    return error_set(err, RONDO_ERR_INVALID,
                     "%s needs no confirmation: name a rondo.yaml, a .env, a role file (.yaml), a "
                     "policy file or folder (.cedar), or a store",
                     path);
}

void trust_subject_fini(struct trust_subject *subject)
{
    buf_fini(&subject->bytes);
    buf_fini(&subject->whole);
    buf_fini(&subject->text);
}

void trust_subject_write(const struct trust_subject *subject, struct buf *ret_text)
{
    static const char *const verdicts[] = {
        [TRUST_UNKNOWN] = "not confirmed",
        [TRUST_CHANGED] = "changed since it was confirmed",
        [TRUST_CONFIRMED] = "confirmed",
    };
    buf_printf(ret_text, "%s ", trust_kind_name(subject->kind));
    line_input_append_shown(subject->path, ret_text);
    buf_printf(ret_text, " (%s)\n%s", verdicts[subject->verdict],
               subject->text.len == 0 ? "  nothing\n" : buf_string(&subject->text));
}

int trust_subject_confirm(const struct trust_subject *subject, struct rondo_error *err)
{
    int r = subject->kind == TRUST_STORE ? store_log_files_accept(subject->path, err) : 0;
    if (r == 0 && subject->kind == TRUST_ROLE) {
        r = trust_confirm(TRUST_DUTY, subject->path, subject->whole.data, subject->whole.len, err);
    }
    return r < 0 ? r
                 : trust_confirm(subject->kind, subject->path, subject->bytes.data,
                                 subject->bytes.len, err);
}

/** Show one file that waits, and ask. @return whether it was confirmed */
static bool ask_about(const char *path, const char *skill_folder, struct line_input *input)
{
    struct trust_subject subject;
    auto_buf struct buf text = {0};
    if (trust_subject_read(path, skill_folder, &subject, NULL) < 0) {
        return false;
    }
    bool is_confirmed = false;
    if (subject.verdict != TRUST_CONFIRMED) {
        trust_subject_write(&subject, &text);
        fputs(buf_string(&text), stderr);
        is_confirmed = line_input_ask(input, "Confirm this?", NULL) == LINE_YES &&
                       trust_subject_confirm(&subject, NULL) == 0;
    }
    trust_subject_fini(&subject);
    return is_confirmed;
}

bool trust_ask(const char *const *paths, const char *skill_folder)
{
    struct line_input input;
    bool has_confirmed = false;
    line_input_init(&input, STDIN_FILENO, stderr, false);
    for (size_t i = 0; line_input_can_ask(&input) && paths[i] != NULL; i++) {
        has_confirmed = ask_about(paths[i], skill_folder, &input) || has_confirmed;
    }
    line_input_fini(&input);
    return has_confirmed;
}

bool trust_ask_policy(const char *policy, const char *store_path)
{
    auto_free char *of_store = policy == NULL ? watch_path_of_store(store_path) : NULL;
    const char *const paths[] = {policy == NULL ? of_store : policy, NULL};
    return trust_ask(paths, NULL);
}

void trust_naming_note(struct trust_naming *naming, enum trust_kind kind, const char *path,
                       const struct loop_spec *spec)
{
    size_t room = sizeof(naming->paths) / sizeof(naming->paths[0]);
    if (path != NULL && naming->count < room && agent_can_reach(spec, path) &&
        trust_stamp(kind, path) == 0) {
        naming->paths[naming->count++] = path;
    }
}

void trust_naming_tell(const struct trust_naming *naming)
{
    for (size_t i = 0; i < naming->count; i++) {
        fprintf(stderr,
                "confirmed the current content of %s, which agents can write; later changes "
                "need `rondo trust`\n",
                naming->paths[i]);
    }
}
