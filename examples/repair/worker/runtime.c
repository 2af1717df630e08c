/* What the worker and the runtime tell each other; see runtime.h. */
#include "runtime.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Unset and empty are the same. */
static const char *environment(const char *name, const char *otherwise)
{
    const char *value = getenv(name);

    return value != NULL && value[0] != '\0' ? value : otherwise;
}

struct runtime runtime_read(void)
{
    return (struct runtime){
        .run_id = environment("RONDO_RUN_ID", "local"),
        .iteration = strtol(environment("RONDO_ITERATION", "1"), NULL, 10),
        .state_file = environment("RONDO_STATE_FILE", ".repair-state"),
        .feedback_file = environment("RONDO_FEEDBACK_FILE", NULL),
        .result_file = environment("RONDO_RESULT_FILE", NULL),
    };
}

/* The string value behind `member` (with its quotes) and a colon, or NULL. */
static const char *find_value(const char *json, const char *member, size_t *len)
{
    const char *at = strstr(json, member);

    if (at == NULL)
        return NULL;
    at += strlen(member);
    while (isspace((unsigned char)*at) || *at == ':')
        at++;
    if (*at != '"')
        return NULL;
    *len = strcspn(at + 1, "\"\\");
    return at + 1;
}

/*
 * Not a JSON parser, but right about this document: the quotes in the output of a verifier are
 * escaped, so `"name"` with bare quotes is a member, and it stands before its `"status"`.
 */
void runtime_read_unmet(const struct runtime *runtime, struct text *names)
{
    struct text json = {0};
    const char *name = NULL;
    size_t name_len = 0;

    if (runtime->feedback_file == NULL || !text_read_file(&json, runtime->feedback_file)) {
        text_fini(&json);
        return;
    }
    name = find_value(text_string(&json), "\"name\"", &name_len);
    while (name != NULL) {
        size_t status_len = 0;
        const char *status = find_value(name, "\"status\"", &status_len);

        if (status == NULL)
            break;
        if (status_len == strlen("not_met") && memcmp(status, "not_met", status_len) == 0)
            text_printf(names, "%s%.*s", names->len > 0 ? ", " : "", (int)name_len, name);
        name = find_value(status, "\"name\"", &name_len);
    }
    text_fini(&json);
}

static void append_json_string(struct text *out, const char *string)
{
    text_append(out, "\"", 1);
    for (; *string != '\0'; string++) {
        if (*string == '"' || *string == '\\')
            text_printf(out, "\\%c", *string);
        else if ((unsigned char)*string < 0x20)
            text_printf(out, "\\u%04x", (unsigned)*string);
        else
            text_append(out, string, 1);
    }
    text_append(out, "\"", 1);
}

bool runtime_write_result(const struct runtime *runtime, const struct runtime_result *result)
{
    struct text out = {0};

    if (runtime->result_file == NULL)
        return true;
    text_printf(&out, "{");
    if (result->finish != NULL) {
        text_printf(&out, "\"finish\":{\"status\":\"%s\",\"summary\":", result->finish);
        append_json_string(&out, result->summary);
        text_printf(&out, "},");
    }
    text_printf(&out, "\"custom_data\":{\"failing\":%d,\"tried\":%ld,\"accepted\":%d}}\n",
                result->failing, result->tried, result->accepted);
    bool is_written = text_replace_file(runtime->result_file, out.data, out.len, 0600);

    if (!is_written)
        fprintf(stderr, "repair-worker: %s: %s\n", runtime->result_file, strerror(errno));
    text_fini(&out);
    return is_written;
}
