// SPDX-License-Identifier: Apache-2.0
/* What an IMAP server sends: a whole session of it. Whatever is found is bounded and can be named.
 */
#include "fuzz.h"

#include "base/limits.h"
#include "tool/mail/imap.h"

#include <string.h>

struct mail_server {
    const uint8_t *data;
    size_t left;
    bool is_in_order; /* of the numbers of a search */
};

/** Small pieces, so that what is split between two is met. */
static int64_t give(void *context, void *bytes, size_t size, struct rondo_error *err)
{
    struct mail_server *server = context;
    size_t len = server->left < 7 ? server->left : 7;
    (void)err;
    len = len < size ? len : size;
    if (len > 0) {
        memcpy(bytes, server->data, len);
    }
    server->data += len;
    server->left -= len;
    return (int64_t)len;
}

static int take(void *context, const void *bytes, size_t len, struct rondo_error *err)
{
    (void)context, (void)err;
    FUZZ_CHECK(len > 0 && bytes != NULL);
    return 0;
}

static void see_mail(void *context, uint32_t uid, int64_t size, const char *bytes, size_t len)
{
    (void)context;
    FUZZ_CHECK(uid > 0 && size >= 0 && bytes != NULL && len <= (size_t)LIMIT_MAIL_BYTES + 1024);
}

static void check_uids(const uint32_t *uids, size_t count)
{
    FUZZ_CHECK(count <= 5);
    for (size_t i = 0; i < count; i++) {
        FUZZ_CHECK(uids[i] > 0 && (i == 0 || uids[i] < uids[i - 1]));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mail_server server = {.data = data, .left = size};
    const struct imap_wire wire = {give, take, &server};
    struct imap imap;
    struct buf names = {0};
    uint32_t uids[5];
    size_t count = 0;
    int r = imap_begin(&wire, &imap, NULL);
    r = r < 0 ? r : imap_login(&imap, "ann", "p\xC3\xA4ss", NULL);
    if (r == 0 && imap_list(&imap, &names, NULL) == 0) {
        for (size_t i = 0; i < names.len; i++) {
            FUZZ_CHECK(names.data[i] == '\n' || (names.data[i] >= ' ' && names.data[i] <= '~'));
        }
    }
    if (r == 0 && imap_examine(&imap, "INBOX", NULL) == 0 &&
        imap_search(&imap, "SUBJECT \"a\"", 5, uids, &count, NULL) == 0) {
        check_uids(uids, count);
        imap_fetch_headers(&imap, uids, count, see_mail, NULL, NULL);
        imap_fetch_mail(&imap, 1, see_mail, NULL, NULL);
        imap_logout(&imap);
    }
    imap_fini(&imap);
    buf_fini(&names);
    return 0;
}
