// SPDX-License-Identifier: Apache-2.0
/* What YouTube's pages say: the first line is an address, the rest a page, a reply, and words. */
#include "../fuzz.h"

#include "base/json/json.h"
#include "tool/audio/youtube.h"

#include <json-c/json.h>
#include <string.h>

static void read_reply(const char *text, size_t len)
{
    auto_json struct json_object *reply = NULL;
    auto_json struct json_object *languages = json_object_new_array();
    auto_buf struct buf url = {0};
    json_object_array_add(languages, json_object_new_string("en"));
    if (json_parse(text, len, &reply, NULL) == 0) {
        youtube_find_track(reply, "dQw4w9WgXcQ", languages, &url);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    char *rest = strchr(text, '\n');
    char id[YOUTUBE_ID_LEN + 1];
    auto_buf struct buf key = {0};
    auto_buf struct buf cookie = {0};
    auto_buf struct buf words = {0};
    if (youtube_video_id(text, id)) {
        FUZZ_CHECK(strlen(id) == YOUTUBE_ID_LEN && strpbrk(id, "\"&/ \r\n") == NULL);
    }
    if (rest != NULL) {
        youtube_page_key(rest, &key);
        youtube_page_consent(rest, &cookie);
        FUZZ_CHECK(strpbrk(buf_string(&key), "\"&/ \r\n") == NULL);
        FUZZ_CHECK(strpbrk(buf_string(&cookie), "\"; \r\n") == NULL);
        read_reply(rest + 1, strlen(rest + 1));
        youtube_write_words(rest, true, &words);
        FUZZ_CHECK(words.len <= 16 * strlen(rest));
    }
    free(text);
    return 0;
}
