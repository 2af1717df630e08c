// SPDX-License-Identifier: Apache-2.0
#include "base/ed25519.h"

#include <assert.h>
#include <openssl/evp.h>
#include <string.h>

void ed25519_public(const unsigned char *secret, unsigned char *ret_public)
{
    size_t len = ED25519_PUBLIC_SIZE;
    EVP_PKEY *key =
        EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, secret, ED25519_SECRET_SIZE);
    assert(key != NULL);
    int r = EVP_PKEY_get_raw_public_key(key, ret_public, &len);
    assert(r == 1 && len == ED25519_PUBLIC_SIZE);
    (void)r;
    EVP_PKEY_free(key);
}

void ed25519_sign(const unsigned char *secret, const void *message, size_t len,
                  unsigned char *ret_signature)
{
    size_t signature_len = ED25519_SIGNATURE_SIZE;
    EVP_PKEY *key =
        EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, secret, ED25519_SECRET_SIZE);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    assert(key != NULL && context != NULL);
    int r = EVP_DigestSignInit(context, NULL, NULL, NULL, key);
    r = r == 1 ? EVP_DigestSign(context, ret_signature, &signature_len, message, len) : r;
    assert(r == 1 && signature_len == ED25519_SIGNATURE_SIZE);
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(key);
}

bool ed25519_verify(const unsigned char *public_key, const void *message, size_t len,
                    const unsigned char *signature)
{
    EVP_PKEY *key =
        EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, public_key, ED25519_PUBLIC_SIZE);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool is_valid = key != NULL && context != NULL &&
                    EVP_DigestVerifyInit(context, NULL, NULL, NULL, key) == 1 &&
                    EVP_DigestVerify(context, signature, ED25519_SIGNATURE_SIZE, message, len) == 1;
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(key);
    return is_valid;
}
