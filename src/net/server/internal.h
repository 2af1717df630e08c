// SPDX-License-Identifier: Apache-2.0
/*
 * What the parts of net/server/http_server.h share.
 *
 * Threads: the keeper (http_server_loop.c) accepts connections, hands each to one of a few workers
 * and watches the clock for all of them. A worker (http_server_worker.c) has the connection to
 * itself from then on: it reads, calls the handler, writes and closes. Requests that take long are
 * handled by further threads (http_server_defer.c) while their connections wait.
 *
 * Locks: the server's covers the table of connections and the phases in it; a stream's covers
 * whether it sleeps; a worker's covers the list of connections that were woken. They are taken in
 * this order. None is held while a handler or a source of a stream runs, so these may take locks
 * under which they wake streams.
 *
 * A descriptor is closed by its worker, under the server's lock and when the connection has left
 * the table: others may shut it down while it is in there.
 */
#pragma once

#include "net/http_header.h"
#include "net/server/http_server.h"

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
/** Most that is read from a connection at once. */
#define HTTP_SERVER_READ_BYTES ((size_t)16 * 1024)
/** Answers, or pieces of one, that a connection gets before it is the turn of others. */
#define HTTP_SERVER_TURNS 32
/** Bytes that the kernel keeps for a reader that is slower than we are. */
#define HTTP_SERVER_SEND_BYTES (128 * 1024)
/** One of so many connections is for processes that are certainly the owner's. */
#define HTTP_SERVER_RESERVED_SHARE 16
/** One peer that is not the owner gets at most one of so many. */
#define HTTP_SERVER_PEER_SHARE 4
/** While less than one of so many is taken, nobody is counted. */
#define HTTP_SERVER_CALM_SHARE 8
/** Refused connections that are kept until the client has read why. */
#define HTTP_SERVER_LINGERING 64
/** For so long, ns. */
#define HTTP_SERVER_LINGER_NS INT64_C(2000000000)
/** Addresses to listen on. */
#define HTTP_SERVER_LISTENERS 16
#define HTTP_SERVER_THREADS   64

/** What a connection does. */
enum http_phase {
    HTTP_PHASE_FRESH = 0, /**< accepted; nothing was received */
    HTTP_PHASE_KEPT,      /**< a request was answered, perhaps another one follows */
    HTTP_PHASE_REQUEST,   /**< a request arrives; counts from its first byte */
    HTTP_PHASE_HANDLING,  /**< the handler runs */
    HTTP_PHASE_ANSWERING, /**< the answer is being sent */
};

/** Which part of a chunked body comes next. */
enum http_chunk_part {
    HTTP_CHUNK_SIZE = 0,
    HTTP_CHUNK_SIZE_END, /**< the LF after it */
    HTTP_CHUNK_DATA,
    HTTP_CHUNK_DATA_CR,
    HTTP_CHUNK_DATA_END,
    HTTP_CHUNK_LAST_CR, /**< of the empty line after the last chunk */
    HTTP_CHUNK_LAST_END,
    HTTP_CHUNK_OVER,
};

/** A chunked body on its way. */
struct http_chunks {
    enum http_chunk_part part;
    unsigned digits; /**< of the size, so far */
    uint64_t left;   /**< of the chunk */
};

/** The party that connections are counted for. */
enum http_origin_kind {
    HTTP_ORIGIN_UNKNOWN = 0, /**< was not looked up */
    HTTP_ORIGIN_OWNER,       /**< on this machine, with our user id; perhaps sandboxed */
    HTTP_ORIGIN_USER,        /**< another user of this machine */
    HTTP_ORIGIN_ADDRESS,     /**< IPv4 */
    HTTP_ORIGIN_NETWORK,     /**< IPv6, /64 */
};

struct http_party {
    enum http_origin_kind origin;
    uint64_t number; /**< of the user, the address, the network */
};

struct http_connection {
    LIST_ENTRY(http_connection) link;
    struct http_server *server;
    struct http_worker *worker;
    struct http_remote peer;
    int fd;
    /* Under the server's lock. */
    bool is_cut;             /**< nothing is done with it any more */
    bool must_linger;        /**< the client may be sending still: do not reset its connection */
    struct http_party party; /**< looked up when it gets crowded */
    enum http_phase phase;
    int64_t since_ns;           /**< of the phase, or of the last progress of the answer */
    int64_t taken;              /**< most bytes of answers that the peer has taken */
    struct http_stream *stream; /**< the one that is being sent; or NULL */
    _Atomic int64_t written;    /**< bytes of answers given to the kernel */
    /* Under the worker's lock. */
    TAILQ_ENTRY(http_connection) woken_link;
    bool is_woken;
    bool has_answer; /**< of the thread that the request was left to */
    /* The worker's own. */
    bool is_peer_known; /**< is_same_user was looked up */
    bool may_read;      /**< there may be something to receive */
    bool has_left;      /**< the client sends nothing more */
    bool has_skipped;   /**< an empty line before the request */
    bool closes;        /**< after this answer */
    struct buf input;   /**< received; the first input_at bytes are used up */
    size_t input_at;
    size_t scanned; /**< of the head that arrives */
    struct http_exchange *exchange;
    struct buf output; /**< to be sent, from output_at on; then tail */
    size_t output_at;
    const char *tail;
    size_t tail_len;
};

LIST_HEAD(http_connection_list, http_connection);
TAILQ_HEAD(http_woken_list, http_connection);

struct http_worker {
    struct http_server *server;
    pthread_t thread;
    int epoll_fd;
    int event_fd;         /**< says that the list below is no longer empty */
    uint64_t connections; /**< under the server's lock */
    pthread_mutex_t lock;
    struct http_woken_list woken;
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
    uint64_t connection_count;
    uint64_t refused;
    uint64_t cut_off;
    struct http_lingering lingering[HTTP_SERVER_LINGERING];
    struct http_deferred deferred;
};

struct http_parameter {
    char *name;
    char *value;
};

struct http_exchange {
    struct http_server *server;
    struct http_connection *connection;
    char *head; /**< as sent, cut into the parts below */
    size_t head_len;
    const char *method;
    const char *uri;
    const char *version;
    char *path;
    struct http_parameter *parameters; /**< decoded */
    size_t parameter_count;
    struct http_header *headers; /**< of the request */
    size_t header_count;
    struct http_parameter *answer_headers;
    size_t answer_header_count;
    struct buf body;
    struct http_chunks chunks;
    uint64_t body_left; /**< of a body with a length */
    bool is_chunked;
    bool is_http_1_0;
    bool wants_close;
    bool has_bad_answer_header; /**< with control characters: never sent */

    bool is_deferred; /**< handled by another thread, while its connection waits */
    http_handler_fn *work;
    void *work_context;
    STAILQ_ENTRY(http_exchange) waiting_link;

    bool is_answered;
    unsigned status; /**< of the answer */
    struct buf answer;
    const char *static_answer; /**< instead of it, or NULL */
    size_t static_answer_len;
    bool is_stream;
};

struct http_stream {
    _Atomic unsigned references;
    struct http_server *server;
    struct http_connection *connection;
    struct http_stream_source source;
    pthread_mutex_t lock;
    bool is_woken;  /**< since the source was last asked */
    bool is_asleep; /**< its connection waits for it */
    bool is_gone;   /**< the client is: end it */
    bool is_ended;  /**< its connection does not know it any more */
};

/* ---- http_server_listen.c -------------------------------------------------------------------- */

/** Open all listeners of the options. */
int http_server_listen(struct http_server *server, struct rondo_error *err);
/** No connection is accepted from here on. Idempotent; any thread. */
void http_server_unlisten(struct http_server *server);
/** Close what _listen opened. The keeper has ended. */
void http_server_close_listeners(struct http_server *server);
/** The peer of the connection, except is_same_user. */
void http_server_describe_peer(const struct sockaddr_storage *address,
                               struct http_remote *ret_peer);

/* ---- http_server_peers.c --------------------------------------------------------------------- */

/** Whether a connection may be accepted: nobody takes every place. Not under the lock. */
bool http_server_has_room(struct http_server *server, int fd,
                          const struct sockaddr_storage *address);

/* ---- http_server_loop.c ---------------------------------------------------------------------- */

int http_server_start_keeper(struct http_server *server, struct rondo_error *err);
/** End it. All connections were cut before. */
void http_server_join_keeper(struct http_server *server);
/** End a connection at once. Under the server's lock. */
void http_server_cut(struct http_connection *connection);
/** Close a connection and forget it. On its worker. */
void http_server_close(struct http_connection *connection);

/* ---- http_server_worker.c -------------------------------------------------------------------- */

int http_server_start_worker(struct http_worker *worker, struct rondo_error *err);
/** End all its connections, then itself. The server is stopping. */
void http_server_join_worker(struct http_worker *worker);
/** Let a worker look at a connection again. Any thread, while the connection lives. */
void http_server_wake(struct http_connection *connection);
/** The same for the thread that has answered its deferred request. */
void http_server_wake_with_answer(struct http_connection *connection);

/* ---- http_server_head.c ---------------------------------------------------------------------- */

/**
 * Look for the empty line that ends a head. Lines end in CR LF, and neither byte is anywhere else.
 * @param scanned bytes that were looked at before, and now
 * @return bytes of the head; 0 = it is not there whole; -1 = it is malformed
 */
ssize_t http_head_find_end(const char *bytes, size_t len, size_t *scanned);
/** Whether the first line, if it is there whole, ends in a version of HTTP. */
bool http_head_begins_well(const char *bytes, size_t len);
/** Cut a head into its parts. @return 0, or the status to refuse it with */
unsigned http_head_split(struct http_exchange *exchange);

/* ---- http_server_chunks.c -------------------------------------------------------------------- */

/**
 * Take what can be taken of a chunked body: sizes of one to HTTP_CHUNK_DIGITS digits, lines that
 * end in CR LF, nothing else: no extensions, no trailers.
 * @return 0, or the status to refuse it with
 */
unsigned http_chunks_take(struct http_chunks *chunks, const char *bytes, size_t len,
                          size_t max_bytes, size_t *ret_used, struct buf *body);

/** Digits of the size of a chunk. */
#define HTTP_CHUNK_DIGITS 16

/* ---- http_server_request.c ------------------------------------------------------------------- */

/** Begin with a head. @param head copied */
struct http_exchange *http_exchange_new(struct http_connection *connection, const char *head,
                                        size_t len);
void http_exchange_free(struct http_exchange *exchange);
/** Take what belongs to the request's body. @return 0, or the status to refuse it with */
unsigned http_exchange_take_body(struct http_exchange *exchange, const char *bytes, size_t len,
                                 size_t *ret_used);
bool http_exchange_is_whole(const struct http_exchange *exchange);

/* ---- http_server_refuse.c -------------------------------------------------------------------- */

/** "Not Found"; a word for every status. */
const char *http_server_reason(unsigned status);
/**
 * Write a whole answer at once, to a connection that writes nothing and is closed next.
 * @param with_body not for HEAD
 */
void http_server_refuse(struct http_server *server, int fd, unsigned status, bool with_body);
/** What is wrong with the head of a request. @return the status, or 0 */
unsigned http_server_check(struct http_exchange *exchange);

/* ---- http_server_defer.c --------------------------------------------------------------------- */

void http_server_begin_deferred(struct http_server *server);
/** Wait until all deferred requests have their answers. None is deferred from here on. */
void http_server_end_deferred(struct http_server *server);

/* ---- http_server_query.c --------------------------------------------------------------------- */

/** Split the URI into path and parameters. @return 0, or the status to refuse it with */
unsigned http_server_read_uri(struct http_exchange *exchange);

/* ---- http_server_answer.c -------------------------------------------------------------------- */

/** Put the answer of an exchange into the connection's output. @return false: it cannot be sent */
bool http_server_begin_answer(struct http_connection *connection);

/** Close the source of the connection's stream, if it has one. On its worker. */
void http_server_close_stream(struct http_connection *connection);
/** Wake a stream for good: it ends whatever its source has. */
void http_server_end_stream(struct http_stream *stream);
