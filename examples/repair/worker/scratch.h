/*
 * A private copy of the project in which candidates are built and tested, so that the workspace
 * never holds anything but the project and accepted repairs.
 */
#pragma once

#include "text.h"

enum {
    SCRATCH_DEPTH_MAX = 16,   /* how deep folders may nest */
    SCRATCH_FILES_MAX = 4096, /* how many files may be copied */
};

struct scratch {
    struct text path;
};

/*
 * Removes what a killed predecessor left behind for the same `owner`, makes a new folder below
 * TMPDIR (or /tmp) and copies `workspace` into it, without names that begin with a dot. Times of
 * change are kept, so that what is built already is not built again. False, with a message on
 * stderr, on failure.
 */
bool scratch_open(struct scratch *scratch, const char *workspace, const char *owner);

/* Writes one file of the copy; `path` is relative. */
bool scratch_write(const struct scratch *scratch, const char *path, const struct text *content);

/* Removes a file of the copy. */
void scratch_unlink(const struct scratch *scratch, const char *path);

/* Removes the copy. */
void scratch_close(struct scratch *scratch);
