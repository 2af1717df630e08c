// SPDX-License-Identifier: Apache-2.0
/*
 * Templates of an endpoint: "{name}" is replaced by the text of a parameter, in one pass, so that
 * what a model gives is never a template itself. Other braces stay as they are. Pure.
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

struct json_object;

/** What the braces of an endpoint may name, and what a call gives. Borrowed. */
struct template_values {
    struct json_object *parameters; /**< list of the endpoint's parameters, or NULL */
    struct json_object *arguments;  /**< of the call */
};

/**
 * Replace in a path of a URL. Values are escaped, but for the slash.
 * @return false when a value would leave the path ("..")
 */
bool template_path(const struct template_values *values, const char *template,
                   struct buf *ret_path);

/**
 * Append "?a=b&c=d". A member whose template is one parameter that was not given is left out.
 * @param map of names and templates, or NULL
 * @param has_query whether the URL has a query already
 */
void template_query(const struct template_values *values, struct json_object *map, bool has_query,
                    struct buf *ret_url);

/**
 * The template of a body with all its strings replaced, as JSON; members that are one parameter
 * that was not given are left out.
 */
void template_body(const struct template_values *values, struct json_object *template,
                   struct buf *ret_json);
