// SPDX-License-Identifier: Apache-2.0
/* The vectors of RFC 8032, section 7.1. */
#include "base/ed25519.h"

#include "support/test.h"

#include <stdio.h>
#include <string.h>

struct vector {
    const char *secret;
    const char *public_key;
    const char *message;
    const char *signature;
};

static const struct vector vectors[] = {
    {"9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
     "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
     "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b"
     "46bd25bf5f0595bbe24655141438e7a100b"},
    {"4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
     "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
     "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11"
     "d8c387b2eaeb4302aeeb00d291612bb0c00"},
    {"c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
     "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
     "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc"
     "6594a7c15e9716ed28dc027beceea1ec40a"},
};

static size_t from_hex(const char *hex, unsigned char *ret_bytes)
{
    size_t len = strlen(hex) / 2;
    for (size_t i = 0; i < len; i++) {
        unsigned value = 0;
        assert_int_equal(sscanf(hex + 2 * i, "%2x", &value), 1);
        ret_bytes[i] = (unsigned char)value;
    }
    return len;
}

TEST(keys_and_signatures_are_those_of_the_rfc)
{
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        unsigned char secret[ED25519_SECRET_SIZE];
        unsigned char expected[ED25519_SIGNATURE_SIZE];
        unsigned char public_key[ED25519_PUBLIC_SIZE];
        unsigned char signature[ED25519_SIGNATURE_SIZE];
        unsigned char message[4];
        from_hex(vectors[i].secret, secret);
        ed25519_public(secret, public_key);
        from_hex(vectors[i].public_key, expected);
        assert_memory_equal(public_key, expected, sizeof(public_key));
        size_t len = from_hex(vectors[i].message, message);
        ed25519_sign(secret, message, len, signature);
        from_hex(vectors[i].signature, expected);
        assert_memory_equal(signature, expected, sizeof(signature));
        assert_true(ed25519_verify(public_key, message, len, signature));
    }
}

TEST(any_changed_bit_of_signature_or_message_is_noticed)
{
    unsigned char public_key[ED25519_PUBLIC_SIZE];
    unsigned char signature[ED25519_SIGNATURE_SIZE];
    unsigned char message[4];
    from_hex(vectors[2].public_key, public_key);
    from_hex(vectors[2].signature, signature);
    size_t len = from_hex(vectors[2].message, message);
    for (size_t bit = 0; bit < sizeof(signature) * 8; bit++) {
        signature[bit / 8] ^= (unsigned char)(1U << bit % 8);
        assert_false(ed25519_verify(public_key, message, len, signature));
        signature[bit / 8] ^= (unsigned char)(1U << bit % 8);
    }
    message[0] ^= 1;
    assert_false(ed25519_verify(public_key, message, len, signature));
    assert_false(ed25519_verify(public_key, message, len - 1, signature));
}
