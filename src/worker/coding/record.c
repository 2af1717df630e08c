// SPDX-License-Identifier: Apache-2.0
/* Records: rows, JSON and command lines. One table of members gives both directions of JSON. */
#include "worker/coding/record.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/memory.h"
#include "worker/coding/records.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

enum member_kind { MEMBER_TEXT, MEMBER_LIST, MEMBER_FLAG };

static const struct {
    const char *name;
    enum member_kind kind;
    size_t offset;
} members[] = {
    {"name", MEMBER_TEXT, offsetof(struct coding_record, name)},
    {"program", MEMBER_TEXT, offsetof(struct coding_record, program)},
    {"help", MEMBER_TEXT, offsetof(struct coding_record, help)},
    {"arguments", MEMBER_LIST, offsetof(struct coding_record, arguments)},
    {"unattended", MEMBER_LIST, offsetof(struct coding_record, unattended)},
    {"guarded", MEMBER_LIST, offsetof(struct coding_record, guarded)},
    {"model_words", MEMBER_LIST, offsetof(struct coding_record, model_words)},
    {"start_words", MEMBER_LIST, offsetof(struct coding_record, start_words)},
    {"resume_words", MEMBER_LIST, offsetof(struct coding_record, resume_words)},
    {"version_words", MEMBER_LIST, offsetof(struct coding_record, version_words)},
    {"env", MEMBER_LIST, offsetof(struct coding_record, env)},
    {"unattended_env", MEMBER_LIST, offsetof(struct coding_record, unattended_env)},
    {"keys", MEMBER_LIST, offsetof(struct coding_record, keys)},
    {"home", MEMBER_LIST, offsetof(struct coding_record, home)},
    {"provider", MEMBER_TEXT, offsetof(struct coding_record, provider)},
    {"usage_is_total", MEMBER_FLAG, offsetof(struct coding_record, is_usage_total)},
    {"model", MEMBER_TEXT, offsetof(struct coding_record, model)},
    {"program_path", MEMBER_TEXT, offsetof(struct coding_record, program_path)},
    {"agent_home", MEMBER_TEXT, offsetof(struct coding_record, agent_home)},
    {"keeps_session", MEMBER_FLAG, offsetof(struct coding_record, keeps_session)},
    {"single", MEMBER_FLAG, offsetof(struct coding_record, is_single)},
};
#define MEMBER_COUNT (sizeof(members) / sizeof(members[0]))

static const char *const prompt_names[] = {"stdin", "argument", "file"};
static const char *const permission_names[] = {"guarded", "unattended"};

const char *coding_record_name(size_t i)
{
    return coding_rows[i].name;
}

/** Lists and texts of a row, copied. */
static struct coding_record copy_row(const struct coding_row *row)
{
    struct coding_record record = {
        .name = memory_dup_string(row->name),
        .program = memory_dup_string(row->program),
        .help = memory_dup_string(row->help),
        .prompt = row->prompt,
        .format = row->format,
        .arguments = memory_dup_list(row->arguments),
        .unattended = memory_dup_list(row->unattended),
        .guarded = memory_dup_list(row->guarded),
        .model_words = memory_dup_list(row->model_words),
        .start_words = memory_dup_list(row->start_words),
        .resume_words = memory_dup_list(row->resume_words),
        .version_words = memory_dup_list(row->version_words),
        .env = memory_dup_list(row->env),
        .unattended_env = memory_dup_list(row->unattended_env),
        .keys = memory_dup_list(row->keys),
        .home = memory_dup_list(row->home),
        .provider = memory_dup_string(row->provider),
        .is_usage_total = row->is_usage_total,
        .exit_count = row->exit_count,
    };
    memcpy(record.exits, row->exits, sizeof(record.exits));
    return record;
}

bool coding_record_find(const char *name, struct coding_record *ret_record)
{
    for (const struct coding_row *row = coding_rows; row->name != NULL; row++) {
        if (strcmp(row->name, name) == 0) {
            *ret_record = copy_row(row);
            return true;
        }
    }
    return false;
}

void coding_record_fini(struct coding_record *record)
{
    for (size_t i = 0; i < MEMBER_COUNT; i++) {
        void *pointer;
        if (members[i].kind == MEMBER_FLAG) {
            continue;
        }
        memcpy(&pointer, (char *)record + members[i].offset, sizeof(pointer));
        if (members[i].kind == MEMBER_LIST) {
            memory_free_list(pointer);
        } else {
            free(pointer);
        }
    }
    *record = (struct coding_record){0};
}

/* ---- JSON ------------------------------------------------------------------------------------
 */

static void encode_member(struct json_writer *writer, const struct coding_record *record, size_t i)
{
    const char *at = (const char *)record + members[i].offset;
    char **list;
    if (members[i].kind == MEMBER_FLAG) {
        if (*(const bool *)at) {
            json_write_bool(writer, members[i].name, true);
        }
        return;
    }
    memcpy(&list, at, sizeof(list));
    if (list == NULL) {
        return;
    }
    if (members[i].kind == MEMBER_TEXT) {
        json_write_string(writer, members[i].name, (const char *)list);
        return;
    }
    json_begin_array(writer, members[i].name);
    for (size_t k = 0; list[k] != NULL; k++) {
        json_write_string(writer, NULL, list[k]);
    }
    json_end_array(writer);
}

static void encode_prices(struct json_writer *writer, const struct prices *prices)
{
    json_begin_object(writer, "prices");
    json_write_int(writer, "input", prices->input);
    json_write_int(writer, "output", prices->output);
    json_write_int(writer, "cached", prices->cached);
    json_write_int(writer, "cache_write", prices->cache_written);
    json_end_object(writer);
}

void coding_record_encode(const struct coding_record *record, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    for (size_t i = 0; i < MEMBER_COUNT; i++) {
        encode_member(&writer, record, i);
    }
    json_write_string(&writer, "prompt", prompt_names[record->prompt]);
    json_write_string(&writer, "format", coding_format_name(record->format));
    json_write_string(&writer, "permissions", permission_names[record->permissions]);
    json_begin_object(&writer, "exit_codes");
    for (size_t i = 0; i < record->exit_count; i++) {
        char code[16];
        snprintf(code, sizeof(code), "%d", record->exits[i].code);
        json_write_string(&writer, code, coding_class_name(record->exits[i].outcome));
    }
    json_end_object(&writer);
    if (record->prices.is_known) {
        encode_prices(&writer, &record->prices);
    }
    json_end_object(&writer);
}

/** What is read, and what is wrong with it. */
struct decoding {
    struct coding_record record;
    const char *member;
    struct rondo_error *err;
};

static bool refuse(struct decoding *decoding, const char *member, const char *what)
{
    decoding->member = member;
    error_set(decoding->err, RONDO_ERR_INVALID, "%.64s: must be %s", member, what);
    return false;
}

static bool is_plain_text(struct json_object *value)
{
    return json_object_is_type(value, json_type_string) &&
           strlen(json_object_get_string(value)) == (size_t)json_object_get_string_len(value);
}

static bool decode_list(struct decoding *decoding, size_t i, struct json_object *value)
{
    static const char what[] = "a list of at most 64 texts";
    size_t count = json_length(value);
    if (!json_object_is_type(value, json_type_array) || count > LIMIT_CODING_WORDS) {
        return refuse(decoding, members[i].name, what);
    }
    char **list = memory_new_zero(count + 1, sizeof(*list));
    memcpy((char *)&decoding->record + members[i].offset, &list, sizeof(list));
    for (size_t k = 0; k < count; k++) {
        struct json_object *item = json_object_array_get_idx(value, k);
        if (!is_plain_text(item)) {
            return refuse(decoding, members[i].name, what);
        }
        list[k] = memory_dup_string(json_object_get_string(item));
    }
    return true;
}

static bool decode_member(struct decoding *decoding, size_t i, struct json_object *value)
{
    char *at = (char *)&decoding->record + members[i].offset;
    switch (members[i].kind) {
    case MEMBER_LIST:
        return decode_list(decoding, i, value);
    case MEMBER_FLAG:
        if (!json_object_is_type(value, json_type_boolean)) {
            return refuse(decoding, members[i].name, "true or false");
        }
        *(bool *)at = json_object_get_boolean(value);
        return true;
    case MEMBER_TEXT:
        if (!is_plain_text(value)) {
            return refuse(decoding, members[i].name, "a text");
        }
        char *text = memory_dup_string(json_object_get_string(value));
        memcpy(at, &text, sizeof(text));
        return true;
    }
    return false;
}

static bool decode_exit(struct decoding *decoding, const char *key, struct json_object *value)
{
    struct coding_exit *found = &decoding->record.exits[decoding->record.exit_count];
    char *end;
    long code = strtol(key, &end, 10);
    bool is_code = end != key && *end == '\0' && code >= 0 && code <= 255;
    if (!is_code || decoding->record.exit_count == CODING_EXITS || !is_plain_text(value) ||
        !coding_class_from_name(json_object_get_string(value), &found->outcome)) {
        return refuse(decoding, "exit_codes", "at most 8 codes from 0 to 255, each with a class");
    }
    found->code = (int)code;
    decoding->record.exit_count++;
    return true;
}

static bool decode_exits(struct decoding *decoding, struct json_object *value)
{
    if (!json_object_is_type(value, json_type_object)) {
        return refuse(decoding, "exit_codes", "codes, each with a class");
    }
    struct json_object_iter item;
    json_object_object_foreachC(value, item)
    {
        if (!decode_exit(decoding, item.key, item.val)) {
            return false;
        }
    }
    return true;
}

/** @return place of a word in a list; -1 when it is not in it */
static int choice_of(struct json_object *value, const char *const *names, int count)
{
    for (int i = 0; is_plain_text(value) && i < count; i++) {
        if (strcmp(names[i], json_object_get_string(value)) == 0) {
            return i;
        }
    }
    return -1;
}

static bool decode_choice(struct decoding *decoding, const char *key, struct json_object *value)
{
    struct coding_record *record = &decoding->record;
    if (strcmp(key, "prompt") == 0) {
        int choice = choice_of(value, prompt_names, 3);
        record->prompt = (enum coding_prompt)(choice < 0 ? 0 : choice);
        return choice >= 0 || refuse(decoding, "prompt", "stdin, argument or file");
    }
    if (strcmp(key, "permissions") == 0) {
        int choice = choice_of(value, permission_names, 2);
        record->permissions = (enum coding_permissions)(choice < 0 ? 0 : choice);
        return choice >= 0 || refuse(decoding, "permissions", "guarded or unattended");
    }
    return (is_plain_text(value) &&
            coding_format_from_name(json_object_get_string(value), &record->format)) ||
           refuse(decoding, "format", "claude, codex, gemini, opencode, pi or text");
}

static bool decode_prices(struct decoding *decoding, struct json_object *value)
{
    decoding->record.prices =
        (struct prices){.input = json_get_int(value, "input", 0),
                        .output = json_get_int(value, "output", 0),
                        .cached = json_get_int(value, "cached", 0),
                        .cache_written = json_get_int(value, "cache_write", 0),
                        .is_known = true};
    return true;
}

static bool decode_any(struct decoding *decoding, const char *key, struct json_object *value)
{
    for (size_t i = 0; i < MEMBER_COUNT; i++) {
        if (strcmp(members[i].name, key) == 0) {
            return decode_member(decoding, i, value);
        }
    }
    if (strcmp(key, "exit_codes") == 0) {
        return decode_exits(decoding, value);
    }
    if (strcmp(key, "prices") == 0) {
        return decode_prices(decoding, value);
    }
    bool is_choice =
        strcmp(key, "prompt") == 0 || strcmp(key, "format") == 0 || strcmp(key, "permissions") == 0;
    return is_choice ? decode_choice(decoding, key, value)
                     : refuse(decoding, key, "one of the known keys (docs/coding-agents.md)");
}

static bool decode_all(struct decoding *decoding, struct json_object *json)
{
    if (!json_object_is_type(json, json_type_object)) {
        return refuse(decoding, "record", "an object");
    }
    decoding->record.format = CODING_FORMAT_TEXT;
    struct json_object_iter item;
    json_object_object_foreachC(json, item)
    {
        if (!decode_any(decoding, item.key, item.val)) {
            return false;
        }
    }
    const struct coding_record *record = &decoding->record;
    bool is_whole = record->name != NULL && record->program != NULL && record->program[0] != '\0' &&
                    record->arguments != NULL;
    return is_whole || refuse(decoding, "record", "one with name, program and arguments");
}

int coding_record_decode(struct json_object *json, struct coding_record *ret_record,
                         const char **ret_member, struct rondo_error *err)
{
    struct decoding decoding = {.err = err};
    if (!decode_all(&decoding, json)) {
        coding_record_fini(&decoding.record);
        if (ret_member != NULL) {
            *ret_member = decoding.member;
        }
        return RONDO_ERR_INVALID;
    }
    *ret_record = decoding.record;
    return 0;
}

/* ---- Command lines ---------------------------------------------------------------------------
 */

struct line {
    char **words;
    size_t count;
};

static void add_word(struct line *line, const char *word)
{
    line->words = memory_resize(line->words, line->count + 2, sizeof(*line->words));
    line->words[line->count++] = memory_dup_string(word);
    line->words[line->count] = NULL;
}

/** Add a list; `placeholder` in it stands for `value`. */
static void add_list(struct line *line, char *const *list, const char *placeholder,
                     const char *value)
{
    for (size_t i = 0; list != NULL && list[i] != NULL; i++) {
        add_word(line, strcmp(list[i], placeholder) == 0 ? value : list[i]);
    }
}

static void add_argument(struct line *line, const struct coding_record *record,
                         const struct coding_words *words, const char *word)
{
    if (strcmp(word, "{permissions}") == 0) {
        bool is_unattended = record->permissions == CODING_UNATTENDED;
        add_list(line, is_unattended ? record->unattended : record->guarded, "", "");
    } else if (strcmp(word, "{model}") == 0) {
        add_list(line, record->model == NULL ? NULL : record->model_words, word, record->model);
    } else if (strcmp(word, "{session}") == 0) {
        char *const *list = words->is_resumed ? record->resume_words : record->start_words;
        add_list(line, words->session == NULL ? NULL : list, word, words->session);
    } else if (strcmp(word, "{prompt}") == 0) {
        add_word(line, words->prompt);
    } else if (strcmp(word, "{prompt_file}") == 0) {
        add_word(line, words->prompt_file);
    } else {
        add_word(line, word);
    }
}

char **coding_command(const struct coding_record *record, const struct coding_words *words)
{
    struct line line = {0};
    add_word(&line, record->program_path == NULL ? record->program : record->program_path);
    for (size_t i = 0; record->arguments[i] != NULL; i++) {
        add_argument(&line, record, words, record->arguments[i]);
    }
    return line.words;
}

/* ---- The reference ----------------------------------------------------------------------------
 */

static void describe_words(const char *const *list, const char *otherwise, struct buf *out)
{
    buf_append_string(out, list == NULL ? otherwise : "<code>");
    for (size_t i = 0; list != NULL && list[i] != NULL; i++) {
        buf_printf(out, "%s%s", i > 0 ? " " : "", list[i]);
    }
    buf_append_string(out, list == NULL ? "" : "</code>");
}

void coding_describe(struct buf *out)
{
    buf_append_string(out, "| name | agent | prompt | output | in a sandbox | without | session |\n"
                           "|---|---|---|---|---|---|---|\n");
    for (const struct coding_row *row = coding_rows; row->name != NULL; row++) {
        buf_printf(out, "| `%s` | %s | %s | %s | ", row->name, row->help, prompt_names[row->prompt],
                   coding_format_name(row->format));
        describe_words(row->unattended, "no option", out);
        buf_append_string(out, " | ");
        describe_words(row->guarded, "no option", out);
        buf_printf(out, " | %s, %s |\n",
                   row->start_words != NULL ? "id chosen by Rondo" : "id read from the output",
                   row->resume_words != NULL ? "can be resumed" : "cannot be resumed");
    }
    buf_append_string(out, "\n| outcome | meaning, and what the loop does |\n|---|---|\n");
    for (int i = 0; i < CODING_CLASS_COUNT; i++) {
        buf_printf(out, "| `%s` | %s |\n", coding_class_name((enum coding_class)i),
                   coding_class_help((enum coding_class)i));
    }
}
