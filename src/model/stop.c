// SPDX-License-Identifier: Apache-2.0
/*
 * Why a reply ends: our names for it, and the words of the providers in one table. Pure; any
 * thread.
 */
#include "model/stop.h"

#include "model/dialect.h"

#include <string.h>
#include <strings.h>

static const struct {
    const char *name;
    const char *meaning;
} stops[] = {
    [MODEL_STOP_END] = {"end", "the model finished its answer"},
    [MODEL_STOP_TOOLS] = {"tools", "the model waits for the results of its calls"},
    [MODEL_STOP_LENGTH] = {"length", "the reply was cut off at the token limit"},
    [MODEL_STOP_FILTERED] = {"filtered", "the provider's content filter stopped the reply"},
    [MODEL_STOP_REFUSED] = {"refused", "the model refused to answer"},
    [MODEL_STOP_EMPTY] = {"empty", "the reply has no text and no calls"},
};
#define STOP_COUNT (sizeof(stops) / sizeof(stops[0]))

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

const char *model_stop_name(enum model_stop stop)
{
    return stops[stop].name;
}

const char *model_stop_meaning(enum model_stop stop)
{
    return stops[stop].meaning;
}

bool model_stop_from_name(const char *name, enum model_stop *ret_stop)
{
    for (size_t i = 0; name != NULL && i < STOP_COUNT; i++) {
        if (strcmp(stops[i].name, name) == 0) {
            *ret_stop = (enum model_stop)i;
            return true;
        }
    }
    return false;
}

bool model_stop_is_cut(enum model_stop stop)
{
    return stop == MODEL_STOP_LENGTH || stop == MODEL_STOP_FILTERED || stop == MODEL_STOP_REFUSED;
}

bool model_stop_is_answer(enum model_stop stop)
{
    return stop == MODEL_STOP_END || stop == MODEL_STOP_TOOLS;
}

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
    for (size_t stop = 0; stop < STOP_COUNT; stop++) {
        buf_printf(ret_text, "| `%s` | %s |", stops[stop].name, stops[stop].meaning);
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
