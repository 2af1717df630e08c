// SPDX-License-Identifier: Apache-2.0
/*
 * Every setting of InitRunner's reference but those of tools, one row each: a file with it is taken
 * in both forms, and the setting is either honoured (kept in the normal form, and nothing is said
 * about it) or named (a finding has its path, or that of the section it is in). Nothing is dropped
 * silently, and nothing that InitRunner takes is refused.
 */
#include "role_help.h"

#include "base/auto.h"

#include <stdio.h>

enum verdict {
    HONOURED,
    NAMED,
};

struct key_row {
    const char *path;  /* "model.top_p"; "triggers[cron].timezone" is a trigger of that type */
    const char *value; /* in YAML's flow style */
    enum verdict verdict;
    const char *with; /* pairs that go with it in the same object, or NULL */
};

#define MODEL     "provider: p, name: n"
#define CLAUDE    "provider: anthropic, name: claude-sonnet-4-5"
#define CRON      "schedule: '0 9 * * 1', prompt: p"
#define DOCKER    "enabled: true"
#define SCHEMA    "type: json_schema"
#define OBJECT    "{type: object, properties: {a: {type: string}}}"
#define HEARTBEAT "file: todo.md"
#define HOOKS     "audit_hooks_enabled: true"
#define SINK      "url: 'https://example.org'"

static const struct key_row rows[] = {
#include "keys.def"
};

static bool begins(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/** The pair of a row: "security: {content: {pii_redaction: true}}". */
static void write_pair(const struct key_row *row, const char *path, struct buf *out)
{
    size_t depth = 0;
    bool is_list = false;
    for (const char *dot = strchr(path, '.'); dot != NULL; dot = strchr(path, '.')) {
        size_t len = strcspn(path, ".[");
        buf_printf(out, "%.*s: ", (int)len, path);
        if (path[len] == '[') {
            buf_printf(out, "[{type: %.*s, ", (int)strcspn(path + len + 1, "]"), path + len + 1);
            is_list = true;
        } else {
            buf_append_string(out, "{");
        }
        if (begins(path, "ingest.") && !begins(path, "ingest.sources")) {
            buf_append_string(out, "sources: ['docs/*.md'], ");
        }
        path = dot + 1;
        depth++;
    }
    if (depth > 0 && row->with != NULL) {
        buf_printf(out, "%s, ", row->with);
    }
    buf_printf(out, "%s: %s", path, row->value);
    for (size_t i = 0; i < depth; i++) {
        buf_append_string(out, "}");
    }
    buf_append_string(out, is_list ? "]" : "");
}

static void write_envelope(const struct key_row *row, struct buf *out)
{
    bool is_metadata = begins(row->path, "metadata.");
    bool is_model = begins(row->path, "model.");
    buf_append_string(out, "{apiVersion: initrunner/v1, kind: Agent, metadata: {name: my-agent");
    if (is_metadata) {
        buf_append_string(out, ", ");
        write_pair(row, row->path + strlen("metadata."), out);
    }
    buf_append_string(out, "}, spec: {role: R");
    buf_append_string(out, is_model ? "" : ", model: {provider: p, name: n}");
    if (!is_metadata) {
        buf_append_string(out, ", ");
        write_pair(row, row->path, out);
    }
    buf_append_string(out, "}}\n");
}

static void write_flat(const struct key_row *row, struct buf *out)
{
    bool is_model = begins(row->path, "model.");
    buf_printf(out, "{name: my-agent, prompt: R%s, ", is_model ? "" : ", model: 'p:n'");
    write_pair(row, row->path + (begins(row->path, "metadata.") ? strlen("metadata.") : 0), out);
    buf_append_string(out, "}\n");
}

/** A path as findings and normal forms have it: an index for the type, without the form's parts. */
static void write_path(const char *path, struct buf *out)
{
    path += begins(path, "spec.") ? strlen("spec.") : 0;
    path += begins(path, "metadata.") ? strlen("metadata.") : 0;
    const char *open = strchr(path, '[');
    if (open == NULL) {
        buf_append_string(out, path);
    } else {
        buf_printf(out, "%.*s[0]%s", (int)(open - path), path, strchr(path, ']') + 1);
    }
}

/** Whether one path is the other, or a section of it. */
static bool is_within(const char *inner, const char *outer)
{
    size_t len = strlen(outer);
    return strncmp(inner, outer, len) == 0 &&
           (inner[len] == '\0' || inner[len] == '.' || inner[len] == '[');
}

static bool is_named(const struct role_findings *findings, const char *path)
{
    for (size_t i = 0; i < findings->count; i++) {
        auto_buf struct buf own = {0};
        write_path(findings->items[i].path, &own);
        if (own.len > 0 &&
            (is_within(path, buf_string(&own)) || is_within(buf_string(&own), path))) {
            return true;
        }
    }
    return false;
}

/** Whether the value is in the normal form. */
static bool is_kept(const struct role_reading *reading, const struct key_row *row)
{
    auto_buf struct buf path = {0};
    auto_buf struct buf dotted = {0};
    write_path(row->path, &path);
    buf_append_string(&dotted, begins(row->path, "metadata.") ? "metadata." : "spec.");
    for (size_t i = 0; i < path.len; i++) {
        char byte = path.data[i];
        if (byte != ']') {
            buf_append(&dotted, byte == '[' ? "." : &byte, 1);
        }
    }
    const char *last = strrchr(buf_string(&dotted), '.');
    auto_free char *owner = strndup(buf_string(&dotted), (size_t)(last - buf_string(&dotted)));
    return has_normal(reading, owner, strcmp(last + 1, "schema") == 0 ? "schema_" : last + 1);
}

static void check_row(const struct key_row *row, const char *text, size_t *ret_wrong)
{
    auto_buf struct buf path = {0};
    auto_buf struct buf lines = {0};
    struct role_reading reading = read_bytes(text, strlen(text), ROLE_SCHEMA_1_13);
    write_path(row->path, &path);
    if (reading.role != NULL) {
        role_find_unsupported(reading.role, ROLE_ALONE, &reading.findings);
    }
    bool names = is_named(&reading.findings, buf_string(&path));
    bool is_right = reading.role != NULL && names == (row->verdict == NAMED) &&
                    (names || is_kept(&reading, row));
    if (!is_right) {
        list_findings(&reading.findings, &lines);
        print_message("%s: %s, not %s:\n%s%s", row->path,
                      reading.role == NULL ? "refused"
                      : names              ? "named"
                                           : "not named or not kept",
                      row->verdict == NAMED ? "named" : "honoured", text, buf_string(&lines));
    }
    *ret_wrong += is_right ? 0 : 1;
    reading_fini(&reading);
}

TEST(every_setting_of_the_reference_is_honoured_or_named_in_both_forms)
{
    size_t wrong = 0;
    size_t honoured = 0;
    for (size_t i = 0; i < COUNT(rows); i++) {
        auto_buf struct buf envelope = {0};
        auto_buf struct buf flat = {0};
        write_envelope(&rows[i], &envelope);
        write_flat(&rows[i], &flat);
        check_row(&rows[i], buf_string(&envelope), &wrong);
        check_row(&rows[i], buf_string(&flat), &wrong);
        honoured += rows[i].verdict == HONOURED ? 1 : 0;
    }
    print_message("%zu settings: %zu honoured, %zu named\n", COUNT(rows), honoured,
                  COUNT(rows) - honoured);
    assert_int_equal(wrong, 0);
}
