// SPDX-License-Identifier: Apache-2.0
/*
 * What the parts of net/http_server.h share.
 *
 * Threads: the keeper (http_server_loop.c) accepts connections, hands each to one of a few workers
 * and watches the clock for all of them; a worker is a daemon of libmicrohttpd with one thread and
 * no listener, which reads, calls the handler and writes.
 *
 * Requests that take long are handled by further threads (http_server_defer.c) while their
 * connections sleep.
 *
 * Locks: the server's covers the table of connections and what stands in them; a stream's covers
 * whether it sleeps. The server's is taken first. Neither is held while a handler or a source of a
 * stream runs, so these may take locks under which they wake streams.
 *
 * A descriptor belongs to libmicrohttpd from the hand-over on. Others touch it only under the
 * server's lock and while the connection stands in the table: a worker takes it out before the
 * descriptor is closed.
 */
#pragma once

#include "net/http_server.h"
#include "net/microhttpd_library.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>
#include <sys/un.h>

/** Request line and headers together, bytes. */
#define HTTP_SERVER_HEADER_BYTES ((size_t)8 * 1024)
/** Headers of a request. */
#define HTTP_SERVER_HEADERS 100
/** Path and query as sent, bytes. */
#define HTTP_SERVER_URI_BYTES ((size_t)4 * 1024)
/** A method, bytes. */
#define HTTP_SERVER_METHOD_BYTES 32
/** Parameters of a query. */
#define HTTP_SERVER_PARAMETERS 64
/** Most that a stream is asked for at once. */
#define HTTP_SERVER_CHUNK_BYTES ((size_t)16 * 1024)
/**
 * What libmicrohttpd may use for a connection: headers and what it notes of them, then what is to
 * be sent. Half of it is what a sleeping stream costs.
 */
#define HTTP_SERVER_POOL_BYTES ((size_t)24 * 1024)
/** Bytes that the kernel keeps for a reader that is slower than we are. */
#define HTTP_SERVER_SEND_BYTES (128 * 1024)
/** One of so many connections is for loopback peers and Unix sockets alone. */
#define HTTP_SERVER_RESERVED_SHARE 16
/** Refused connections that are kept until the client has read why. */
#define HTTP_SERVER_LINGERING 64
/** For so long, ns. */
#define HTTP_SERVER_LINGER_NS INT64_C(2000000000)
/** Addresses to listen on. */
#define HTTP_SERVER_LISTENERS 16
#define HTTP_SERVER_THREADS   64

/** Where a connection stands. */
enum http_phase {
    HTTP_PHASE_FRESH = 0, /**< accepted; the first request has not come whole */
    HTTP_PHASE_KEPT,      /**< a request was answered, perhaps another one follows */
    HTTP_PHASE_REQUEST,   /**< the request line is there, the rest arrives */
    HTTP_PHASE_HANDLING,  /**< the handler runs */
    HTTP_PHASE_ANSWERING, /**< the answer is being sent */
};

struct http_connection {
    LIST_ENTRY(http_connection) link;
    struct http_server *server;
    struct http_worker *worker;
    struct http_peer peer;
    uint64_t id;
    int fd;
    bool is_peer_known; /**< is_same_user was looked up; by the worker only */
    bool is_started;    /**< libmicrohttpd has taken it */
    bool is_cut;        /**< nothing is to be done with it any more */
    bool must_linger;   /**< the client may be sending still: do not reset its connection */
    enum http_phase phase;
    int64_t since_ns;        /**< of the phase, or of the last progress of the answer */
    uint64_t received;       /**< bytes received when the last request was whole */
    int64_t begun_ns;        /**< FRESH, KEPT: when first bytes of a request were seen; 0 = none */
    _Atomic int64_t written; /**< bytes of answers handed to libmicrohttpd */
    int64_t taken;           /**< most of them that the peer has taken */
    struct http_stream *stream; /**< the one that is being sent; or NULL */
};

LIST_HEAD(http_connection_list, http_connection);

struct http_worker {
    struct http_server *server;
    struct MHD_Daemon *daemon;
    uint64_t connections;
};

struct http_listener {
    int fd;
    char address[160];
    char *path; /**< of a Unix socket, to be removed; or NULL */
    dev_t device;
    ino_t inode;
};

/** A refused connection whose client is given time to read the answer. */
struct http_lingering {
    int fd; /**< -1 = free */
    int64_t until_ns;
};

STAILQ_HEAD(http_exchange_list, http_exchange);

/** Requests that were left to threads of their own. */
struct http_deferred {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct http_exchange_list waiting;
    unsigned waiting_count;
    unsigned idle; /**< threads that wait for a request */
    unsigned thread_count;
    pthread_t threads[HTTP_SERVER_DEFERRED_THREADS];
    bool is_closed;
};

struct http_server {
    struct microhttpd_library mhd;
    struct http_server_options options;
    struct http_worker workers[HTTP_SERVER_THREADS];
    unsigned worker_count;
    struct http_listener listeners[HTTP_SERVER_LISTENERS];
    size_t listener_count;
    int epoll_fd;
    int event_fd; /**< wakes the keeper */
    pthread_t keeper;
    bool has_keeper;
    _Atomic bool is_quiescing;
    _Atomic bool is_stopping;
    _Atomic uint64_t requests;
    _Atomic uint64_t streams;

    pthread_mutex_t lock;
    struct http_connection_list connections;
    struct http_connection **by_fd;
    size_t by_fd_size;
    uint64_t connection_count;
    uint64_t last_id;
    uint64_t refused;
    uint64_t cut_off;
    struct http_lingering lingering[HTTP_SERVER_LINGERING];
    struct http_deferred deferred;
};

/** Borrowed from libmicrohttpd. */
struct http_header {
    const char *name;
    const char *value;
};

struct http_parameter {
    char *name;
    char *value;
};

struct http_exchange {
    struct http_server *server;
    struct http_connection *connection;
    struct MHD_Connection *mhd;
    char *uri; /**< as sent */
    char *path;
    char *method;
    struct http_parameter *parameters; /**< decoded */
    size_t parameter_count;
    struct http_header *headers; /**< of the request */
    size_t header_count;
    struct http_parameter *answer_headers;
    size_t answer_header_count;
    struct buf body;
    bool has_begun; /**< the headers were looked at */
    bool is_http_1_0;
    bool has_bad_header;        /**< of the request: a NUL in it */
    bool has_bad_answer_header; /**< with control characters: never sent */
    bool is_answered;
    enum MHD_Result result;

    bool is_deferred; /**< handled by another thread; libmicrohttpd sleeps on the connection */
    http_handler_fn *work;
    void *work_context;
    STAILQ_ENTRY(http_exchange) waiting_link;
    struct MHD_Response *response; /**< of a deferred one, until the worker sends it */
    unsigned status;
};

struct http_stream {
    _Atomic unsigned references;
    struct http_server *server;
    struct MHD_Connection *mhd;
    struct http_connection *connection;
    struct http_stream_source source;
    pthread_mutex_t lock;
    bool is_woken;     /**< since the source was last asked */
    bool is_suspended; /**< libmicrohttpd sleeps on it */
    bool is_gone;      /**< the client is: end it */
    bool is_ended;     /**< libmicrohttpd does not know it any more */
};

/* ---- http_server_listen.c -------------------------------------------------------------------- */

/** Open all listeners of the options. */
int http_server_listen(struct http_server *server, struct rondo_error *err);
/** No connection is accepted from here on. Idempotent; any thread. */
void http_server_unlisten(struct http_server *server);
/** Close what _listen opened. The keeper has ended. */
void http_server_close_listeners(struct http_server *server);
/** Who is at the other end, but for is_same_user. */
void http_server_describe_peer(const struct sockaddr_storage *address, struct http_peer *ret_peer);

/* ---- http_server_loop.c ---------------------------------------------------------------------- */

int http_server_start_keeper(struct http_server *server, struct rondo_error *err);
/** End it. All connections were cut before. */
void http_server_join_keeper(struct http_server *server);
/** Let the keeper look after the ends of a connection that libmicrohttpd sleeps on. */
void http_server_watch(struct http_connection *connection);
/** End a connection at once. Under the server's lock. */
void http_server_cut(struct http_connection *connection);
/** Callback of libmicrohttpd: a connection begins or ends. */
void http_server_notify(void *context, struct MHD_Connection *mhd, void **slot,
                        enum MHD_ConnectionNotificationCode code);

/* ---- http_server_request.c ------------------------------------------------------------------- */

/** Callback of libmicrohttpd: the request line is there. @return the exchange */
void *http_server_begin(void *context, const char *uri, struct MHD_Connection *mhd);
/** Callback of libmicrohttpd: headers, body or the end of the request. */
enum MHD_Result http_server_proceed(void *context, struct MHD_Connection *mhd, const char *url,
                                    const char *method, const char *version, const char *data,
                                    size_t *data_len, void **slot);
/** Callback of libmicrohttpd: the answer was sent, or is not to be. */
void http_server_complete(void *context, struct MHD_Connection *mhd, void **slot,
                          enum MHD_RequestTerminationCode code);
/** Callback of libmicrohttpd that leaves percent-escapes alone. */
size_t http_server_leave_escapes(void *context, struct MHD_Connection *mhd, char *text);
/** Answer with a problem and close. @return MHD_NO, for the library */
enum MHD_Result http_server_turn_away(struct http_exchange *exchange, unsigned status);
/** Set the phase of a connection and the time from which it counts. */
void http_server_enter(struct http_connection *connection, enum http_phase phase);

/* ---- http_server_refuse.c -------------------------------------------------------------------- */

/**
 * Write an answer past libmicrohttpd, to a connection that writes nothing and is closed next.
 * @param with_body not for HEAD
 */
void http_server_refuse(struct http_server *server, int fd, unsigned status, bool with_body);
/** What is wrong with the head of a request. @return the status, or 0 */
unsigned http_server_check(struct http_exchange *exchange, const char *method, const char *version);

/* ---- http_server_defer.c --------------------------------------------------------------------- */

void http_server_begin_deferred(struct http_server *server);
/** Wait until all deferred requests have their answers. None is deferred from here on. */
void http_server_end_deferred(struct http_server *server);

/* ---- http_server_query.c --------------------------------------------------------------------- */

/** Split the URI into path and parameters. @return false when an escape is wrong or there are too
 *  many */
bool http_server_read_uri(struct http_exchange *exchange);

/* ---- http_server_answer.c -------------------------------------------------------------------- */

/** Send the answer that a deferred request got. On the worker. @return what the library is to be
 *  told */
enum MHD_Result http_server_send_deferred(struct http_exchange *exchange);
/** Wake a stream for good: it ends whatever its source has. */
void http_server_end_stream(struct http_stream *stream);
void http_server_ref_stream(struct http_stream *stream);
/** Number of bytes received over a TCP connection since its beginning; 0 for others. */
uint64_t http_server_received(int fd);
