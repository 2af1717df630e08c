// SPDX-License-Identifier: Apache-2.0
/* Checks of a commit while they are read, for the kinds of forges. */
#pragma once

#include "base/buf.h"
#include "forge/request.h"

struct check_listing {
    struct forge *forge;
    size_t passed, pending, failed;
    struct buf failed_names; /**< with commas between them */
};

/** Take one check. @param state a word of any forge; one that is not known counts as pending */
void check_add(struct check_listing *listing, const char *name, const char *state);
