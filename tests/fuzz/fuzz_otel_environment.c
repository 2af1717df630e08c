// SPDX-License-Identifier: Apache-2.0
/* Any values of OTEL_* variables: one a line. What is taken must be fit for headers and JSON. */
#include "fuzz.h"

#include "telemetry/otlp_json.h"

#include <string.h>

#define MAX_VARIABLES 32

static void check_headers(const struct otel_signal *signal)
{
    FUZZ_CHECK(signal->headers.count <= OTEL_MAX_HEADERS);
    for (size_t i = 0; i < signal->headers.count; i++) {
        const char *value = signal->headers.pairs[i].value;
        FUZZ_CHECK(signal->headers.pairs[i].name[0] != '\0');
        FUZZ_CHECK(strpbrk(value, "\r\n") == NULL);
    }
    FUZZ_CHECK(!signal->is_on || signal->endpoint != NULL);
}

static void check_head(const struct otel_environment *environment)
{
    auto_buf struct buf json = {0};
    otlp_write_spans_head(environment, &json);
    buf_append_string(&json, otlp_spans_tail);
    FUZZ_CHECK(fuzz_is_json(json.data, json.len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    const char *envp[MAX_VARIABLES + 1] = {NULL};
    size_t count = 0;
    for (char *line = text; line != NULL && count < MAX_VARIABLES;) {
        envp[count++] = line;
        line = strchr(line, '\n');
        if (line != NULL) {
            *line++ = '\0';
        }
    }
    struct otel_environment environment;
    if (otel_environment_read(envp, &environment, NULL) == 0 && environment.service_name != NULL) {
        check_headers(&environment.traces);
        check_headers(&environment.metrics);
        check_head(&environment);
        otel_is_sampled(&environment, "01a1fe92a7b878ccb5bf3be5f74b6786");
    }
    otel_environment_fini(&environment);
    free(text);
    return 0;
}
