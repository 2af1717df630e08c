// SPDX-License-Identifier: Apache-2.0
/*
 * What YouTube's pages say about the transcripts of a video. YouTube documents none of this: it is
 * what its own clients use, and may change. Everything read here is hostile. Pure; any thread.
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

struct json_object;

#define YOUTUBE_ID_LEN 11

/** The video of an address: watch?v=, youtu.be/, embed/, shorts/. @return whether there is one */
bool youtube_video_id(const char *url, char ret_id[static YOUTUBE_ID_LEN + 1]);

/** The key that a page gives its own scripts. @param ret_key appended */
bool youtube_page_key(const char *page, struct buf *ret_key);

/** The value of the cookie that agrees to a consent page. @return whether the page is one */
bool youtube_page_consent(const char *page, struct buf *ret_cookie);

/**
 * Find the address of a transcript in a reply of the player. In a language, one that a person made
 * goes before a generated one.
 * @param languages codes, best first
 * @param ret_url   appended; otherwise the reason why there is none
 * @return whether there is one
 */
bool youtube_find_track(struct json_object *reply, const char *video_id,
                        struct json_object *languages, struct buf *ret_url);

/** Append the words of a transcript in XML. @return whether it is one */
bool youtube_write_words(const char *xml, bool has_times, struct buf *ret_text);
