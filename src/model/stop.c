// SPDX-License-Identifier: Apache-2.0
/*
 * Why a reply ends, from the words of the providers, in one table. Pure; any thread.
 */
#include "model/stop.h"

#include "model/dialect.h"

#include <string.h>
#include <strings.h>

/* A word that a provider adds to its list reads as "end": then text and calls decide. */
static const struct {
    const char *dialect;
    const char *word;
    enum model_stop stop;
} words[] = {
    {"openai", "stop", MODEL_STOP_END},
    {"openai", "tool_calls", MODEL_STOP_TOOLS},
    {"openai", "function_call", MODEL_STOP_TOOLS},
    {"openai", "length", MODEL_STOP_LENGTH},
    {"openai", "max_tokens", MODEL_STOP_LENGTH},
    {"openai", "model_length", MODEL_STOP_LENGTH},
    {"openai", "content_filter", MODEL_STOP_FILTERED},
    {"openai", "safety", MODEL_STOP_FILTERED},
    {"openai", "recitation", MODEL_STOP_FILTERED},
    {"openai", "prohibited_content", MODEL_STOP_FILTERED},
    {"openai", "refusal", MODEL_STOP_REFUSED},
    {"anthropic", "end_turn", MODEL_STOP_END},
    {"anthropic", "stop_sequence", MODEL_STOP_END},
    {"anthropic", "pause_turn", MODEL_STOP_END},
    {"anthropic", "tool_use", MODEL_STOP_TOOLS},
    {"anthropic", "max_tokens", MODEL_STOP_LENGTH},
    {"anthropic", "model_context_window_exceeded", MODEL_STOP_LENGTH},
    {"anthropic", "refusal", MODEL_STOP_REFUSED},
};
#define WORD_COUNT (sizeof(words) / sizeof(words[0]))

enum model_stop stop_from_word(const char *dialect, const char *word)
{
    size_t len = strcspn(word, ": "); /* "content_filter: RECITATION" */
    for (size_t i = 0; i < WORD_COUNT; i++) {
        if (strcmp(words[i].dialect, dialect) == 0 && strlen(words[i].word) == len &&
            strncasecmp(words[i].word, word, len) == 0) {
            return words[i].stop;
        }
    }
    return MODEL_STOP_END;
}

enum model_stop stop_settle(const struct model_reply *reply)
{
    if (!model_stop_is_answer(reply->stop)) {
        return reply->stop;
    }
    if (reply->call_count > 0) {
        return MODEL_STOP_TOOLS;
    }
    return reply->text == NULL || dialect_is_blank(reply->text) ? MODEL_STOP_EMPTY : MODEL_STOP_END;
}

void model_describe_stops(struct buf *ret_text)
{
    buf_append_string(ret_text, "| `stop` | meaning | OpenAI's `finish_reason` | Anthropic's "
                                "`stop_reason` |\n|---|---|---|---|\n");
    for (enum model_stop stop = MODEL_STOP_END; stop <= MODEL_STOP_EMPTY; stop++) {
        buf_printf(ret_text, "| `%s` | %s |", model_stop_name(stop), model_stop_meaning(stop));
        static const char *const dialects[] = {"openai", "anthropic"};
        for (size_t d = 0; d < 2; d++) {
            const char *between = " ";
            for (size_t i = 0; i < WORD_COUNT; i++) {
                if (words[i].stop == stop && strcmp(words[i].dialect, dialects[d]) == 0) {
                    buf_printf(ret_text, "%s`%s`", between, words[i].word);
                    between = ", ";
                }
            }
            buf_append_string(ret_text, " |");
        }
        buf_append_string(ret_text, "\n");
    }
}
