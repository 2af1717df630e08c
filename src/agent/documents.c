// SPDX-License-Identifier: Apache-2.0
#include "agent/documents.h"

#include "agent/internal.h"
#include "agent/memory/embedding.h"
#include "base/auto.h"
#include "base/error.h"
#include "base/json/json.h"
#include "model/embed.h"
#include "tool/data/documents.h"

#include <json-c/json.h>
#include <string.h>

static bool has_scraper(const struct role *role)
{
    size_t count = json_length(role->tools);
    for (size_t i = 0; i < count; i++) {
        struct json_object *tool = json_object_array_get_idx(role->tools, i);
        if (strcmp(json_get_string(tool, "type", ""), "web_scraper") == 0) {
            return true;
        }
    }
    return false;
}

/** On the loop's thread: a search of documents with vectors runs beside no other call. */
static int embed_texts(void *context, const char *const *texts, size_t count, int64_t timeout_ns,
                       struct cancel *cancel, struct buf *ret_vectors, struct rondo_error *err)
{
    struct agent *agent = context;
    const struct model *model = agent->document_embedding;
    struct policy_verdict verdict;
    if (!loop_ask_other_model(agent->loop, model_name(model), model_has_price(model), &verdict)) {
        return error_set(err, RONDO_ERR_DENIED, "%s", verdict.message);
    }
    return embedding_make(agent->document_embedding, texts, count, timeout_ns, cancel, ret_vectors,
                          &agent->document_usage, err);
}

void agent_prepare_documents(struct agent *agent, const char *agent_id)
{
    const struct role *role = agent->config.role;
    struct json_object *spec = json_member(role->normal, "spec");
    struct json_object *ingest = json_member(spec, "ingest");
    struct embedding_settings settings = {0};
    auto_buf struct buf name = {0};
    char problem[RONDO_ERROR_MESSAGE_SIZE] = "";
    if (ingest == NULL && !has_scraper(role)) {
        return;
    }
    embedding_settings_read(role, json_member(ingest, "embeddings"), &settings);
    const struct embedding_parts parts = {
        .runtime = agent->runtime,
        .http = agent->parts.http,
        .role = role,
        .is_dry_run = agent->config.is_dry_run,
        .prices_file = agent->parts.prices_file,
        .needs_price = budget_rules_limit_cost(&agent->spending.rules),
    };
    agent->document_embedding = embedding_open(&parts, &settings, "ingest", &name, problem);
    embedding_settings_fini(&settings);
    const struct documents_options options = {
        .around = &agent->surroundings,
        .ingest = ingest,
        .resources = json_member(json_member(spec, "security"), "resources"),
        .store = runtime_store(agent->runtime),
        .owner = agent_id,
        .embed = agent->document_embedding == NULL ? NULL : embed_texts,
        .embed_context = agent,
        .embed_model = buf_string(&name),
        .problem = problem,
    };
    agent->documents = documents_new(&options);
    agent->surroundings.documents = agent->documents;
}

int agent_open_documents(struct agent *agent, struct rondo_error *err)
{
    return agent->documents == NULL ? 0 : documents_open(agent->toolbox, agent->documents, err);
}

void agent_free_documents(struct agent *agent)
{
    documents_free(agent->documents);
    model_free(agent->document_embedding);
}

bool agent_document_model(const struct agent *agent, struct policy_resource *ret_resource)
{
    if (agent->document_embedding == NULL) {
        return false;
    }
    *ret_resource = (struct policy_resource){
        .action = ACTION_CALL_MODEL,
        .id = model_name(agent->document_embedding),
        .origin = model_provider(agent->document_embedding),
    };
    return true;
}
