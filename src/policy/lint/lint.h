// SPDX-License-Identifier: Apache-2.0
/*
 * What can be checked in policies before they are evaluated: words that the vocabulary does not
 * know, and comparisons with literals of the wrong type. Such a policy would fail or never match
 * when it is evaluated; a forbid would then silently not forbid. A schema's strict validator would
 * find more; its place is here.
 */
#pragma once

#include "policy/vocabulary/vocabulary.h"
#include "rondo/cedar.h"

/** Findings handed out by one call; errors beyond them are only counted. */
#define LINT_LIMIT_FINDINGS 1000

/** `policy` of a finding in a text that could not be parsed. */
#define LINT_NO_POLICY UINT32_MAX

struct lint_finding {
    bool is_error;   /**< else a warning: the policies can be used */
    uint32_t policy; /**< index, or LINT_NO_POLICY */
    const char *file;
    unsigned line;
    unsigned column;
    const char
        *message; /**< "unknown attribute `iterations` of context; did you mean `iteration`?" */
};

/** Gets each finding; texts are borrowed for the call. */
typedef void lint_fn(const struct lint_finding *finding, void *context);

/** Check all policies, in their order. @return number of errors found; any thread */
size_t lint_policies(const struct cedar_policies *policies, lint_fn *fn, void *context);

/**
 * Whether the scope of any permit matches an action. Where none does, that action is denied
 * whatever the conditions say: a file of forbids alone permits nothing. Any thread.
 */
bool lint_has_permit_for(const struct cedar_policies *policies, enum vocabulary_action action);
