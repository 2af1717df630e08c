// SPDX-License-Identifier: Apache-2.0
/* The stand-in forge of tests/forge as a program, and its log. One thread. */
#pragma once

#include "measure.h"

#include <json-c/json.h>
#include <sys/types.h>

struct forge_process {
    pid_t pid;
    int port;
    int input; /**< it ends when this is closed */
    char api[64];
};

/** Start it with repositories below a folder of the bench, and wait until it answers. */
struct forge_process forge_start(const struct bench *bench, const char *folder);
void forge_end(const struct forge_process *forge);

/** One action of its control API (tests/forge/README.md), or a list of them. Dies when refused. */
void forge_act(const struct forge_process *forge, const char *json);
void forge_clear_log(const struct forge_process *forge);
/** All requests since. @return an array; json_object_put() */
struct json_object *forge_log(const struct forge_process *forge);

/** Of an entry: when it began and ended (CLOCK_MONOTONIC, s); an end of 0 = it is under way. */
double forge_began_s(struct json_object *entry);
double forge_ended_s(struct json_object *entry);
/** Whether it is a request to the API with a path that ends like that. */
bool forge_is_api(struct json_object *entry, const char *ending);
