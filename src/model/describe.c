// SPDX-License-Identifier: Apache-2.0
/* The parts of docs/models.md that come from tables in the code. Pure. */
#include "model/model.h"
#include "model/prices.h"
#include "model/provider.h"
#include "model/stop.h"

void model_describe(struct buf *ret_text)
{
    buf_append_string(ret_text, "### Providers\n\n");
    model_describe_providers(ret_text);
    buf_append_string(ret_text, "\n### Why replies end\n\n");
    model_describe_stops(ret_text);
    buf_append_string(ret_text, "\n### Prices\n\n");
    model_describe_prices(ret_text);
}
