// SPDX-License-Identifier: Apache-2.0
/* Ids of stories in headings and in lists of dependencies. Internal to src/prd. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/** Bytes of an id that is made of a word and a number ("task-1.2"), with its NUL. */
#define PRD_STORY_ID_SIZE 64

/**
 * The id at the beginning of a text: US-001 and the like (upper-case prefix, dash, number), or a
 * word and a number ("Task 1", "Feature 1.2", "User Story 3"), which gives task-1, feature-1.2,
 * story-3. Ids of requirements (FR-1, NFR-1, SC-1, AC-1) are none of stories.
 * @return bytes of the text that it takes; 0 = there is none
 */
size_t prd_story_id(const char *text, size_t len, char ret_id[static PRD_STORY_ID_SIZE]);
