// SPDX-License-Identifier: Apache-2.0
/* Ids of traces. Pure functions; any thread. */
#include "journal/trace.h"

#include "base/digest.h"

#include <stdio.h>
#include <string.h>

/** Precedes what a span id is made of; a new version of the recipe gets another one. */
static const char recipe[] = "rondo-span-1";

void trace_id(const char *run_id, char ret_id[TRACE_ID_SIZE])
{
    size_t len = 0;
    for (size_t i = 0; run_id[i] != '\0' && len < TRACE_ID_SIZE - 1; i++) {
        if (run_id[i] != '-') {
            ret_id[len++] = run_id[i];
        }
    }
    /* Only an id that is none is shorter. */
    memset(ret_id + len, '0', TRACE_ID_SIZE - 1 - len);
    ret_id[TRACE_ID_SIZE - 1] = '\0';
}

void trace_span_id(const char *run_id, enum trace_span kind, uint64_t number, uint64_t part,
                   char ret_id[TRACE_SPAN_SIZE])
{
    struct digest digest = digest_begin();
    digest_add(&digest, recipe, sizeof(recipe) - 1);
    digest_add(&digest, run_id, strlen(run_id));
    digest_add_u64(&digest, (uint64_t)kind);
    digest_add_u64(&digest, number);
    digest_add_u64(&digest, part);
    unsigned char bytes[DIGEST_SIZE];
    char hex[DIGEST_HEX_SIZE];
    digest_finish(&digest, bytes);
    digest_hex(bytes, hex);
    memcpy(ret_id, hex, TRACE_SPAN_SIZE - 1);
    ret_id[TRACE_SPAN_SIZE - 1] = '\0';
    if (strspn(ret_id, "0") == TRACE_SPAN_SIZE - 1) {
        ret_id[TRACE_SPAN_SIZE - 2] = '1'; /* All zeros mean "no span". */
    }
}

void trace_parent(const char *run_id, enum trace_span kind, uint64_t number, uint64_t part,
                  char ret_value[TRACE_PARENT_SIZE])
{
    char trace[TRACE_ID_SIZE];
    char span[TRACE_SPAN_SIZE];
    trace_id(run_id, trace);
    trace_span_id(run_id, kind, number, part, span);
    snprintf(ret_value, TRACE_PARENT_SIZE, "00-%s-%s-01", trace, span);
}
