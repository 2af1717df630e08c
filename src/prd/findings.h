// SPDX-License-Identifier: Apache-2.0
/* What is wrong with a PRD, collected, each with its place and what to do. One thread. */
#pragma once

#include "base/json/json.h"
#include "rondo/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct prd_finding {
    bool is_error;    /**< the PRD cannot be executed as it is */
    const char *rule; /**< static, for programs: "duplicate-id" */
    uint32_t line;    /**< from 1; 0 = of the file as a whole */
    uint32_t column;  /**< in characters, from 1 */
    char *message;
};

/** Zeroed = empty. Of more than LIMIT_PRD_FINDINGS errors are kept before warnings; the others are
 * counted only. */
struct prd_findings {
    struct prd_finding *items;
    size_t count;
    size_t errors;
    size_t warnings;
};

void prd_findings_fini(struct prd_findings *findings);

/** Add one. @param findings NULL = nobody listens */
void prd_finding_add(struct prd_findings *findings, bool is_error, const char *rule, uint32_t line,
                     uint32_t column, const char *format, ...)
    __attribute__((format(printf, 6, 7)));

/** The first error as an error of a function; 0 when there is none. */
int prd_findings_error(const struct prd_findings *findings, struct rondo_error *err);

/** Write them as the member "findings". */
void prd_findings_json(const struct prd_findings *findings, struct json_writer *writer);

#define auto_prd_findings __attribute__((cleanup(prd_findings_fini)))
