// SPDX-License-Identifier: Apache-2.0
/* The annotation @severity of policies that ask a person: how grave the reason is. Pure. */
#pragma once

#include "rondo/cedar.h"

#include <stddef.h>

enum policy_severity {
    SEVERITY_LOW = 0,
    SEVERITY_MEDIUM, /**< of a policy that says nothing */
    SEVERITY_HIGH,
    SEVERITY_CRITICAL,
};

/** @return enum policy_severity of a name; -1 = there is no such name */
int policy_severity_from_name(const char *name);

/** That of a policy. One that is not known counts as the gravest. */
enum policy_severity policy_severity_of(const struct cedar_policies *policies, size_t policy);

/** "medium", ... Static. */
const char *policy_severity_name(enum policy_severity severity);
