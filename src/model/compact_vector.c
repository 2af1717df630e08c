// SPDX-License-Identifier: Apache-2.0
#include "model/compact_vector.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

void compact_vector_write(const struct buf *floats, struct buf *ret_bytes)
{
    size_t count = floats->len / sizeof(float);
    float largest = 0;
    for (size_t i = 0; i < count; i++) {
        float value;
        memcpy(&value, floats->data + i * sizeof(value), sizeof(value));
        value = value < 0 ? -value : value;
        largest = value > largest ? value : largest;
    }
    for (size_t i = 0; i < count && largest > 0; i++) {
        float value;
        memcpy(&value, floats->data + i * sizeof(value), sizeof(value));
        float scaled = value / largest * 127;
        signed char byte = (signed char)(scaled < 0 ? scaled - 0.5F : scaled + 0.5F);
        buf_append(ret_bytes, &byte, 1);
    }
}

/** Sum of products; no overflow below 133,000 dimensions. */
static int32_t product(const signed char *left, const signed char *right, size_t len)
{
    int32_t sum = 0;
    for (size_t i = 0; i < len; i++) {
        sum += (int32_t)left[i] * right[i];
    }
    return sum;
}

double compact_vector_norm(const void *vector, size_t len)
{
    return product(vector, vector, len);
}

double compact_vector_nearness(const void *vector, const void *question, size_t len,
                               double question_norm)
{
    int32_t norm = product(vector, vector, len);
    int32_t dot = product(vector, question, len);
    bool is_near = norm > 0 && dot > 0 && question_norm > 0;
    return is_near ? (double)dot * dot / ((double)norm * question_norm) : 0;
}
