// SPDX-License-Identifier: Apache-2.0
/*
 * What a role may say about its model beside name, temperature and length: sampling, stop words,
 * tool choice, effort of thinking, headers and members of its own. Each dialect has names for some
 * of it. Written once, when the model is opened. Not for other layers.
 */
#pragma once

#include "model/dialect.h"

/**
 * Keep the settings in the model: what every request says of them.
 * @param settings normal form of `spec.model`; NULL = nothing
 * @param has_extras whether its `extra_headers` and `extra_body` are for this provider
 * @return 0; RONDO_ERR_INVALID when a header cannot be sent, or a member is one that Rondo writes
 */
int model_settings_read(struct model *model, struct json_object *settings, bool has_extras,
                        struct rondo_error *err);
void model_settings_fini(struct model_settings *settings);

/** Append the members of a request that settings give, each after a comma. */
void model_settings_write(const struct model *model, struct buf *ret_json);
