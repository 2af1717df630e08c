// SPDX-License-Identifier: Apache-2.0
/*
 * The tool activate_skill: reads a skill that the role does not name but may use (`auto_skills`).
 * The texts were read with the role and are kept with the run, so a change of a file, by whomever,
 * changes no run that has begun.
 */
#pragma once

#include "tool/toolbox.h"

struct json_object;

/**
 * Add the tool.
 * @param skills `spec.offered_skills` of the role: objects with name, description and text; kept
 *               (json_object_get)
 */
int skills_open(struct toolbox *toolbox, struct json_object *skills, struct rondo_error *err);
