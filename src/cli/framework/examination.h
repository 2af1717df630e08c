// SPDX-License-Identifier: Apache-2.0
/* What `rondo doctor` and its like found, one line a finding, and what follows from all. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum health {
    HEALTH_OK = 0,
    HEALTH_MISSING, /**< something is not there, but Rondo works */
    HEALTH_BROKEN,  /**< something essential is not there or damaged */
};

struct examination_finding {
    const char *name; /**< static */
    enum health health;
    char *detail; /**< owned */
};

#define FINDINGS_MAX 40

struct examination {
    struct examination_finding findings[FINDINGS_MAX];
    size_t count;
};

/** Add one; those past FINDINGS_MAX are dropped. @param detail taken over */
void examination_add(struct examination *examination, const char *name, enum health health,
                     char *detail);

/** How findings are printed. */
struct examination_form {
    bool wants_json;
    bool no_colour;
    const char *good; /**< last line when nothing is broken */
    const char *bad;  /**< and when something is */
};

/** Print to stdout, and release. @return the exit code: EXIT_OTHER when something is broken */
int examination_print(struct examination *examination, const struct examination_form *form);

/** Release one that is not printed. */
void examination_fini(struct examination *examination);
