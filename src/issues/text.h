// SPDX-License-Identifier: Apache-2.0
/*
 * What is written for people on the forge, and for the agent: from templates, bounded. Text of the
 * agent or of strangers is quoted so that it makes no mentions, links to other issues, closing
 * words, HTML or commands of the forge. A name or reference is broken by a blank ("@ ann", "# 12"),
 * because code blocks protect only from some forges: GitLab looks for closing words in them, too.
 * Pure; any thread.
 */
#pragma once

#include "forge/forge.h"
#include "issues/item.h"

/** One check and how it ended, for the pull request. Borrowed. */
struct item_check {
    const char *name, *command, *output;
    bool is_met;
    int64_t duration_ns;
};

/** What is told about the work. Borrowed. */
struct item_report {
    const char *summary; /**< the agent's own words; or NULL */
    const struct item_check *checks;
    size_t check_count;
    const char *log; /**< end of the output of what failed; or NULL */
    int64_t max_attempts;
    const char *prefix; /**< of labels */
    const char *owner;  /**< who works on it, for people */
    bool closes;        /**< "Closes #N" works: the base is the default branch */
    const char *agent;  /**< "claude", "my-role" */
};

/** The status comment; begins with a mark by which it is found again: item_comment_is_ours(). The
 *  same item has the same text, whatever the time. At most LIMIT_FORGE_POST_BYTES. */
void item_write_comment(const struct item *item, const struct item_report *report,
                        struct buf *ret_text);
/** Whether a comment is the status comment of this issue of a run of Rondo. Its author must be
 *  checked as well: anybody can copy the mark. */
bool item_comment_is_ours(const char *body, int64_t number);
/** Whether it is the one that was written for this item: it has the item's nonce, which nobody
 *  could know before it was written. The first one that has it is ours, later ones are copies. */
bool item_comment_has_nonce(const char *body, const struct item *item);
/** The state that a status comment tells. @return ITEM_STATE_COUNT when it tells none */
enum item_state item_comment_state(const char *body, int64_t number);

/** Title of the pull request: the issue's, without references and marks of drafts. It is what
 *  commits and tasks must be named with, too: a commit "fixes #1" closes issues when it is merged.
 *  At most LIMIT_PULL_TITLE_BYTES, never empty. */
void item_write_pull_title(const struct item *item, struct buf *ret_text);

/** Body of the pull request; at most LIMIT_FORGE_POST_BYTES. */
void item_write_pull_body(const struct item *item, const struct item_report *report,
                          struct buf *ret_text);

/** "rondo/issue-12-fix-the-total": letters, digits and hyphens of ASCII, from a stranger's title.
 */
void item_write_branch(int64_t number, const char *title, struct buf *ret_text);

/** The task for the agent: the issue, and its newest comments by members, as marked data. No line
 * of it can be taken for the end of the mark, and hidden text (HTML comments, zero-width,
 *  bidirectional and tag characters, comments of Markdown) is left out.
 *  @param comments or NULL */
void item_write_task(const struct forge_issue *issue, const struct forge_comments *comments,
                     struct buf *ret_text);

/** Append what people see of a text in Markdown, at most so many bytes of it and a mark that more
 *  was cut. */
void item_append_visible(const char *text, size_t most, struct buf *ret_text);

/** Digest of title and body: an edit changes it. @param ret_digest DIGEST_HEX_SIZE */
void item_digest(const struct forge_issue *issue, char *ret_digest);

/** The last command in a comment of a trusted person: "/rondo retry" or "/rondo release" alone on a
 *  line, outside of code. */
enum item_command { ITEM_NO_COMMAND = 0, ITEM_COMMAND_RETRY, ITEM_COMMAND_RELEASE };
enum item_command item_find_command(const char *body);
