// SPDX-License-Identifier: Apache-2.0
/* The table of routes, from server/api/routes.def. */
#include "server/api/handlers.h"
#include "server/router.h"

#define ROUTE(id, ...) {__VA_ARGS__, .handler = handle_##id},
const struct route routes[] = {
#include "server/api/routes.def"
    {0},
};
