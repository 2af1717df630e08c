// SPDX-License-Identifier: Apache-2.0
/* The documents of an agent (tool/data/documents.h), with the model for their vectors. */
#pragma once

#include "policy/request.h"
#include "rondo/error.h"

#include <stdbool.h>

struct agent;

/**
 * Make the documents of a role with `ingest` or a web_scraper, before its tools are opened. Nothing
 * for other roles.
 */
void agent_prepare_documents(struct agent *agent, const char *agent_id);
/** Add the tool search_documents, if the role has documents. */
int agent_open_documents(struct agent *agent, struct rondo_error *err);
/** After the toolbox was freed. */
void agent_free_documents(struct agent *agent);

/** The model for vectors of documents, as policies see it. @return whether there is one */
bool agent_document_model(const struct agent *agent, struct policy_resource *ret_resource);
