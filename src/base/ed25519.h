// SPDX-License-Identifier: Apache-2.0
/* Signatures with Ed25519 (RFC 8032), through OpenSSL. Pure functions; any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define ED25519_SECRET_SIZE    32
#define ED25519_PUBLIC_SIZE    32
#define ED25519_SIGNATURE_SIZE 64

/** The public key of a secret one. */
void ed25519_public(const unsigned char *secret, unsigned char *ret_public);

/** Sign a message. @param ret_signature ED25519_SIGNATURE_SIZE bytes */
void ed25519_sign(const unsigned char *secret, const void *message, size_t len,
                  unsigned char *ret_signature);

/** Whether a signature is that of the message by the owner of the public key. */
bool ed25519_verify(const unsigned char *public_key, const void *message, size_t len,
                    const unsigned char *signature);
