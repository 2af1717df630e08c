// SPDX-License-Identifier: Apache-2.0
/* The texts of the built-in profiles, as share/profiles has them. */
#pragma once

#include <stddef.h>

/** The profile of agents to which no other one is assigned. */
#define PROFILE_DEFAULT "default-security"
/** The profile that also counts while a lane gathers what a person has asked for. */
#define PROFILE_EVIDENCE "evidence"

struct profile_text {
    const char *name;
    const char *text; /**< NUL-terminated */
    size_t len;
};

/** All of them; one without a name ends the table. */
extern const struct profile_text profile_texts[];
