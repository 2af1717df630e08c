// SPDX-License-Identifier: Apache-2.0
#include "policy/vocabulary/severity.h"

#include <string.h>

static const char *const names[] = {"low", "medium", "high", "critical"};

int policy_severity_from_name(const char *name)
{
    for (int i = SEVERITY_LOW; i <= SEVERITY_CRITICAL; i++) {
        if (strcmp(name, names[i]) == 0) {
            return i;
        }
    }
    return -1;
}

enum policy_severity policy_severity_of(const struct cedar_policies *policies, size_t policy)
{
    const char *name = cedar_policies_annotation(policies, policy, "severity");
    int severity = name == NULL ? SEVERITY_MEDIUM : policy_severity_from_name(name);
    return severity < 0 ? SEVERITY_CRITICAL : (enum policy_severity)severity;
}

const char *policy_severity_name(enum policy_severity severity)
{
    return names[severity];
}
