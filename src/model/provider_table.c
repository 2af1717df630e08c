// SPDX-License-Identifier: Apache-2.0
/* The providers, and questions about the table. */
#include "model/provider.h"

#include "base/text/suggest.h"

#include <string.h>

/* Addresses are those that the providers document for clients of the OpenAI or Anthropic API. */
static const struct provider providers[] = {
    {"openai", &openai_ops, "https://api.openai.com/v1", "OPENAI_API_KEY", NULL,
     PROVIDER_IS_OPENAI | PROVIDER_LIMITS_COMPLETION | PROVIDER_TAKES_IDEMPOTENCY,
     "Chat Completions"},
    {"anthropic", &anthropic_ops, "https://api.anthropic.com", "ANTHROPIC_API_KEY", NULL,
     PROVIDER_TAKES_IDEMPOTENCY, "Messages; prompt caching, thinking blocks are kept"},
    {"ollama", &openai_ops, "http://localhost:11434/v1", NULL, "ollama", PROVIDER_IS_LOCAL,
     "local; needs no key"},
    {"google", &openai_ops, "https://generativelanguage.googleapis.com/v1beta/openai",
     "GOOGLE_API_KEY", NULL, 0, "Gemini, thought signatures are kept"},
    {"groq", &openai_ops, "https://api.groq.com/openai/v1", "GROQ_API_KEY", NULL, 0, ""},
    {"mistral", &openai_ops, "https://api.mistral.ai/v1", "MISTRAL_API_KEY", NULL,
     PROVIDER_NO_STREAM_OPTIONS, ""},
    {"xai", &openai_ops, "https://api.x.ai/v1", "XAI_API_KEY", NULL, 0, ""},
    {"cohere", &openai_ops, "https://api.cohere.ai/compatibility/v1", "CO_API_KEY", NULL, 0,
     "compatibility API"},
    {"openrouter", &openai_ops, "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", NULL, 0, ""},
    {"deepseek", &openai_ops, "https://api.deepseek.com", "DEEPSEEK_API_KEY", NULL,
     PROVIDER_REPEATS_REASONING, "reasoning is sent back, as it demands"},
    {"together", &openai_ops, "https://api.together.xyz/v1", "TOGETHER_API_KEY", NULL, 0, ""},
    {"fireworks", &openai_ops, "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY", NULL,
     0, ""},
    {"cerebras", &openai_ops, "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY", NULL, 0, ""},
    {"scripted", &scripted_ops, NULL, NULL, NULL, PROVIDER_IS_LOCAL, "a file of turns; see below"},
    {"bedrock", NULL, NULL, NULL, NULL, 0, "not supported yet"},
};

#define PROVIDER_COUNT (sizeof(providers) / sizeof(providers[0]))

static const struct provider compatible = {
    .name = "compatible",
    .ops = &openai_ops,
};

const struct provider *provider_find(const char *name)
{
    for (size_t i = 0; i < PROVIDER_COUNT; i++) {
        if (strcmp(providers[i].name, name) == 0) {
            return &providers[i];
        }
    }
    return NULL;
}

const struct provider *provider_at(size_t i)
{
    return i < PROVIDER_COUNT ? &providers[i] : NULL;
}

const struct provider *provider_compatible(void)
{
    return &compatible;
}

void provider_suggest(const char *name, struct buf *ret_text)
{
    struct suggest suggest = {.word = name, .len = strlen(name)};
    for (size_t i = 0; i < PROVIDER_COUNT; i++) {
        suggest_offer(&suggest, providers[i].name);
    }
    suggest_write(&suggest, "", "", ret_text);
}

void model_describe_providers(struct buf *ret_text)
{
    buf_append_string(ret_text, "| provider | address | key | notes |\n|---|---|---|---|\n");
    for (size_t i = 0; i < PROVIDER_COUNT; i++) {
        const struct provider *row = &providers[i];
        const char *quote = row->base_url == NULL ? "" : "`";
        const char *key_quote = row->key_env == NULL ? "" : "`";
        buf_printf(ret_text, "| `%s` | %s%s%s | %s%s%s | %s |\n", row->name, quote,
                   row->base_url == NULL ? "" : row->base_url, quote, key_quote,
                   row->key_env == NULL ? "" : row->key_env, key_quote, row->note);
    }
}
