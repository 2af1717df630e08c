// SPDX-License-Identifier: Apache-2.0
/* What the reader of desk files makes. */
#pragma once

#include "base/arena.h"
#include "base/clock.h"
#include "handoff/desks/desks.h"

struct desks_person {
    const char *name; /**< without "user:" */
    struct desks_names roles;
    enum handoff_level may_decide;
};

struct desk {
    const char *name;
    struct desks_names roles;
    struct desks_names people;
    const char *escalates_to; /**< NULL = nobody */
};

/** A rule of `routing`. What is NULL matches everything. */
struct desks_route_rule {
    const char *id;
    const char *agent; /**< globs */
    const char *tool;
    enum handoff_level risk; /**< and above */
    const char *desk;
};

/** A rule of `redaction`; `rule` is made of the rest when all is read. */
struct desks_redaction {
    struct redact_rule rule;
    struct desks_names pointers;
    struct desks_names hidden_from;
    struct desks_names reveal;
};

struct desks {
    bool is_unusable; /**< the file is wrong: see desks_watch_look() */
    struct arena arena;
    char digest[HANDOFF_DIGEST_SIZE];
    struct handoff_rules rules;
    struct desks_lanes lanes;
    struct desks_person *people;
    size_t person_count;
    struct desk *desks;
    size_t desk_count;
    struct desks_route_rule *routes;
    size_t route_count;
    struct desks_redaction *redactions;
    struct redact_rule *redact_rules; /**< those of `redactions`, in a row */
    size_t redaction_count;
    unsigned char redact_key[DIGEST_SIZE];
};

const struct desk *desks_find(const struct desks *desks, const char *name);
bool desks_has_name(const struct desks_names *names, const char *name);
