// SPDX-License-Identifier: Apache-2.0
/* One skill file: front matter between lines of dashes, and a text. Internal to role. */
#pragma once

#include "base/buf.h"
#include "role/findings.h"
#include "rondo/error.h"

struct json_object;

struct skill_file {
    struct json_object *normal; /**< of the front matter; NULL when it has errors */
    struct buf body;            /**< without blanks around it */
};

/**
 * Read one.
 * @param findings about the front matter; the file can be used when they hold no error
 * @return RONDO_ERR_INVALID without front matter
 */
int skill_file_read(const char *path, struct role_findings *findings, struct skill_file *ret_file,
                    struct rondo_error *err);

void skill_file_fini(struct skill_file *file);

/** Append InitRunner's home: $INITRUNNER_HOME, $XDG_DATA_HOME/initrunner or ~/.initrunner. */
void skill_home_append(struct buf *path);
