// SPDX-License-Identifier: Apache-2.0
/*
 * Whether arguments fit a JSON Schema: the part of it that tools use. Understood are type, enum,
 * const, properties, required, additionalProperties, items, minItems, maxItems, minLength,
 * maxLength, minimum, maximum, exclusiveMinimum, exclusiveMaximum, allOf, anyOf, oneOf (as anyOf)
 * and $ref into the same document. Other keywords pass, and so does whatever lies deeper, or takes
 * more steps, than the limits below: a schema comes from a server and may be hostile, and what
 * passes here is checked again by that server.
 *
 * Pure but for allocation; schemas are not changed, so that any number of threads may share one.
 */
#pragma once

#include <stdbool.h>

struct buf;
struct json_object;

/** Levels of schemas below each other, references counted. */
#define SCHEMA_MAX_DEPTH 64
/** Schemas looked at in one check. */
#define SCHEMA_MAX_STEPS 100000
/** Faults that are reported. */
#define SCHEMA_MAX_FAULTS 5

/**
 * Make arguments complete: a null for a property that need not be there and does not take null is
 * removed, and absent properties get their default. Properties of the object itself only.
 */
void schema_complete(struct json_object *schema, struct json_object *object);

/**
 * Check a value.
 * @param ret_faults what does not fit, for a model: place, what was expected, what it is; parts
 *                   parted by "; "
 */
bool schema_check(struct json_object *schema, struct json_object *value, struct buf *ret_faults);
