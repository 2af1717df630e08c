// SPDX-License-Identifier: Apache-2.0
/* A header of a request or a response, for the client and the server. */
#pragma once

/** Name and value of a header; neither may hold control characters. Borrowed. */
struct http_header {
    const char *name;
    const char *value;
};
