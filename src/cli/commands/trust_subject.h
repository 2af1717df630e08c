// SPDX-License-Identifier: Apache-2.0
/*
 * Files that a person confirms (os/trust.h): what each kind of them decides, as people read it and
 * as bytes that a record is about. One table of kinds. A command's own thread.
 */
#pragma once

#include "base/buf.h"
#include "loop/spec.h"
#include "os/trust.h"

/** A file with what it decides now. trust_subject_fini(). */
struct trust_subject {
    enum trust_kind kind;
    const char *path; /**< borrowed */
    struct buf bytes; /**< what a confirmation is about */
    struct buf whole; /**< of a role: that of one for a daemon, which is made with it */
    struct buf text;  /**< what would count, one line each; safe to show */
    bool is_whole_changed;
    enum trust_verdict verdict;
};

/**
 * Read a file and look its confirmation up.
 * @param skill_folder --skill-dir of a role, or NULL
 * @param ret_subject  untouched on failure
 * @return RONDO_ERR_INVALID when the file is of no kind that counts only when confirmed
 */
int trust_subject_read(const char *path, const char *skill_folder,
                       struct trust_subject *ret_subject, struct rondo_error *err);
void trust_subject_fini(struct trust_subject *subject);

/** Name and path, and what would count, indented: as it is shown before the question. */
void trust_subject_write(const struct trust_subject *subject, struct buf *ret_text);

/** Record that a person confirmed what the subject holds. */
int trust_subject_confirm(const struct trust_subject *subject, struct rondo_error *err);

/**
 * When something was refused because files are not confirmed, and a person is at the terminal: show
 * those of them that wait, and ask.
 * @param paths NULL-terminated; entries of NULL cannot be
 * @return whether one was confirmed, so that it is worth to try again
 */
bool trust_ask(const char *const *paths, const char *skill_folder);

/**
 * The same for the policies of a run that was refused: its own, or those of the store.
 * @param policy of the run's spec, or NULL
 */
bool trust_ask_policy(const char *policy, const char *store_path);

/** Files that a run names for the first time, which confirms them: what to say about it. */
struct trust_naming {
    const char *paths[2]; /**< borrowed */
    size_t count;
};

/** Before a run is made: note a file that agents of the run can write and nobody has confirmed. */
void trust_naming_note(struct trust_naming *naming, enum trust_kind kind, const char *path,
                       const struct loop_spec *spec);
/** After it was made: say in a line for each that it is confirmed now. */
void trust_naming_tell(const struct trust_naming *naming);
