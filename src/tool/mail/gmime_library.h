// SPDX-License-Identifier: Apache-2.0
/*
 * GMime 3 (LGPL 2.1 or later), loaded when the first mail is read: linking it would load GLib,
 * GPGME and a dozen more libraries into every process. What is used of it is declared here, as in
 * its headers of 3.0, so that building needs none of them; its functions are part of a stable ABI
 * (libgmime-3.0.so.0). Objects are opaque.
 */
#pragma once

#include "rondo/error.h"

#include <stddef.h>

typedef struct gmime_object gmime_object; /* any of GMime's and GLib's objects */
typedef struct gmime_iterator gmime_iterator;
typedef struct gmime_type_of_content gmime_type_of_content;

/* Return type, name in the library, parameters. */
#define GMIME_LIBRARY_FUNCTIONS(X)                                                             \
    X(void, g_mime_init, (void))                                                               \
    X(gmime_object *, g_mime_stream_mem_new_with_buffer, (const char *buffer, size_t len))     \
    X(gmime_object *, g_mime_parser_new_with_stream, (gmime_object * stream))                  \
    X(gmime_object *, g_mime_parser_construct_message, (gmime_object * parser, void *options)) \
    X(const char *, g_mime_object_get_header, (gmime_object * object, const char *name))       \
    X(gmime_type_of_content *, g_mime_object_get_content_type, (gmime_object * object))        \
    X(int, g_mime_content_type_is_type,                                                        \
      (gmime_type_of_content * type, const char *media, const char *subtype))                  \
    X(char *, g_mime_content_type_get_mime_type, (gmime_type_of_content * type))               \
    X(gmime_iterator *, g_mime_part_iter_new, (gmime_object * top))                            \
    X(void, g_mime_part_iter_free, (gmime_iterator * iterator))                                \
    X(int, g_mime_part_iter_is_valid, (gmime_iterator * iterator))                             \
    X(int, g_mime_part_iter_next, (gmime_iterator * iterator))                                 \
    X(gmime_object *, g_mime_part_iter_get_current, (gmime_iterator * iterator))               \
    X(const char *, g_mime_part_get_filename, (gmime_object * part))                           \
    X(int, g_mime_part_is_attachment, (gmime_object * part))                                   \
    X(char *, g_mime_text_part_get_text, (gmime_object * part))                                \
    X(size_t, g_mime_part_get_type, (void))                                                    \
    X(size_t, g_mime_text_part_get_type, (void))                                               \
    X(int, g_type_check_instance_is_a, (gmime_object * object, size_t type))                   \
    X(void, g_object_unref, (gmime_object * object))                                           \
    X(void, g_free, (void *memory))

struct gmime_library {
#define GMIME_LIBRARY_MEMBER(type, name, parameters) type(*name) parameters;
    GMIME_LIBRARY_FUNCTIONS(GMIME_LIBRARY_MEMBER)
#undef GMIME_LIBRARY_MEMBER
};

/**
 * Load it and initialise it. It stays in the process. Any thread.
 * @return 0, or RONDO_ERR_UNSUPPORTED when this machine does not have it
 */
int gmime_library_open(struct gmime_library *ret_library, struct rondo_error *err);
