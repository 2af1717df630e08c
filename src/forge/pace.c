// SPDX-License-Identifier: Apache-2.0
#include "forge/pace.h"

#include "base/digest.h"
#include "base/memory.h"
#include "forge/link.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/** Strikes that are counted: the wait is longest long before. */
#define MOST_STRIKES 16

struct forge_pace {
    struct forge_paces *paces; /**< that it is in */
    struct forge_pace *next;
    char *api;
    unsigned char token_digest[DIGEST_SIZE];
    unsigned uses; /**< forges that have it */
    unsigned strikes;
    int64_t limited_ns;    /**< no request before it */
    int64_t next_write_ns; /**< no write before it */
};

struct forge_paces {
    pthread_mutex_t lock; /**< of all in it */
    struct forge_pace *first;
    bool is_own; /**< of one pace only, and freed with it */
};

struct forge_paces *forge_paces_new(void)
{
    struct forge_paces *paces = memory_new_zero(1, sizeof(*paces));
    pthread_mutex_init(&paces->lock, NULL);
    return paces;
}

static void free_pace(struct forge_pace *pace)
{
    free(pace->api);
    free(pace);
}

void forge_paces_free(struct forge_paces *paces)
{
    if (paces == NULL) {
        return;
    }
    while (paces->first != NULL) {
        struct forge_pace *pace = paces->first;
        paces->first = pace->next;
        free_pace(pace);
    }
    pthread_mutex_destroy(&paces->lock);
    free(paces);
}

static void digest_token(const char *token, unsigned char *ret_digest)
{
    struct digest digest = digest_begin();
    digest_add(&digest, token != NULL ? token : "", token != NULL ? strlen(token) : 0);
    digest_finish(&digest, ret_digest);
}

/** Remove what nobody uses and what says nothing any more: tokens are renewed. Locked. */
static void prune(struct forge_paces *paces, int64_t now_ns)
{
    for (struct forge_pace **at = &paces->first; *at != NULL;) {
        struct forge_pace *pace = *at;
        if (pace->uses == 0 && pace->limited_ns <= now_ns && pace->next_write_ns <= now_ns) {
            *at = pace->next;
            free_pace(pace);
        } else {
            at = &pace->next;
        }
    }
}

struct forge_pace *pace_take(struct forge_paces *paces, const char *api, const char *token,
                             int64_t now_ns)
{
    unsigned char token_digest[DIGEST_SIZE];
    digest_token(token, token_digest);
    if (paces == NULL) {
        paces = forge_paces_new();
        paces->is_own = true;
    }
    pthread_mutex_lock(&paces->lock);
    prune(paces, now_ns);
    struct forge_pace *pace = paces->first;
    while (pace != NULL && (memcmp(pace->token_digest, token_digest, DIGEST_SIZE) != 0 ||
                            !link_is_same_origin(pace->api, api))) {
        pace = pace->next;
    }
    if (pace == NULL) {
        pace = memory_new_zero(1, sizeof(*pace));
        pace->paces = paces;
        pace->next = paces->first;
        pace->api = memory_dup_string(api);
        memcpy(pace->token_digest, token_digest, DIGEST_SIZE);
        paces->first = pace;
    }
    pace->uses++;
    pthread_mutex_unlock(&paces->lock);
    return pace;
}

void pace_release(struct forge_pace *pace)
{
    struct forge_paces *paces = pace->paces;
    pthread_mutex_lock(&paces->lock);
    pace->uses--;
    pthread_mutex_unlock(&paces->lock);
    if (paces->is_own) {
        forge_paces_free(paces);
    }
}

int64_t pace_limit_ns(struct forge_pace *pace, int64_t now_ns)
{
    pthread_mutex_lock(&pace->paces->lock);
    int64_t limited_ns = pace->limited_ns;
    pthread_mutex_unlock(&pace->paces->lock);
    return limited_ns > now_ns ? limited_ns - now_ns : 0;
}

void pace_set_limit(struct forge_pace *pace, int64_t until_ns)
{
    pthread_mutex_lock(&pace->paces->lock);
    pace->limited_ns = until_ns > pace->limited_ns ? until_ns : pace->limited_ns;
    pthread_mutex_unlock(&pace->paces->lock);
}

unsigned pace_add_strike(struct forge_pace *pace)
{
    pthread_mutex_lock(&pace->paces->lock);
    unsigned strikes = pace->strikes;
    pace->strikes += strikes < MOST_STRIKES ? 1 : 0;
    pthread_mutex_unlock(&pace->paces->lock);
    return strikes;
}

void pace_clear_strikes(struct forge_pace *pace)
{
    pthread_mutex_lock(&pace->paces->lock);
    pace->strikes = 0;
    pthread_mutex_unlock(&pace->paces->lock);
}

int64_t pace_take_turn(struct forge_pace *pace, int64_t now_ns, int64_t gap_ns)
{
    pthread_mutex_lock(&pace->paces->lock);
    int64_t turn_ns = pace->next_write_ns > now_ns ? pace->next_write_ns : now_ns;
    pace->next_write_ns = turn_ns + gap_ns;
    pthread_mutex_unlock(&pace->paces->lock);
    return turn_ns - now_ns;
}

void pace_end_turn(struct forge_pace *pace, int64_t now_ns, int64_t gap_ns)
{
    pthread_mutex_lock(&pace->paces->lock);
    if (pace->next_write_ns < now_ns + gap_ns) {
        pace->next_write_ns = now_ns + gap_ns;
    }
    pthread_mutex_unlock(&pace->paces->lock);
}
