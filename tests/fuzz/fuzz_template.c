// SPDX-License-Identifier: Apache-2.0
/*
 * Templates: the first line is the template, the rest the payload. The prompt is bounded, has no
 * control characters, and the payload does not close its mark.
 */
#include "fuzz.h"

#include "base/limits.h"
#include "base/text/utf8.h"
#include "source/template.h"

#include <stdbool.h>
#include <string.h>

static bool is_clean(const struct buf *prompt)
{
    for (size_t at = 0; at < prompt->len;) {
        size_t step = utf8_sequence_len(prompt->data + at, prompt->len - at);
        char c = prompt->data[at];
        if (step == 0 || c == 0x7F || (c >= 0 && c < ' ' && c != '\n' && c != '\t')) {
            return false;
        }
        at += step;
    }
    return true;
}

/** How often a text occurs. */
static size_t occurrences(const char *text, const char *wanted)
{
    size_t count = 0;
    for (text = strstr(text, wanted); text != NULL; text = strstr(text + 1, wanted)) {
        count++;
    }
    return count;
}

/** With the one placeholder {payload}: one opening and one closing mark after the first line. */
static void check_marks(const struct template_value *values)
{
    struct buf prompt = {0};
    char open[24] = {0};
    char close[25] = {0};
    if (template_fill("{payload}", values, &prompt, NULL) == 0) {
        const char *mark = strstr(prompt.data, "<data-");
        memcpy(open, mark, 23);
        snprintf(close, sizeof(close), "</%s", open + 1);
        const char *body = strstr(prompt.data, "\n\n");
        FUZZ_CHECK(occurrences(body, open) == 1 && occurrences(body, close) == 1);
        FUZZ_CHECK(strncmp(prompt.data + prompt.len - 24, close, 24) == 0);
    }
    buf_fini(&prompt);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *template = fuzz_text(data, size);
    char *body = strchr(template, '\n');
    struct buf prompt = {0};
    if (body != NULL) {
        *body++ = '\0';
    } else {
        body = template + strlen(template);
    }
    const struct template_value values[] = {
        {.name = "payload", .text = body, .len = strlen(body)},
        {.name = "body", .text = body, .len = strlen(body), .is_json = true},
        {.name = "path", .text = body, .len = strlen(body), .is_line = true},
        {.name = "message", .text = body, .len = strlen(body), .is_instruction = true},
        {0},
    };
    if (template_fill(template, values, &prompt, NULL) == 0) {
        FUZZ_CHECK(prompt.len <= (size_t)LIMIT_TEMPLATE_PROMPT_BYTES);
        FUZZ_CHECK(is_clean(&prompt));
    }
    check_marks(values);
    buf_fini(&prompt);
    free(template);
    return 0;
}
