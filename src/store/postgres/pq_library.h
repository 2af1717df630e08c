// SPDX-License-Identifier: Apache-2.0
/*
 * libpq, loaded when it is needed: most stores are files, and linking it would load Kerberos and
 * LDAP into every process. Nothing but this file may name a function of libpq.
 */
#pragma once

#include "rondo/error.h"

#include <libpq-fe.h>

/* Each is a member of struct pq_library without its "PQ". */
#define PQ_LIBRARY_FUNCTIONS(X) \
    X(backendPID)               \
    X(clear)                    \
    X(conninfoFree)             \
    X(conninfoParse)            \
    X(connectdbParams)          \
    X(consumeInput)             \
    X(enterPipelineMode)        \
    X(errorMessage)             \
    X(exitPipelineMode)         \
    X(finish)                   \
    X(flush)                    \
    X(freemem)                  \
    X(getResult)                \
    X(getisnull)                \
    X(getlength)                \
    X(getvalue)                 \
    X(isBusy)                   \
    X(nfields)                  \
    X(fname)                    \
    X(notifies)                 \
    X(ntuples)                  \
    X(parameterStatus)          \
    X(pipelineSync)             \
    X(resultErrorField)         \
    X(resultErrorMessage)       \
    X(resultStatus)             \
    X(sendQuery)                \
    X(sendPrepare)              \
    X(sendQueryParams)          \
    X(sendQueryPrepared)        \
    X(serverVersion)            \
    X(setNoticeReceiver)        \
    X(setSingleRowMode)         \
    X(setnonblocking)           \
    X(socket)                   \
    X(status)                   \
    X(transactionStatus)

struct pq_library {
#define PQ_LIBRARY_MEMBER(name) __typeof__(PQ##name) *(name);
    PQ_LIBRARY_FUNCTIONS(PQ_LIBRARY_MEMBER)
#undef PQ_LIBRARY_MEMBER
};

/**
 * Load the library. It stays in the process. Any thread.
 * @return 0, or RONDO_ERR_UNSUPPORTED when this machine does not have it
 */
int pq_library_open(struct pq_library *ret_library, struct rondo_error *err);
