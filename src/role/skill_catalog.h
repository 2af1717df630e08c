// SPDX-License-Identifier: Apache-2.0
/*
 * `auto_skills`: skills that a role does not name, found in the folders for them. The model sees
 * their names and descriptions, and reads one whole with the tool activate_skill. They bring words
 * and no tools, so a file that appears in such a folder cannot give an agent a right. Internal to
 * role.
 */
#pragma once

#include "base/buf.h"
#include "role/findings.h"

#include <stddef.h>

struct json_object;
struct role;

struct skill_catalog {
    struct role *role;         /**< its normal form gets `spec.offered_skills` */
    const char *extra_folder;  /**< or NULL */
    const char *const *merged; /**< real paths of the skills that the role names */
    size_t merged_count;
    struct role_findings *findings;
    struct buf prompt; /**< out: what the system prompt says of them */
    char **places;     /**< out: folders and files, NULL-terminated, or NULL */
    size_t place_count;
};

/**
 * Find the skills of a role whose `auto_skills` is on: where the file says so, and in the flat
 * form unless it says otherwise. A skill that cannot be used is left out and warned of.
 */
void skill_catalog_find(struct skill_catalog *catalog);

void skill_catalog_fini(struct skill_catalog *catalog);
